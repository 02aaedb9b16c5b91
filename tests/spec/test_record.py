from collections.abc import Callable

import attrs
import pytest
import z3
from hypothesis import given
from hypothesis import strategies as st

from model.states import AcknowledgeType, RecordState
from spec import record as rules
from spec.invariants import RECORD_INVARIANTS
from spec.logic import Term
from spec.record import UNDELIVERED, Record
from tests.strategies import COUNTS, RECORDS

AVAILABLE, ACQUIRED = RecordState.AVAILABLE, RecordState.ACQUIRED
ACKNOWLEDGED, ARCHIVED = RecordState.ACKNOWLEDGED, RecordState.ARCHIVED
STATES = [AVAILABLE, ACQUIRED, ACKNOWLEDGED, ARCHIVED]
LIMIT = 3
HELD = Record(ACQUIRED, 1, "c1", 100)
TRIED_OUT = Record(ACQUIRED, LIMIT, "c1", 100)


def pending(state: RecordState, count: int = 1, *, exhausted: bool = False) -> Record:
    return Record(
        state, count, pending=True, former_owner="c1", former_deadline=100, exhausted=exhausted
    )


def test_an_undelivered_record_is_available_with_no_delivery() -> None:
    assert Record(AVAILABLE, 0, None, None) == UNDELIVERED
    assert rules.is_acquirable(UNDELIVERED)


@pytest.mark.parametrize("state", STATES)
def test_what_may_be_done_follows_from_the_state(state: RecordState) -> None:
    record = Record(state, 1)
    assert rules.is_terminal(record) == rules.is_finished(record)
    assert rules.is_terminal(record) == (state in {ACKNOWLEDGED, ARCHIVED})
    assert rules.is_acquirable(record) == rules.can_vanish(record) == (state is AVAILABLE)
    assert rules.is_held(record) == (state is ACQUIRED)


@pytest.mark.parametrize("state", STATES)
def test_nothing_may_be_done_while_a_write_is_outstanding_but_to_vanish(state: RecordState) -> None:
    record = pending(state)
    assert not rules.is_acquirable(record)
    assert not rules.is_held(record)
    assert not rules.is_finished(record)
    assert rules.is_terminal(record) == (state in {ACKNOWLEDGED, ARCHIVED})
    assert rules.can_vanish(record) == (state is AVAILABLE)


def test_only_the_owner_holds_a_record() -> None:
    assert rules.is_held_by(HELD, "c1")
    assert not rules.is_held_by(HELD, "c2")
    assert not rules.is_held_by(Record(AVAILABLE, 1), "c1")
    assert not rules.is_held_by(Record(AVAILABLE, 1, "c1"), "c1")
    assert not rules.is_held_by(pending(ACKNOWLEDGED), "c1")


@pytest.mark.parametrize(("now", "over"), [(99, False), (100, True), (101, True)])
def test_a_lock_is_over_from_its_deadline_on(now: int, *, over: bool) -> None:
    assert rules.is_lock_over(HELD, now) is over
    assert not rules.is_lock_over(UNDELIVERED, now)
    assert not rules.is_lock_over(attrs.evolve(HELD, pending=True), now)


def test_acquiring_counts_a_delivery_and_locks_the_record() -> None:
    assert rules.acquire(UNDELIVERED, "c1", 50) == Record(ACQUIRED, 1, "c1", 50)
    assert rules.acquire(Record(AVAILABLE, 2), "c2", 50) == Record(ACQUIRED, 3, "c2", 50)


@pytest.mark.parametrize(
    ("kind", "below", "at_limit"),
    [
        (AcknowledgeType.GAP, ARCHIVED, ARCHIVED),
        (AcknowledgeType.ACCEPT, ACKNOWLEDGED, ACKNOWLEDGED),
        (AcknowledgeType.RELEASE, AVAILABLE, ARCHIVED),
        (AcknowledgeType.REJECT, ARCHIVED, ARCHIVED),
    ],
)
def test_an_acknowledgement_decides_the_state_and_waits_for_its_write(
    kind: AcknowledgeType, below: RecordState, at_limit: RecordState
) -> None:
    assert rules.acknowledge(HELD, kind, LIMIT) == pending(below)
    assert rules.acknowledge(TRIED_OUT, kind, LIMIT) == pending(at_limit, LIMIT, exhausted=True)


def test_a_member_that_leaves_releases_and_its_attempt_counts() -> None:
    assert rules.release(HELD, LIMIT) == pending(AVAILABLE)
    assert rules.release(TRIED_OUT, LIMIT) == pending(ARCHIVED, LIMIT, exhausted=True)


def test_a_lock_that_runs_out_releases_at_once() -> None:
    assert rules.expire(HELD, LIMIT) == Record(AVAILABLE, 1)
    assert rules.expire(TRIED_OUT, LIMIT) == Record(ARCHIVED, LIMIT)


def test_a_count_above_a_lowered_limit_is_at_the_limit() -> None:
    above = Record(ACQUIRED, LIMIT + 2, "c1", 100)
    assert rules.expire(above, LIMIT) == Record(ARCHIVED, LIMIT + 2)


def test_renewing_moves_the_deadline_and_nothing_else() -> None:
    assert rules.renew(HELD, 170) == attrs.evolve(HELD, deadline=170)


@pytest.mark.parametrize("record", [Record(AVAILABLE, 2), pending(AVAILABLE, 2)])
def test_a_record_that_vanishes_is_archived_and_still_pending_if_it_was(record: Record) -> None:
    gone = rules.vanish(record)
    assert gone == Record(ARCHIVED, 2, pending=record.pending)
    assert rules.commit(gone) == rules.roll_back(gone, 0) == Record(ARCHIVED, 2)


@pytest.mark.parametrize("state", [AVAILABLE, ACKNOWLEDGED, ARCHIVED])
def test_a_write_that_succeeds_makes_the_state_final(state: RecordState) -> None:
    assert rules.commit(pending(state, 2)) == Record(state, 2)


@pytest.mark.parametrize(
    ("now", "exhausted", "expected"),
    [
        (99, False, HELD),
        (100, False, Record(AVAILABLE, 1)),
        (100, True, Record(ARCHIVED, 1)),
        (99, True, HELD),
    ],
)
def test_a_write_that_fails_restores_the_lock_unless_it_is_over(
    now: int,
    *,
    exhausted: bool,
    expected: Record,
) -> None:
    assert rules.roll_back(pending(ACKNOWLEDGED, exhausted=exhausted), now) == expected


@pytest.mark.parametrize("state", [AVAILABLE, ACKNOWLEDGED, ARCHIVED])
def test_a_new_leader_finds_a_record_as_it_was_last_durable(state: RecordState) -> None:
    assert rules.recover(state, 2) == Record(state, 2)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((AVAILABLE, 2), (ACKNOWLEDGED, 1)),
        ((ACKNOWLEDGED, 1), (AVAILABLE, 1)),
        ((ARCHIVED, 1), (ACKNOWLEDGED, 1)),
        ((ARCHIVED, 3), (ARCHIVED, 3)),
    ],
)
def test_the_higher_delivery_count_wins_then_the_higher_state(
    one: tuple[RecordState, int], other: tuple[RecordState, int]
) -> None:
    assert rules.durable_maximum(*one, *other) == one
    assert rules.durable_maximum(*other, *one) == one


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
    "acquire": (rules.acquire, (X, Y)),
    "acknowledge": (rules.acknowledge, (X, Z)),
    "release": (rules.release, (Z,)),
    "renew": (rules.renew, (Y,)),
    "expire": (rules.expire, (Z,)),
    "vanish": (rules.vanish, ()),
    "commit": (rules.commit, ()),
    "roll_back": (rules.roll_back, (Y,)),
    "recover": (lambda r, *rest: rules.recover(r.state, *rest), (X,)),
    "durable_maximum": (
        lambda r, *rest: rules.durable_maximum(r.state, r.delivery_count, *rest),
        (X, Z),
    ),
}
RULES |= {i.name: (i.holds, (Z,)) for i in RECORD_INVARIANTS}


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


FORMULAS = {name: as_terms(rule(TERMS, *given)) for name, (rule, given) in RULES.items()}


def test_every_rule_is_among_those_built_as_terms() -> None:
    assert set(rules.__all__) - {"Record", "UNDELIVERED"} <= set(RULES)


@pytest.mark.parametrize("name", RULES)
@given(RECORDS, st.tuples(*ARGUMENTS))
def test_a_rule_on_terms_says_what_it_says_on_values(
    name: str, record: Record, numbers: tuple[int, int, int]
) -> None:
    rule, wanted = RULES[name]
    known = dict(zip((X, Y, Z), numbers, strict=True))
    values = as_terms(rule(record, *(known[term] for term in wanted)))
    given_values = [
        *zip(as_terms(TERMS), as_terms(record), strict=True),
        *((term, z3.IntVal(number)) for term, number in known.items()),
    ]
    terms = [z3.simplify(z3.substitute(term, *given_values)) for term in FORMULAS[name]]
    assert [str(term) for term in terms] == [str(z3.simplify(value)) for value in values]
