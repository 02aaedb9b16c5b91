"""Runs are cut, changed and joined as the records of their offsets; a wrong rule is refuted."""

import pytest

from proofs.refinement.pointwise import POINTWISE
from proofs.theorems.harness import ProofVerdict, changed, holds_of, prove
from proofs.theorems.theorem import Theorem


@pytest.mark.parametrize("theorem", POINTWISE, ids=Theorem.name)
def test_runs_of_any_number_keep_every_offset(theorem: Theorem) -> None:
    assert prove(theorem).verdict is ProofVerdict.PROVED


@pytest.mark.parametrize("theorem", POINTWISE, ids=Theorem.name)
def test_a_wrong_rule_is_refuted(theorem: Theorem) -> None:
    with changed(theorem.control):
        proof = prove(theorem)
        assert proof.verdict is ProofVerdict.REFUTED
        assert not holds_of(theorem, proof.counterexample)
    assert holds_of(theorem, proof.counterexample)
