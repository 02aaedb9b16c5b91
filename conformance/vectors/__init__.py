"""Test vectors: short sequences with the answers of the specification, as JSON for any language.

- ``words``: a step in words, such as ``m1 accepts 0-2 -> PENDING``, as a command;
- ``source``: the vectors as written by hand, in ``cases``;
- ``free``: which other answers the rules allow at a step;
- ``written``: the vectors as programs read them, in ``data``;
- ``play``: plays the vectors with a target, and judges it by the rules.
"""
