"""Short traces of implementations that break a promise of KIP-932, as if they were recorded."""

from enum import Enum

import attrs
import pytest

from impl.kernel import replay_partition
from judge.engine import engines_for
from judge.follower import follow
from model.config import AutoOffsetReset, IsolationLevel, SharePartitionConfig
from model.guards import Difference, Guard
from model.operations import (
    Acknowledge,
    AcknowledgementBatch,
    Acquire,
    Initialize,
    Operation,
    Produce,
    SkipAcquire,
)
from model.outcome import Outcome, Write
from model.profile import PROFILES, Profile
from model.ranges import AcquiredRange, OffsetRange, RecordRange, StateBatch
from model.snapshot import DurableState, SharePartitionSnapshot
from model.states import AcquireMode, RecordState
from model.trace import TraceEvent
from model.trace_arrow import table_from_rows
from model.trace_codec import row_from_event

CONFIG = SharePartitionConfig(
    partition_max_record_locks=200, auto_offset_reset=AutoOffsetReset.EARLIEST
)
NARROW = attrs.evolve(CONFIG, partition_max_record_locks=10)
COMMITTED = attrs.evolve(CONFIG, isolation_level=IsolationLevel.READ_COMMITTED)
TENS = tuple((first, first + 9) for first in range(0, 100, 10))
FETCHES = 50

Step = tuple[Operation, Outcome, SharePartitionSnapshot]
Span = tuple[int, int]


def spans(*parts: Span) -> tuple[OffsetRange, ...]:
    return tuple(OffsetRange(first, last) for first, last in parts)


def state(start: int, end: int, complete: int = 0, *held: Span) -> SharePartitionSnapshot:
    records = (RecordRange(*span, RecordState.ACQUIRED, 1, "m1") for span in held)
    return SharePartitionSnapshot(start, end, complete, tuple(records))


def leader(
    end: int = 0, start: int = 0, spso: int = 0, config: SharePartitionConfig = CONFIG
) -> Step:
    operation = Initialize(config, start, end, DurableState(spso, 0))
    return operation, Outcome(), state(spso, spso)


def produce(*batches: Span, stable: int | None = None) -> Step:
    return Produce(spans(*batches), batches[-1][1] + 1, stable), Outcome(), state(0, 0)


def fetch(
    after: SharePartitionSnapshot, *read: Span, most: int = 500, at: int = 0, took: bool = True
) -> Step:
    operation = Acquire("m1", AcquireMode.BATCH_OPTIMIZED, 500, most, at, spans(*read))
    held = [r for r in after.records or () if r.owner] if took else []
    acquired = tuple(AcquiredRange(r.first, r.last, 1) for r in held)
    return operation, Outcome(acquired=acquired), after


def acknowledge(after: SharePartitionSnapshot, first: int, last: int, *writes: Write) -> Step:
    batch = AcknowledgementBatch(first, last, (1,))
    return Acknowledge("m1", (batch,)), Outcome(writes=writes), after


def accepted(complete: int) -> Write:
    return Write(0, 0, complete, (StateBatch(0, 9, RecordState.ACKNOWLEDGED, 1),))


TEN = fetch(state(0, 10, 0, (0, 9)), (0, 9))
STUCK = SharePartitionSnapshot(0, 10, 10, (RecordRange(0, 9, RecordState.ACKNOWLEDGED, 1),))
FINISHED = (
    leader(config=NARROW), produce((0, 9), (10, 19)), TEN, acknowledge(STUCK, 0, 9, accepted(10)),
)  # fmt: skip
EMPTY = fetch(state(0, 0), (0, 9), took=False)

BROKEN: dict[str, tuple[Enum, tuple[Step, ...]]] = {
    "records at the front are lost": (
        Guard.NO_RECORD_LOST,
        (leader(), produce(*TENS[:3]), fetch(state(20, 30, 0, (20, 29)), (20, 29))),
    ),
    "records in the middle are lost": (
        Guard.NO_RECORD_LOST,
        (leader(), produce(*TENS[:3]), fetch(state(0, 30, 0, (0, 9), (20, 29)), (0, 9), (20, 29))),
    ),
    "records past the end are acquired": (
        Guard.WITHIN_READABLE_LOG,
        (leader(end=5), fetch(state(0, 10, 0, (0, 9)), (0, 9))),
    ),
    "records of an open transaction are acquired": (
        Guard.WITHIN_READABLE_LOG,
        (leader(config=COMMITTED), produce((0, 9), stable=5), TEN),
    ),
    "records below the log start are acquired": (
        Guard.NOT_BELOW_LOG_START,
        (leader(40, 30, 10), fetch(state(10, 20, 0, (10, 19)), (10, 19), at=10)),
    ),
    "many log batches are acquired where one record was asked for": (
        Guard.WITHIN_MAXIMUM_AND_ONE_BATCH,
        (leader(), produce(*TENS), fetch(state(0, 100, 0, (0, 99)), *TENS, most=1)),
    ),
    "many log batches are read as one": (
        Guard.READ_IS_OF_THE_LOG,
        (leader(), produce(*TENS), fetch(state(0, 100, 0, (0, 99)), (0, 99), most=1)),
    ),
    "what was never delivered is acknowledged": (
        Guard.ACKNOWLEDGED_WAS_DELIVERED,
        (leader(), produce(*TENS[:2]), TEN, acknowledge(state(0, 10, 0, (0, 9)), 10, 14)),
    ),
    "fetches read a record and take nothing": (
        Guard.RECORD_IS_OFFERED,
        (leader(end=10), *[EMPTY] * FETCHES),
    ),
    "fetches do not read what was produced": (
        Guard.RECORD_IS_OFFERED,
        (leader(), produce((0, 9)), *[fetch(state(0, 0), took=False)] * FETCHES),
    ),
    "the start offset never moves and fetches are skipped": (
        Guard.FINISHED_LEAVES_FULL_WINDOW,
        (*FINISHED, *[(SkipAcquire("m1"), Outcome(can_acquire=False), STUCK)] * FETCHES),
    ),
    "the start offset never moves and fetches take nothing": (
        Guard.RECORD_IS_OFFERED,
        (*FINISHED, *[fetch(STUCK, (10, 19), at=10, took=False)] * FETCHES),
    ),
    "the delivery complete count is negative": (
        Difference.DELIVERY_COMPLETE_COUNT,
        (leader(), produce((0, 9)), fetch(state(0, 10, -10, (0, 9)), (0, 9))),
    ),
    "a negative delivery complete count is written": (
        Difference.WRITTEN_DELIVERY_COMPLETE_COUNT,
        (leader(), produce((0, 9)), TEN, acknowledge(state(10, 10), 0, 9, accepted(-10))),
    ),
}


def events(steps: tuple[Step, ...]) -> list[TraceEvent]:
    return [TraceEvent("p", seq, 0, *step) for seq, step in enumerate(steps)]


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_promise_is_named_by_both_sides(broken: str, profile: Profile) -> None:
    name, steps = BROKEN[broken]
    finding = follow(events(steps), engines_for(("spec", "impl"), profile))
    assert finding is not None
    assert (finding.name, finding.engine) == (name.name, "spec, impl")


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_promise_is_named_from_columns(broken: str) -> None:
    name, steps = BROKEN[broken]
    rows = [row_from_event(event) for event in events(steps)]
    for profile in PROFILES.values():
        divergence = replay_partition(table_from_rows(rows), profile).divergence
        assert divergence is not None
        assert divergence.kind is name


def test_the_same_without_the_broken_promise_conforms() -> None:
    kept = (leader(), produce((0, 9)), TEN, acknowledge(state(10, 10), 0, 9, accepted(10)))
    for profile in PROFILES.values():
        assert follow(events(kept), engines_for(("spec", "impl"), profile)) is None
