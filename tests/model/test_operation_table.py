from pathlib import Path
from typing import get_args

import attrs
import pytest

from model import operations as ops
from model.errors import ErrorCode
from model.operation_table import OPERATION_TABLE, OperationRow, Writes, operation_row
from model.trace_schema import EVENT
from tests.traces import EACH_TRACE, trace_events

ROOT = Path(__file__).parents[2]
EACH_ROW = pytest.mark.parametrize("row", OPERATION_TABLE, ids=lambda row: row.name)


def test_every_operation_has_one_row() -> None:
    assert {row.operation for row in OPERATION_TABLE} == set(get_args(ops.Operation))
    assert len({row.name for row in OPERATION_TABLE}) == len(OPERATION_TABLE)


@EACH_ROW
def test_the_fields_of_a_row_are_fields_of_an_event(row: OperationRow) -> None:
    assert set(row.fields) <= {field.name for field in EVENT}


@EACH_ROW
def test_the_text_of_a_row_names_attributes_of_its_operation(row: OperationRow) -> None:
    assert row.text.format_map({name: name for name in attrs.fields_dict(row.operation)})


def test_only_a_skipped_acquire_has_another_name_in_a_trace() -> None:
    assert [(row.name, row.op) for row in OPERATION_TABLE if row.name != row.op] == [
        ("skip_acquire", "acquire")
    ]


@EACH_TRACE
def test_recorded_operations_write_and_wait_as_their_rows_say(name: str) -> None:
    for event in trace_events(name):
        row, outcome = operation_row(event.operation), event.outcome
        assert len(outcome.writes) <= {Writes.NONE: 0, Writes.ONE: 1}.get(row.writes, 1 << 20)
        assert row.waits or outcome.status is not ErrorCode.PENDING


def test_the_document_of_the_format_names_every_operation() -> None:
    text = ROOT.joinpath("docs", "replay.md").read_text()
    assert [row.op for row in OPERATION_TABLE if f"`{row.op}`" not in text] == []
