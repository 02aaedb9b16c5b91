"""A finding for a reader: the offending value, the event in words, and what was recorded after."""

from collections.abc import Iterator

import attrs

from judge.compare import known_text, record_segments
from judge.finding import Finding, FindingKind
from judge.mismatch import differences
from judge.words import MAX_RANGES, operation_text, snapshot_text, span
from model.operation_table import operation_row
from model.operations import Gap
from model.rules import VERDICT_RULES
from model.snapshot import SharePartitionSnapshot
from model.trace import TraceEvent


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
