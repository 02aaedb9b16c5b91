"""Hypothesis strategies that tests share: values of the model, and records of the specification.

Spans are short and most offsets small, so that ranges meet; some are as large as offsets get.
"""

from collections.abc import Callable
from typing import Any, TypeVar
from uuid import UUID

import attrs
from hypothesis import strategies as st

from model import operations as ops
from model.checks import MAX_INT64
from model.config import AutoOffsetReset, IsolationLevel, SharePartitionConfig
from model.errors import ErrorCode
from model.outcome import Completion, Outcome, Write
from model.ranges import AcquiredRange, OffsetRange, RecordRange, StateBatch
from model.snapshot import DurableState, SharePartitionSnapshot
from model.state_topic import SharePartitionKey, ShareSnapshot, ShareUpdate, StateRecord
from model.states import DURABLE_STATES as DURABLY
from model.states import HELD_STATES, AcquireMode, RecordState
from model.trace import TraceEvent
from spec.record import Record

T = TypeVar("T")

OFFSETS = st.integers(0, 40)
ANY_OFFSETS = OFFSETS | st.integers(MAX_INT64 - 40, MAX_INT64 - 20)
NUMBERS = st.integers(0, 40) | st.integers(0, MAX_INT64)
COUNTS = st.integers(0, 6)
MEMBERS = st.sampled_from(["a", "b", "consumer-ü"])
STATUSES = st.sampled_from(ErrorCode)
ANSWERS = st.sampled_from([code for code in ErrorCode if code is not ErrorCode.PENDING])


def pairs(
    starts: st.SearchStrategy[int] = OFFSETS, span: int = 5
) -> st.SearchStrategy[tuple[int, int]]:
    """Ranges (first, last) of at most ``span`` offsets."""
    return st.builds(lambda first, more: (first, first + more), starts, st.integers(0, span - 1))


@st.composite
def ascending(draw: st.DrawFn, least_gap: int = 0, parts: int = 4) -> tuple[tuple[int, int], ...]:
    """Disjoint ascending ranges with at least ``least_gap`` offsets between two."""
    found = []
    at = draw(st.sampled_from([0, 0, 3, 17]))
    for _ in range(draw(st.integers(0, parts))):
        first = at + draw(st.integers(0, 3))
        last = first + draw(st.integers(0, 4))
        found.append((first, last))
        at = last + 1 + least_gap
    return tuple(found)


HOLES = ascending(least_gap=1)
"""Ranges as ``spec.log.Log`` keeps them: no two touch."""

_RANGES = ascending().map(lambda found: tuple(OffsetRange(*pair) for pair in found))
_DURABLE = st.sampled_from(sorted(DURABLY))


def _lists(
    kind: Callable[..., T], starts: st.SearchStrategy[int], *arguments: st.SearchStrategy[Any]
) -> st.SearchStrategy[tuple[T, ...]]:
    """Short tuples of a kind of range, each with what it says of its offsets."""
    one = st.builds(lambda pair, said: kind(*pair, *said), pairs(starts), st.tuples(*arguments))
    return st.lists(one, max_size=4).map(tuple)


@st.composite
def _disjoint(
    draw: st.DrawFn, kind: Callable[..., T], *arguments: st.SearchStrategy[Any]
) -> tuple[T, ...]:
    """Draw ascending ranges of a kind, each with what it says of its offsets."""
    low, said = draw(st.sampled_from([0, 2**62])), st.tuples(*arguments)
    found = draw(ascending())
    return tuple(kind(low + first, low + last, *draw(said)) for first, last in found)


STATE_BATCHES = _lists(StateBatch, OFFSETS, _DURABLE, COUNTS)
"""State batches in any order, which may overlap."""

WRITES = st.builds(
    Write,
    NUMBERS,
    st.integers(-1, 40),
    st.integers(-1, 40),
    STATE_BATCHES,
    STATUSES,
)

DURABLE_STATES = st.builds(
    DurableState, st.integers(-1, 40), st.integers(-1, 40), STATE_BATCHES, NUMBERS, NUMBERS
)

TOPIC_IDS = st.sampled_from([UUID(int=1), UUID(int=2**127), UUID(bytes=bytes(range(16)))])

_EPOCHS = st.integers(0, 3) | st.just(2**31 - 1)
_STARTS = st.integers(-1, 40) | st.just(MAX_INT64 - 1)
_TIMES = st.integers(-1, MAX_INT64)
_COMPLETE = st.integers(-1, 40) | st.just(2**31 - 1)

STATE_RECORDS = st.builds(
    StateRecord,
    st.builds(
        SharePartitionKey,
        st.text(min_size=1, max_size=5),
        TOPIC_IDS,
        st.integers(0, 3) | st.just(2**31 - 1),
    ),
    st.none()
    | st.builds(ShareUpdate, _EPOCHS, _EPOCHS, _STARTS, _COMPLETE, STATE_BATCHES)
    | st.builds(
        ShareSnapshot,
        _EPOCHS,
        st.builds(DurableState, _STARTS, _COMPLETE, STATE_BATCHES, _EPOCHS, _EPOCHS),
        _TIMES,
        _TIMES,
    ),
)
"""Records of the state topic as they can be encoded, whatever they say."""

_CONFIGS = st.builds(
    SharePartitionConfig,
    st.integers(1, 10),
    st.integers(1, 5000),
    st.integers(0, 60_000),
    st.sampled_from(AutoOffsetReset),
    st.sampled_from(IsolationLevel),
    renew_acknowledge_enable=st.booleans(),
    dead_letter_queue=st.booleans(),
    in_progress_staleness_threshold_ms=NUMBERS,
    in_progress_max_lock_extension_ms=NUMBERS,
    in_progress_rebalance_grace_ms=NUMBERS,
)


@st.composite
def _initialize(draw: st.DrawFn) -> ops.Initialize:
    start, counted = draw(ANY_OFFSETS), draw(st.booleans())
    persisted = draw(DURABLE_STATES)
    if not counted:
        persisted = attrs.evolve(persisted, delivery_complete_count=-1)
    return ops.Initialize(
        draw(_CONFIGS),
        start,
        start + draw(st.integers(0, 9)),
        persisted,
        draw(NUMBERS),
        draw(st.none() | OFFSETS),
        timed=draw(st.booleans()),
        count_known=counted,
    )


@st.composite
def _produce(draw: st.DrawFn) -> ops.Produce:
    batches = draw(_RANGES)
    end = max((batch.last + 1 for batch in batches), default=0)
    return ops.Produce(batches, end + draw(st.integers(0, 3)))


_BATCHES = st.builds(
    ops.AcknowledgementBatch,
    st.integers(-2, 40),
    st.integers(-2, 40),
    st.lists(st.integers(-1, 6), max_size=4).map(tuple),
)

_ANY_NUMBERS = st.integers(-2, 40) | st.integers(-MAX_INT64, MAX_INT64)
_PROGRESS = st.builds(ops.ProgressBatch, _ANY_NUMBERS, _ANY_NUMBERS, _ANY_NUMBERS, _ANY_NUMBERS)

OPERATIONS: st.SearchStrategy[ops.Operation] = st.one_of(
    _initialize(),
    _produce(),
    st.builds(
        ops.Acquire, MEMBERS, st.sampled_from(AcquireMode), NUMBERS, NUMBERS, ANY_OFFSETS, _RANGES
    ),
    st.builds(ops.SkipAcquire, MEMBERS),
    st.builds(
        ops.Acknowledge,
        MEMBERS,
        st.lists(_BATCHES, max_size=3).map(tuple),
        st.sampled_from(ops.EntryPoint),
    ),
    st.builds(ops.MemberLeaves, MEMBERS),
    st.builds(ops.AdvanceTime, NUMBERS),
    st.builds(ops.Expire, _RANGES, st.none() | NUMBERS),
    st.builds(ops.CompleteWrite, NUMBERS, ANSWERS, overtaken=st.booleans()),
    st.builds(ops.AdvanceLogStart, ANY_OFFSETS),
    st.builds(ops.ResetOffset, ANY_OFFSETS),
    st.builds(ops.MarkInProgress, MEMBERS, st.lists(_PROGRESS, max_size=3).map(tuple)),
    st.builds(ops.FinishDeadLetter, _RANGES),
    st.builds(ops.ArchiveAborted, _RANGES),
    st.builds(ops.AlterConfig, _CONFIGS),
    st.builds(ops.Gap, st.none() | NUMBERS),
)


_ACQUIRED = _lists(AcquiredRange, ANY_OFFSETS, COUNTS)
_RECORD_RANGES = _disjoint(
    RecordRange,
    st.sampled_from(RecordState),
    COUNTS,
    st.none() | MEMBERS,
    st.booleans(),
)


@st.composite
def _writes(draw: st.DrawFn) -> tuple[Write, ...]:
    """Draw writes that name no offset twice, of which the state batches are in any order."""
    batches = draw(_disjoint(StateBatch, _DURABLE, COUNTS).flatmap(st.permutations))
    writes = draw(st.lists(WRITES, max_size=3))
    return tuple(
        attrs.evolve(write, state_batches=tuple(batches[i :: len(writes)]))
        for i, write in enumerate(writes)
    )


@st.composite
def _recorded(draw: st.DrawFn, outcome: Outcome, seq: int) -> Outcome:
    """Draw when the writes were made, and whether they have a delivery complete count."""
    writes = []
    for write in outcome.writes:
        later = draw(OFFSETS) if write.status is ErrorCode.PENDING else 0
        moment = draw(st.sampled_from([None, min(seq + later, MAX_INT64)]))
        made = attrs.evolve(write, made_after=moment)
        if draw(st.booleans()):
            made = attrs.evolve(made, counted=False, delivery_complete_count=0)
        writes.append(made)
    return attrs.evolve(outcome, writes=tuple(writes))


@st.composite
def _outcomes(draw: st.DrawFn, operation: ops.Operation) -> Outcome:
    """Return an outcome that a trace can hold of this operation."""
    skipped = isinstance(operation, ops.SkipAcquire)
    acquires = isinstance(operation, ops.Acquire)
    marks = isinstance(operation, ops.MarkInProgress)
    status = ErrorCode.NONE if skipped else draw(STATUSES)
    if isinstance(operation, ops.CompleteWrite):
        status = operation.status
    return Outcome(
        status,
        draw(_ACQUIRED) if acquires else (),
        draw(_writes()),
        draw(st.lists(st.builds(Completion, NUMBERS, STATUSES), max_size=2).map(tuple)),
        can_acquire=draw(st.booleans()) if skipped else True,
        acquisition=draw(st.none() | NUMBERS) if acquires else None,
        marked=draw(st.lists(STATUSES, max_size=3).map(tuple)) if marks else (),
        deadline_ms=draw(st.none() | NUMBERS),
        exception=draw(st.none() | st.text(max_size=9)) if not skipped else None,
    )


@st.composite
def _events(draw: st.DrawFn) -> TraceEvent:
    operation = draw(OPERATIONS)
    time_ms = operation.time_ms if isinstance(operation, ops.Initialize) else draw(NUMBERS)
    start = draw(ANY_OFFSETS)
    after = SharePartitionSnapshot(
        start, start + draw(st.integers(0, 9)), draw(NUMBERS), draw(st.none() | _RECORD_RANGES)
    )
    partition = draw(st.sampled_from(["g:t:0", "grüppe:t:1"]))
    seq = draw(NUMBERS)
    outcome = draw(_recorded(draw(_outcomes(operation)), seq))
    epochs = st.none() | NUMBERS
    places = draw(epochs), draw(epochs), draw(NUMBERS)
    return TraceEvent(partition, seq, time_ms, operation, outcome, after, *places)


EVENTS: st.SearchStrategy[TraceEvent] = _events()
"""Events of every operation, each with an outcome and state that a trace can hold."""


@st.composite
def _records(draw: st.DrawFn) -> Record:
    state = draw(st.sampled_from(RecordState))
    pending = draw(st.booleans())
    held = state in HELD_STATES and not pending
    progress = st.tuples(st.integers(0, 9), st.integers(0, 9))
    lock = st.tuples(st.integers(0, 3), st.integers(0, 9))
    no_lock = st.just((None, None))
    owner, deadline = draw(lock if held else no_lock)
    former_owner, former_deadline = draw(lock | no_lock if pending else no_lock)
    times = progress | no_lock if pending else no_lock
    if held and state is RecordState.IN_PROGRESS:
        times = progress
    progress_start, last_progress = draw(times)
    return Record(
        state,
        draw(COUNTS),
        owner,
        deadline,
        pending,
        former_owner,
        former_deadline,
        draw(st.booleans()),
        draw(st.none() | COUNTS if held or pending else st.none()),
        progress_start,
        last_progress,
    )


RECORDS: st.SearchStrategy[Record] = _records()
"""Records with members as numbers: held ones have a lock, pending ones perhaps a former one."""
