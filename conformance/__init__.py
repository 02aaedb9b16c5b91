"""Verification of other implementations against the specification.

From the bottom up:

- ``target``, ``deviation``: what cores and brokers share;
- ``build``: builds targets in other languages;
- ``kit``, ``shrink``, ``campaign``: the search for deviations, with cores or with brokers;
- ``cores``: implementations of one share-partition; ``wire``: brokers, by what can be seen on the
  wire; ``subjects``: both by name;
- ``goals``: what a coverage goal is, and what the counts of a search cover;
- ``known``: deviations that are known, with their reasons;
- ``vectors``: short sequences with what the specification answers, for any language;
- ``citations``: what each rule rests on;
- ``report``: what was found, in words; ``terminal``, ``plain`` (JSON), ``junit``, ``markdown`` and
  ``picture``, ``page`` (HTML): what people and other programs see of it.
"""
