"""Verification of other implementations against the specification.

From the bottom up:

- ``target``, ``deviation``: what cores and brokers share;
- ``build``: builds targets in other languages;
- ``kit``, ``shrink``, ``campaign``: the search for deviations, with cores, brokers or clients;
- ``cores``: implementations of one share-partition; ``wire``: brokers, by what can be seen on the
  wire; ``coordinators``: share coordinators; ``subjects``: all of them by name;
- ``exercised``: what an operation exercised, by name; ``goals``: what the counts of a search cover;
- ``known``: deviations that are known, with their reasons; ``commands``: sequences as JSON;
- ``vectors``: short sequences with what the specification answers, for any language;
- ``citations``: what each rule rests on;
- ``java``: deviations of classes of Apache Kafka as JUnit tests;
- ``report``: what was found, as a document, with ``picture``; ``plain``: as JSON; ``junit``.
"""
