import attrs

from proofs.theorems.counting_theorems import COUNTING_THEOREMS
from proofs.theorems.harness import ProofVerdict, prove
from proofs.theorems.theorem import Theorem
from tests.proofs.standing import each

NEED_NONE = ("begin", "grow")
CITING = tuple(t for t in COUNTING_THEOREMS if t.cites and t.transition not in NEED_NONE)


@each(CITING)
def test_without_its_lemmas_none_of_them_is_proved(theorem: Theorem) -> None:
    proof = prove(attrs.evolve(theorem, cites=()))
    assert proof.verdict is ProofVerdict.UNKNOWN
    assert proof.reason == "it is false only of counts that cannot be, or of long ranges"
