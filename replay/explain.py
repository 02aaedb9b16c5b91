"""One share-partition of a trace, step by step, as the KIPs' own tables show one."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import attrs
import pyarrow.compute as pc
from rich.table import Table
from rich.text import Text

from model.errors import InvalidValueError
from model.outcome import Outcome
from model.profile import Profile
from model.snapshot import SharePartitionSnapshot
from model.trace import TraceEvent
from model.trace_arrow import SCHEMA
from model.trace_codec import event_from_row
from replay.engine import SpecEngine
from replay.lines import Bad, partition_hint, read_lines, strict_row
from replay.partition import Finding, Follower
from replay.sources import Form, Source, find_sources
from replay.survey import opened
from replay.tables import first_bad_row
from replay.words import marked_text, operation_text, printable, record_text, write_text

__all__ = ["ExplainError", "Step", "partition_events", "steps", "table_of"]

MAX_NAMES = 10
"""How many share-partitions are named where one has to be chosen."""

Row = dict[str, object]


class ExplainError(ValueError):
    """A trace cannot be explained: which share-partition, or what is wrong with it, on one line."""


@attrs.frozen
class Step:
    """One event with what the specification says of it; ``lag`` in offsets, after the event."""

    event: TraceEvent
    outcome: Outcome
    after: SharePartitionSnapshot
    lag: int
    finding: Finding | None


def partition_events(path: Path, partition: str | None) -> list[TraceEvent]:
    """Return the events of a share-partition in order; of the only one, if None.

    Raises NoSuchTraceError and ExplainError.
    """
    rows: list[tuple[Row, str]] = []
    names: dict[str, None] = {}
    for source in find_sources([path]).files:
        for row, place in _rows(source, partition, names):
            name = str(row["partition"])
            if partition in (None, name):
                rows.append((row, place))
    if partition is None and len(names) > 1:
        shown = ", ".join(list(names)[:MAX_NAMES])
        raise ExplainError(f"--partition is needed; there are {len(names)}: {shown}")
    if not rows:
        shown = ", ".join(list(names)[:MAX_NAMES]) or "none that can be read"
        raise ExplainError(f"{partition} is not in {path}; there are: {shown}")
    return _events(rows)


def steps(events: Iterable[TraceEvent], profile: Profile) -> Iterator[Step]:
    """Yield what the specification says of each event, up to the first that diverges."""
    engine = SpecEngine(profile)
    follower = Follower("spec", engine, invariants_every=1)
    for event in events:
        try:
            finding = follower.step(event)
        except InvalidValueError as error:
            raise ExplainError(f"seq {event.seq}: {error}") from None
        lag = engine.lag() if event.seq or finding is None else 0
        yield Step(event, follower.outcome, follower.state, lag, finding)
        if finding:
            return


def table_of(shown: Iterable[Step]) -> Table:
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


def _cells(step: Step) -> tuple[str, ...]:
    event, after = step.event, step.after
    outcome = event.outcome if step.finding else step.outcome
    answer = outcome.status.name if outcome.can_acquire else "can acquire nothing"
    if outcome.acquired:
        taken = ", ".join(f"{r.first}–{r.last} ({r.delivery_count})" for r in outcome.acquired)
        answer = f"{answer}, {taken}"
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


def _rows(
    source: Source, partition: str | None, names: dict[str, None]
) -> Iterator[tuple[Row, str]]:
    """Yield rows with their place, of the share-partition at least; ``names`` takes them all."""
    if source.form is Form.PARQUET:
        yield from _parquet_rows(source, partition, names)
        return
    for line in read_lines(source.path, compressed=source.form is Form.GZIP):
        place = f"{source.path}:{line.number}"
        if isinstance(line, Bad):
            _refuse(line.partition, partition, f"{place}: {line.message}")
        elif line.content.strip():
            try:
                row = strict_row(line.content)
            except InvalidValueError as error:
                _refuse(partition_hint(line.content), partition, f"{place}: {error}")
            else:
                names.setdefault(str(row["partition"]))
                yield row, place


def _refuse(of: str | None, partition: str | None, message: str) -> None:
    if partition is None or of in (None, partition):
        raise ExplainError(message)


def _parquet_rows(
    source: Source, partition: str | None, names: dict[str, None]
) -> Iterator[tuple[Row, str]]:
    first = 1
    try:
        with opened(source.path) as file:
            for group in range(file.metadata.num_row_groups):
                table = file.read_row_group(group, columns=SCHEMA.names)
                if bad := first_bad_row(table):
                    raise ExplainError(f"{source.path}:{first + bad.row}: {bad.message}")
                found = table.num_rows
                names.update(dict.fromkeys(table.column("partition").unique().to_pylist()))
                if partition is not None:
                    table = table.filter(pc.equal(table.column("partition"), partition))
                for row in table.to_pylist():
                    yield row, source.path
                first += found
    except InvalidValueError as error:
        raise ExplainError(f"{source.path}: {error}") from None


def _events(rows: list[tuple[Row, str]]) -> list[TraceEvent]:
    rows.sort(key=lambda found: int(str(found[0]["seq"])))
    events: list[TraceEvent] = []
    for number, (row, place) in enumerate(rows):
        if row["seq"] != number:
            raise ExplainError(f"{place}: seq {number} is missing or there twice")
        try:
            events.append(event_from_row(row))
        except InvalidValueError as error:
            raise ExplainError(f"{place}: {error}") from None
    return events
