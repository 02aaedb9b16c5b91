"""What holds of every operation: a leader comes first, and the start offset moves last."""

import attrs
import pytest

from model import operations as ops
from model.errors import ErrorCode
from model.guards import Guard
from model.outcome import Choice
from model.profile import KAFKA
from model.ranges import StateBatch
from model.snapshot import DurableState
from model.states import RecordState
from spec.coordinator import Durable
from spec.partition import SharePartition
from tests.rules.share_partition import apply, refusal, run, started
from tests.spec.worlds import SMALL, acknowledgement, fetch


@pytest.fixture
def held() -> SharePartition:
    """c1 holds 0 to 10."""
    return run(started(KAFKA), fetch("c1", (0, 10)))


@pytest.fixture
def finished(held: SharePartition) -> SharePartition:
    """0 to 3 are accepted, and the start offset has moved to 1 only."""
    return apply(held, acknowledgement("c1", (0, 3, 1)), Choice(start_offset=1)).partition


LATER: list[ops.Operation] = [
    ops.Produce((), 100),
    fetch("c2", (0, 10)),
    ops.SkipAcquire("c2"),
    acknowledgement("c2", (4, 4, 1)),
    acknowledgement("c2", (4, 3, 1)),
    ops.MemberLeaves("c2"),
    ops.AdvanceTime(1),
    ops.AdvanceLogStart(0),
    ops.ResetOffset(50),
]


@pytest.mark.parametrize(
    "operation", LATER, ids=[f"{i}-{type(each).__name__}" for i, each in enumerate(LATER)]
)
def test_the_start_offset_moves_last_in_every_operation(
    finished: SharePartition, operation: ops.Operation
) -> None:
    for chosen in (1, 3):
        moved = apply(finished, operation, Choice(start_offset=chosen)).partition
        assert moved.window.start_offset == chosen
    assert apply(finished, operation).partition.window.start_offset == 4
    for chosen, guard in ((5, Guard.START_STOPS_AT_UNFINISHED), (0, Guard.START_NEVER_GOES_BACK)):
        assert refusal(finished, operation, Choice(start_offset=chosen))[0] is guard


@pytest.fixture
def holding() -> SharePartition:
    """0 and 1 are done, 2 to 4 are not in the log, 5 is held and 6 done."""
    partition = run(started(), fetch("c1", (0, 1), (5, 6)))
    done = acknowledgement("c1", (0, 1, 1), (6, 6, 1))
    return apply(partition, done, Choice(start_offset=0)).partition


@pytest.mark.parametrize("chosen", range(6))
def test_the_start_offset_may_stop_anywhere_before(holding: SharePartition, chosen: int) -> None:
    moved = apply(holding, ops.AdvanceTime(0), Choice(start_offset=chosen)).partition
    assert moved.window.start_offset == chosen
    assert set(moved.window.records) == {o for o in (0, 1, 5, 6) if o >= chosen}


def test_the_start_offset_never_passes_an_unfinished_record(holding: SharePartition) -> None:
    guard, _ = refusal(holding, ops.AdvanceTime(0), Choice(start_offset=6))
    assert guard is Guard.START_STOPS_AT_UNFINISHED
    assert run(holding, ops.AdvanceTime(0)).window.start_offset == 5


@pytest.mark.parametrize("end", [0, 2])
def test_the_start_offset_may_leave_the_window_over_what_the_log_lacks(end: int) -> None:
    partition = started()
    if end:
        partition = run(partition, fetch("c1", (0, 1)), acknowledgement("c1", (0, 1, 1)))
    read = fetch("c1", (5, 6), at=end)
    nothing = Choice(acquired=())
    assert apply(partition, read, nothing).partition.window.start_offset == end
    for start in range(end, 6):
        chosen = attrs.evolve(nothing, start_offset=start)
        window = apply(partition, read, chosen).partition.window
        assert (window.start_offset, window.end_offset) == (start, max(end, start))
    unfinished = Guard.START_STOPS_AT_UNFINISHED
    assert refusal(partition, read, attrs.evolve(nothing, start_offset=6))[0] is unfinished
    unread = Choice(start_offset=end + 1)
    assert refusal(partition, ops.AdvanceTime(0), unread)[0] is unfinished


def test_a_share_partition_that_failed_stays_as_it_was(held: SharePartition) -> None:
    done = apply(held, acknowledgement("c1", (0, 0, 1)), Choice(start_offset=0)).partition
    malformed = DurableState(5, 0, (StateBatch(0, 1, RecordState.AVAILABLE, 1),))
    step = apply(done, ops.Initialize(SMALL, 0, 100, malformed))
    assert step.outcome.status is ErrorCode.UNKNOWN_SERVER_ERROR
    assert step.partition == attrs.evolve(done, ready=False)


@pytest.mark.parametrize(("durable_start", "holes"), [(-1, ()), (1, ((2, 4),)), (5, ()), (9, ())])
def test_holes_are_forgotten_that_end_before_every_leader_starts(
    durable_start: int, holes: tuple[tuple[int, int], ...]
) -> None:
    partition = run(started(), fetch("c1", (0, 1), (5, 6)), acknowledgement("c1", (0, 6, 1)))
    known = attrs.evolve(partition, durable=Durable(durable_start, 0))
    assert known.log.holes == ((2, 4),)
    assert run(known, ops.AdvanceTime(0)).log.holes == holes
