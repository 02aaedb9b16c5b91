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


def test_an_undelivered_record_is_available_with_no_delivery() -> None:
    assert Record(AVAILABLE, 0, None, None) == UNDELIVERED
    assert rules.is_acquirable(UNDELIVERED)


@pytest.mark.parametrize("state", STATES)
def test_each_state_allows_its_transitions(state: RecordState) -> None:
    record = Record(state, 1)
    assert rules.is_terminal(record) == rules.is_finished(record)
    assert rules.is_terminal(record) == (state in {ACKNOWLEDGED, ARCHIVED})
    assert rules.is_acquirable(record) == rules.can_vanish(record) == (state is AVAILABLE)
    assert rules.is_held(record) == (state in {ACQUIRED, IN_PROGRESS})
    assert rules.is_dead_letter(record) == (state is ARCHIVING)


@pytest.mark.parametrize("state", STATES)
def test_a_record_whose_write_is_outstanding_may_only_vanish(state: RecordState) -> None:
    record = pending(state)
    assert not rules.is_acquirable(record)
    assert not rules.is_held(record)
    assert not rules.is_finished(record)
    assert not rules.is_dead_letter(record)
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
    assert rules.acquire(UNDELIVERED, "c1", 100, 7) == TAKEN


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


def test_where_failure_leads_to_follows_from_the_dead_letter_queue() -> None:
    assert rules.failed_state(dead_letter_queue=False) is ARCHIVED
    assert rules.failed_state(dead_letter_queue=True) is ARCHIVING


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


def test_a_dead_letter_is_archived_in_the_end() -> None:
    assert rules.finish_dead_letter(Record(ARCHIVING, 2)) == Record(ARCHIVED, 2)


def test_a_record_of_an_aborted_transaction_is_archived_while_it_is_acquired() -> None:
    assert rules.can_archive_aborted(HELD)
    assert not rules.can_archive_aborted(pending(ACKNOWLEDGED))
    assert not rules.can_archive_aborted(Record(AVAILABLE, 1))
    assert rules.archive_aborted(TRIED_OUT) == Record(ARCHIVED, LIMIT)
    assert rules.withhold(Record(AVAILABLE, 1)) == Record(ARCHIVED, 1)


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
    assert rules.renew(TAKEN, 170) == attrs.evolve(TAKEN, deadline=170)


def test_only_the_holder_renews_and_only_what_is_acquired() -> None:
    assert rules.can_renew(HELD, "c1")
    assert not rules.can_renew(HELD, "c2")
    assert not rules.can_renew(MARKED, "c1")


@pytest.mark.parametrize("state", NOT_HELD)
def test_nobody_marks_what_is_not_held(state: RecordState) -> None:
    assert not rules.can_mark(attrs.evolve(TAKEN, state=state), "c1", 7, 60, 100)


def test_only_the_owner_marks_and_only_the_delivery_that_it_was_given() -> None:
    assert rules.can_mark(TAKEN, "c1", 7, 60, 0)
    assert rules.can_mark(MARKED, "c1", 7, 60, 100)
    for record in (TAKEN, MARKED):
        assert not rules.can_mark(record, "c2", 7, 60, 100)
        assert not rules.can_mark(record, "c1", 6, 60, 100)
        assert not rules.can_mark(attrs.evolve(record, pending=True), "c1", 7, 60, 100)


@pytest.mark.parametrize(("now", "may"), [(139, True), (140, False)])
def test_a_record_is_marked_until_it_has_been_in_progress_for_the_extension(
    now: int, *, may: bool
) -> None:
    assert rules.can_mark(MARKED, "c1", 7, now, 100) is may


@pytest.mark.parametrize(("threshold", "deadline"), [(50, 120), (70, 140), (90, 140)])
def test_a_mark_sets_one_deadline_by_the_last_and_the_first_sign_of_progress(
    threshold: int, deadline: int
) -> None:
    again = attrs.evolve(MARKED, last_progress=70, deadline=deadline)
    assert rules.mark(MARKED, 70, threshold, 100) == again
    first = attrs.evolve(MARKED, progress_start=70, last_progress=70, deadline=70 + threshold)
    assert rules.mark(TAKEN, 70, threshold, 100) == first


@pytest.mark.parametrize(("before", "deadline"), [(119, 120), (120, 120), (121, 121)])
def test_a_mark_never_shortens_a_lock(before: int, deadline: int) -> None:
    held = attrs.evolve(MARKED, deadline=before)
    assert rules.mark(held, 70, 50, 100).deadline == deadline


@pytest.mark.parametrize(("now", "fresh"), [(109, True), (110, False)])
def test_who_leaves_keeps_a_record_whose_progress_is_younger_than_the_threshold(
    now: int, *, fresh: bool
) -> None:
    assert rules.can_stay(MARKED, "c1", now, 50) is fresh
    assert not rules.can_stay(TAKEN, "c1", now, 50)
    assert not rules.can_stay(attrs.evolve(MARKED, pending=True), "c1", now, 50)
    assert not rules.can_stay(MARKED, "c2", now, 50)


@pytest.mark.parametrize(("until", "deadline"), [(99, 99), (100, 100), (101, 100)])
def test_grace_ends_a_lock_earlier_and_never_later(until: int, deadline: int) -> None:
    assert rules.give_grace(MARKED, until) == attrs.evolve(MARKED, deadline=deadline)


def test_a_record_in_progress_leaves_as_an_acquired_one_does() -> None:
    for kind in (AcknowledgeType.ACCEPT, AcknowledgeType.REJECT, AcknowledgeType.RELEASE):
        ended = attrs.evolve(
            rules.acknowledge(TAKEN, kind, LIMIT), progress_start=40, last_progress=60
        )
        assert rules.acknowledge(MARKED, kind, LIMIT) == ended
        assert rules.commit(ended) == rules.commit(rules.acknowledge(HELD, kind, LIMIT))
        assert rules.roll_back(ended, 99) == MARKED
        assert rules.roll_back(ended, 100) == Record(AVAILABLE, 1)
    assert rules.expire(MARKED, LIMIT) == rules.expire(HELD, LIMIT)


@pytest.mark.parametrize("record", [Record(AVAILABLE, 2), pending(AVAILABLE, 2)])
def test_a_record_that_vanishes_is_archived_and_still_pending_if_it_was(record: Record) -> None:
    gone = rules.vanish(record)
    assert gone == Record(ARCHIVED, 2, pending=record.pending)
    assert rules.commit(gone) == rules.roll_back(gone, 0) == Record(ARCHIVED, 2)


@pytest.mark.parametrize("state", NOT_HELD)
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


@pytest.mark.parametrize("state", NOT_HELD)
def test_a_new_leader_finds_a_record_as_it_was_last_durable(state: RecordState) -> None:
    assert rules.recover(state, 2) == Record(state, 2)


def test_a_new_leader_finds_a_record_available_that_was_durable_in_progress() -> None:
    assert rules.recover(IN_PROGRESS, 2) == Record(AVAILABLE, 2)


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


FORMULAS = {name: as_terms(rule(TERMS, *given)) for name, (rule, given) in RULES.items()}


def test_every_rule_is_among_those_built_as_terms() -> None:
    assert set(rules.__all__) - {"Record", "UNDELIVERED"} <= set(RULES)


@pytest.mark.parametrize("name", RULES)
@given(RECORDS, st.tuples(*ARGUMENTS))
def test_a_rule_on_terms_agrees_with_the_rule_on_values(
    name: str, record: Record, numbers: tuple[int, int, int]
) -> None:
    rule, wanted = RULES[name]
    known = dict(zip((X, Y, Z), numbers, strict=True))
    values = as_terms(rule(record, *(known[term] for term in wanted)))
    assert evaluated(name, record, numbers) == [str(z3.simplify(value)) for value in values]


def evaluated(name: str, record: Record, numbers: tuple[int, int, int]) -> list[str]:
    """Return the formulas of a rule with values for their terms."""
    given_values = [
        *zip(as_terms(TERMS), as_terms(record), strict=True),
        *((term, z3.IntVal(number)) for term, number in zip((X, Y, Z), numbers, strict=True)),
    ]
    return [str(z3.simplify(z3.substitute(term, *given_values))) for term in FORMULAS[name]]


def test_on_terms_too_a_record_that_was_never_marked_may_be_however_late_it_is() -> None:
    member = extension = 3
    taken, marked = (attrs.evolve(record, owner=member) for record in (TAKEN, MARKED))
    assert evaluated("can_mark", taken, (extension, 60, 7)) == ["True"]
    assert evaluated("can_mark", marked, (extension, 60, 7)) == ["False"]
