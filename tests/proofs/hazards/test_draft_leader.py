from typing import Any

import attrs
import pytest

from model import operations as ops
from model.config import SharePartitionConfig
from model.errors import ErrorCode, InvalidValueError
from model.outcome import Answer, Outcome
from model.ranges import OffsetRange, StateBatch
from model.snapshot import DurableState
from model.states import AcknowledgeType, AcquireMode, RecordState
from proofs.hazards.draft_leader import DraftLeader, apply, complete_count, new_leader
from proofs.hazards.draft_readings import MENDED, Siblings
from proofs.hazards.draft_record import Rules
from spec.coordinator import Durable

CONFIG = SharePartitionConfig(
    delivery_count_limit=2,
    record_lock_duration_ms=3,
    in_progress_staleness_threshold_ms=8,
    in_progress_max_lock_extension_ms=20,
    partition_max_record_locks=3,
)
FAILS = Answer(ErrorCode.COORDINATOR_NOT_AVAILABLE)
LATER = Answer(ErrorCode.PENDING)


class Desk:
    """A leader, and the outcomes of what it was asked."""

    def __init__(
        self,
        durable: DurableState = DurableState(0, 0, leader_epoch=1),  # noqa: B008 - frozen
        config: SharePartitionConfig = CONFIG,
        now: int = 100,
        **options: Any,  # noqa: ANN401 - whatever the option takes
    ) -> None:
        self.leader: DraftLeader = new_leader(attrs.evolve(MENDED, **options))
        self.ask(ops.Initialize(config, 0, 4, durable, now))

    def ask(self, operation: ops.Operation, *answers: Answer) -> Outcome:
        step = apply(self.leader, operation, answers)
        self.leader = step.leader
        return step.outcome

    def fetch(self, most: int, member: str = "A") -> Outcome:
        log = (OffsetRange(0, 3),)
        return self.ask(ops.Acquire(member, AcquireMode.RECORD_LIMIT, 1, most, 0, log))

    def mark(self, *ranges: tuple[int, int], answer: Answer = Answer()) -> Outcome:  # noqa: B008
        batches = tuple(ops.ProgressBatch(first, last, 1, 0) for first, last in ranges)
        return self.ask(ops.MarkInProgress("A", batches), answer)

    def say(self, first: int, last: int, *types: int, answer: Answer = Answer()) -> Outcome:  # noqa: B008
        batch = ops.AcknowledgementBatch(first, last, types)
        return self.ask(ops.Acknowledge("A", (batch,)), answer)

    def wait(self, ms: int) -> Outcome:
        return self.ask(ops.AdvanceTime(ms))

    @property
    def states(self) -> list[str]:
        return [f"{r.state.name}({r.delivery_count})" for r in self.leader.records]


REFUSED = ErrorCode.INVALID_RECORD_STATE
AVAILABLE, ACQUIRED, MARKED = "AVAILABLE(0)", "ACQUIRED(1)", "IN_PROGRESS(1)"


def test_a_fetch_takes_what_is_available_and_in_the_window() -> None:
    desk = Desk()
    first = desk.fetch(2)
    assert ([r.first for r in first.acquired], first.acquisition) == ([0, 1], 0)
    second = desk.fetch(2, "B")
    assert ([r.first for r in second.acquired], second.acquisition) == ([2], 1)
    assert desk.fetch(1) == Outcome()
    assert desk.states == [ACQUIRED] * 3 + [AVAILABLE]


def test_a_leader_that_was_not_initialized_has_nothing() -> None:
    leader = new_leader(MENDED)
    assert (leader.records, leader.durable, leader.outstanding) == ((), Durable(), ())
    assert (leader.now, leader.began, leader.start, leader.end) == (0, 0, 0, 0)


def test_leaders_are_compared_by_what_happened_to_them() -> None:
    desk = Desk()
    readings = attrs.evolve(MENDED, request_is_atomic=True)
    assert attrs.evolve(desk.leader, rules=Rules(CONFIG, readings)) == desk.leader


def test_the_first_answer_is_to_the_one_write_of_a_request() -> None:
    desk = Desk()
    desk.fetch(1)
    accept = (ops.AcknowledgementBatch(0, 0, (AcknowledgeType.ACCEPT,)),)
    assert desk.ask(ops.Acknowledge("A", accept), FAILS, LATER).status is FAILS.status


def test_what_awaits_the_write_of_its_release_is_not_available() -> None:
    desk = Desk()
    desk.fetch(1)
    desk.say(0, 0, AcknowledgeType.RELEASE, answer=LATER)
    assert desk.states[0] == "AVAILABLE(1)"
    assert [r.first for r in desk.fetch(1).acquired] == [1]


def test_finished_records_leave_the_window() -> None:
    desk = Desk()
    desk.fetch(3)
    desk.say(1, 1, AcknowledgeType.ACCEPT)
    assert (desk.leader.start, complete_count(desk.leader)) == (0, 1)
    desk.say(0, 0, AcknowledgeType.ACCEPT)
    assert (desk.leader.start, complete_count(desk.leader)) == (2, 0)
    assert desk.fetch(1).acquired[0].first == 3


def test_a_batch_of_an_acknowledgement_may_say_something_else_of_each_record() -> None:
    desk = Desk()
    desk.fetch(3)
    desk.say(0, 1, AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE)
    assert desk.states[:3] == ["ACKNOWLEDGED(1)", "AVAILABLE(1)", ACQUIRED]
    assert desk.say(1, 1, AcknowledgeType.ACCEPT).status is REFUSED
    assert desk.say(3, 3, AcknowledgeType.ACCEPT).status is ErrorCode.INVALID_REQUEST
    assert desk.say(2, 3, AcknowledgeType.ACCEPT).status is ErrorCode.INVALID_REQUEST
    desk.wait(1)
    assert desk.say(2, 2, AcknowledgeType.RENEW) == Outcome()
    assert desk.leader.records[2].lock_end == 104


def test_types_of_an_acknowledgement_are_counted_from_the_first_offset_of_their_batch() -> None:
    desk = Desk()
    desk.fetch(3)
    desk.say(1, 2, AcknowledgeType.ACCEPT, AcknowledgeType.REJECT)
    assert desk.states[:3] == [ACQUIRED, "ACKNOWLEDGED(1)", "ARCHIVED(1)"]


def test_a_single_type_is_said_of_all_records_of_its_batch() -> None:
    desk = Desk()
    desk.fetch(3)
    desk.say(0, 2, AcknowledgeType.ACCEPT)
    assert desk.leader.start == 3


def test_a_renewal_of_what_is_in_progress_is_refused_unless_it_counts_as_progress() -> None:
    desk = Desk(renewal_counts_as_progress=False)
    desk.fetch(2)
    desk.mark((0, 0))
    assert desk.say(0, 0, AcknowledgeType.RENEW).status is REFUSED
    assert desk.say(1, 1, AcknowledgeType.RENEW).status is ErrorCode.NONE


def test_marks_are_judged_batch_by_batch_or_all_together() -> None:
    desk, atomic = Desk(), Desk(request_is_atomic=True)
    refused, accepted = REFUSED, ErrorCode.NONE
    for each in (desk, atomic):
        each.fetch(3)
        each.say(1, 1, AcknowledgeType.ACCEPT)
    assert desk.mark((0, 0), (1, 1), (2, 2)).marked == (accepted, refused, accepted)
    assert desk.states[:3] == [MARKED, "ACKNOWLEDGED(1)", MARKED]
    assert atomic.mark((0, 0), (1, 1), (2, 2)).marked == (refused, refused, refused)
    assert atomic.states[:3] == [ACQUIRED, "ACKNOWLEDGED(1)", ACQUIRED]
    assert desk.mark((0, 2)).marked == (refused,)
    assert atomic.mark((0, 0), (2, 2)).marked == (accepted, accepted)
    assert atomic.states[:3] == [MARKED, "ACKNOWLEDGED(1)", MARKED]


@pytest.mark.parametrize("batch", [(-1, 0), (1, 0), (0, 3)])
def test_a_malformed_batch_of_marks_is_an_invalid_request(batch: tuple[int, int]) -> None:
    desk = Desk()
    desk.fetch(3)
    assert desk.mark(batch).marked == (ErrorCode.INVALID_REQUEST,)


def test_marks_below_the_start_offset_are_passed_over() -> None:
    desk = Desk()
    desk.fetch(3)
    desk.say(0, 0, AcknowledgeType.ACCEPT)
    assert desk.mark((0, 1)).marked == (ErrorCode.NONE,)
    assert desk.states[:3] == ["ACKNOWLEDGED(1)", MARKED, ACQUIRED]


def test_marks_are_written_only_if_they_are_durable_and_were_accepted() -> None:
    desk, durable = Desk(), Desk(marks_are_written=True)
    for each in (desk, durable):
        each.fetch(1)
        assert each.mark((1, 1)).writes == ()
    assert desk.mark((0, 0)).writes == ()
    assert len(durable.mark((0, 0)).writes) == 1


@pytest.mark.parametrize("answer", [Answer(), LATER])
def test_a_refused_batch_stays_so_whatever_becomes_of_the_write_of_the_others(
    answer: Answer,
) -> None:
    desk = Desk(marks_are_written=True, mark_waits_for_its_write=True)
    desk.fetch(1)
    assert desk.mark((0, 0), (0, 0), answer=answer).marked == (ErrorCode.NONE, REFUSED)


def test_a_mark_that_is_written_does_not_wait_for_it() -> None:
    desk = Desk(marks_are_written=True)
    desk.fetch(1)
    outcome = desk.mark((0, 0), answer=LATER)
    assert (outcome.status, outcome.marked) == (ErrorCode.NONE, (ErrorCode.NONE,))
    assert outcome.writes[0].state_batches == (StateBatch(0, 0, RecordState.IN_PROGRESS, 1),)
    assert desk.say(0, 0, AcknowledgeType.ACCEPT).status is ErrorCode.NONE
    desk.ask(ops.CompleteWrite(0, ErrorCode.NONE))
    assert desk.leader.durable.entries[0] == (RecordState.IN_PROGRESS, 1)
    assert desk.leader.outstanding == ()


def test_a_mark_that_waits_is_pending_and_undone_if_its_write_fails() -> None:
    desk = Desk(marks_are_written=True, mark_waits_for_its_write=True)
    desk.fetch(1)
    assert desk.mark((0, 0), answer=FAILS).marked == (FAILS.status,)
    assert desk.states[0] == ACQUIRED
    assert desk.mark((0, 0), answer=LATER).status is ErrorCode.PENDING
    assert desk.say(0, 0, AcknowledgeType.ACCEPT).status is REFUSED
    assert desk.ask(ops.CompleteWrite(1, FAILS.status)).status is FAILS.status
    assert desk.states[0] == ACQUIRED
    desk.mark((0, 0))
    assert desk.leader.records[0].before is None
    with pytest.raises(InvalidValueError, match="id is 1; allowed: the id of an outstanding"):
        desk.ask(ops.CompleteWrite(1, ErrorCode.NONE))


@pytest.mark.parametrize(
    ("how", "end"),
    [(Siblings.UNTOUCHED, 103), (Siblings.RESCHEDULED, 105), (Siblings.CANCELLED, None)],
)
def test_what_a_mark_does_to_the_other_records_of_its_fetch(how: Siblings, end: int | None) -> None:
    desk = Desk(siblings=how)
    desk.fetch(2)
    desk.fetch(1, "B")
    desk.wait(2)
    desk.mark((0, 0))
    assert desk.leader.records[1].lock_end == end
    assert desk.leader.records[2].lock_end == 103
    desk.mark((1, 1))
    assert [record.lock_end for record in desk.leader.records[:2]] == [None, None]


def test_a_member_that_leaves_keeps_what_it_marked_for_the_grace_time() -> None:
    desk = Desk()
    desk.fetch(2)
    desk.mark((0, 0))
    assert desk.ask(ops.MemberLeaves("B")) == Outcome()
    assert len(desk.ask(ops.MemberLeaves("A")).writes) == 1
    assert desk.states[:2] == [MARKED, "AVAILABLE(1)"]
    assert desk.ask(ops.MemberLeaves("A")) == Outcome()
    desk.wait(5000)
    assert desk.states[0] == "AVAILABLE(1)"


def test_a_mark_that_awaits_its_write_outlasts_its_member() -> None:
    desk = Desk(marks_are_written=True, mark_waits_for_its_write=True)
    desk.fetch(1)
    desk.mark((0, 0), answer=LATER)
    assert desk.ask(ops.MemberLeaves("A")) == Outcome()
    assert desk.states[0] == MARKED


def test_time_passes_from_deadline_to_deadline() -> None:
    desk = Desk()
    desk.fetch(2)
    desk.wait(1)
    desk.mark((0, 0))
    writes = desk.wait(1000).writes
    assert [write.state_batches[0].first for write in writes] == [1, 0]
    assert desk.states[:2] == ["AVAILABLE(1)", "AVAILABLE(1)"]
    assert desk.wait(0) == Outcome()


def test_each_timer_fires_when_its_time_comes() -> None:
    desk = Desk()
    desk.fetch(1)
    desk.wait(1)
    desk.fetch(1)
    assert [write.state_batches[0].first for write in desk.wait(100).writes] == [0, 1]


def test_progress_is_judged_when_it_becomes_too_old() -> None:
    desk = Desk()
    desk.fetch(2)
    for offset in (0, 1):
        desk.wait(1)
        desk.mark((offset, offset))
    assert [write.state_batches[0].first for write in desk.wait(100).writes] == [0, 1]


def test_a_timer_that_is_over_does_not_hold_the_clock() -> None:
    desk = Desk()
    desk.fetch(1)
    assert desk.say(0, 0, AcknowledgeType.ACCEPT, answer=LATER).writes[0].status is LATER.status
    desk.wait(10)
    assert (desk.leader.now, desk.leader.start) == (110, 0)
    desk.ask(ops.CompleteWrite(0, FAILS.status))
    assert desk.states[0] == "AVAILABLE(1)"


def test_a_mark_that_awaits_its_write_outlasts_its_times() -> None:
    desk = Desk(marks_are_written=True, mark_waits_for_its_write=True)
    desk.fetch(1)
    desk.mark((0, 0), answer=LATER)
    assert desk.wait(100) == Outcome()
    assert (desk.leader.now, desk.states[0]) == (200, MARKED)


def test_writes_are_answered_in_any_order() -> None:
    desk = Desk()
    desk.fetch(2)
    for offset in (0, 1):
        desk.say(offset, offset, AcknowledgeType.ACCEPT, answer=LATER)
    desk.ask(ops.CompleteWrite(1, ErrorCode.NONE))
    assert [record.before is None for record in desk.leader.records[:2]] == [False, True]
    assert dict(desk.leader.durable.entries) == {1: (RecordState.ACKNOWLEDGED, 1)}
    desk.ask(ops.CompleteWrite(0, ErrorCode.NONE))
    assert desk.leader.start == 2


def test_what_is_written_is_in_the_order_of_the_offsets() -> None:
    desk = Desk()
    desk.fetch(2)
    accept = (AcknowledgeType.ACCEPT,)
    batches = tuple(ops.AcknowledgementBatch(offset, offset, accept) for offset in (1, 0))
    (write,) = desk.ask(ops.Acknowledge("A", batches)).writes
    assert write.state_batches == (StateBatch(0, 1, RecordState.ACKNOWLEDGED, 1),)


def test_a_mark_that_does_not_wait_stays_when_its_write_fails() -> None:
    desk = Desk(marks_are_written=True)
    desk.fetch(1)
    desk.mark((0, 0), answer=LATER)
    desk.ask(ops.CompleteWrite(0, FAILS.status))
    assert desk.states[0] == MARKED


def test_the_sweeper_runs_every_quarter_of_the_threshold() -> None:
    desk = Desk(swept_every_quarter=True)
    desk.wait(1)
    desk.fetch(1)
    desk.mark((0, 0))
    desk.wait(8)
    assert desk.states[0] == MARKED
    desk.wait(1)
    assert desk.states[0] == "AVAILABLE(1)"


@pytest.mark.parametrize(("threshold", "quarter"), [(12, 3), (8, 2), (3, 1)])
def test_what_was_marked_a_quarter_later_is_swept_a_quarter_later(
    threshold: int, quarter: int
) -> None:
    config = attrs.evolve(
        CONFIG, record_lock_duration_ms=50, in_progress_staleness_threshold_ms=threshold
    )
    desk = Desk(config=config, swept_every_quarter=True, thresholds_are_free=True)
    desk.fetch(3)
    for offset in range(3):
        desk.mark((offset, offset))
        desk.wait(quarter)
    writes = (*desk.wait(1).writes, *desk.wait(1000).writes)
    assert [write.state_batches[0].first for write in writes] == [0, 1, 2]


def test_the_sweeper_counts_from_when_the_leader_took_over() -> None:
    desk = Desk(swept_every_quarter=True, now=101)
    desk.fetch(1)
    desk.mark((0, 0))
    desk.wait(9)
    assert desk.states[0] == MARKED
    desk.wait(1)
    assert desk.states[0] == "AVAILABLE(1)"


def test_a_window_without_records_is_empty_where_it_starts() -> None:
    leader = Desk(DurableState(1, 0, leader_epoch=1)).leader
    assert (leader.start, leader.end) == (1, 1)


def test_a_new_leader_knows_what_is_durable() -> None:
    batches = (
        StateBatch(0, 0, RecordState.IN_PROGRESS, 1),
        StateBatch(1, 1, RecordState.ACKNOWLEDGED, 1),
    )
    durable = DurableState(0, 1, batches, leader_epoch=1)
    desk, literal = Desk(durable), Desk(durable, recovered_as_in_progress=True)
    assert desk.states == ["AVAILABLE(1)", "ACKNOWLEDGED(1)", AVAILABLE, AVAILABLE]
    assert literal.states[0] == MARKED
    assert (desk.leader.start, desk.leader.end) == (0, 2)
    assert [r.first for r in desk.fetch(3).acquired] == [0, 2]


def test_thresholds_below_the_lock_duration_are_refused_or_not() -> None:
    config = attrs.evolve(CONFIG, in_progress_staleness_threshold_ms=2)
    with pytest.raises(InvalidValueError, match="record_lock_duration_ms"):
        Desk(config=config)
    desk = Desk(config=config, thresholds_are_free=True)
    desk.fetch(1)
    desk.mark((0, 0))
    desk.wait(2)
    assert desk.states[0] == "AVAILABLE(1)"


def test_archiving_without_a_queue_holds_the_start_offset() -> None:
    desk, literal = Desk(), Desk(archiving_without_a_queue=True)
    for each in (desk, literal):
        each.fetch(1)
        each.mark((0, 0))
        each.say(0, 0, AcknowledgeType.REJECT)
        each.wait(100_000)
    assert (desk.leader.start, literal.leader.start) == (1, 0)


def test_what_the_draft_does_not_speak_of_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="start_offset is -1"):
        Desk(DurableState(-1, -1))
    with pytest.raises(InvalidValueError, match="operation is AdvanceLogStart"):
        Desk().ask(ops.AdvanceLogStart(1))
