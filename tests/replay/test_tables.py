from typing import Any

import pyarrow as pa
import pytest

from model.trace_arrow import SCHEMA, table_from_rows
from model.trace_json import line_from_row
from replay.tables import events_of, first_bad_row, row_of
from tests.replay.samples import events, kafka_rows, present

ROWS = kafka_rows(count=40)
ACKNOWLEDGE = next(i for i, r in enumerate(ROWS) if r["op"] == "acknowledge" and r["writes"])


def spoiled(row: int, *path: str | int) -> pa.Table:
    """Return a table in which one value is null."""
    rows = kafka_rows(count=40)
    at: Any = rows[row]
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = None
    return table_from_rows(rows)


def test_a_whole_table_has_no_bad_row_and_gives_its_events() -> None:
    table = table_from_rows(ROWS)
    assert first_bad_row(table) is None
    assert list(events_of(table)) == events(ROWS)
    assert first_bad_row(SCHEMA.empty_table()) is None
    assert line_from_row(row_of(table, 3)) == line_from_row(ROWS[3])


@pytest.mark.parametrize(
    ("row", "path", "name"),
    [
        (7, ("partition",), "partition"),
        (7, ("result",), "result"),
        (8, ("after", "end_offset"), "after.end_offset"),
        (0, ("config", "record_lock_duration_ms"), "config.record_lock_duration_ms"),
        (ACKNOWLEDGE, ("batches", 0, "types"), "batches.types"),
        (ACKNOWLEDGE, ("writes", 0, "id"), "writes.id"),
        (ACKNOWLEDGE, ("writes", 0, "state_batches", 0, "last"), "writes.state_batches.last"),
        (ACKNOWLEDGE, ("writes", 0), "writes"),
    ],
)
def test_a_missing_value_is_found_at_any_depth(row: int, path: tuple[Any, ...], name: str) -> None:
    bad = present(first_bad_row(spoiled(row, *path)))
    assert (bad.row, bad.message) == (row, f"{name} is None; allowed: a value")


def test_the_first_of_several_bad_rows_counts_also_in_a_slice() -> None:
    rows = kafka_rows(count=40)
    rows[30]["result"] = rows[12]["after"]["start_offset"] = None
    bad = present(first_bad_row(table_from_rows(rows).slice(10)))
    assert bad.row == 2


def test_text_that_is_not_utf8_is_a_bad_row() -> None:
    table = table_from_rows(ROWS)
    broken = pa.array([b"m"] * 20 + [b"\xff"] + [b"m"] * 19).view(pa.string())
    index = table.schema.get_field_index("member")
    bad = present(first_bad_row(table.set_column(index, "member", broken)))
    assert (bad.row, bad.message) == (20, "member is b'\\xff'; allowed: UTF-8")
