"""Kafka's request log (``kafka.request.logger`` at DEBUG, KIP-673) as observations.

``entry`` takes a line apart, ``bodies`` a request with its response, and ``scan`` a file.
"""
