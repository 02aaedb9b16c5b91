"""What the specification says of a recorded trace, put in order as the replay does."""

from collections.abc import Iterator

import pyarrow as pa

from judge.engine import engines_for
from judge.finding import Finding
from judge.follower import follow
from model.profile import KAFKA
from model.trace_arrow import PLACE, SCHEMA, table_from_rows
from model.trace_json import row_from_object
from replay.tables import events_of, in_sequence
from tests.recorder.account import Trace

_KEYS = [(name, "ascending") for name in ("leader_epoch", "instance", "seq")]


def tables(trace: Trace) -> Iterator[tuple[str, pa.Table]]:
    """Yield each share-partition and its rows in order, with a gap where some are missing."""
    rows: dict[str, list[dict[str, object]]] = {}
    for line, row in enumerate(trace.rows):
        source = trace.sources[line] if trace.sources else ""
        placed = {**row_from_object(row), "source": source, "line": line}
        rows.setdefault(row["partition"], []).append(placed)
    for name, some in sorted(rows.items()):
        table = table_from_rows(some, pa.schema([*SCHEMA, *PLACE]))
        ordered, problem = in_sequence(name, table.sort_by(_KEYS), frozenset(trace.unfinished))
        assert problem is None, problem
        yield name, ordered


def findings(trace: Trace) -> dict[str, Finding | None]:
    """Return the first finding on each share-partition, its leaders one after another."""
    engines = ("spec",)
    return {
        name: follow(events_of(table), engines_for(engines, KAFKA)) for name, table in tables(trace)
    }


def gaps(trace: Trace) -> int:
    """Return in how many places events are missing."""
    return sum(table.column("op").to_pylist().count("gap") for _name, table in tables(trace))


def conforms(trace: Trace) -> bool:
    """Return whether the rules allow all of it; show the first that they do not."""
    found = [finding for finding in findings(trace).values() if finding]
    for finding in found:
        print(finding)  # noqa: T201 - for the report of a test that fails
    return bool(trace.rows) and not found
