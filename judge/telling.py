"""A finding for a reader: the offending value, the event in words, and what was recorded after."""

from collections.abc import Iterator

import attrs

from judge.compare import OF_THE_WINDOW, known_text, record_segments
from judge.finding import Finding, FindingKind
from judge.mismatch import differences
from judge.words import MAX_RANGES, operation_text, snapshot_text, span
from model.guards import Guard
from model.operation_table import operation_row
from model.operations import Gap
from model.snapshot import SharePartitionSnapshot
from model.trace import TraceEvent

_OF_THE_START = (Guard.START_NEVER_GOES_BACK.name, Guard.START_STOPS_AT_UNFINISHED.name)
_OF_THE_WINDOW = {difference.name: name for difference, name in OF_THE_WINDOW.items()}


def told(
    finding: Finding,
    event: TraceEvent,
    before: SharePartitionSnapshot,
    expected: SharePartitionSnapshot,
) -> Finding:
    """Return a finding on an event with what a reader asks first.

    ``before`` and ``expected`` are the engine's states before and after the event, the same where
    it was refused.
    """
    recorded, wanted = _values(finding, event, before, expected)
    is_gap = isinstance(event.operation, Gap)
    return attrs.evolve(
        finding,
        headline=headline(finding, event, before),
        operation=operation_row(event.operation).name,
        event_text=operation_text(event.operation),
        recorded_after="" if is_gap else snapshot_text(event.after, finding.offset),
        changed="; ".join(_some(list(_changes(event, expected, finding.kind)))),
        recorded_value=recorded,
        expected_value=wanted,
        state_before=before,
        state_expected=expected,
        state_recorded=None if is_gap else event.after,
    )


def headline(finding: Finding, event: TraceEvent, before: SharePartitionSnapshot) -> str:
    """Return the offending value in a few words: what it was, what was recorded."""
    if finding.name in _OF_THE_START:
        return f"start offset {before.start_offset} → {event.after.start_offset}"
    if finding.name in _OF_THE_WINDOW:
        name = _OF_THE_WINDOW[finding.name]
        values = getattr(before, name), getattr(event.after, name)
        words = f"{name.replace('_', ' ')} {values[0]} → {values[1]}"
        return f"{words}, expected {finding.expected}"
    if finding.kind is FindingKind.GUARD:
        return finding.expected.removeprefix("not allowed: ")
    if finding.kind is FindingKind.DIFFERENCE:
        return f"{finding.recorded}, expected {finding.expected}"
    return finding.sentence


def _values(
    finding: Finding,
    event: TraceEvent,
    before: SharePartitionSnapshot,
    expected: SharePartitionSnapshot,
) -> tuple[int | None, int | None]:
    """Return what was recorded and what was expected, where the offending value is a number."""
    if finding.name in _OF_THE_START:
        return event.after.start_offset, before.start_offset
    if finding.name in _OF_THE_WINDOW:
        name = _OF_THE_WINDOW[finding.name]
        return getattr(event.after, name), getattr(expected, name)
    return None, None


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
