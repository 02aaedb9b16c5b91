"""The traces recorded from Apache Kafka, each read once."""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from model.trace import TraceEvent
from model.trace_codec import event_from_row
from model.trace_json import row_from_line, row_from_object

FOLDER = Path(__file__).parent / "data" / "traces"
NAMES = sorted(path.name for path in FOLDER.glob("kafka-*.jsonl.gz"))

QUICK = "kafka-record-limit.jsonl.gz"
"""The one trace of which `make test` checks every event."""


def _marks(name: str) -> list[pytest.MarkDecorator]:
    """Keep all tests of a trace in one process, which reads it once."""
    group = pytest.mark.xdist_group(name)
    return [group] if name == QUICK else [group, pytest.mark.slow]


EACH_TRACE = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=_marks(name)) for name in NAMES]
)


@cache
def trace_lines(name: str) -> tuple[bytes, ...]:
    with gzip.open(FOLDER / name) as lines:
        return tuple(lines)


@cache
def trace_events(name: str) -> tuple[TraceEvent, ...]:
    return tuple(event_from_row(row_from_line(line)) for line in trace_lines(name))


@cache
def rows_by_partition(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of a recorded file, for each share-partition in order."""
    partitions: dict[str, list[dict[str, Any]]] = {}
    with gzip.open(path) as lines:
        for line in map(json.loads, lines):
            if "partition" in line:  # Others are about the file itself.
                partitions.setdefault(line["partition"], []).append(row_from_object(line))
    return partitions
