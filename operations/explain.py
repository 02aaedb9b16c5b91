"""One share-partition of a trace, step by step: what each event changed, or the whole window."""

import math
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import attrs

from judge.finding import Finding
from judge.words import (
    answer_text,
    clock_text,
    operation_text,
    printable,
    record_text,
    write_text,
)
from model.operation_table import operation_row
from model.profile import Profile
from model.ranges import RecordRange
from model.snapshot import SharePartitionSnapshot
from model.trace import TraceEvent
from model.trace_codec import record_row
from operations.changes import change_texts, changes, window_texts
from operations.frames import Frame, frames, lag_after, reported_lag_after
from operations.local import MAX_NAMES, opened_traces, share_partitions
from replay.pieces import PartitionRows
from replay.plan import Plan
from replay.result_schema import STATES, UNWRITTEN
from replay.tables import BadRowError, events_of
from replay.verdict import Problem

_LABEL = 10
"""The width of what begins a line, in characters."""

_LEAST_WIDTH = 40
"""A narrower terminal folds the lines itself."""

_PLAN = Plan()


class ExplainError(ValueError):
    """A trace cannot be explained; one line, with the choices or with the problem."""


def partition_rows(path: Path, partition: str | None, plan: Plan = _PLAN) -> PartitionRows:
    """Return the rows of a share-partition in order; None: of the only one in the trace.

    Raises NoSuchTraceError, FaultFileError and ExplainError.
    """
    with opened_traces([path], plan) as traces:
        names = list(traces.inputs.places)
        shown = ", ".join(names[:MAX_NAMES]) or "none that can be read"
        if partition is None and len(names) > 1:
            raise ExplainError(f"--partition is needed; there are {len(names)}: {shown}")
        wanted = partition if partition or not names else names[0]
        for problem in traces.problems:
            raise _unexplained(problem)
        for rows in share_partitions(traces, lambda name: wanted in (None, name)):
            if rows.problem:
                raise _unexplained(rows.problem)
            return rows
    raise ExplainError(f"{partition} is not in {path}; there are: {shown}")


def partition_events(path: Path, partition: str | None, plan: Plan = _PLAN) -> list[TraceEvent]:
    """Return the events of a share-partition in order; None: of the only one in the trace.

    Raises NoSuchTraceError, FaultFileError and ExplainError.
    """
    rows = partition_rows(path, partition, plan)
    try:
        return list(events_of(rows.table))
    except BadRowError as error:
        problem = Problem(*rows.place(error.bad.row), error.bad.message)
        raise _unexplained(problem) from None


def steps(events: Iterable[TraceEvent], profile: Profile) -> Iterator[Frame]:
    """Yield a frame for each event, up to the first that diverges."""
    earlier: set[str] = set()
    for frame in frames(events, profile):
        if frame.problem is not None:
            raise ExplainError(f"seq {frame.event.seq}: {frame.problem}")
        earlier.add(operation_row(frame.event.operation).name)
        if frame.finding:
            finding = attrs.evolve(frame.finding, operations_before=tuple(sorted(earlier)))
            yield attrs.evolve(frame, finding=finding)
            return
        yield frame


def chosen_steps(
    shown: list[Frame], first: int = 0, last: int | None = None, count: int | None = None
) -> list[Frame]:
    """Return the frames from ``first`` to ``last`` (seq, inclusive), or the last ``count`` of them.

    The one that diverges is always among them.
    """
    end = math.inf if last is None else last
    inside = [f for f in shown if f.finding or first <= f.event.seq <= end]
    return inside if count is None else inside[-count:]


def step_text(frame: Frame, width: int, *, full: bool = False) -> str:
    """Return a step in lines of at most ``width`` characters, words unbroken."""
    event = frame.event
    time = clock_text(event.time_ms, real=frame.timed)
    head = f"seq {event.seq}, {time}: {operation_text(event.operation)}"
    lines = [wrapped(head, width, "", " " * 4)]
    lines += [_fact(name, text, width) for name, text in _facts(frame, full=full)]
    return "\n".join(lines)


def window_text(state: SharePartitionSnapshot, width: int) -> str:
    """Return the whole window before the first step that is shown."""
    ends = f"SPSO {state.start_offset}, SPEO {state.end_offset}"
    lines = [_fact("before", ends, width)]
    return "\n".join([*lines, *(_fact("", text, width) for text in window_texts(state))])


def step_json(frame: Frame, known: str = "", *, full: bool = False) -> dict[str, Any]:
    """Return a step as an object for JSON; ``full``: with all records of the window.

    ``known`` is what is known of the divergence of the trace.
    """
    event, state, outcome = frame.event, frame.state, frame.outcome or frame.event.outcome
    changed = [
        {
            "first": each.first,
            "last": each.last,
            "before": _record_json(each.before),
            "after": _record_json(each.after),
        }
        for each in changes(frame.before, state)
    ]
    records = list(map(record_row, state.records or ()))
    return {
        "seq": event.seq,
        "time_ms": event.time_ms,
        "time": clock_text(event.time_ms) if frame.timed else "",
        "operation": operation_text(event.operation),
        "answer": answer_text(outcome),
        "start_offset": state.start_offset,
        "end_offset": state.end_offset,
        "delivery_complete_count": state.delivery_complete_count,
        "lag": lag_after(frame),
        "reported_lag": reported_lag_after(frame),
        "writes": [write_text(write) for write in outcome.writes],
        "changes": changed,
        **({"records": records} if full else {}),
        "divergence": frame.finding and _finding_json(frame.finding) | {"known": known or None},
    }


_ELSEWHERE = {*STATES, *UNWRITTEN, "operations_before"}
"""Fields of a finding that the step has, or that only a target has which was driven."""


def _finding_json(finding: Finding) -> dict[str, object]:
    """Return a finding in words and numbers."""
    told = attrs.asdict(finding, recurse=False, filter=lambda f, _: f.name not in _ELSEWHERE)
    return told | {"time": finding.time}


def _facts(frame: Frame, *, full: bool) -> Iterator[tuple[str, str]]:
    before, state = frame.before, frame.state
    outcome = frame.outcome or frame.event.outcome
    yield "answer", answer_text(outcome)
    ends = [
        f"{name} {old} → {new}"
        for name, old, new in (
            ("SPSO", before.start_offset, state.start_offset),
            ("SPEO", before.end_offset, state.end_offset),
        )
        if old != new
    ]
    if ends:
        yield "window", ", ".join(ends)
    for number, text in enumerate(change_texts(changes(before, state), state)):
        yield "" if number else "records", text
    for number, write in enumerate(outcome.writes):
        yield "" if number else "writes", write_text(write)
    if full:
        yield "state", f"SPSO {state.start_offset}, SPEO {state.end_offset}"
        yield from (("", record_text(record)) for record in state.records or ())
    if (lag := lag_after(frame)) is not None:
        yield "lag", str(lag)


def wrapped(text: str, width: int, first: str, others: str) -> str:
    """Return text in lines that begin with ``first`` and ``others``, with no word broken."""
    return textwrap.fill(
        printable(text),
        max(width, _LEAST_WIDTH),
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _fact(name: str, text: str, width: int) -> str:
    return wrapped(text, width, f"    {name:<{_LABEL}}", " " * (_LABEL + 6))


def _record_json(record: RecordRange | None) -> dict[str, Any] | None:
    """Return a record without its offsets, which are those of a change."""
    row = record_row(record) if record else {}
    return {name: row[name] for name in row if name not in ("first", "last")} or None


def _unexplained(problem: Problem) -> ExplainError:
    line = "" if problem.line is None else f":{problem.line}"
    return ExplainError(f"{problem.source}{line}: {problem.message}")
