"""The columns of verdicts and divergences, wherever they are written.

The version of these schemas is ``SCHEMA_VERSION``; it is in the metadata of every file.
"""

from collections.abc import Sequence
from typing import Any

import attrs
import pyarrow as pa

from judge.finding import Finding, FindingPlace
from model.snapshot import SharePartitionSnapshot
from replay.verdict import PartitionVerdict

SCHEMA_VERSION = 2
"""Changes where a column has another name, type or meaning; not where one is added."""

_NUMBERS = {
    *("seq", "line", "offset", "events", "checked", "gaps", "lost", "latest_ms", "repeats"),
    *("recorded_value", "expected_value"),
}
_WINDOW = ("start_offset", "end_offset", "delivery_complete_count")
_STATES = {"state_before": "before", "state_expected": "expected", "state_recorded": "recorded"}
_UNWRITTEN = ("place", "last", "evidence", "cause", "vector", "pins", "rests_on")
"""Fields of a finding that are no columns: its place is several, the others are of no trace."""

_NAME = [("group", pa.string()), ("topic", pa.string()), ("topic_partition", pa.int64())]

RECORD = pa.struct(
    [
        *((name, pa.int64()) for name in ("first", "last")),
        ("state", pa.string()),
        ("delivery_count", pa.int64()),
        ("member", pa.string()),
        ("pending", pa.bool_()),
    ]
)
"""Records in equal states, as in ``after.records`` of a trace."""


def _columns(cls: type, *without: str) -> list[tuple[str, pa.DataType]]:
    names = [field.name for field in attrs.fields(cls) if field.name not in without]
    return [(name, _type(name)) for name in names]


def _type(name: str) -> pa.DataType:
    if name == "operations_before":
        return pa.list_(pa.string())
    return pa.int64() if name in _NUMBERS else pa.string()


DIVERGENCES = pa.schema(
    [
        *_columns(FindingPlace),
        *_columns(Finding, *_STATES, *_UNWRITTEN),
        *((f"{name}_before", pa.int64()) for name in _WINDOW),
        *((f"records_{name}", pa.list_(RECORD)) for name in _STATES.values()),
        *_NAME,
    ]
)
"""The columns of divergences: those of a finding, its states, and the parts of its place."""

VERDICTS = pa.schema(
    [
        *_columns(PartitionVerdict, "divergence", "problem", "more"),
        ("problem", pa.string()),
        ("divergences", pa.int64()),
        *_NAME,
    ]
)
"""The columns of verdicts; ``problem`` as text, and how many divergences there are."""

RESULTS = VERDICTS.append(pa.field("diverging", pa.list_(pa.struct(list(DIVERGENCES)))))
"""The columns of verdicts, and the divergences as structs."""


def name_parts(partition: str) -> dict[str, Any]:
    """Return group, topic and number of a share-partition; null where its name has no such."""
    parts = partition.rsplit(":", 2)
    if len(parts) == len(_NAME) and parts[2].isascii() and parts[2].isdigit():
        number = int(parts[2])
        if number < 2**31:
            return {"group": parts[0], "topic": parts[1], "topic_partition": number}
    return dict.fromkeys((name for name, _ in _NAME))


def divergence_row(finding: Finding) -> dict[str, Any]:
    """Return a row of divergences."""
    columns = set(DIVERGENCES.names)
    kept = {f.name: getattr(finding, f.name) for f in attrs.fields(Finding) if f.name in columns}
    before = finding.state_before
    window = {f"{name}_before": before and getattr(before, name) for name in _WINDOW}
    records = {f"records_{to}": _records(getattr(finding, name)) for name, to in _STATES.items()}
    place = attrs.asdict(finding.place)
    return place | kept | window | records | name_parts(finding.place.partition)


def _records(state: SharePartitionSnapshot | None) -> list[dict[str, Any]]:
    """Return the records of a state as data."""
    return [
        {
            "first": record.first,
            "last": record.last,
            "state": record.state.name,
            "delivery_count": record.delivery_count,
            "member": record.owner,
            "pending": record.pending,
        }
        for record in (state.records if state else None) or ()
    ]


def verdict_row(verdict: PartitionVerdict) -> dict[str, Any]:
    """Return a row of verdicts."""
    names = [field.name for field in attrs.fields(PartitionVerdict)]
    row = {name: getattr(verdict, name) for name in names if name in VERDICTS.names}
    row["problem"] = verdict.problem and verdict.problem.message
    row["divergences"] = len(verdict.divergences)
    return row | name_parts(verdict.partition)


def labelled(schema: pa.Schema, labels: tuple[tuple[str, str], ...]) -> pa.Schema:
    """Return a schema whose metadata says how its rows came to be."""
    metadata = {f"sharespec.{name}": text for name, text in labels}
    metadata["sharespec.schema"] = str(SCHEMA_VERSION)
    return schema.with_metadata(metadata)


def result_tables(
    verdicts: Sequence[PartitionVerdict], labels: tuple[tuple[str, str], ...] = ()
) -> dict[str, pa.Table]:
    """Return the tables ``verdicts`` and ``divergences``."""
    rows = {
        "verdicts": (VERDICTS, [verdict_row(v) for v in verdicts]),
        "divergences": (DIVERGENCES, [divergence_row(d) for v in verdicts for d in v.divergences]),
    }
    return {
        name: pa.Table.from_pylist(each, schema=labelled(columns, labels))
        for name, (columns, each) in rows.items()
    }
