"""Drivers of share consumers that others wrote: librdkafka's in Python, Apache Kafka's in Java."""
