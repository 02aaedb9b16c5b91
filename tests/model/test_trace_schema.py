from collections.abc import Iterator

from model.trace_schema import EVENT, FieldKind, TraceField


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
