import attrs

from proofs.theorems.complete_count_theorems import COMPLETE_COUNT_THEOREMS
from proofs.theorems.harness import ProofVerdict, prove
from proofs.theorems.theorem import Theorem
from tests.proofs.standing import each

CITING = tuple(theorem for theorem in COMPLETE_COUNT_THEOREMS if theorem.cites)


@each(CITING)
def test_without_its_lemmas_none_of_them_is_proved(theorem: Theorem) -> None:
    proof = prove(attrs.evolve(theorem, cites=()))
    assert proof.verdict is ProofVerdict.UNKNOWN
    assert proof.reason == "it is false only of counts that cannot be, or of long ranges"
