import attrs
import pytest

from model.errors import ErrorCode, InvalidValueError
from model.operations import AdvanceTime, Initialize, MarkInProgress, MemberLeaves, ResetOffset
from model.profile import DRAFT_RESOLVED, Profile
from model.ranges import StateBatch
from model.snapshot import DurableState
from model.states import RecordState
from spec.partition import SharePartition
from spec.step import new_partition
from tests.rules.share_partition import apply, durable, lag, run, snapshot, started, states
from tests.spec.worlds import BOTH, MARKS, fetch, marking

NONE, INVALID_REQUEST = ErrorCode.NONE, ErrorCode.INVALID_REQUEST
INVALID_RECORD_STATE = ErrorCode.INVALID_RECORD_STATE


def held() -> SharePartition:
    """c1 has 0 to 3 by its acquisition 0, c2 has 4 and 5 by acquisition 1; 6 is never read."""
    partition = started(DRAFT_RESOLVED, config=MARKS)
    return run(partition, fetch("c1", (0, 3)), fetch("c2", (4, 5)))


@BOTH
def test_a_profile_without_in_progress_refuses_a_mark(profile: Profile) -> None:
    partition = run(started(profile, config=MARKS), fetch("c1", (0, 3)))
    with pytest.raises(InvalidValueError, match=r"^operation is "):
        apply(partition, marking("c1", (0, 0)))


def test_a_mark_changes_its_own_records_and_nothing_else() -> None:
    before = held()
    step = apply(before, marking("c1", (1, 2)))
    assert states(step.partition) == "0:Q1@c1 1-2:P1@c1 3:Q1@c1 4-5:Q1@c2"
    for offset in (0, 3, 4, 5):
        assert step.partition.window.records[offset] == before.window.records[offset]
    assert durable(step.partition) == durable(before)
    assert lag(step.partition) == lag(before)
    assert snapshot(step.partition).delivery_complete_count == 0
    assert step.outcome.writes == ()


def test_batches_are_judged_one_by_one_in_order() -> None:
    step = apply(held(), marking("c1", (0, 1), (1, 4), (3, 3)))
    assert step.outcome.status is NONE
    assert step.outcome.marked == (NONE, INVALID_RECORD_STATE, NONE)
    assert states(step.partition) == "0-1:P1@c1 2:Q1@c1 3:P1@c1 4-5:Q1@c2"


def test_each_record_of_a_batch_is_judged() -> None:
    for member, acquisition in (("c1", 0), ("c2", 1)):
        marks = marking(member, (3, 4), acquisition=acquisition)
        assert apply(held(), marks).outcome.marked == (INVALID_RECORD_STATE,)


def test_deadline_is_the_threshold_from_now_and_at_most_the_extension_from_the_first_mark() -> None:
    partition = run(held(), AdvanceTime(7), marking("c1", (0, 0)))
    for now, deadline in ((7, 37), (34, 64), (61, 91), (88, 107)):
        later = AdvanceTime(now - partition.now)
        partition = run(partition, later, marking("c1", (0, 0)))
        record = partition.window.records[0]
        times = record.progress_start, record.last_progress, record.deadline
        assert times == (7, now, deadline)


def test_batches_may_overlap_and_repeat() -> None:
    step = apply(held(), marking("c1", (0, 1), (0, 3), (0, 3)))
    assert step.outcome.marked == (NONE, NONE, NONE)
    assert states(step.partition) == "0-3:P1@c1 4-5:Q1@c2"
    assert apply(held(), MarkInProgress("c1", ())).outcome.marked == ()


@pytest.mark.parametrize(
    ("first", "last", "answer"),
    [
        (-1, 0, INVALID_REQUEST),
        (-9, -8, INVALID_REQUEST),
        (1, 0, INVALID_REQUEST),
        (5, 6, INVALID_REQUEST),
        (2**62, 2**62, INVALID_REQUEST),
        (4, 5, INVALID_RECORD_STATE),
    ],
)
def test_an_impossible_batch_is_refused(first: int, last: int, answer: ErrorCode) -> None:
    step = apply(held(), marking("c1", (first, last), (0, 0)))
    assert step.outcome.marked == (answer, NONE)


@pytest.mark.parametrize(("epoch", "acquisition"), [(0, 1), (0, -1), (1, 0), (-1, 0)])
def test_only_the_token_of_the_delivery_marks_it(epoch: int, acquisition: int) -> None:
    step = apply(held(), marking("c1", (0, 0), epoch=epoch, acquisition=acquisition))
    assert step.outcome.marked == (INVALID_RECORD_STATE,)
    assert step.partition == held()


def test_a_mark_of_an_earlier_delivery_to_the_same_member_is_refused() -> None:
    again = run(held(), AdvanceTime(10), fetch("c1", (0, 0)))
    assert apply(again, marking("c1", (0, 0))).outcome.marked == (INVALID_RECORD_STATE,)
    assert apply(again, marking("c1", (0, 0), acquisition=2)).outcome.marked == (NONE,)


def test_a_mark_of_a_delivery_by_an_earlier_leader_is_refused() -> None:
    persisted = DurableState(0, 0, (), 0, 7)
    led = run(new_partition(DRAFT_RESOLVED), Initialize(MARKS, 0, 100, persisted))
    led = run(led, fetch("c1", (0, 0)))
    assert apply(led, marking("c1", (0, 0), epoch=7)).outcome.marked == (NONE,)
    after = run(led, Initialize(MARKS, 0, 100, attrs.evolve(persisted, leader_epoch=8)))
    after = run(after, fetch("c1", (0, 0)))
    assert apply(after, marking("c1", (0, 0), epoch=7)).outcome.marked == (INVALID_RECORD_STATE,)
    assert apply(after, marking("c1", (0, 0), epoch=8)).outcome.marked == (NONE,)


def test_offsets_before_the_window_and_those_never_in_flight_are_passed_over() -> None:
    partition = started(DRAFT_RESOLVED, start=5, config=MARKS)
    partition = run(partition, fetch("c1", (5, 6), (9, 9)))
    assert states(partition) == "5-6:Q1@c1 9:Q1@c1"
    step = apply(partition, marking("c2", (0, 4), (3, 4), (7, 8), acquisition=9))
    assert step.outcome.marked == (NONE, NONE, NONE)
    step = apply(partition, marking("c1", (0, 9)))
    assert (step.outcome.marked, states(step.partition)) == ((NONE,), "5-6:P1@c1 9:P1@c1")


def test_progress_begins_again_with_each_delivery() -> None:
    marked = run(held(), marking("c1", (0, 0)), AdvanceTime(30), fetch("c1", (0, 0)))
    assert marked.window.records[0].progress_start is None
    again = run(marked, marking("c1", (0, 0), acquisition=2))
    assert again.window.records[0].progress_start == 30


def test_grace_is_over_where_the_owner_marks_and_only_there() -> None:
    left = run(held(), marking("c1", (0, 1)), MemberLeaves("c1"))
    back = run(left, marking("c1", (0, 0)))
    deadlines = [back.window.records[offset].deadline for offset in (0, 1)]
    assert deadlines == [30, 5]


@pytest.mark.parametrize("reader", ["the same leader", "a leader of a later epoch"])
def test_a_mark_of_a_delivery_before_the_state_was_read_again_is_refused(reader: str) -> None:
    persisted = DurableState(0, 0, (), 0, 7)
    led = run(new_partition(DRAFT_RESOLVED), Initialize(MARKS, 0, 100, persisted))
    led = run(led, fetch("c1", (0, 0)))
    epoch = 7 if reader == "the same leader" else 8
    after = run(led, Initialize(MARKS, 0, 100, attrs.evolve(persisted, leader_epoch=epoch)))
    again = apply(after, fetch("c1", (0, 0)))
    token = (epoch, again.outcome.acquisition)
    assert token == ((7, 1) if epoch == 7 else (8, 0))
    late = marking("c1", (0, 0), acquisition=0, epoch=7)
    assert apply(again.partition, late).outcome.marked == (INVALID_RECORD_STATE,)


def test_numbers_of_acquisitions_go_on_after_a_read_that_failed_and_a_reset() -> None:
    persisted = DurableState(0, 0, (), 0, 7)
    read = Initialize(MARKS, 0, 100, persisted)
    led = run(new_partition(DRAFT_RESOLVED), read, fetch("c1", (0, 0)), MemberLeaves("c1"))
    malformed = DurableState(5, 0, (StateBatch(0, 1, RecordState.AVAILABLE, 1),), 0, 7)
    failed = run(led, Initialize(MARKS, 0, 100, malformed))
    assert apply(run(failed, read), fetch("c1", (0, 0))).outcome.acquisition == 1
    altered = run(led, ResetOffset(3))
    assert apply(run(altered, fetch("c1", (3, 3))), fetch("c1", (4, 4))).outcome.acquisition == 2
