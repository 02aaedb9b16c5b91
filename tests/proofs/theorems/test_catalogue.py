"""How theorems are stated and found."""

import attrs
import pytest

from judge.invariants import RECORD_INVARIANTS
from model.errors import InvalidValueError
from proofs.theorems.any_partition import AnyPartition
from proofs.theorems.catalogue import THEOREMS, theorem_named, theorems_about
from proofs.theorems.controls import wrong
from proofs.theorems.harness import ProofVerdict, prove
from proofs.theorems.record_operations import TRANSITIONS
from proofs.theorems.theorem import Subject, theorems_in
from spec import record as rules
from spec.logic import Term
from spec.record import UNDELIVERED


def test_names_are_unique_and_found() -> None:
    names = [theorem.name() for theorem in THEOREMS]
    assert len(set(names)) == len(names)
    assert [theorem_named(name) for name in names] == list(THEOREMS)


@pytest.mark.parametrize("words", ["accept", "owner_iff_held", "accept owner_iff_held"])
def test_theorems_are_found_by_transition_property_and_name(words: str) -> None:
    assert theorem_named("accept owner_iff_held") in theorems_about(words)


def test_unknown_name_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="--only is 'nothing'"):
        theorems_about("nothing")


def test_a_theorem_without_a_number_is_a_lemma_that_another_cites() -> None:
    cited = {citation.lemma.property for theorem in THEOREMS for citation in theorem.cites}
    assert {theorem.property for theorem in THEOREMS if not theorem.property.numbers} <= cited


SUBJECT = Subject("KIP-932, Lag", AnyPartition, given=lambda s: s.limit > 0)
CONTROL = wrong("spec.record:acquire", "does nothing", lambda rule: rule)


@SUBJECT.theorem(17, 18, of={"by one": (1,), "by two": (2,)}, control=CONTROL)
def lag_falls(s: AnyPartition, by: int) -> Term:
    """The lag falls by so many.

    That is not the sentence.
    """
    return s.limit > by


CASES = list(TRANSITIONS[:1])


def lag_is_small(s: AnyPartition, *_of: object) -> Term:
    return s.limit < 1


def test_a_claim_is_a_theorem_of_each_transition() -> None:
    one, two = lag_falls
    assert attrs.astuple(one.property)[:2] == ("lag_falls", "The lag falls by so many.")
    assert one.property.numbers == (17, 18)
    assert (one.name(), two.name()) == ("by one lag_falls", "by two lag_falls")
    assert one.control.name == "acquire does nothing"
    of = AnyPartition(record=UNDELIVERED, limit=2)
    assert one.hypothesis(of)
    assert one.claim(of)
    assert not two.claim(of)


def test_a_claim_may_assume_more_or_something_else() -> None:
    short = SUBJECT.theorem(17, of="a", control={"a": CONTROL}, where=lambda s: s.limit < 3)
    other = SUBJECT.theorem(17, of=CASES, control=lambda _of: CONTROL, given=lambda s, _of: s.marks)
    ((one,), (two,)) = short(lag_is_small), other(lag_is_small)
    limited = [AnyPartition(limit=limit) for limit in (0, 2, 3)]
    assert [*map(one.hypothesis, limited)] == [False, True, False]
    assert two.hypothesis(AnyPartition(limit=0, marks=True))
    assert (one.name(), two.name()) == ("a lag_is_small", f"{CASES[0].name} lag_is_small")


def test_theorems_of_a_module_are_in_its_order() -> None:
    names = {"text": "no theorem", "numbers": (1, 2), "theorems": lag_falls}
    assert theorems_in(names) == lag_falls


def test_every_invariant_is_proved_of_every_transition() -> None:
    names = {transition.name for transition in TRANSITIONS} | {"recover"}
    for known in RECORD_INVARIANTS:
        proved = {t.transition for t in THEOREMS if t.property.name == known.name}
        assert proved == names


def test_delivery_count_within_limit_is_not_inductive_alone() -> None:
    theorem = theorem_named("acquire delivery_count_within_limit")
    known = next(i for i in RECORD_INVARIANTS if i.name == "delivery_count_within_limit")
    alone = attrs.evolve(
        theorem,
        hypothesis=lambda s: (
            known.holds(s.record, s.highest, s.now) & rules.is_acquirable(s.record)
        ),
    )
    assert prove(alone).verdict is ProofVerdict.REFUTED
