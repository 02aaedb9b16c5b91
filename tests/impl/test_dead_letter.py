import pytest

from impl.partition import FastSharePartition
from model.errors import ErrorCode, IllegalChoiceError
from model.operations import (
    FinishDeadLetter,
)
from tests.impl.scenario import (
    REJECT,
    RELEASE,
    ack,
    fetch,
    partition,
    ranges,
    shown,
    written,
)

PENDING = ErrorCode.PENDING


def queued(*batches: tuple[int, int], limit: int = 1, queue: bool = True) -> FastSharePartition:
    """Return a share-partition with a dead-letter queue and locks of 10 ms."""
    return partition(
        *batches,
        dead_letter_queue=queue,
        delivery_count_limit=limit,
        record_lock_duration_ms=10,
    )


def test_the_record_is_archived_when_the_queue_has_finished() -> None:
    made = queued((0, 4))
    fetch(made, "a", (0, 4))
    ack(made, "a", (0, 3, REJECT))
    outcome = made.apply(FinishDeadLetter(ranges((2, 3), (0, 0), (2, 2), (0, 0))))
    assert outcome.status is ErrorCode.NONE
    assert written(outcome) == [(0, 3, [(0, 0, 4, 1), (2, 3, 4, 1)])]
    assert shown(made) == "1-1:G1 2-3:X1 4-4:Q1a"
    assert written(made.apply(FinishDeadLetter(ranges((0, 1))))) == [(1, 3, [(1, 1, 4, 1)])]
    assert made.snapshot().start_offset == 4


def test_records_of_several_counts_leave_together() -> None:
    made = queued((0, 9), limit=3)
    fetch(made, "a", (0, 9))
    for first in (4, 5):
        ack(made, "a", (first, 5, RELEASE))
        fetch(made, "a", (first, 5))
    ack(made, "a", (3, 5, REJECT))
    assert shown(made) == "0-2:Q1a 3-3:G1 4-4:G2 5-5:G3 6-9:Q1a"
    outcome = made.apply(FinishDeadLetter(ranges((3, 5))))
    assert written(outcome) == [(0, 3, [(3, 3, 4, 1), (4, 4, 4, 2), (5, 5, 4, 3)])]
    assert shown(made) == "0-2:Q1a 3-3:X1 4-4:X2 5-5:X3 6-9:Q1a"


def test_ranges_inside_one_another_and_inside_a_run_are_a_set() -> None:
    made = queued((0, 9))
    fetch(made, "a", (0, 9))
    ack(made, "a", (1, 9, REJECT))
    outcome = made.apply(FinishDeadLetter(ranges((3, 7), (4, 5), (6, 6))))
    assert written(outcome) == [(0, 5, [(3, 7, 4, 1)])]
    assert shown(made) == "0-0:Q1a 1-2:G1 3-7:X1 8-9:G1"


def test_records_never_in_flight_do_not_leave_for_the_queue() -> None:
    made = partition(persisted=((0, 0, 3, 1), (2, 2, 3, 1)), dead_letter_queue=True)
    with pytest.raises(IllegalChoiceError, match="at 1"):
        made.apply(FinishDeadLetter(ranges((0, 2))))
