import copy
from pathlib import Path

import pytest

from impl.layout import JOURNAL_TAIL
from impl.partition import FastSharePartition
from judge.engine import engines_for
from judge.follower import follow
from model.config import SharePartitionConfig
from model.errors import InvalidValueError
from model.operations import (
    Acknowledge,
    AcknowledgementBatch,
    Acquire,
    AdvanceTime,
    FinishDeadLetter,
    Initialize,
    MarkInProgress,
    MemberLeaves,
    Operation,
    Produce,
    ProgressBatch,
)
from model.outcome import Choice, Expiry
from model.profile import KAFKA
from model.ranges import StateBatch
from model.snapshot import DurableState
from model.states import AcquireMode, RecordState
from tests.impl.helpers import COMPILES, EACH_TRACE, events_by_partition, interpreted
from tests.spec.worlds import acknowledgement, fetch, shown
from tests.spec.worlds import spans as ranges


def begun(*batches: StateBatch) -> FastSharePartition:
    """Return a share-partition over a log from 0 to 100 that a leader read from these batches."""
    made = FastSharePartition(KAFKA)
    made.apply(Initialize(SharePartitionConfig(), 0, 100, DurableState(0, 0, batches)))
    return made


def test_a_copy_and_its_original_go_their_own_ways() -> None:
    made = begun()
    made.apply(fetch("a", (0, 10)))
    other = copy.copy(made)
    for offset in range(4):
        shared, accepted = shown(made.snapshot()), acknowledgement("a", (offset, offset, 1))
        assert shown(other.snapshot()) == shared
        made.apply(accepted)
        after = shown(made.snapshot())
        assert shown(other.snapshot()) == shared != after
        other.apply(accepted)
        assert shown(made.snapshot()) == after == shown(other.snapshot())


@pytest.mark.parametrize(
    ("operation", "choice", "number"),
    [
        (Acquire("a", AcquireMode.RECORD_LIMIT, 1, 1, 0, ranges((0, 1), (3, 3))), Choice(), 2),
        (Produce(ranges((0, 1), (2, 3), (4, 5)), 6), Choice(), 3),
        (FinishDeadLetter(ranges((0, 1), (4, 5))), Choice(), 2),
        (MarkInProgress("a", (ProgressBatch(0, 1, 0, 0),)), Choice(), 1),
        (Acknowledge("a", (AcknowledgementBatch(0, 2, (1, 2, 1)),)), Choice(), 3),
        (
            Initialize(
                SharePartitionConfig(),
                0,
                0,
                DurableState(0, 0, (StateBatch(0, 1, RecordState.ARCHIVED, 1),)),
            ),
            Choice(),
            1,
        ),
        (MemberLeaves("a"), Choice(acquired=ranges((0, 1), (2, 3)), entered=ranges((4, 4))), 3),
        (
            AdvanceTime(1),
            Choice(expired=(Expiry(ranges((0, 1), (2, 2))), Expiry(ranges((4, 4))))),
            3,
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_room_is_made_for_every_range_that_an_operation_or_a_choice_names(
    operation: Operation, choice: Choice, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def rows_needed(_header: object, named: int) -> int:
        asked.append(named)
        raise InterruptedError

    made = interpreted("partition").FastSharePartition(KAFKA)
    monkeypatch.setattr(interpreted("partition"), "rows_needed", rows_needed)
    with pytest.raises(InterruptedError):
        made.apply(operation, choice)
    assert asked == [number]


def test_the_journal_is_merged_before_it_gets_long() -> None:
    made = begun()
    for offset in range(100):
        made.apply(fetch("a", (offset, offset)))
        made.apply(acknowledgement("a", (offset, offset, 1)))
        assert _journal(made) < 90
    batches = tuple(StateBatch(at, at, RecordState.AVAILABLE, 1 + at % 2) for at in range(300))
    made = begun(*batches)
    assert _journal(made) < 90
    assert made.durable().state_batches == batches


def _journal(made: FastSharePartition) -> int:
    return int(made._state.header[JOURNAL_TAIL])  # noqa: SLF001 - no answer shows it


def test_a_seq_is_at_least_0() -> None:
    with pytest.raises(InvalidValueError, match="seq is -1"):
        begun().apply(AdvanceTime(1), seq=-1)


@COMPILES
@EACH_TRACE
def test_kafka_traces_are_accounted_for(trace: Path) -> None:
    for events in events_by_partition(trace).values():
        assert follow(events, engines_for(("impl",), KAFKA), 0) is None
