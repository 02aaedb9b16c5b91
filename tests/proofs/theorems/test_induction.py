import attrs

from proofs.theorems.catalogue import LEMMAS, THEOREMS
from proofs.theorems.count import count
from proofs.theorems.counting_theorems import PUT, WITHIN, Range
from proofs.theorems.harness import Proof, ProofVerdict, holds_of, prove
from proofs.theorems.theorem import Lemma, LemmaCitation, Theorem, instance, obligations
from tests.proofs.standing import each

MORE_THAN_NOTHING = attrs.evolve(WITHIN, statement=lambda s: count(s.marks, s.low, s.high) >= 1)
"""False of the range with which the induction begins."""

AT_MOST_ONE = attrs.evolve(WITHIN, statement=lambda s: count(s.marks, s.low, s.high) <= 1)
"""True of it, and false of one that follows."""

CLAIMS = next(theorem for theorem in THEOREMS if theorem.transition == "change")


def verdicts(lemma: Lemma) -> list[Proof]:
    return [prove(part) for part in obligations(lemma)]


def test_a_false_lemma_is_refuted_in_its_base() -> None:
    base, _step = verdicts(MORE_THAN_NOTHING)
    assert base.verdict is ProofVerdict.REFUTED
    assert isinstance(base.counterexample, Range)
    assert not holds_of(base.theorem, base.counterexample)


def test_a_false_lemma_is_refuted_in_its_step() -> None:
    base, step = verdicts(AT_MOST_ONE)
    assert (base.verdict, step.verdict) == (ProofVerdict.PROVED, ProofVerdict.REFUTED)
    found = step.counterexample
    assert isinstance(found, Range)
    assert count(found.marks, found.low, found.high) == 1
    assert count(found.marks, found.low, found.high + 1) == 2
    assert not holds_of(step.theorem, found)


def test_a_step_needs_the_unfolding() -> None:
    _base, step = verdicts(attrs.evolve(WITHIN, unfolding=lambda _s: True))
    assert step.verdict is not ProofVerdict.PROVED


def test_a_theorem_that_cites_an_unproved_lemma_is_not_proved() -> None:
    assert prove(CLAIMS).verdict is ProofVerdict.PROVED
    for lemma, part in ((MORE_THAN_NOTHING, "base"), (AT_MOST_ONE, "step")):
        citing = attrs.evolve(
            CLAIMS, cites=(*CLAIMS.cites, LemmaCitation(lemma, lambda _s: Range()))
        )
        proof = prove(citing)
        assert proof.verdict is ProofVerdict.UNKNOWN
        assert proof.reason == (
            f"it cites a_count_is_within_its_range, of which the {part} is not proved"
        )


def test_an_instance_of_a_lemma_assumes_what_the_lemma_does() -> None:
    of = Range(frozenset({2, 3}), low=1, high=4)
    assert instance(LemmaCitation(WITHIN, lambda s: s), of)
    assert not instance(LemmaCitation(AT_MOST_ONE, lambda s: s), of)
    assert instance(LemmaCitation(AT_MOST_ONE, lambda s: s), attrs.evolve(of, low=5))


def test_every_lemma_is_cited_and_every_lemma_that_is_cited_is_in_the_table() -> None:
    cited = [citation.lemma for theorem in THEOREMS for citation in theorem.cites]
    assert {lemma.property for lemma in cited} == {lemma.property for lemma in LEMMAS}
    assert all(lemma in LEMMAS for lemma in cited)
    assert PUT in LEMMAS


NEED_NONE = ("begin", "grow")
COUNTS = [t for t in THEOREMS if any(cited.lemma.situation is Range for cited in t.cites)]
CITING = tuple(t for t in COUNTS if t.transition not in NEED_NONE)


@each(CITING)
def test_without_its_lemmas_none_of_them_is_proved(theorem: Theorem) -> None:
    proof = prove(attrs.evolve(theorem, cites=()))
    assert proof.verdict is ProofVerdict.UNKNOWN
    assert proof.reason == "it is false only of counts that cannot be, or of long ranges"
