"""Split a fetch that reads aborted transactions into two operations of the specification."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs

from judge.choices import recorded_choice
from judge.view import snapshot
from model.config import IsolationLevel
from model.errors import IllegalChoiceError
from model.operations import Acquire, ArchiveAborted
from model.outcome import Outcome
from model.ranges import AcquiredRange, OffsetRange, delivery_counts, offsets, runs
from model.states import RecordState
from model.trace import TraceEvent
from spec.partition import SharePartition
from spec.record import UNDELIVERED, is_acquirable
from spec.step import apply


def parts_of(
    event: TraceEvent, before: SharePartition, aborted: Sequence[OffsetRange]
) -> tuple[TraceEvent, ...]:
    """Return the event itself, or an acquisition and the archiving of aborted records.

    An implementation answers both at once: it reports the records that the member gets, and has
    ARCHIVED others since ``before``, which it acquired first if their delivery counts say so and
    the maximum allows it. A member gets no record of an aborted transaction. The state between the
    two events is the specification's; the state after both is the implementation's, for comparison.
    """
    operation = event.operation
    level = before.config.isolation_level
    if not isinstance(operation, Acquire) or level is IsolationLevel.READ_UNCOMMITTED:
        return (event,)
    read = tuple(part for part in aborted if part in operation.log_batches)
    if not read:
        return (event,)
    reported = delivery_counts(event.outcome.acquired)
    kept = {
        offset: count for offset, count in _kept_back(event, before, read) if offset not in reported
    }
    known = before.window.records
    counted = {o: n for o, n in kept.items() if n > known.get(o, UNDELIVERED).delivery_count}
    first = _acquisition(event, before, counted | reported, kept)
    if first.after is event.after:
        without = _acquisition(event, before, reported, kept)
        first = first if without.after is event.after else without
    if first.after is event.after:
        return (first,)
    leaked = {offset: reported[offset] for offset in offsets(read) if offset in reported}
    second = Outcome(acquired=_ranges(leaked))
    return first, attrs.evolve(event, operation=ArchiveAborted(read), outcome=second)


def _acquisition(
    event: TraceEvent, before: SharePartition, taken: Mapping[int, int], kept: Iterable[int]
) -> TraceEvent:
    """Return the acquisition of what was taken, in which the rest of what was kept back enters.

    The state after it stays that of the event where no rule allows it.
    """
    first = attrs.evolve(event, outcome=Outcome(acquired=_ranges(taken)))
    chosen = recorded_choice(first)
    entered = tuple(OffsetRange(offset, offset) for offset in kept if offset not in taken)
    start, end = before.window.start_offset, event.after.start_offset
    passed = (AcquiredRange(start, end - 1, 1),) if start < end else ()
    if chosen.entered is not None and chosen.archived is not None:
        archived = chosen.archived + passed
        chosen = attrs.evolve(chosen, entered=chosen.entered + entered, archived=archived)
    try:
        free = apply(before, event.operation, attrs.evolve(chosen, start_offset=None)).partition
        start = min(free.window.start_offset, event.after.start_offset)
        between = apply(before, event.operation, attrs.evolve(chosen, start_offset=start)).partition
    except IllegalChoiceError:
        return first
    return attrs.evolve(first, after=snapshot(between))


def _kept_back(
    event: TraceEvent, before: SharePartition, read: Sequence[OffsetRange]
) -> Iterator[tuple[int, int]]:
    """Yield each offset that was acquired and archived, with its delivery count."""
    archived = {
        offset: record.delivery_count
        for record in event.after.records or ()
        if record.state is RecordState.ARCHIVED
        for offset in range(record.first, record.last + 1)
    }
    for offset in offsets(read):
        record = before.window.records.get(offset, UNDELIVERED)
        passed = before.window.start_offset <= offset < event.after.start_offset
        if is_acquirable(record) and (passed or offset in archived):
            yield offset, archived.get(offset, record.delivery_count + 1)


def _ranges(counts: Mapping[int, int]) -> tuple[AcquiredRange, ...]:
    return tuple(AcquiredRange(*run) for run in runs(sorted(counts.items())))
