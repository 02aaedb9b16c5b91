from typing import Any

import attrs
import pytest

from model.config import SharePartitionConfig
from model.states import HELD_STATES, AcknowledgeType, RecordState
from proofs.hazards.draft_readings import DRAFT_LITERAL, MENDED, LimitTest, Readings
from proofs.hazards.draft_record import (
    NEVER,
    DraftRecord,
    Rules,
    acknowledge,
    acquire,
    expire,
    instants,
    is_held,
    is_terminal,
    leave,
    mark,
    may_acknowledge,
    may_mark,
    recover,
    renew,
    roll_back,
    sweep,
    timers,
)

CONFIG = SharePartitionConfig(
    delivery_count_limit=2,
    record_lock_duration_ms=3,
    in_progress_staleness_threshold_ms=8,
    in_progress_max_lock_extension_ms=20,
    in_progress_rebalance_grace_ms=2,
)
TOKEN = (1, 0)
NOW = 100


def rules(base: Readings = MENDED, **options: Any) -> Rules:  # noqa: ANN401 - whatever it takes
    return Rules(CONFIG, attrs.evolve(base, **options))


ACQUIRED = acquire(DraftRecord(), "A", TOKEN, NOW, rules())
MARKED = mark(ACQUIRED, NOW, rules())
LAST = attrs.evolve(MARKED, delivery_count=2)


def test_an_acquisition_counts_and_has_a_timer() -> None:
    assert DraftRecord(RecordState.ACQUIRED, 1, "A", NOW + 3, token=TOKEN) == ACQUIRED
    assert is_held(ACQUIRED)
    assert not is_terminal(ACQUIRED)
    assert timers(ACQUIRED) == instants(ACQUIRED, rules()) == [NOW + 3]


def test_a_mark_replaces_the_timer_by_progress() -> None:
    assert MARKED.state is RecordState.IN_PROGRESS
    assert (MARKED.last_progress, MARKED.progress_start) == (NOW, NOW)
    assert instants(MARKED, rules()) == [NOW + 8, NOW + 20]
    assert instants(MARKED, rules(swept_every_quarter=True)) == []
    again = mark(MARKED, NOW + 5, rules())
    assert (again.last_progress, again.progress_start) == (NOW + 5, NOW)


@pytest.mark.parametrize(("by_the_lock", "end"), [(True, 3), (False, 8)])
def test_a_mark_may_reschedule_the_timer(by_the_lock: bool, end: int) -> None:  # noqa: FBT001
    given = rules(lock_timer_runs_on=True, timer_has_the_lock_duration=by_the_lock)
    assert mark(ACQUIRED, NOW + 1, given).lock_end == NOW + 1 + end


def test_a_mark_may_wait_for_its_write() -> None:
    written = rules(marks_are_written=True)
    assert mark(ACQUIRED, NOW, written).before is None
    waits = rules(marks_are_written=True, mark_waits_for_its_write=True)
    assert mark(ACQUIRED, NOW, waits).before == ACQUIRED
    assert mark(ACQUIRED, NOW, rules(mark_waits_for_its_write=True)).before is None


@pytest.mark.parametrize(
    ("record", "member", "token", "now", "options", "accepted"),
    [
        (ACQUIRED, "A", TOKEN, NOW, {}, True),
        (ACQUIRED, "B", TOKEN, NOW, {}, False),
        (ACQUIRED, "A", (1, 1), NOW, {}, False),
        (ACQUIRED, "A", (1, 1), NOW, {"mark_names_no_delivery": True}, True),
        (MARKED, "A", TOKEN, NOW + 20, {}, True),
        (MARKED, "A", TOKEN, NOW + 21, {}, False),
        (MARKED, "A", TOKEN, NOW, {"second_mark_is_refused": True}, False),
        (ACQUIRED, "A", TOKEN, NOW, {"second_mark_is_refused": True}, True),
        (attrs.evolve(MARKED, before=ACQUIRED), "A", TOKEN, NOW, {}, False),
        (DraftRecord(), "A", TOKEN, NOW, {}, False),
    ],
)
def test_who_may_mark(  # noqa: PLR0913, PLR0917
    record: DraftRecord,
    member: str,
    token: tuple[int, int],
    now: int,
    options: dict[str, Any],
    accepted: bool,  # noqa: FBT001
) -> None:
    assert may_mark(record, member, token, now, rules(**options)) is accepted


def test_only_what_a_member_has_in_hand_is_held() -> None:
    for state in RecordState:
        held = state in HELD_STATES
        assert is_held(attrs.evolve(ACQUIRED, state=state)) is held
        assert not is_held(attrs.evolve(ACQUIRED, state=state, before=ACQUIRED))


def test_what_awaits_a_write_is_not_acknowledged() -> None:
    pending = attrs.evolve(MARKED, before=ACQUIRED)
    assert may_acknowledge(MARKED, "A", AcknowledgeType.ACCEPT, MENDED)
    assert not may_acknowledge(pending, "A", AcknowledgeType.ACCEPT, MENDED)


def test_where_a_gap_is_refused_all_else_is_not() -> None:
    readings = attrs.evolve(MENDED, gap_is_refused=True)
    assert not may_acknowledge(MARKED, "A", AcknowledgeType.GAP, readings)
    assert may_acknowledge(MARKED, "A", AcknowledgeType.ACCEPT, readings)


@pytest.mark.parametrize(("now", "fresh"), [(NOW + 8, True), (NOW + 9, False)])
def test_progress_may_be_fresh_at_the_threshold_and_not_beyond(now: int, *, fresh: bool) -> None:
    left = leave(MARKED, now, rules(fresh_at_the_threshold=True))
    assert (left.state is RecordState.IN_PROGRESS) is fresh


def test_only_what_is_in_progress_outlasts_its_member() -> None:
    again = attrs.evolve(ACQUIRED, last_progress=NOW)
    assert leave(again, NOW, rules()).state is RecordState.AVAILABLE


def test_of_two_timers_the_earlier_ends_the_delivery() -> None:
    both = attrs.evolve(MARKED, lock_end=NOW + 5, grace_end=NOW + 2)
    assert expire(both, NOW + 1, rules()) is None
    assert expire(both, NOW + 2, rules()) == DraftRecord(RecordState.AVAILABLE, 1)


def test_a_mark_cancels_the_grace_time_or_not() -> None:
    gone = leave(MARKED, NOW + 1, rules())
    assert gone.grace_end == NOW + 3
    assert leave(gone, NOW + 2, rules()).grace_end == NOW + 3
    assert mark(gone, NOW + 2, rules()).grace_end is None
    assert mark(gone, NOW + 2, rules(grace_outlasts_a_mark=True)).grace_end == NOW + 3


@pytest.mark.parametrize(
    ("record", "kind", "state"),
    [
        (ACQUIRED, AcknowledgeType.ACCEPT, RecordState.ACKNOWLEDGED),
        (ACQUIRED, AcknowledgeType.RELEASE, RecordState.AVAILABLE),
        (LAST, AcknowledgeType.RELEASE, RecordState.ARCHIVED),
        (MARKED, AcknowledgeType.REJECT, RecordState.ARCHIVED),
        (MARKED, AcknowledgeType.GAP, RecordState.ARCHIVED),
    ],
)
def test_each_type_ends_the_delivery(record: DraftRecord, kind: int, state: RecordState) -> None:
    assert may_acknowledge(record, "A", kind, MENDED)
    assert acknowledge(record, kind, rules()) == DraftRecord(
        state, record.delivery_count, before=record
    )


def test_a_rejected_record_in_progress_may_be_archiving_though_nothing_ends_that() -> None:
    literal = rules(archiving_without_a_queue=True)
    assert acknowledge(MARKED, AcknowledgeType.REJECT, literal).state is RecordState.ARCHIVING
    assert acknowledge(ACQUIRED, AcknowledgeType.REJECT, literal).state is RecordState.ARCHIVED
    queue = Rules(attrs.evolve(CONFIG, dead_letter_queue=True), MENDED)
    assert acknowledge(ACQUIRED, AcknowledgeType.REJECT, queue).state is RecordState.ARCHIVING


@pytest.mark.parametrize(
    ("record", "kind", "options", "accepted"),
    [
        (MARKED, AcknowledgeType.GAP, {"gap_is_refused": True}, False),
        (ACQUIRED, AcknowledgeType.GAP, {"gap_is_refused": True}, True),
        (MARKED, AcknowledgeType.RENEW, {}, False),
        (ACQUIRED, AcknowledgeType.RENEW, {}, True),
        (MARKED, AcknowledgeType.RENEW, {"renewal_counts_as_progress": True}, True),
    ],
)
def test_who_may_acknowledge(
    record: DraftRecord,
    kind: int,
    options: dict[str, Any],
    accepted: bool,  # noqa: FBT001
) -> None:
    readings = attrs.evolve(MENDED, **options)
    assert may_acknowledge(record, "A", kind, readings) is accepted
    assert not may_acknowledge(record, "B", kind, readings)


def test_a_renewal_extends_the_lock_or_counts_as_progress() -> None:
    assert renew(ACQUIRED, NOW + 1, rules()).lock_end == NOW + 4
    waits = rules(marks_are_written=True, mark_waits_for_its_write=True)
    renewed = renew(MARKED, NOW + 1, waits)
    assert (renewed.last_progress, renewed.before) == (NOW + 1, None)


def test_leaving_releases_what_is_not_fresh() -> None:
    assert leave(ACQUIRED, NOW, rules()) == DraftRecord(RecordState.AVAILABLE, 1, before=ACQUIRED)
    assert leave(MARKED, NOW + 7, rules()).grace_end == NOW + 9
    assert leave(MARKED, NOW + 8, rules()).state is RecordState.AVAILABLE
    assert leave(MARKED, NOW + 8, rules(fresh_at_the_threshold=True)).grace_end == NOW + 10


def test_a_timer_or_a_grace_time_that_is_over_ends_the_delivery() -> None:
    assert expire(ACQUIRED, NOW + 2, rules()) is None
    assert expire(ACQUIRED, NOW + 3, rules()) == DraftRecord(RecordState.AVAILABLE, 1)
    assert expire(MARKED, NOW + 1000, rules()) is None
    graced = leave(LAST, NOW, rules())
    assert expire(graced, NOW + 2, rules()) == DraftRecord(RecordState.ARCHIVED, 2)
    assert expire(attrs.evolve(ACQUIRED, before=ACQUIRED), NOW + 3, rules()) is None


@pytest.mark.parametrize(("every_quarter", "over"), [(False, 0), (True, 1)])
def test_the_sweeper_is_late_by_one(every_quarter: bool, over: int) -> None:  # noqa: FBT001
    given = rules(swept_every_quarter=every_quarter)
    assert sweep(MARKED, NOW + 7 + over, given) is None
    assert sweep(MARKED, NOW + 8 + over, given) == DraftRecord(RecordState.AVAILABLE, 1)
    fresh = attrs.evolve(MARKED, last_progress=NOW + 20)
    assert sweep(fresh, NOW + 19 + over, given) is None
    assert sweep(fresh, NOW + 20 + over, given) == DraftRecord(RecordState.AVAILABLE, 1)


@pytest.mark.parametrize(
    ("count", "adds", "test", "state", "after"),
    [
        (1, False, LimitTest.BEFORE_ADDING, RecordState.AVAILABLE, 1),
        (2, False, LimitTest.BEFORE_ADDING, RecordState.ARCHIVED, 2),
        (1, True, LimitTest.BEFORE_ADDING, RecordState.AVAILABLE, 2),
        (2, True, LimitTest.BEFORE_ADDING, RecordState.ARCHIVED, 2),
        (0, True, LimitTest.AFTER_ADDING, RecordState.AVAILABLE, 1),
        (1, True, LimitTest.AFTER_ADDING, RecordState.ARCHIVED, 2),
        (7, True, LimitTest.NEVER, RecordState.AVAILABLE, 8),
    ],
)
def test_what_staleness_does_to_the_count(
    count: int,
    adds: bool,  # noqa: FBT001
    test: LimitTest,
    state: RecordState,
    after: int,
) -> None:
    given = rules(staleness_adds_a_delivery=adds, limit_test=test)
    stale = attrs.evolve(MARKED, delivery_count=count)
    assert sweep(stale, NOW + 8, given) == DraftRecord(state, after)


def test_the_maximum_may_pass_the_limit() -> None:
    old = attrs.evolve(LAST, last_progress=NOW + 20)
    passes = sweep(old, NOW + 20, rules(extension_passes_the_limit=True))
    assert passes == DraftRecord(RecordState.AVAILABLE, 2)
    assert sweep(old, NOW + 20, rules()) == DraftRecord(RecordState.ARCHIVED, 2)


def test_an_instant_is_always_larger_than_a_maximum() -> None:
    given = rules(extension_compares_the_instant=True)
    assert sweep(MARKED, NOW, given) == DraftRecord(RecordState.AVAILABLE, 1)
    assert sweep(attrs.evolve(MARKED, progress_start=20), NOW, given) is None


@pytest.mark.parametrize(
    ("record", "options", "taken"),
    [
        (ACQUIRED, {"never_marked_is_ancient": True}, False),
        (ACQUIRED, {"sweep_takes_any_state": True}, False),
        (ACQUIRED, {"sweep_takes_any_state": True, "never_marked_is_ancient": True}, True),
        (DraftRecord(), {"sweep_takes_any_state": True, "never_marked_is_ancient": True}, False),
        (attrs.evolve(MARKED, before=ACQUIRED), {}, False),
        (DraftRecord(RecordState.IN_PROGRESS, 1), {}, False),
        (DraftRecord(RecordState.IN_PROGRESS, 1), {"never_marked_is_ancient": True}, True),
    ],
)
def test_what_the_sweeper_looks_at(
    record: DraftRecord,
    options: dict[str, Any],
    taken: bool,  # noqa: FBT001
) -> None:
    assert (sweep(record, NOW + 1000, rules(**options)) is not None) is taken


def test_what_is_left_of_times_when_a_delivery_ends() -> None:
    kept = rules(progress_time_survives=True, progress_start_survives=True)
    ended = sweep(MARKED, NOW + 8, kept)
    assert ended is not None
    assert (ended.last_progress, ended.progress_start) == (NOW, NOW)
    again = mark(acquire(ended, "A", TOKEN, NOW + 9, kept), NOW + 9, kept)
    assert (again.last_progress, again.progress_start) == (NOW + 9, NOW)
    assert (DraftRecord().last_progress, NEVER) == (NEVER, -1)


def test_a_failed_write_restores_what_is_not_over() -> None:
    released = acknowledge(MARKED, AcknowledgeType.RELEASE, rules())
    assert roll_back(released, NOW + 7, rules()) == MARKED
    assert roll_back(released, NOW + 8, rules()) == DraftRecord(RecordState.AVAILABLE, 1)
    for now in (NOW + 8, NOW + 1000):
        assert roll_back(released, now, rules(swept_every_quarter=True)) == MARKED
    accepted = acknowledge(ACQUIRED, AcknowledgeType.ACCEPT, rules())
    assert roll_back(accepted, NOW + 3, rules()) == DraftRecord(RecordState.AVAILABLE, 1)


def test_a_mark_whose_write_fails_may_lose_the_timer() -> None:
    waits = rules(marks_are_written=True, mark_waits_for_its_write=True)
    marked = mark(ACQUIRED, NOW, waits)
    assert roll_back(marked, NOW, waits) == ACQUIRED
    loses = rules(DRAFT_LITERAL)
    assert roll_back(marked, NOW, loses) == attrs.evolve(ACQUIRED, lock_end=None)
    accepted = acknowledge(ACQUIRED, AcknowledgeType.ACCEPT, loses)
    assert roll_back(accepted, NOW, loses) == ACQUIRED


def test_a_durable_in_progress_is_read_as_it_is_or_as_available() -> None:
    assert recover(RecordState.IN_PROGRESS, 2, DRAFT_LITERAL).state is RecordState.IN_PROGRESS
    assert recover(RecordState.IN_PROGRESS, 2, MENDED) == DraftRecord(RecordState.AVAILABLE, 2)
    assert recover(RecordState.ARCHIVED, 2, MENDED) == DraftRecord(RecordState.ARCHIVED, 2)
