from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.errors import InvalidValueError
from model.trace import TraceEvent
from model.trace_arrow import (
    PLACE,
    SCHEMA,
    check_readable,
    check_schema,
    completed,
    table_from_rows,
)
from model.trace_codec import event_from_row, row_from_event
from model.trace_schema import EVENT
from tests.strategies import EVENTS


@settings(max_examples=25)
@given(st.lists(EVENTS, max_size=4))
def test_events_survive_a_table(events: list[TraceEvent]) -> None:
    table = table_from_rows(row_from_event(event) for event in events)
    check_schema(table.schema)
    assert [event_from_row(row) for row in table.to_pylist()] == events


@settings(max_examples=25)
@given(st.lists(EVENTS, min_size=1, max_size=4))
def test_events_survive_parquet(events: list[TraceEvent]) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(table_from_rows(row_from_event(event) for event in events), sink)
    table = pq.read_table(pa.BufferReader(sink.getvalue()))
    check_schema(table.schema)
    assert [event_from_row(row) for row in table.to_pylist()] == events


def test_a_column_that_is_missing_has_the_values_given() -> None:
    table = pa.table({"partition": ["a", "b"]})
    filled = completed(table, seq=pa.array([3, 4])).select(["partition", "seq"])
    assert filled.to_pylist() == [{"partition": "a", "seq": 3}, {"partition": "b", "seq": 4}]


def test_the_columns_are_the_fields_of_an_event() -> None:
    assert SCHEMA.names == [field.name for field in EVENT]
    assert SCHEMA.field("seq").type == pa.int64()
    assert SCHEMA.field("skipped").type == pa.bool_()
    assert SCHEMA.field("batches").type == pa.list_(
        pa.struct([("first", pa.int64()), ("last", pa.int64()), ("types", pa.list_(pa.int64()))])
    )
    assert SCHEMA.field("after").type.field("records").type.value_type.field("state").type == (
        pa.string()
    )


def test_a_schema_may_hold_more_and_in_another_order() -> None:
    check_schema(pa.schema([*PLACE, *reversed(list(SCHEMA))]))


def test_a_table_may_hold_the_source_and_line_of_each_event(tmp_path: Path) -> None:
    schema = pa.schema([*SCHEMA, *PLACE])
    path = tmp_path / "trace.parquet"
    pq.write_table(table_from_rows([{"seq": 4, "source": "a.jsonl", "line": 5}], schema), path)
    row = pq.read_table(path).to_pylist()[0]
    assert (row["source"], row["line"], row["seq"], row["partition"]) == ("a.jsonl", 5, 4, None)


@pytest.mark.parametrize("name", SCHEMA.names)
def test_an_error_names_a_missing_column(name: str) -> None:
    rest = pa.schema([field for field in SCHEMA if field.name != name])
    with pytest.raises(InvalidValueError, match=f"column {name} is 'missing'; allowed: one of "):
        check_schema(rest)


def test_a_column_of_another_type_is_named_with_both_types() -> None:
    index = SCHEMA.get_field_index("seq")
    with pytest.raises(InvalidValueError, match=r"column seq is 'int32'; allowed: int64"):
        check_schema(SCHEMA.set(index, pa.field("seq", pa.int32())))


def without(column: str, *parts: str) -> pa.Schema:
    """The schema whose record ``column`` lacks these parts."""
    index = SCHEMA.get_field_index(column)
    kept = [part for part in SCHEMA.field(index).type if part.name not in parts]
    return SCHEMA.set(index, pa.field(column, pa.struct(kept)))


@settings(max_examples=25)
@given(st.lists(EVENTS, max_size=4))
def test_a_table_that_has_everything_is_complete(events: list[TraceEvent]) -> None:
    table = table_from_rows(row_from_event(event) for event in events)
    check_readable(table.schema)
    assert completed(table).equals(table)


def test_an_optional_column_may_be_missing_and_is_null() -> None:
    earlier = without("result", "acquisition", "marked")
    earlier = earlier.remove(earlier.get_field_index("progress_batches"))
    row = {"seq": 4, "op": "release", "result": {"status": "NONE"}}
    table = table_from_rows([row], earlier)
    with pytest.raises(InvalidValueError, match="column progress_batches is 'missing'"):
        check_schema(table.schema)
    check_readable(table.schema)
    found = completed(table)
    check_schema(found.schema)
    assert found.equals(table_from_rows([row]))


@pytest.mark.parametrize(
    ("schema", "column"),
    [
        (without("after", "start_offset"), "after"),
        (SCHEMA.remove(SCHEMA.get_field_index("seq")), "seq"),
        (SCHEMA.set(SCHEMA.get_field_index("seq"), pa.field("seq", pa.string())), "seq"),
        (SCHEMA.set(SCHEMA.get_field_index("after"), pa.field("after", pa.int64())), "after"),
        (
            SCHEMA.set(
                SCHEMA.get_field_index("result"),
                pa.field("result", pa.struct([("status", pa.int64())])),
            ),
            "result",
        ),
    ],
    ids=["required part", "required column", "other type", "no record", "other type of a part"],
)
def test_a_column_that_no_version_wrote_is_refused_by_name(schema: pa.Schema, column: str) -> None:
    with pytest.raises(InvalidValueError, match=f"^column {column} is "):
        check_readable(schema)
