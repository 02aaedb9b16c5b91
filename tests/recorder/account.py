"""The rows that a recorder wrote, and whether every event is accounted for."""

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs

from model.operation_table import OPERATION_TABLE

Row = dict[str, Any]
Key = tuple[str, int, int]
"""A share-partition, a leader epoch and an instance."""

OWN = {"checkpoint": (), "gap": ("lost",), "expire": ("ranges",)}
"""Operations that only a recorder writes, and the fields that they need."""
NEEDS = {row.op: row.needs for row in OPERATION_TABLE if row.name != "skip_acquire"} | OWN


@attrs.frozen
class Trace:
    """Files of a recorder in a folder: their first lines, their last lines, the rows between."""

    headers: list[Row]
    trailers: list[Row]
    rows: list[Row]
    folder: Path | None = None

    @property
    def instances(self) -> dict[Key, list[Row]]:
        """The rows of each instance in the order in which they were written."""
        found: dict[Key, list[Row]] = {}
        for row in self.rows:
            key = (row["partition"], row["leader_epoch"], row["instance"])
            found.setdefault(key, []).append(row)
        return found

    def count(self, op: str) -> int:
        """Return how many rows are of an operation."""
        return sum(row["op"] == op for row in self.rows)


def read(folder: Path) -> Trace:
    """Read the files of a folder, as far as they go."""
    trace = Trace([], [], [], folder)
    for path in sorted(folder.glob("sharespec-*.jsonl.gz")):
        for line in _lines(path):
            row = json.loads(line)
            if "recorder" in row:
                trace.headers.append(row["recorder"])
            elif "trailer" in row:
                trace.trailers.append(row["trailer"])
            else:
                trace.rows.append(row)
    return trace


def _lines(path: Path) -> Iterator[str]:
    try:
        with gzip.open(path, "rt") as file:
            yield from file
    except (EOFError, zlib.error):
        return  # The broker died while it wrote.


def problems(trace: Trace) -> list[str]:
    """Return what is wrong with the rows themselves; nothing here knows the rules."""
    found = []
    for key, rows in trace.instances.items():
        found += [f"{key}: {problem}" for problem in _of_instance(rows)]
    written = sum(trailer["written"] for trailer in trace.trailers)
    if trace.headers and len(trace.trailers) == len(trace.headers) and written != len(trace.rows):
        found.append(f"trailers count {written} rows, the files have {len(trace.rows)}")
    found += [f"trailer with {trailer}" for trailer in trace.trailers if trailer["faults"]]
    return found


def _of_instance(rows: list[Row]) -> Iterator[str]:
    if rows[0]["op"] not in {"initialize", "checkpoint"}:
        yield f"begins with {rows[0]['op']}"
    for before, row in pairwise(rows):
        if row["seq"] != before["seq"] + 1:
            yield f"{row['seq']} after {before['seq']}"
        if row["time_ms"] < before["time_ms"]:
            yield f"{row['seq']}: the clock goes back"
        if before["op"] == "gap" and row["op"] != "checkpoint":
            yield f"{row['seq']}: {row['op']} after a gap"
    for row in rows:
        missing = [name for name in NEEDS[row["op"]] if name not in row]
        if missing:
            yield f"{row['seq']}: {row['op']} without {missing}"
    yield from _of_writes(rows)


def _of_writes(rows: list[Row]) -> Iterator[str]:
    made: Counter[int] = Counter()
    answered: Counter[int] = Counter()
    waiting = set()
    for row in rows:
        known = [*row["writes"], *row.get("outstanding", [])]
        made.update({write["id"] for write in known} - set(made))
        if row["op"] == "complete_write":
            answered[row["id"]] += 1
            if row["id"] not in made:
                yield f"{row['seq']}: answer to write {row['id']}, which nobody made"
        if row["result"]["status"] == "PENDING":
            waiting.add(row["seq"])
        waiting -= {done["seq"] for done in row["completed"]}
        if row["op"] == "gap":
            made.clear()
            answered.clear()
            waiting.clear()
    yield from (
        f"write {write} was answered {count} times"
        for write, count in answered.items()
        if count > 1
    )


def numbers_that_differ(trace: Trace) -> list[str]:
    """Return the writes whose numbers are not those after the row that they name."""
    found = []
    for key, rows in trace.instances.items():
        after = {row["seq"]: row["after"] for row in rows}
        for row in rows:
            for write in row["writes"]:
                names = ("start_offset", "delivery_complete_count")
                then = after[write["made_after"]]
                if any(write[name] != then[name] for name in names):
                    found.append(f"{key} {row['seq']}: {write} but {then}")
    return found
