"""Verification of brokers by what can be seen on the wire.

- ``target``: a broker as the kit sees it;
- ``messages``, ``records``, ``connection``: Kafka's protocol, where nothing received is believed;
- ``codec``, ``admin``: share sessions, and everything else that is asked of a broker;
- ``allowed``, ``broker``: what a broker allows, and any broker at an address;
- ``kafka_broker``: Apache Kafka, started for the purpose;
- ``asks``, ``scene``: what is asked of a broker, and one place in which it is;
- ``written``, ``belief``, ``explain``, ``judge``: what a broker may be like after what was seen;
- ``served``: what a request exercised;
- ``generate``, ``kit``: random asks, and simpler ones;
- ``words``: requests and responses for people;
- ``servers``: brokers in other languages, started and stopped, as targets.
"""
