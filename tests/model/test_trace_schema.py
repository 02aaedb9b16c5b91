from collections.abc import Iterator
from typing import get_args

from model import operations as ops
from model.trace_schema import EVENT, OPERATION_FIELDS, FieldKind, TraceField

NAMES = [field.name for field in EVENT]


def parts(fields: tuple[TraceField, ...]) -> Iterator[TraceField]:
    for field in fields:
        yield field
        yield from parts(field.parts)


def test_no_field_is_named_twice_in_one_record() -> None:
    for fields in (EVENT, *(field.parts for field in parts(EVENT))):
        names = [field.name for field in fields]
        assert len(set(names)) == len(names)


def test_records_and_rows_have_parts_and_nothing_else_has() -> None:
    for field in parts(EVENT):
        has_parts = field.kind in {FieldKind.RECORD, FieldKind.RECORDS, FieldKind.ROWS}
        assert bool(field.parts) == has_parts, field.name


def test_fields_of_every_event_are_required() -> None:
    required = [field.name for field in EVENT if not field.optional]
    assert required == [
        "partition",
        "seq",
        "time_ms",
        "op",
        "result",
        "writes",
        "completed",
        "after",
    ]


def test_the_arguments_of_each_operation_are_fields_of_an_event() -> None:
    assert len(OPERATION_FIELDS) == len(get_args(ops.Operation))
    for fields in OPERATION_FIELDS.values():
        assert set(fields) <= set(NAMES)
