import inspect
from collections.abc import Callable

import attrs
import pytest
import z3
from hypothesis import given
from hypothesis import strategies as st

from judge.invariants import RECORD_INVARIANTS
from model.states import AcknowledgeType, RecordState
from spec import record as rules
from spec.logic import Term
from spec.record import UNDELIVERED, Record
from tests.strategies import COUNTS, RECORDS

AVAILABLE, ACQUIRED = RecordState.AVAILABLE, RecordState.ACQUIRED
ACKNOWLEDGED, ARCHIVED = RecordState.ACKNOWLEDGED, RecordState.ARCHIVED
ARCHIVING, IN_PROGRESS = RecordState.ARCHIVING, RecordState.IN_PROGRESS
STATES = list(RecordState)
NOT_HELD = [AVAILABLE, ACKNOWLEDGED, ARCHIVING, ARCHIVED]
LIMIT = 3
HELD = Record(ACQUIRED, 1, "c1", 100)
TRIED_OUT = Record(ACQUIRED, LIMIT, "c1", 100)
TAKEN = attrs.evolve(HELD, acquisition=7)
MARKED = attrs.evolve(TAKEN, state=IN_PROGRESS, progress_start=40, last_progress=60)


def pending(state: RecordState, count: int = 1, *, exhausted: bool = False) -> Record:
    return Record(
        state, count, pending=True, former_owner="c1", former_deadline=100, exhausted=exhausted
    )


@pytest.mark.parametrize("state", STATES)
def test_each_state_allows_its_transitions(state: RecordState) -> None:
    record = Record(state, 1)
    assert rules.is_terminal(record) == rules.is_finished(record)
    assert rules.is_terminal(record) == (state in {ACKNOWLEDGED, ARCHIVED})
    assert rules.is_acquirable(record) == rules.can_vanish(record) == (state is AVAILABLE)
    assert rules.is_held(record) == (state in {ACQUIRED, IN_PROGRESS})
    assert rules.is_dead_letter(record) == (state is ARCHIVING)


def test_acquiring_counts_a_delivery_and_locks_the_record() -> None:
    assert rules.acquire(UNDELIVERED, "c1", 50) == Record(ACQUIRED, 1, "c1", 50)
    assert rules.acquire(Record(AVAILABLE, 2), "c2", 50) == Record(ACQUIRED, 3, "c2", 50)
    assert rules.acquire(UNDELIVERED, "c1", 100, 7) == TAKEN


def test_a_record_that_fails_for_good_goes_to_the_dead_letter_queue_and_a_gap_does_not() -> None:
    reject, gap, back = AcknowledgeType.REJECT, AcknowledgeType.GAP, AcknowledgeType.RELEASE
    assert rules.acknowledge(HELD, reject, LIMIT, ARCHIVING) == pending(ARCHIVING)
    assert rules.acknowledge(HELD, gap, LIMIT, ARCHIVING) == pending(ARCHIVED)
    assert rules.acknowledge(HELD, back, LIMIT, ARCHIVING) == pending(AVAILABLE)
    out = pending(ARCHIVING, LIMIT, exhausted=True)
    assert rules.acknowledge(TRIED_OUT, back, LIMIT, ARCHIVING) == out
    assert rules.release(TRIED_OUT, LIMIT, ARCHIVING) == out
    assert rules.expire(TRIED_OUT, LIMIT, ARCHIVING) == Record(ARCHIVING, LIMIT)
    assert rules.roll_back(out, 100, ARCHIVING) == Record(ARCHIVING, LIMIT)


def test_a_member_that_leaves_releases_and_its_attempt_counts() -> None:
    assert rules.release(HELD, LIMIT) == pending(AVAILABLE)
    assert rules.release(TRIED_OUT, LIMIT) == pending(ARCHIVED, LIMIT, exhausted=True)


def test_a_lock_that_runs_out_releases_at_once() -> None:
    assert rules.expire(HELD, LIMIT) == Record(AVAILABLE, 1)
    assert rules.expire(TRIED_OUT, LIMIT) == Record(ARCHIVED, LIMIT)


def test_a_count_above_a_lowered_limit_is_at_the_limit() -> None:
    above = Record(ACQUIRED, LIMIT + 2, "c1", 100)
    assert rules.expire(above, LIMIT) == Record(ARCHIVED, LIMIT + 2)


@pytest.mark.parametrize(("threshold", "deadline"), [(50, 120), (70, 140), (90, 140)])
def test_a_mark_sets_one_deadline_by_the_last_and_the_first_sign_of_progress(
    threshold: int, deadline: int
) -> None:
    again = attrs.evolve(MARKED, last_progress=70, deadline=deadline)
    assert rules.mark(MARKED, 70, threshold, 100) == again
    first = attrs.evolve(MARKED, progress_start=70, last_progress=70, deadline=70 + threshold)
    assert rules.mark(TAKEN, 70, threshold, 100) == first


@pytest.mark.parametrize("state", NOT_HELD)
def test_a_new_leader_finds_a_record_as_it_was_last_durable(state: RecordState) -> None:
    assert rules.recover(state, 2) == Record(state, 2)


# Every rule, called once with terms: the formula that a proof would see.
FIELDS = [field.name for field in attrs.fields(Record)]
FLAGS = {"pending", "exhausted"}
TERMS = Record(*(z3.Bool(name) if name in FLAGS else z3.Int(name) for name in FIELDS))
X, Y, Z = z3.Ints("x y z")

ARGUMENTS = (COUNTS, st.integers(0, 9), COUNTS)
RULES: dict[str, tuple[Callable[..., Term], tuple[z3.ArithRef, ...]]] = {
    "is_terminal": (rules.is_terminal, ()),
    "is_finished": (rules.is_finished, ()),
    "is_acquirable": (rules.is_acquirable, ()),
    "is_held": (rules.is_held, ()),
    "can_vanish": (rules.can_vanish, ()),
    "is_held_by": (rules.is_held_by, (X,)),
    "is_lock_over": (rules.is_lock_over, (Y,)),
    "is_dead_letter": (rules.is_dead_letter, ()),
    "can_stay": (rules.can_stay, (X, Y, Z)),
    "can_renew": (rules.can_renew, (X,)),
    "can_mark": (rules.can_mark, (X, Z, Y, X)),
    "failed_state": (lambda r: rules.failed_state(r.pending), ()),
    "acquire": (rules.acquire, (X, Y, Z)),
    "acknowledge": (lambda r, kind, *rest: rules.acknowledge(r, kind % 4, *rest), (X, Z, Y)),
    "release": (rules.release, (Z, Y)),
    "renew": (rules.renew, (Y,)),
    "mark": (lambda r, now, t, x: rules.mark(attrs.evolve(r, deadline=x), now, t, x), (Y, X, Z)),
    "give_grace": (lambda r, now, d: rules.give_grace(attrs.evolve(r, deadline=d), now), (Y, X)),
    "expire": (rules.expire, (Z, Y)),
    "finish_dead_letter": (rules.finish_dead_letter, ()),
    "can_archive_aborted": (rules.can_archive_aborted, ()),
    "archive_aborted": (rules.archive_aborted, ()),
    "withhold": (rules.withhold, ()),
    "vanish": (rules.vanish, ()),
    "commit": (rules.commit, ()),
    "roll_back": (rules.roll_back, (Y, Z)),
    "recover": (lambda r, *rest: rules.recover(r.state, *rest), (X,)),
    "durable_maximum": (
        lambda r, *rest: rules.durable_maximum(r.state, r.delivery_count, *rest),
        (X, Z),
    ),
}
RULES |= {i.name: (i.holds, (Z, Y)) for i in RECORD_INVARIANTS}


def as_terms(result: object) -> list[z3.ExprRef]:
    """Return the parts of a result, as terms; what is absent as -1."""
    if isinstance(result, Record):
        result = attrs.astuple(result)
    parts = result if isinstance(result, tuple) else (result,)
    return [_as_term(part) for part in parts]


def _as_term(value: Term) -> z3.ExprRef:
    if isinstance(value, z3.ExprRef):
        return value
    return (
        z3.BoolVal(value) if isinstance(value, bool) else z3.IntVal(-1 if value is None else value)
    )


def applied(name: str, parts: list[z3.ExprRef]) -> z3.ExprRef:
    """Return a function of which nothing is known, of these parts: one term that has them all."""
    return z3.Function(name, *(part.sort() for part in parts), z3.BoolSort())(*parts)


def results(record: Record, *numbers: Term) -> z3.ExprRef:
    """Return what all rules make of a record, as one term: to ask Z3 of each part is slow."""
    at = dict(zip((X, Y, Z), numbers, strict=True))
    made = {name: rule(record, *map(at.get, given)) for name, (rule, given) in RULES.items()}
    return applied("rules", [applied(name, as_terms(result)) for name, result in made.items()])


FORMULAS = results(TERMS, X, Y, Z)


def test_every_rule_is_among_those_built_as_terms() -> None:
    functions = (each for each in vars(rules).values() if inspect.isfunction(each))
    own = {each.__name__ for each in functions if each.__module__ == rules.__name__}
    assert {name for name in own if name[0] != "_"} <= set(RULES)


@given(RECORDS, st.tuples(*ARGUMENTS))
def test_each_rule_on_terms_agrees_with_the_rule_on_values(
    record: Record, numbers: tuple[int, int, int]
) -> None:
    assert evaluated(record, *numbers) == texts(results(record, *numbers))


def evaluated(record: Record, *numbers: int) -> dict[str, str]:
    """Return the formulas of the rules with values for their terms."""
    terms, known = (*as_terms(TERMS), X, Y, Z), (*as_terms(record), *map(_as_term, numbers))
    return texts(z3.substitute(FORMULAS, *zip(terms, known, strict=True)))


def texts(formulas: z3.ExprRef) -> dict[str, str]:
    return {each.decl().name(): each.sexpr() for each in z3.simplify(formulas).children()}


def test_on_terms_too_a_record_that_was_never_marked_may_be_however_late_it_is() -> None:
    member = extension = 3
    taken, marked = (attrs.evolve(record, owner=member) for record in (TAKEN, MARKED))
    assert evaluated(taken, extension, 60, 7)["can_mark"] == "(can_mark true)"
    assert evaluated(marked, extension, 60, 7)["can_mark"] == "(can_mark false)"
