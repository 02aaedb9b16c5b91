import copy
import re
from functools import partial
from pathlib import Path

import attrs
import pytest

from impl.layout import JOURNAL_TAIL
from impl.partition import FastSharePartition
from judge.choices import recorded_answers, recorded_choice
from model.checks import MAX_INT64
from model.config import AutoOffsetReset, SharePartitionConfig
from model.errors import ErrorCode, IllegalChoiceError, InvalidValueError
from model.guards import Guard
from model.operations import (
    Acknowledge,
    AcknowledgementBatch,
    Acquire,
    AdvanceLogStart,
    AdvanceTime,
    AlterConfig,
    ArchiveAborted,
    CompleteWrite,
    FinishDeadLetter,
    Initialize,
    MarkInProgress,
    MemberLeaves,
    Operation,
    Produce,
    ProgressBatch,
    ResetOffset,
    SkipAcquire,
)
from model.outcome import Answer, Choice, Completion, Expiry, Outcome
from model.profile import DRAFT_RESOLVED, KAFKA, KIP, Profile
from model.ranges import AcquiredRange, OffsetRange, StateBatch
from model.snapshot import DurableState
from model.states import HELD_STATES, AcquireMode, RecordState
from spec.step import apply, new_partition
from tests.impl.helpers import (
    COMPILES,
    EACH_TRACE,
    by_offset,
    events_by_partition,
    interpreted,
)
from tests.impl.scenario import (
    ACCEPT,
    ANY,
    RELEASE,
    ack,
    fetch,
    partition,
    ranges,
    shown,
    wait,
    written,
)
from tests.impl.walk import Walk


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


def test_a_recovered_share_partition_is_the_same() -> None:
    made = FastSharePartition(KIP)
    batches = (StateBatch(110, 112, RecordState.AVAILABLE, 1),)
    made.apply(Initialize(SharePartitionConfig(), 0, 121, DurableState(110, 0, batches)))
    outcome = fetch(made, "a", (110, 120))
    assert outcome.acquired == (AcquiredRange(110, 112, 2), AcquiredRange(113, 120, 1))


def test_a_copy_and_its_original_go_their_own_ways() -> None:
    made = FastSharePartition(KAFKA)
    made.apply(Initialize(SharePartitionConfig(), 0, 0, DurableState(0, 0)))
    made.apply(Produce((OffsetRange(0, 9),), 10))
    fetch(made, "a", (0, 9))
    other = copy.copy(made)
    for offset in range(4):
        shared = shown(made)
        assert shown(other) == shared
        ack(made, "a", (offset, offset, ACCEPT))
        assert shown(other) == shared != shown(made)
        after = shown(made)
        ack(other, "a", (offset, offset, ACCEPT))
        assert shown(made) == after == shown(other)


@pytest.mark.parametrize(
    ("operation", "choice"),
    [
        (AdvanceTime(1), Choice(start_offset=5)),
        (Produce(ranges((2, 3)), 9), Choice()),
        (Produce((), 9), Choice(start_offset=0)),
    ],
)
def test_a_refused_operation_changes_nothing(operation: Operation, choice: Choice) -> None:
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
        if after.records is None:
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
        assert all((r.owner is None) == (r.state not in HELD_STATES) for r in after.records)


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


EVERY_OPERATION: tuple[Operation, ...] = (
    Produce((), 9),
    Acquire("a", AcquireMode.RECORD_LIMIT, 1, 1, 0, ()),
    SkipAcquire("a"),
    Acknowledge("a", ()),
    MemberLeaves("a"),
    AdvanceTime(1),
    CompleteWrite(0, ErrorCode.NONE),
    AdvanceLogStart(0),
    ResetOffset(0),
    MarkInProgress("a", ()),
    FinishDeadLetter(()),
    AlterConfig(SharePartitionConfig()),
    ArchiveAborted(()),
)


@pytest.mark.parametrize("operation", EVERY_OPERATION, ids=lambda value: type(value).__name__)
def test_no_operation_comes_before_a_leader(operation: Operation) -> None:
    made = FastSharePartition(KAFKA)
    for side in (made.apply, partial(apply, new_partition(KAFKA))):
        with pytest.raises(IllegalChoiceError) as raised:
            side(operation)
        assert raised.value.guard is Guard.PARTITION_IS_INITIALIZED


BY_DURATION = SharePartitionConfig(auto_offset_reset=AutoOffsetReset.BY_DURATION)
LONG_LOCK = SharePartitionConfig(
    record_lock_duration_ms=50_000, in_progress_staleness_threshold_ms=40_000
)
LONG_STALENESS = SharePartitionConfig(
    in_progress_staleness_threshold_ms=50_000, in_progress_max_lock_extension_ms=40_000
)
TWICE = (Answer(ErrorCode.PENDING, 7),)


@pytest.mark.parametrize(
    ("profile", "operation", "answers"),
    [
        (KIP, AdvanceTime(MAX_INT64), ()),
        (KIP, Produce(ranges((3, 4)), 20), ()),
        (KIP, Produce((), 4), ()),
        (KIP, Initialize(BY_DURATION, 0, 9, DurableState(-1, 0)), ()),
        (KIP, MemberLeaves("a"), TWICE),
        (DRAFT_RESOLVED, AlterConfig(LONG_LOCK), ()),
        (DRAFT_RESOLVED, Initialize(LONG_STALENESS, 0, 9, DurableState(-1, 0)), ()),
    ],
)
def test_a_refused_value_is_reported_as_by_the_specification(
    profile: Profile, operation: Operation, answers: tuple[Answer, ...]
) -> None:
    made, spec = FastSharePartition(profile), new_partition(profile)
    for before in (
        Initialize(SharePartitionConfig(), 0, 0, DurableState(0, 0)),
        Produce(ranges((0, 4)), 5),
        Acquire("b", AcquireMode.BATCH_OPTIMIZED, 5, 1, 0, ranges((0, 1))),
        Acquire("a", AcquireMode.BATCH_OPTIMIZED, 5, 1, 0, ranges((0, 4))),
        MemberLeaves("b"),
        AdvanceTime(1),
    ):
        pending = TWICE if isinstance(before, MemberLeaves) else ()
        made.apply(before, ANY, pending)
        spec = apply(spec, before, ANY, pending).partition
    told = []
    for side in (made.apply, partial(apply, spec)):
        with pytest.raises(InvalidValueError) as raised:
            side(operation, ANY, answers)
        told.append(str(raised.value).partition(";")[0])
    assert told[0] == told[1]


def test_a_mark_without_in_progress_is_shown_whole() -> None:
    made = FastSharePartition(KIP)
    made.apply(Initialize(SharePartitionConfig(), 0, 0, DurableState(0, 0)))
    with pytest.raises(InvalidValueError, match=r"operation is MarkInProgress\(.*IN_PROGRESS"):
        made.apply(MarkInProgress("a", ()))


@pytest.mark.parametrize(
    ("operation", "choice"),
    [
        (AdvanceTime(1), Choice(start_offset=3)),
        (CompleteWrite(44, ErrorCode.NONE), Choice()),
        (FinishDeadLetter(ranges((9, 9))), Choice()),
        (AdvanceTime(1), Choice(expired=(Expiry(ranges((9, 10))),))),
    ],
)
def test_a_refused_choice_names_what_the_specification_names(
    operation: Operation, choice: Choice
) -> None:
    made, spec = FastSharePartition(KIP), new_partition(KIP)
    for before in (
        Initialize(SharePartitionConfig(), 0, 13, DurableState(9, 0)),
        Acquire("a", AcquireMode.BATCH_OPTIMIZED, 5, 50, 9, ranges((9, 12))),
    ):
        made.apply(before)
        spec = apply(spec, before).partition
    with pytest.raises(IllegalChoiceError) as expected:
        apply(spec, operation, choice)
    with pytest.raises(IllegalChoiceError) as found:
        made.apply(operation, choice)
    assert found.value.guard is expected.value.guard
    assert re.findall(r"\d+", found.value.detail)[0] in re.findall(r"\d+", expected.value.detail)


def test_a_call_without_a_seq_is_call_0() -> None:
    made, spec = partition((0, 4)), new_partition(KAFKA)
    for operation in (
        Initialize(SharePartitionConfig(), 0, 0, DurableState(0, 0)),
        Produce(ranges((0, 4)), 5),
        Acquire("a", AcquireMode.BATCH_OPTIMIZED, 5, 50, 0, ranges((0, 4))),
        Acknowledge("a", (AcknowledgementBatch(0, 4, (ACCEPT,)),)),
        CompleteWrite(0, ErrorCode.NONE),
    ):
        step = apply(spec, operation, ANY, (Answer(ErrorCode.PENDING),))
        found = made.apply(operation, ANY, (Answer(ErrorCode.PENDING),))
        assert found == step.outcome
        spec = step.partition
    assert found.completed == (Completion(0, ErrorCode.NONE),)


def test_the_journal_is_merged_before_it_gets_long() -> None:
    made = partition((0, 99))
    for offset in range(100):
        fetch(made, "a", (offset, offset))
        ack(made, "a", (offset, offset, ACCEPT))
        assert _journal(made) < 90
    batches = tuple(StateBatch(at, at, RecordState.AVAILABLE, 1 + at % 2) for at in range(100))
    made.apply(Initialize(SharePartitionConfig(), 0, 100, DurableState(0, 0, batches)))
    assert _journal(made) < 90
    assert made.durable().state_batches == batches


def _journal(made: FastSharePartition) -> int:
    return int(made._state.header[JOURNAL_TAIL])  # noqa: SLF001 - no answer shows it


def test_a_seq_is_at_least_0() -> None:
    made = FastSharePartition(KAFKA)
    with pytest.raises(InvalidValueError, match="seq is -1"):
        made.apply(Initialize(SharePartitionConfig(), 0, 0, DurableState(0, 0)), seq=-1)


@COMPILES
@EACH_TRACE
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
