import attrs

from proofs.theorems.controls import wrong
from proofs.theorems.record_operations import TRANSITIONS, OneRecord
from proofs.theorems.theorem import Subject, theorems_in
from spec.logic import Term
from spec.record import UNDELIVERED

SUBJECT = Subject("KIP-932, Lag", OneRecord, given=lambda s: s.limit > 0)
CONTROL = wrong("spec.record:acquire", "does nothing", lambda rule: rule)


@SUBJECT.theorem(17, 18, of={"by one": (1,), "by two": (2,)}, control=CONTROL)
def lag_falls(s: OneRecord, by: int) -> Term:
    """The lag falls by so many.

    That is not the sentence.
    """
    return s.limit > by


CASES = list(TRANSITIONS[:1])


def lag_is_small(s: OneRecord, *_of: object) -> Term:
    return s.limit < 1


def test_a_claim_is_a_theorem_of_each_transition() -> None:
    one, two = lag_falls
    assert attrs.astuple(one.property)[:2] == ("lag_falls", "The lag falls by so many.")
    assert one.property.numbers == (17, 18)
    assert (one.name(), two.name()) == ("by one lag_falls", "by two lag_falls")
    assert one.control.name == "acquire does nothing"
    of = OneRecord(record=UNDELIVERED, limit=2)
    assert one.hypothesis(of)
    assert one.claim(of)
    assert not two.claim(of)


def test_a_claim_may_assume_more_or_something_else() -> None:
    short = SUBJECT.theorem(17, of="a", control={"a": CONTROL}, where=lambda s: s.limit < 3)
    other = SUBJECT.theorem(17, of=CASES, control=lambda _of: CONTROL, given=lambda s, _of: s.marks)
    ((one,), (two,)) = short(lag_is_small), other(lag_is_small)
    assert [one.hypothesis(OneRecord(limit=limit)) for limit in (0, 2, 3)] == [False, True, False]
    assert two.hypothesis(OneRecord(limit=0, marks=True))
    assert (one.name(), two.name()) == ("a lag_is_small", f"{CASES[0].name} lag_is_small")


def test_theorems_of_a_module_are_in_its_order() -> None:
    names = {"text": "no theorem", "numbers": (1, 2), "theorems": lag_falls}
    assert theorems_in(names) == lag_falls
