"""Compare a recorded event with what was expected: the first difference, and it in words."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import pairwise
from operator import attrgetter

import attrs

from judge.finding import Finding, FindingKind
from judge.mismatch import Mismatch, Segment, differences, first_difference, mismatch_at
from judge.words import (
    MAX_RANGES,
    durable_text,
    marked_text,
    operation_text,
    snapshot_text,
    span,
    state_text,
)
from judge.written import Around, written_mismatch
from model.checks import MAX_INT64
from model.guards import Difference
from model.operation_table import operation_row
from model.operations import Gap, Initialize
from model.outcome import Outcome
from model.ranges import RecordRange, StateBatch, join_neighbours, never_delivered
from model.rules import RULES, VERDICT_RULES, RuleKind
from model.snapshot import DurableState, SharePartitionSnapshot
from model.states import TERMINAL_STATES, RecordState
from model.trace import TraceEvent

_OF_THE_WINDOW = {
    Difference[name]: rule.about for name, rule in RULES[RuleKind.DIFFERENCE].items() if rule.about
}


def first_mismatch(event: TraceEvent, expected: Outcome, around: Around) -> Mismatch | None:
    """Return the first difference between a recorded event and what was expected of it."""
    after = around.after
    return (
        _status(event, expected)
        or _acquired(event, expected)
        or _numbered(event, expected)
        or _marked(event, expected)
        or written_mismatch(event, expected, around)
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
    """Compare the state that a new leader read with what it may read, without epochs.

    Two states are the same if a leader that reads them is in the same state.
    """
    operation = event.operation
    if not isinstance(operation, Initialize):
        return None
    read, written = _merged(operation.persisted), _merged(durable)
    if not operation.count_known:
        read = attrs.evolve(read, delivery_complete_count=-1)
        written = attrs.evolve(written, delivery_complete_count=-1)
    ascends = all(one.last < other.first for one, other in pairwise(read.state_batches))
    if ascends and _recovered(read) == _recovered(written):
        return None
    first = first_difference(_batches(read.state_batches), _batches(written.state_batches))
    return Mismatch(
        Difference.PERSISTED, durable_text(read), durable_text(written), first and first[0]
    )


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
    return first and mismatch_at(
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
    for difference, name in _OF_THE_WINDOW.items():
        recorded, expected = getattr(event.after, name), getattr(after, name)
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
    return first and mismatch_at(
        Difference.RECORDS, first, lambda known: known_text(known, "never delivered")
    )


def known_text(known: tuple[RecordState, int, str | None, bool] | None, absent: str) -> str:
    """Return what ``record_segments`` has of a record, or that it is ``absent``."""
    return absent if known is None else state_text(*known[:3], pending=known[3])


def _batches(batches: Iterable[StateBatch]) -> list[Segment]:
    return [(b.first, b.last, (b.state, b.delivery_count)) for b in batches]


def _recovered(state: DurableState) -> tuple[int, int, tuple[StateBatch, ...]]:
    """Return start offset, count and batches once the start has passed what is finished there.

    A count that is not known, -1, stays so.
    """
    start, count, batches = state.start_offset, state.delivery_complete_count, state.state_batches
    while batches and batches[0].last < start:
        batches = batches[1:]
    while batches and batches[0].first <= start and batches[0].state in TERMINAL_STATES:
        count = count if state.delivery_complete_count < 0 else count - batches[0].last + start - 1
        start, batches = batches[0].last + 1, batches[1:]
    if batches and batches[0].first < start <= batches[0].last:
        batches = (attrs.evolve(batches[0], first=start), *batches[1:])
    return start, count, batches


def _merged(state: DurableState) -> DurableState:
    """Return the state with adjacent equal batches merged, and without epochs."""
    merged = join_neighbours(_batches(state.state_batches))
    batches = tuple(StateBatch(first, last, *entry) for first, last, entry in merged)
    return DurableState(state.start_offset, state.delivery_complete_count, batches)


def told(
    finding: Finding,
    event: TraceEvent,
    before: SharePartitionSnapshot,
    expected: SharePartitionSnapshot,
    *,
    timed: bool = False,
) -> Finding:
    """Return a finding on an event with what a reader asks first; ``timed``: by a real clock.

    ``before`` and ``expected`` are the engine's states before and after the event, the same where
    it was refused.
    """
    number, is_gap = _about(finding), isinstance(event.operation, Gap)
    return attrs.evolve(
        finding,
        headline=headline(finding, event, before),
        operation=operation_row(event.operation).name,
        event_text=operation_text(event.operation),
        recorded_after="" if is_gap else snapshot_text(event.after, finding.offset),
        changed="; ".join(_some(list(_changes(event, expected, finding.kind)))),
        recorded_value=getattr(event.after, number) if number else None,
        expected_value=getattr(expected, number) if number else None,
        time_ms=event.time_ms if timed else None,
        state_before=before,
        state_expected=expected,
        state_recorded=None if is_gap else event.after,
    )


def headline(finding: Finding, event: TraceEvent, before: SharePartitionSnapshot) -> str:
    """Return the offending value in a few words: what it was, what was recorded."""
    if name := _about(finding):
        values = getattr(before, name), getattr(event.after, name)
        moved = f"{name.replace('_', ' ')} {values[0]} → {values[1]}"
        is_refused = finding.kind is FindingKind.GUARD
        return moved if is_refused else f"{moved}, expected {finding.expected}"
    if finding.kind is FindingKind.GUARD:
        return finding.expected.removeprefix("not allowed: ")
    if finding.kind is FindingKind.DIFFERENCE:
        return f"{finding.recorded}, expected {finding.expected}"
    return finding.sentence


def _about(finding: Finding) -> str:
    """Return the number of a snapshot that the rule is about, by its name; empty if it is none."""
    rule = VERDICT_RULES.get(finding.name)
    return rule.about if rule else ""


def _changes(
    event: TraceEvent, expected: SharePartitionSnapshot, kind: FindingKind
) -> Iterator[str]:
    """Yield the offsets at which the recorded records differ from the expected ones, with both.

    Of an event that was refused, from those before it.
    """
    if event.after.records is None:
        return
    recorded = record_segments(event.after.records, event.after)
    for first, last, *values in differences(recorded, record_segments(expected.records, expected)):
        after, due = (known_text(value, "not in flight") for value in values)
        both = f"{due} → {after}" if kind is FindingKind.GUARD else f"{after}, expected {due}"
        yield f"{span(first, last)} {both}"


def _some(texts: list[str]) -> list[str]:
    more = len(texts) - MAX_RANGES
    return texts if more <= 0 else [*texts[:MAX_RANGES], f"and {more} more"]
