"""The columns of verdicts and divergences, wherever they are written.

The version of these schemas is ``SCHEMA_VERSION``; it is in the metadata of every file.
"""

from typing import Any

import attrs
import pyarrow as pa

from replay.verdict import Divergence, PartitionVerdict, RecordRow

SCHEMA_VERSION = 2
"""Changes where a column has another name, type or meaning; not where one is added."""

_NUMBERS = {
    *("seq", "line", "offset", "events", "checked", "gaps", "lost", "latest_ms", "repeats"),
    *("recorded_value", "expected_value", "start_offset_before", "end_offset_before"),
    *("delivery_complete_count_before", "first", "last", "delivery_count"),
}
_LISTS = ("records_before", "records_expected", "records_recorded")
_NAME = [("group", pa.string()), ("topic", pa.string()), ("topic_partition", pa.int64())]


def _columns(cls: type, *without: str) -> list[tuple[str, pa.DataType]]:
    names = [field.name for field in attrs.fields(cls) if field.name not in without]
    return [(name, _type(name)) for name in names]


def _type(name: str) -> pa.DataType:
    if name in _LISTS:
        return pa.list_(RECORD)
    if name == "operations_before":
        return pa.list_(pa.string())
    if name == "pending":
        return pa.bool_()
    return pa.int64() if name in _NUMBERS else pa.string()


RECORD = pa.struct(_columns(RecordRow))
"""Records in equal states, as in ``after.records`` of a trace."""

DIVERGENCES = pa.schema([*_columns(Divergence), *_NAME])
"""The columns of divergences: those of ``Divergence``, and the parts of the share-partition."""

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


def divergence_row(divergence: Divergence) -> dict[str, Any]:
    """Return a row of divergences."""
    return attrs.asdict(divergence) | name_parts(divergence.partition)


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
