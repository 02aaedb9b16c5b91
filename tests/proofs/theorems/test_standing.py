"""What every theorem must show: a proof, a witness, and a control under which the proof fails."""

import pytest

from proofs.theorems.catalogue import THEOREMS
from proofs.theorems.harness import Meanings, ProofVerdict, check_control, prove
from proofs.theorems.reachable import witness
from proofs.theorems.theorem import Theorem
from tests.proofs.standing import each

KNOWN: Meanings = {}


@pytest.mark.slow
@each(THEOREMS)
def test_every_theorem_is_proved_of_what_runs_reach_and_not_under_its_control(
    theorem: Theorem,
) -> None:
    proof = prove(theorem, known=KNOWN)
    assert proof.verdict is ProofVerdict.PROVED, (proof.reason, proof.counterexample)
    assert proof.cases >= 1
    assert witness(theorem) is not None
    refutation = check_control(theorem)
    assert refutation.fails, (theorem.control.name, refutation.test)
