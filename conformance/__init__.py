"""Verification of other implementations against the specification.

From the bottom up:

- ``asks``: what the kit may ask of a share-partition, free of numbers that depend on its past;
- ``protocol``: the messages between the kit and an implementation under test;
- ``target``, ``process``, ``kafka``, ``crabka_core``, ``builtin``: implementations,
  out and inside; ``build``: those in other languages, built;
- ``universe``, ``transitions``, ``situations``, ``exercised``: what there is to meet, and what a
  search has met of it;
- ``scene``: the log, the clock and the judge around one implementation; ``transactions``: a fetch
  that meets aborted transactions, as the judge sees it;
- ``generate``, ``cores``: random asks of such an implementation, and simpler ones;
- ``kind``, ``shrink``, ``campaign``: the search for deviations, of implementations of any kind;
- ``known``: deviations that are known, with their reasons;
- ``vectors``: short sequences with what the specification answers, for any language;
- ``citations``: what each rule rests on;
- ``wire``: the same for brokers, by what can be seen on the wire; ``subjects``: both by name;
- ``report``, ``junit``: what a person and other programs see;
- ``markup``, ``picture``, ``page``, ``page_style``: the same as one page of HTML.
"""
