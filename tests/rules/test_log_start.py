import pytest

from model.errors import ErrorCode
from model.operations import AdvanceLogStart, AdvanceTime, MemberLeaves, Produce
from model.outcome import Answer
from model.profile import Profile
from tests.rules.share_partition import apply, complete_count, durable, run, started, states
from tests.spec.worlds import BOTH, acknowledgement, fetch, spans


@BOTH
def test_records_below_the_log_start_offset_are_no_longer_in_flight(profile: Profile) -> None:
    partition = run(started(profile), fetch("c1", (0, 5)), acknowledgement("c1", (1, 1, 1)))
    partition = run(partition, acknowledgement("c1", (4, 4, 3)))
    step = apply(partition, AdvanceLogStart(3))
    assert states(step.partition) == "3:Q1@c1 4:X1 5:Q1@c1"
    assert complete_count(step.partition) == 1
    assert step.outcome.writes == ()
    assert durable(step.partition) == durable(partition)


@pytest.mark.parametrize("offset", [0, 1, 2])
def test_a_log_start_offset_up_to_the_start_offset_changes_no_record(offset: int) -> None:
    partition = run(started(), fetch("c1", (0, 3)), acknowledgement("c1", (0, 1, 1)))
    moved = run(partition, AdvanceLogStart(offset))
    assert (moved.window, moved.log.start_offset) == (partition.window, offset)


@pytest.mark.parametrize(("offset", "log_end"), [(50, 100), (100, 100), (120, 120)])
def test_both_ends_of_the_window_follow_past_everything(offset: int, log_end: int) -> None:
    moved = run(started(), fetch("c1", (0, 3)), AdvanceLogStart(offset))
    assert (moved.window.start_offset, moved.window.end_offset) == (offset, offset)
    assert (moved.log.start_offset, moved.log.end_offset) == (offset, log_end)
    assert states(moved) == ""


def test_the_log_start_offset_never_goes_back() -> None:
    moved = run(started(), AdvanceLogStart(7), AdvanceLogStart(4))
    assert (moved.log.start_offset, moved.window.start_offset) == (7, 7)


def test_the_start_offset_moves_past_finished_records_above_the_log_start() -> None:
    partition = run(started(), fetch("c1", (0, 3)), acknowledgement("c1", (2, 2, 1)))
    assert states(run(partition, AdvanceLogStart(2))) == "3:Q1@c1"


def test_acknowledgements_of_lost_records_are_ignored() -> None:
    partition = run(started(), fetch("c1", (0, 3)), AdvanceLogStart(4))
    step = apply(partition, acknowledgement("c1", (0, 3, 1)))
    assert (step.outcome.status, step.outcome.writes) == (ErrorCode.NONE, ())
    assert apply(partition, MemberLeaves("c1")).outcome.writes == ()
    assert apply(partition, AdvanceTime(100)).outcome.writes == ()


def test_the_next_write_carries_the_start_offset() -> None:
    partition = run(started(), fetch("c1", (0, 5)), AdvanceLogStart(3))
    step = apply(partition, acknowledgement("c1", (0, 4, 1)), answers=[Answer()])
    (write,) = step.outcome.writes
    assert (write.start_offset, [b.first for b in write.state_batches]) == (3, [3])
    assert durable(step.partition).start_offset == 3


def test_the_last_stable_offset_is_at_least_the_log_start_offset() -> None:
    partition = run(started(end=0), Produce(spans((0, 9)), 10, 2))
    assert run(partition, AdvanceLogStart(1)).log.stable_offset == 2
    assert run(partition, AdvanceLogStart(5)).log.stable_offset == 5
