"""Verification of brokers by what can be seen on the wire.

- ``target``: a broker as the kit sees it;
- ``servers``, ``kfake``, ``crabka``: brokers in other languages, started and stopped, as targets.
"""
