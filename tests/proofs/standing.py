"""Theorems that tests of the engine use, and tests that take each of some theorems."""

import pytest

from proofs.theorems.any_partition import AnyPartition
from proofs.theorems.theorem import Control, Property, Theorem

SAME = Control("nothing is changed", "spec.record:acquire", lambda rule: rule)
HARD = Theorem(
    Property("cubes_and_squares", "Two cubes never add up to 114 times a square.", "none"),
    "none",
    AnyPartition,
    lambda s: s.limit > 0,
    lambda s: s.now * s.now * s.now + s.limit * s.limit * s.limit != s.highest * s.highest * 114,
    SAME,
)
"""A theorem that Z3 does not decide in a millisecond."""


def each(theorems: tuple[Theorem, ...]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("theorem", theorems, ids=lambda theorem: theorem.name())
