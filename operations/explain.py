"""One share-partition of a trace, step by step, in a table as in the KIPs."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import attrs
from rich.table import Table
from rich.text import Text

from judge.engine import SpecEngine
from judge.finding import Finding
from judge.follower import Follower
from judge.words import marked_text, operation_text, printable, record_text, write_text
from model.errors import InvalidValueError
from model.outcome import Outcome
from model.profile import Profile
from model.snapshot import SharePartitionSnapshot
from model.trace import TraceEvent
from operations.local import opened_traces, share_partitions
from replay.load import PartitionRows
from replay.tables import BadRowError, events_of
from replay.verdict import Problem

MAX_NAMES = 10
"""How many share-partitions are listed where the user has to choose."""


class ExplainError(ValueError):
    """A trace cannot be explained; one line, with the choices or with the problem."""


@attrs.frozen
class ExplainedStep:
    """An event, and its outcome by the specification; ``lag``: the leader's, after it."""

    event: TraceEvent
    outcome: Outcome
    after: SharePartitionSnapshot
    lag: int
    finding: Finding | None


def partition_events(path: Path, partition: str | None) -> list[TraceEvent]:
    """Return the events of a share-partition in order; None: of the only one in the trace.

    Raises NoSuchTraceError and ExplainError.
    """
    with opened_traces([path]) as traces:
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
            return _events(rows)
    raise ExplainError(f"{partition} is not in {path}; there are: {shown}")


def steps(events: Iterable[TraceEvent], profile: Profile) -> Iterator[ExplainedStep]:
    """Yield a step for each event, up to the first that diverges."""
    engine = SpecEngine(profile)
    follower = Follower("spec", engine, invariants_every=1)
    for event in events:
        try:
            finding = follower.step(event)
        except InvalidValueError as error:
            raise ExplainError(f"seq {event.seq}: {error}") from None
        lag = engine.lag() if event.seq or finding is None else 0
        yield ExplainedStep(event, follower.outcome, follower.state, lag, finding)
        if finding:
            return


def table_of(shown: Iterable[ExplainedStep]) -> Table:
    """Return the steps as a table."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("seq", "ms"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("operation", overflow="fold", ratio=3)
    table.add_column("answer", overflow="fold", ratio=2)
    for name in ("SPSO", "SPEO"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("records", overflow="fold", ratio=4)
    table.add_column("writes", overflow="fold", ratio=3)
    table.add_column("lag", justify="right", no_wrap=True)
    for step in shown:
        style = "bold red" if step.finding else ""
        table.add_row(*(Text(printable(cell)) for cell in _cells(step)), style=style)
    return table


def _cells(step: ExplainedStep) -> tuple[str, ...]:
    event, after = step.event, step.after
    outcome = event.outcome if step.finding else step.outcome
    answer = outcome.status.name if outcome.can_acquire else "can acquire nothing"
    if outcome.acquired:
        acquired = ", ".join(f"{r.first}–{r.last} ({r.delivery_count})" for r in outcome.acquired)
        answer = f"{answer}, {acquired}"
    if outcome.acquisition is not None:
        answer = f"{answer}, acquisition {outcome.acquisition}"
    if outcome.marked:
        answer = f"{answer}, {marked_text(outcome.marked)}"
    for completion in outcome.completed:
        answer += f"; to seq {completion.seq}: {completion.status.name}"
    return (
        str(event.seq),
        str(event.time_ms),
        operation_text(event.operation),
        answer,
        str(after.start_offset),
        str(after.end_offset),
        ", ".join(record_text(r) for r in after.records or ()) or "–",
        "; ".join(write_text(write) for write in outcome.writes) or "–",
        str(step.lag),
    )


def _events(rows: PartitionRows) -> list[TraceEvent]:
    try:
        return list(events_of(rows.table))
    except BadRowError as error:
        problem = Problem(*rows.place(error.bad.row), error.bad.message)
        raise _unexplained(problem) from None


def _unexplained(problem: Problem) -> ExplainError:
    line = "" if problem.line is None else f":{problem.line}"
    return ExplainError(f"{problem.source}{line}: {problem.message}")
