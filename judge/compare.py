"""Compare a recorded event with what was expected: the first difference and its offset."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any

import attrs

from judge.words import durable_text, marked_text, record_text, span
from model.checks import MAX_INT64
from model.errors import ErrorCode
from model.guards import Difference
from model.operations import AdvanceTime, Initialize
from model.outcome import Composed, Outcome, Write
from model.ranges import RecordRange, StateBatch, never_delivered
from model.snapshot import DurableState, SharePartitionSnapshot
from model.states import RecordState
from model.trace import TraceEvent

Segment = tuple[int, int, Any]
"""First and last offset, both inclusive, and what is known of them."""


@attrs.frozen
class Mismatch:
    """One difference, with both sides in words; ``offset`` where it concerns a record."""

    difference: Difference
    recorded: str
    expected: str
    offset: int | None = None


def first_mismatch(
    event: TraceEvent,
    expected: Outcome,
    before: SharePartitionSnapshot,
    after: SharePartitionSnapshot,
) -> Mismatch | None:
    """Return the first difference between a recorded event and what was expected of it.

    ``before`` and ``after`` are the expected states around the event.
    """
    return (
        _status(event, expected)
        or _acquired(event, expected)
        or _numbered(event, expected)
        or _marked(event, expected)
        or _written_state(event, expected, before.start_offset)
        or _written_numbers(event, expected)
        or _completed(event, expected)
        or _window(event, after)
        or _records(event, after)
    )


def read_state(operation: Initialize) -> DurableState:
    """Return the state that a new leader read; any count may be what it was not told."""
    if operation.count_known:
        return operation.persisted
    return attrs.evolve(operation.persisted, delivery_complete_count=MAX_INT64 - 1)


def persisted_mismatch(event: TraceEvent, durable: DurableState) -> Mismatch | None:
    """Compare the state that a new leader read with what it may read, without epochs."""
    operation = event.operation
    if not isinstance(operation, Initialize) or operation.persisted.start_offset < 0:
        return None
    read, written = _merged(operation.persisted), _merged(durable)
    if not operation.count_known:
        read = attrs.evolve(read, delivery_complete_count=written.delivery_complete_count)
    if read == written:
        return None
    first = first_difference(_batches(read.state_batches), _batches(written.state_batches))
    return Mismatch(
        Difference.PERSISTED, durable_text(read), durable_text(written), first and first[0]
    )


def first_difference(
    first: Iterable[Segment], other: Iterable[Segment]
) -> tuple[int, Any, Any] | None:
    """Return the first offset at which two ascending lists differ, and the value in each.

    The value is None where a list has no segment.
    """
    different = next(differences(first, other), None)
    return None if different is None else (different[0], *different[2:])


def differences(
    first: Iterable[Segment], other: Iterable[Segment]
) -> Iterator[tuple[int, int, Any, Any]]:
    """Yield the offsets at which two ascending lists differ, first and last, and both values."""
    first_walk, other_walk = _Walk(first), _Walk(other)
    while segments := [walk.segment for walk in (first_walk, other_walk) if walk.segment]:
        offset = min(segment[0] for segment in segments)
        bounds = (s[1] if s[0] <= offset else s[0] - 1 for s in segments)
        last = min(bounds)
        values = first_walk.value(offset), other_walk.value(offset)
        if values[0] != values[1]:
            yield (offset, last, *values)
        first_walk.skip(last)
        other_walk.skip(last)


def record_segments(
    records: Iterable[RecordRange] | None, window: SharePartitionSnapshot
) -> Iterator[Segment]:
    """Yield the state, delivery count, owner and pending write of each record in the window.

    A record never delivered is left out, unless it has an owner, which it should not.
    """
    for r in records or ():
        first, last = max(r.first, window.start_offset), min(r.last, window.end_offset - 1)
        if first <= last and not (never_delivered(r) and r.owner is None):
            yield first, last, (r.state, r.delivery_count, r.owner, r.pending)


class _Walk:
    """A position in an ascending list; ``segment`` is the rest of the current segment."""

    def __init__(self, segments: Iterable[Segment]) -> None:
        self._rest = iter(segments)
        self.segment: Segment | None = next(self._rest, None)

    def value(self, offset: int) -> object:
        return self.segment[2] if self.segment and self.segment[0] <= offset else None

    def skip(self, last: int) -> None:
        while self.segment and self.segment[1] <= last:
            self.segment = next(self._rest, None)
        if self.segment and self.segment[0] <= last:
            self.segment = (last + 1, *self.segment[1:])


def _status(event: TraceEvent, expected: Outcome) -> Mismatch | None:
    recorded = event.outcome
    if recorded.can_acquire != expected.can_acquire:
        texts = ("can acquire nothing", "can acquire")
        return Mismatch(Difference.STATUS, texts[recorded.can_acquire], texts[expected.can_acquire])
    if recorded.status is expected.status:
        return None
    return Mismatch(Difference.STATUS, recorded.status.name, expected.status.name)


def _acquired(event: TraceEvent, expected: Outcome) -> Mismatch | None:
    if event.outcome.acquired == expected.acquired:
        return None
    recorded = sorted((r.first, r.last, r.delivery_count) for r in event.outcome.acquired)
    first = first_difference(
        recorded, ((r.first, r.last, r.delivery_count) for r in expected.acquired)
    )
    return first and _mismatch_at(
        Difference.ACQUIRED, first, lambda count: f"acquired with delivery count {count}"
    )


def _numbered(event: TraceEvent, expected: Outcome) -> Mismatch | None:
    """Compare the number of an acquisition, where it was recorded."""
    recorded = event.outcome.acquisition
    if recorded in (None, expected.acquisition):
        return None
    wanted = "none" if expected.acquisition is None else str(expected.acquisition)
    return Mismatch(Difference.ACQUISITION, f"acquisition {recorded}", f"acquisition {wanted}")


def _marked(event: TraceEvent, expected: Outcome) -> Mismatch | None:
    if event.outcome.marked == expected.marked:
        return None
    recorded, wanted = (marked_text(o.marked) or "none" for o in (event.outcome, expected))
    return Mismatch(Difference.MARKED, recorded, wanted)


def _written_state(event: TraceEvent, expected: Outcome, start: int) -> Mismatch | None:
    if event.outcome.writes == expected.writes:
        return None
    floors = _floors(event, expected, start)
    recorded = _states(zip(event.outcome.writes, floors, strict=True))
    wanted = _states((write, 0) for write in expected.writes)
    first = first_difference(recorded, wanted)
    return first and _mismatch_at(Difference.WRITTEN_STATE, first, _state_text)


def _floors(event: TraceEvent, expected: Outcome, start: int) -> list[int]:
    """Return for each recorded write the start offset below which its entries do not count."""
    writes = event.outcome.writes
    if not isinstance(event.operation, AdvanceTime):
        return [start] * len(writes)
    starts = {write.id: write.start_offset for write in expected.writes}
    # A write that is not expected has no entries that count.
    return [
        starts.get(write.id, max((b.last for b in write.state_batches), default=0) + 1)
        for write in writes
    ]


def _states(writes: Iterable[tuple[Write, int]]) -> list[Segment]:
    return sorted(
        (max(batch.first, floor), batch.last, (batch.state, batch.delivery_count))
        for write, floor in writes
        for batch in write.state_batches
        if batch.last >= floor
    )


def later_writes(event: TraceEvent, expected: Outcome) -> dict[int, Write]:
    """Return the recorded writes that take their numbers after the event, by the expected id."""
    return {
        wanted.id: recorded
        for recorded, wanted in _paired(event, expected, 0)
        if _is_made_later(recorded, wanted)
    }


def composed_mismatch(outcome: Outcome, recorded: Mapping[int, Write]) -> Mismatch | None:
    """Compare the numbers that writes of before take now with those that they were recorded with.

    ``recorded`` are the writes by id.
    """
    pairs = ((recorded[each.id], each) for each in outcome.composed if each.id in recorded)
    differences = (_numbers_differ(*pair, f"write {pair[1].id}: ") for pair in pairs)
    return next(filter(None, differences), None)


def _written_numbers(event: TraceEvent, expected: Outcome) -> Mismatch | None:
    later = later_writes(event, expected)
    pairs = (pair for pair in _paired(event, expected) if pair[1].id not in later)
    return next(filter(None, (_numbers_differ(*pair) for pair in pairs)), None)


def _is_made_later(recorded: Write, wanted: Write) -> bool:
    return recorded.made_after is not None and wanted.status is ErrorCode.PENDING


def _numbers_differ(recorded: Write, wanted: Write | Composed, name: str = "") -> Mismatch | None:
    if recorded.start_offset != wanted.start_offset:
        return Mismatch(
            Difference.WRITTEN_START_OFFSET,
            f"{name}start offset {recorded.start_offset}",
            f"{name}start offset {wanted.start_offset}",
        )
    count, expected_count = recorded.delivery_complete_count, wanted.delivery_complete_count
    if recorded.counted and count != expected_count:
        return Mismatch(
            Difference.WRITTEN_DELIVERY_COMPLETE_COUNT,
            f"{name}delivery complete count {count}",
            f"{name}delivery complete count {expected_count}",
        )
    return None


def _paired(event: TraceEvent, expected: Outcome, which: int = -1) -> Iterator[tuple[Write, Write]]:
    """Yield each expected write with its recorded one: the last, where one was spread over many."""
    recorded = event.outcome.writes
    if isinstance(event.operation, AdvanceTime):
        by_id = {write.id: write for write in recorded}
        yield from ((by_id[write.id], write) for write in expected.writes if write.id in by_id)
    elif recorded and expected.writes:
        yield recorded[which], expected.writes[0]


def _completed(event: TraceEvent, expected: Outcome) -> Mismatch | None:
    recorded = {(c.seq, c.status.name) for c in event.outcome.completed}
    wanted = {(c.seq, c.status.name) for c in expected.completed}
    if recorded == wanted:
        return None
    return Mismatch(Difference.COMPLETED, _answered(recorded), _answered(wanted))


def _answered(answers: set[tuple[int, str]]) -> str:
    texts = [f"event {seq} answered {status}" for seq, status in sorted(answers)]
    return ", ".join(texts) or "no earlier event answered"


def _window(event: TraceEvent, after: SharePartitionSnapshot) -> Mismatch | None:
    for difference, recorded, expected in (
        (Difference.START_OFFSET, event.after.start_offset, after.start_offset),
        (Difference.END_OFFSET, event.after.end_offset, after.end_offset),
        (
            Difference.DELIVERY_COMPLETE_COUNT,
            event.after.delivery_complete_count,
            after.delivery_complete_count,
        ),
    ):
        if recorded != expected:
            return Mismatch(difference, str(recorded), str(expected))
    return None


def _records(event: TraceEvent, after: SharePartitionSnapshot) -> Mismatch | None:
    if event.after.records is None:
        return None
    # Most recordings have what the start offset has passed, and nothing else that is different.
    begin = bisect_left(event.after.records, after.start_offset, key=attrgetter("last"))
    if event.after.records[begin:] == after.records:
        return None
    first = first_difference(
        record_segments(event.after.records, after), record_segments(after.records, after)
    )
    return first and _mismatch_at(Difference.RECORDS, first, _record_text)


def _mismatch_at(
    difference: Difference, first: tuple[int, Any, Any], text: Callable[[Any], str]
) -> Mismatch:
    offset, recorded, expected = first
    where = f"offset {offset}"
    return Mismatch(difference, f"{where} {text(recorded)}", f"{where} {text(expected)}", offset)


def _state_text(known: tuple[RecordState, int] | None) -> str:
    return "not written" if known is None else f"{known[0].name}({known[1]})"


def _record_text(known: tuple[RecordState, int, str | None, bool] | None) -> str:
    if known is None:
        return "never delivered"
    return record_text(RecordRange(0, 0, *known)).removeprefix(f"{span(0, 0)} ")


def _batches(batches: Iterable[StateBatch]) -> list[Segment]:
    return [(b.first, b.last, (b.state, b.delivery_count)) for b in batches]


def _merged(state: DurableState) -> DurableState:
    """Return the state with adjacent equal batches merged, and without epochs."""
    merged: list[StateBatch] = []
    for batch in state.state_batches:
        before = merged[-1] if merged else None
        if (
            before
            and before.last + 1 == batch.first
            and (before.state, before.delivery_count) == (batch.state, batch.delivery_count)
        ):
            merged[-1] = attrs.evolve(before, last=batch.last)
        else:
            merged.append(batch)
    return DurableState(state.start_offset, state.delivery_complete_count, tuple(merged))
