import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from model.checks import MAX_INT64
from model.errors import InvalidValueError
from model.trace import TraceEvent
from model.trace_codec import row_from_event
from model.trace_json import MAX_LINE_BYTES, line_from_row, object_from_row, row_from_line
from model.trace_schema import OPERATION_FIELDS
from tests.strategies import EVENTS

LINE: dict[str, Any] = {
    "partition": "g:t:0",
    "seq": 3,
    "time_ms": 500,
    "op": "acknowledge",
    "member": "c1",
    "batches": [[0, 1, [1]], [2, 3, [2, 3]]],
    "result": {"status": "NONE"},
    "writes": [
        {
            "id": 0,
            "start_offset": 0,
            "delivery_complete_count": 3,
            "state_batches": [[0, 1, 2, 1]],
            "status": "NONE",
        }
    ],
    "completed": [{"seq": 1, "status": "NONE"}],
    "after": {
        "start_offset": 2,
        "end_offset": 4,
        "delivery_complete_count": 0,
        "records": [[2, 3, "ACQUIRED", 1, "c1", False]],
    },
}


OTHER_RECORD = [4, 5, "AVAILABLE", 1, None, False]


def encoded(value: object) -> bytes:
    return json.dumps(value).encode()


def changed(change: Callable[[dict[str, Any]], object]) -> bytes:
    line = json.loads(encoded(LINE))
    change(line)
    return encoded(line)


def test_a_line_decodes_to_a_row_with_every_part_named() -> None:
    row = row_from_line(encoded(LINE))
    assert row["batches"][1] == {"first": 2, "last": 3, "types": [2, 3]}
    assert row["writes"][0]["state_batches"] == [
        {"first": 0, "last": 1, "state": 2, "delivery_count": 1}
    ]
    assert row["after"]["records"][0]["member"] == "c1"
    assert "entry" not in row


def test_a_row_encodes_to_the_line_it_came_from_in_the_order_of_the_schema() -> None:
    line = line_from_row(row_from_line(encoded(dict(reversed(LINE.items())))))
    assert line.endswith(b"\n")
    assert line == json.dumps(LINE, separators=(",", ":")).encode() + b"\n"


@given(EVENTS)
def test_every_row_survives_its_line(event: TraceEvent) -> None:
    row = row_from_event(event)
    line = line_from_row(row)
    assert line_from_row(row_from_line(line)) == line
    assert json.loads(line) == object_from_row(row)


def test_null_stands_for_what_is_absent() -> None:
    row = row_from_line(changed(lambda line: line.update(entry=None)))
    assert row["entry"] is None
    assert line_from_row(row) == line_from_row(row_from_line(encoded(LINE)))
    ownerless = row_from_line(
        changed(lambda line: line["after"]["records"][0].__setitem__(4, None))
    )
    assert ownerless["after"]["records"][0]["member"] is None
    assert b'["ACQUIRED",1,null' not in line_from_row(ownerless)
    assert b'"ACQUIRED",1,null,false' in line_from_row(ownerless)


def test_a_row_that_lacks_what_a_trace_must_have_still_has_a_line() -> None:
    row = row_from_line(encoded(LINE))
    row["writes"][0]["state_batches"] = None
    assert b'"state_batches":null' in line_from_row(row)


REFUSED = {
    "unknown field": (lambda line: line.update(offset=1), "event.offset is 1; allowed: one of pa"),
    "unknown part": (
        lambda line: line["after"].update(lag=1),
        "event.after.lag is 1; allowed: one of",
    ),
    "missing field": (
        lambda line: line.pop("seq"),
        "event.seq is None; allowed: a value: it is mi",
    ),
    "missing part": (
        lambda line: line["writes"][0].pop("id"),
        "event.writes.id is None; allowed: a value: it is missing",
    ),
    "null where a value is required": (
        lambda line: line.update(seq=None),
        "event.seq is None; allowed: a whole number of 64 bits",
    ),
    "text for a number": (lambda line: line.update(seq="3"), "event.seq is '3'; allowed: a whole"),
    "fraction": (lambda line: line.update(ms=1.0), "event.ms is 1.0; allowed: a whole number"),
    "flag for a number": (
        lambda line: line.update(seq=True),
        "event.seq is True; allowed: a whole",
    ),
    "number too large": (
        lambda line: line.update(seq=MAX_INT64 + 1),
        f"event.seq is {MAX_INT64 + 1}; allowed: a whole number of 64 bits",
    ),
    "number for text": (lambda line: line.update(member=7), "event.member is 7; allowed: a string"),
    "number for a flag": (
        lambda line: line.update(skipped=1),
        "event.skipped is 1; allowed: true or",
    ),
    "list for a record": (
        lambda line: line.update(after=[]),
        "event.after is []; allowed: an object",
    ),
    "record for a list": (
        lambda line: line.update(writes={}),
        "event.writes is {}; allowed: an array",
    ),
    "short row": (
        lambda line: line["batches"].append([4, 5]),
        "event.batches is [4, 5]; allowed: an array of first, last, types",
    ),
    "number for a row": (
        lambda line: line["batches"].append(4),
        "event.batches is 4; allowed: an array of first, last, types",
    ),
    "text in a row": (
        lambda line: line["batches"][0].__setitem__(0, "0"),
        "event.batches.first is '0'; allowed: a whole number of 64 bits",
    ),
    "flag in a row of plain values": (
        lambda line: line["after"]["records"].append([4, True, *OTHER_RECORD[2:]]),
        "event.after.records.last is True; allowed: a whole number of 64 bits",
    ),
    "number too large in a row": (
        lambda line: line["after"]["records"][0].__setitem__(3, MAX_INT64 + 1),
        f"event.after.records.delivery_count is {MAX_INT64 + 1}; allowed: a whole number of 64",
    ),
    "number too small in a row": (
        lambda line: line["after"]["records"].append([-MAX_INT64 - 1, *OTHER_RECORD[1:]]),
        f"event.after.records.first is {-MAX_INT64 - 1}; allowed: a whole number of 64 bits",
    ),
    "null for a text of a row": (
        lambda line: line["after"]["records"].append([*OTHER_RECORD[:2], None, *OTHER_RECORD[3:]]),
        "event.after.records.state is None; allowed: a string",
    ),
    "long row": (
        lambda line: line["after"]["records"].append([*OTHER_RECORD, 0]),
        "event.after.records is [4, 5, 'AVAILABLE', 1, None, False, 0]; allowed: an array of first",
    ),
    "record for a row": (
        lambda line: line["after"]["records"].append({}),
        "event.after.records is {}; allowed: an array of first, last, state",
    ),
    "text among numbers": (
        lambda line: line["batches"][0][2].append("accept"),
        "event.batches.types is 'accept'; allowed: a whole number of 64 bits",
    ),
    "number among texts": (
        lambda line: line["result"].update(marked=[1]),
        "event.result.marked is 1; allowed: a string",
    ),
    "number among records": (
        lambda line: line["completed"].append(1),
        "event.completed is 1; allowed: an object",
    ),
}


@pytest.mark.parametrize(("change", "message"), REFUSED.values(), ids=list(REFUSED))
def test_an_error_shows_field_value_and_what_is_allowed(
    change: Callable[[dict[str, Any]], object], message: str
) -> None:
    with pytest.raises(InvalidValueError) as caught:
        row_from_line(changed(change))
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"", "line is .*; allowed: one JSON object"),
        (b'{"partition":"g:t:0"', "line is .*; allowed: one JSON object"),
        (b"{} {}", "line is .*; allowed: one JSON object"),
        (b'{"seq":3,"op":"gap","seq":4}', r"seq is \[3, 4\]; allowed: one value"),
        (b'{"after":{"end_offset":1,"end_offset":1}}', r"end_offset is .*; allowed: one value"),
        (b"[]", r"event is \[\]; allowed: an object"),
        (b'{"partition":"\xff\xfe"}', r"line is b'\\xff'; allowed: UTF-8"),
        (b"[" * 200_000, "line is .*; allowed: one JSON object"),
        (b'{"seq":' + b"9" * 5000 + b"}", "line is .*; allowed: one JSON object"),
        (b'{"seq":NaN}', "event.partition is None"),
        (b" " * (MAX_LINE_BYTES + 1), f"line is '.* bytes'; allowed: at most {MAX_LINE_BYTES}"),
    ],
    ids=[
        "empty",
        "cut",
        "two",
        "twice",
        "twice within",
        "list",
        "not UTF-8",
        "deep",
        "long number",
        "nan",
        "long line",
    ],
)
def test_a_line_that_is_no_event_is_refused(line: bytes, message: str) -> None:
    with pytest.raises(InvalidValueError, match=f"^{message}"):
        row_from_line(line)


def test_every_operation_has_a_line_that_names_its_arguments() -> None:
    for fields in OPERATION_FIELDS.values():
        row = row_from_line(encoded({**LINE, **dict.fromkeys(fields)}))
        assert set(fields) <= set(row)
