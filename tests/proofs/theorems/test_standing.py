"""What every theorem must show: a proof, a witness, and a control under which the proof fails."""

import pytest

from proofs.theorems.catalogue import THEOREMS
from proofs.theorems.harness import ProofVerdict, check_control, prove
from proofs.theorems.reachable import witness
from proofs.theorems.theorem import Theorem
from tests.proofs.standing import each

pytestmark = pytest.mark.slow


@each(THEOREMS)
def test_every_theorem_is_proved_and_a_run_reaches_its_hypothesis(theorem: Theorem) -> None:
    proof = prove(theorem)
    assert proof.verdict is ProofVerdict.PROVED, (proof.reason, proof.counterexample)
    assert proof.cases >= 1
    assert witness(theorem) is not None


@each(THEOREMS)
def test_no_proof_survives_its_control(theorem: Theorem) -> None:
    refutation = check_control(theorem)
    assert refutation.fails, (theorem.control.name, refutation.test)
