"""What every theorem must show: a proof, a witness, and a control under which the proof fails."""

import pytest

from proofs.theorems.harness import Verdict, check_control, prove
from proofs.theorems.reachable import witness
from proofs.theorems.theorem import Control, Property, Theorem
from proofs.theorems.transitions import OneRecord

SAME = Control("nothing is changed", "spec.record:acquire", lambda rule: rule)
HARD = Theorem(
    Property("cubes_and_squares", "Two cubes never add up to 114 times a square.", "none"),
    "none",
    OneRecord,
    lambda s: s.limit > 0,
    lambda s: s.now * s.now * s.now + s.limit * s.limit * s.limit != s.highest * s.highest * 114,
    SAME,
)
"""A theorem that Z3 does not decide in a millisecond."""


def each(theorems: tuple[Theorem, ...]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("theorem", theorems, ids=lambda theorem: theorem.name())


def assert_stands(theorem: Theorem) -> None:
    proof = prove(theorem)
    assert proof.verdict is Verdict.PROVED, (proof.reason, proof.counterexample)
    assert proof.cases >= 1
    assert witness(theorem) is not None, "no run reaches a state where the hypothesis holds"
    refutation = check_control(theorem)
    assert refutation.fails, (theorem.control.name, refutation.test)
