"""Test vectors: short sequences with all that the specification answers, as JSON for any language.

- ``words``: a step in words, such as ``m1 accepts 0-2 -> PENDING``, as an ask;
- ``source``: the vectors as people wrote them, in ``cases``;
- ``free``: what else the rules would have allowed at a step;
- ``written``: the vectors as other programs read them, in ``data``, and the command, which
  writes them;
- ``play``: an implementation plays the vectors, and the specification judges.
"""
