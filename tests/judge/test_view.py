import attrs

from judge.view import durable, snapshot
from model.errors import ErrorCode
from model.operations import AdvanceTime
from model.outcome import Answer
from model.ranges import RecordRange, StateBatch
from model.snapshot import DurableState, SharePartitionSnapshot
from model.states import RecordState
from spec.partition import state_of
from spec.step import apply
from tests.spec.worlds import acknowledgement, fetch, run, started


def test_a_snapshot_shows_the_longest_ranges_of_equal_records() -> None:
    partition = run(started(), fetch("c1", (0, 4)), fetch("c2", (5, 6)))
    partition = run(partition, acknowledgement("c1", (3, 3, 1)), AdvanceTime(1))
    acquired = RecordState.ACQUIRED
    assert snapshot(partition) == SharePartitionSnapshot(
        0,
        7,
        1,
        (
            RecordRange(0, 2, acquired, 1, "c1"),
            RecordRange(3, 3, RecordState.ACKNOWLEDGED, 1),
            RecordRange(4, 4, acquired, 1, "c1"),
            RecordRange(5, 6, acquired, 1, "c2"),
        ),
    )


def test_deadlines_are_not_shown() -> None:
    partition = run(started(), fetch("c1", (0, 1)))
    later = run(partition, AdvanceTime(7), fetch("c1", (2, 3)))
    assert [r.last for r in snapshot(later).records or ()] == [3]


def test_a_pending_record_is_not_equal_to_one_that_is_not() -> None:
    partition = run(started(), fetch("c1", (0, 2)), acknowledgement("c1", (1, 1, 2)))
    step = apply(partition, acknowledgement("c1", (2, 2, 2)), answers=[Answer(ErrorCode.PENDING)])
    assert [(r.first, r.pending) for r in snapshot(step.partition).records or ()] == [
        (0, False),
        (1, False),
        (2, True),
    ]


def test_offsets_before_the_window_are_archived_and_after_it_available() -> None:
    partition = run(started(), fetch("c1", (0, 4)), acknowledgement("c1", (0, 1, 1), (4, 4, 1)))
    assert [state_of(partition, o).name for o in (0, 1, 2, 4, 5)] == [
        "ARCHIVED",
        "ARCHIVED",
        "ACQUIRED",
        "ACKNOWLEDGED",
        "AVAILABLE",
    ]


def test_durable_is_what_the_coordinator_holds() -> None:
    partition = run(started(), fetch("c1", (0, 4)), acknowledgement("c1", (3, 4, 1)))
    accepted = StateBatch(3, 4, RecordState.ACKNOWLEDGED, 1)
    assert durable(partition) == DurableState(0, 2, (accepted,))
    assert durable(attrs.evolve(partition, now=7)) == durable(partition)
