from pathlib import Path

import attrs
import pytest

from impl.partition import FastSharePartition
from model.config import SharePartitionConfig
from model.errors import IllegalChoiceError, InvalidValueError
from model.operations import (
    Acknowledge,
    AcknowledgementBatch,
    Acquire,
    AdvanceTime,
    FinishDeadLetter,
    Initialize,
    MarkInProgress,
    Operation,
    Produce,
    ProgressBatch,
    Release,
)
from model.outcome import Choice, Expiry, Outcome
from model.profile import DRAFT_RESOLVED, KAFKA, KIP, Profile
from model.ranges import AcquiredRange, OffsetRange, StateBatch
from model.snapshot import DurableState
from model.states import AcquireMode, RecordState
from replay.choices import recorded_answers, recorded_choice
from tests.impl.helpers import (
    TRACES,
    by_offset,
    events_by_partition,
    interpreted,
)
from tests.impl.scenario import ACCEPT, RELEASE, ack, fetch, ranges, shown, wait, written
from tests.impl.walk import Walk


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.name)
def test_kafka_traces_are_accounted_for(trace: Path) -> None:
    for events in events_by_partition(trace).values():
        made = FastSharePartition(KAFKA)
        for event in events:
            before = made.snapshot().start_offset
            if isinstance(event.operation, Initialize) and event.seq:
                assert attrs.evolve(made.durable(), state_epoch=0) == event.operation.persisted
            outcome = made.apply(
                event.operation, recorded_choice(event), recorded_answers(event), event.seq
            )
            after, recorded = made.snapshot(), event.outcome
            assert outcome.status is recorded.status
            assert _acquired(outcome) == _acquired(recorded)
            assert set(outcome.completed) == set(recorded.completed)
            if not isinstance(event.operation, AdvanceTime):
                assert _written(outcome, before) == _written(recorded, before)
                for write in outcome.writes:
                    assert write.start_offset == recorded.writes[-1].start_offset
                    assert (
                        write.delivery_complete_count == recorded.writes[-1].delivery_complete_count
                    )
            assert attrs.evolve(after, records=None) == attrs.evolve(event.after, records=None)
            start = after.start_offset
            assert by_offset(after.records or (), start) == by_offset(
                event.after.records or (), start
            )


def _acquired(outcome: Outcome) -> dict[int, int]:
    return {o: r.delivery_count for r in outcome.acquired for o in range(r.first, r.last + 1)}


def _written(outcome: Outcome, start: int) -> dict[int, tuple[RecordState, int]]:
    return {
        offset: (batch.state, batch.delivery_count)
        for write in outcome.writes
        for batch in write.state_batches
        for offset in range(max(batch.first, start), batch.last + 1)
    }


def test_the_worked_example_of_kip_932() -> None:
    """The rows of its table: acquire, acknowledge, release, expire; 121 is the log's end."""
    made = FastSharePartition(KIP)
    made.apply(Initialize(SharePartitionConfig(), 0, 100, DurableState(-1, 0)))
    made.apply(Produce(ranges((100, 120)), 121))
    seen = [made.lag()]

    def took(member: str, *taken: tuple[int, int]) -> None:
        fetch(made, member, (100, 120), choice=Choice(acquired=ranges(*taken)), offset=100)
        seen.append(made.lag())

    def did(member: str, first: int, last: int, kind: int) -> list[object]:
        outcome = ack(made, member, (first, last, kind))
        seen.append(made.lag())
        return list(written(outcome))

    took("c1", (100, 109))
    assert did("c1", 100, 109, ACCEPT) == [(100, 10, [(100, 109, 2, 1)])]
    took("c1", (110, 112))
    wait(made, 1)
    fetch(made, "c2", (113, 118))
    fetch(made, "c3", (119, 119))
    assert did("c1", 110, 110, RELEASE) == [(110, 0, [(110, 110, 0, 1)])]
    assert did("c3", 119, 119, ACCEPT) == [(110, 1, [(119, 119, 2, 1)])]
    took("c1", (110, 110), (120, 120))
    expired = wait(made, 29_999)
    assert written(expired) == [(110, 1, [(111, 112, 0, 1)])]
    seen.append(made.lag())
    assert shown(made) == "110-110:Q2c1 111-112:A1 113-118:Q1c2 119-119:K1 120-120:Q1c1"
    assert did("c2", 113, 118, ACCEPT) == [(110, 7, [(113, 118, 2, 1)])]
    assert _durable(made) == (110, [(110, 112, 0, 1), (113, 119, 2, 1)])
    took("c3", (111, 112))
    assert did("c1", 110, 110, ACCEPT) == [(110, 8, [(110, 110, 2, 2)])]
    assert did("c3", 111, 112, ACCEPT) == [(111, 9, [(111, 112, 2, 2)])]
    assert shown(made) == "120-120:Q1c1"
    assert (made.snapshot().start_offset, made.snapshot().end_offset) == (120, 121)
    assert seen == [21, 21, 11, 11, 11, 10, 10, 10, 4, 4, 3, 1]


def _durable(made: FastSharePartition) -> tuple[int, list[tuple[int, int, int, int]]]:
    state = made.durable()
    rows = [(b.first, b.last, int(b.state), b.delivery_count) for b in state.state_batches]
    return state.start_offset, rows


def test_what_was_recovered_is_the_same_share_partition() -> None:
    made = FastSharePartition(KIP)
    batches = (StateBatch(110, 112, RecordState.AVAILABLE, 1),)
    made.apply(Initialize(SharePartitionConfig(), 0, 121, DurableState(110, 0, batches)))
    outcome = fetch(made, "a", (110, 120))
    assert outcome.acquired == (AcquiredRange(110, 112, 2), AcquiredRange(113, 120, 1))


@pytest.mark.parametrize(
    ("operation", "choice"),
    [
        (AdvanceTime(1), Choice(start_offset=5)),
        (Produce(ranges((2, 3)), 9), Choice()),
        (Produce((), 9), Choice(start_offset=0)),
    ],
)
def test_what_is_refused_changes_nothing(operation: Operation, choice: Choice) -> None:
    made = FastSharePartition(KAFKA)
    made.apply(Initialize(SharePartitionConfig(), 0, 0, DurableState(0, 0)))
    made.apply(Produce((OffsetRange(0, 4),), 5))
    fetch(made, "a", (0, 4))
    ack(made, "a", (0, 0, ACCEPT))
    before = (made.snapshot(), made.durable(), made.lag())
    with pytest.raises((IllegalChoiceError, InvalidValueError)):
        made.apply(operation, choice)
    assert (made.snapshot(), made.durable(), made.lag()) == before


@pytest.mark.parametrize("profile", [KAFKA, KIP, DRAFT_RESOLVED], ids=lambda profile: profile.name)
@pytest.mark.parametrize("seed", range(8))
def test_counts_follow_from_the_records(seed: int, profile: Profile) -> None:
    walk = Walk(interpreted("partition").FastSharePartition(profile), seed, profile)
    for event in walk.run(120):
        after = event.after
        if after.records is None or profile.natural_gaps_are_complete:
            continue
        finished = sum(
            r.last - r.first + 1
            for r in after.records
            if r.state in (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)
        )
        assert finished == after.delivery_complete_count
        assert all(
            after.start_offset <= r.first <= r.last < after.end_offset for r in after.records
        )
        held = {RecordState.ACQUIRED, RecordState.IN_PROGRESS}
        assert all((r.owner is None) == (r.state not in held) for r in after.records)


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
        (Release("a"), Choice(acquired=ranges((0, 1), (2, 3)), entered=ranges((4, 4))), 3),
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


def test_a_seq_is_at_least_0() -> None:
    made = FastSharePartition(KAFKA)
    with pytest.raises(InvalidValueError, match="seq is -1"):
        made.apply(Initialize(SharePartitionConfig(), 0, 0, DurableState(0, 0)), seq=-1)
