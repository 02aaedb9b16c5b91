import pytest

from model.errors import ErrorCode, InvalidValueError
from model.operations import AdvanceTime, MemberLeaves, Operation
from model.outcome import Outcome, Write
from model.ranges import StateBatch
from model.snapshot import SharePartitionSnapshot
from model.states import RecordState
from model.trace import TraceEvent

AFTER = SharePartitionSnapshot(0, 0, 0)


def test_an_event_starts_at_zero() -> None:
    event = TraceEvent("g:t:0", 0, 0, MemberLeaves("c"), Outcome(), AFTER)
    assert (event.partition, event.seq, event.time_ms) == ("g:t:0", 0, 0)


def _writing(operation: Operation, *writes: tuple[tuple[int, int], ...]) -> TraceEvent:
    """Return an event with writes that have state batches from one offset to another."""
    made = tuple(
        Write(i, 0, 0, tuple(StateBatch(*pair, RecordState.AVAILABLE, 1) for pair in batches))
        for i, batches in enumerate(writes)
    )
    return TraceEvent("g:t:0", 0, 0, operation, Outcome(writes=made), AFTER)


@pytest.mark.parametrize("operation", [MemberLeaves("c"), AdvanceTime(1)])
def test_state_batches_of_a_write_do_not_overlap(operation: Operation) -> None:
    with pytest.raises(InvalidValueError, match=r"^state_batches is .*start after 7"):
        _writing(operation, ((0, 2),), ((7, 9), (3, 7)))


@pytest.mark.parametrize("operation", [MemberLeaves("c"), AdvanceTime(1)])
def test_writes_of_an_event_may_name_the_same_offset(operation: Operation) -> None:
    writes = ((0, 2), (5, 9)), ((2, 4),)
    assert len(_writing(operation, *writes).outcome.writes) == len(writes)


@pytest.mark.parametrize(
    ("moment", "status", "is_fine"),
    [
        (None, ErrorCode.NONE, True),
        (7, ErrorCode.NONE, True),
        (7, ErrorCode.PENDING, True),
        (9, ErrorCode.PENDING, True),
        (6, ErrorCode.PENDING, False),
        (8, ErrorCode.NONE, False),
        (8, ErrorCode.NOT_COORDINATOR, False),
    ],
)
def test_a_write_is_made_at_its_event_or_later_while_it_waits(
    moment: int | None,
    status: ErrorCode,
    is_fine: bool,  # noqa: FBT001 - a case of a table
) -> None:
    outcome = Outcome(writes=(Write(0, 0, 0, (), status, moment),))
    if is_fine:
        assert TraceEvent("g:t:0", 7, 0, MemberLeaves("c"), outcome, AFTER).seq == 7
        return
    with pytest.raises(InvalidValueError, match=r"^writes\.made_after is "):
        TraceEvent("g:t:0", 7, 0, MemberLeaves("c"), outcome, AFTER)
