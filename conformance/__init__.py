"""Verification of other implementations against the specification.

From the bottom up:

- ``asks``: what the kit may ask of a share-partition, free of numbers that depend on its past;
- ``protocol``: the messages between the kit and an implementation under test;
- ``target``, ``process``, ``kafka``, ``crabka_core``, ``builtin``, ``miniature``: implementations,
  out and inside; ``build``: those in other languages, built;
- ``scene``: the log, the clock and the judge around one implementation;
- ``generate``, ``cores``: random asks of such an implementation, and simpler ones;
- ``kind``, ``shrink``, ``campaign``: the search for deviations, of implementations of any kind;
- ``known``, ``findings``: deviations that are known, with their reasons, and their table;
- ``report``, ``cli_verify``: what a person sees.
"""
