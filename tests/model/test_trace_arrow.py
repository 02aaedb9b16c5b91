from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.errors import InvalidValueError
from model.trace import TraceEvent
from model.trace_arrow import PLACE, SCHEMA, check_schema, table_from_rows
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


def test_a_table_may_say_where_each_event_was_read(tmp_path: Path) -> None:
    schema = pa.schema([*SCHEMA, *PLACE])
    path = tmp_path / "trace.parquet"
    pq.write_table(table_from_rows([{"seq": 4, "source": "a.jsonl", "line": 5}], schema), path)
    row = pq.read_table(path).to_pylist()[0]
    assert (row["source"], row["line"], row["seq"], row["partition"]) == ("a.jsonl", 5, 4, None)


@pytest.mark.parametrize("name", SCHEMA.names)
def test_a_column_that_is_not_there_is_named(name: str) -> None:
    rest = pa.schema([field for field in SCHEMA if field.name != name])
    with pytest.raises(InvalidValueError, match=f"column {name} is None; allowed: a column of "):
        check_schema(rest)


def test_a_column_of_another_type_is_named_with_both_types() -> None:
    index = SCHEMA.get_field_index("seq")
    with pytest.raises(InvalidValueError, match=r"column seq is 'int32'; allowed: int64"):
        check_schema(SCHEMA.set(index, pa.field("seq", pa.int32())))
