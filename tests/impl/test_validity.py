import copy
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

from impl.kernel import flatten, replay_partition
from model.checks import MAX_INT64, MAX_RANGE
from model.errors import InvalidValueError
from model.profile import KAFKA
from model.trace_arrow import table_from_rows
from model.trace_codec import event_from_row
from model.trace_schema import EVENT, OPERATION_FIELDS, FieldKind, TraceField
from replay.tables import first_bad_row
from tests.impl.by_hand import after, story

Row = dict[str, Any]
Path = tuple[str | int, ...]


def _set(*path: str | int) -> Callable[[Row, object], None]:
    def change(row: Row, value: object) -> None:
        inner: Any = row
        for part in path[:-1]:
            inner = inner[part]
        inner[path[-1]] = value

    return change


def _three(begin: int = 1, **rest: object) -> list[Row]:
    """Return three ranges that ascend, and what is said of each."""
    return [{"first": begin + low, "last": begin + low + 1, **rest} for low in (0, 2, 6)]


CONFIG = {
    "delivery_count_limit": 5,
    "partition_max_record_locks": 100,
    "record_lock_duration_ms": 1000,
    "auto_offset_reset": "latest",
    "isolation_level": "read_uncommitted",
}


def _row(operation: str) -> Row:
    """Return an event that has every field, also those which its operation does not need."""
    written = {"start_offset": 1, "delivery_complete_count": 0, "status": "NONE"}
    return {
        "partition": "g:t:0",
        "seq": 7,
        "time_ms": 9,
        "op": "acquire" if operation == "skip_acquire" else operation,
        "skipped": operation == "skip_acquire",
        "config": CONFIG,
        "persisted": {
            "start_offset": 1,
            "delivery_complete_count": 0,
            "state_batches": _three(state=0, delivery_count=1),
        },
        "log_start_offset": 1,
        "log_end_offset": MAX_INT64 - 1,
        "log_batches": _three(),
        "member": "m",
        "acquire_mode": "record_limit",
        "batch_size": 1,
        "max_fetch_records": 1,
        "fetch_offset": 1,
        "batches": _three(types=[1, 2, 3]),
        "entry": "request",
        "ms": 1,
        "id": MAX_INT64,
        "start_offset": 1,
        "progress_batches": _three(leader_epoch=1, acquisition=1),
        "ranges": _three(),
        "result": {
            "status": "NONE",
            "acquired": _three(delivery_count=1),
            "can_acquire": True,
            "acquisition": 1,
            "marked": ["INVALID_REQUEST"] * 3,
        },
        "writes": [
            {"id": i, **written, "state_batches": _three(10 * i, state=0, delivery_count=1)}
            for i in (1, 2, 3)
        ],
        "completed": [{"seq": i, "status": "NONE"} for i in (1, 2, 3)],
        "after": {
            "start_offset": 1,
            "end_offset": 9,
            "delivery_complete_count": 1,
            "records": _three(state="ACQUIRED", delivery_count=1, member="m", pending=False),
        },
    }


RECORDED = {
    "release": {"seq", "time_ms", "result", "writes", "completed", "after"},
    "skip_acquire": {"result"},
    "advance_time": {"writes"},
    "complete_write": {"result"},
    "initialize": {"time_ms", "last_stable_offset", "log_known", "reset_offset", "timed"},
}
"""What every event has, and of which some operations need more: operations that tell of each."""
READ_BY_THE_MODEL = ("checkpoint",)
"""Operations whose arguments the compiled code does not read."""
RANGES: list[tuple[int | None, int | None]] = [
    (0, 0), (-1, 0), (1, 0), (0, MAX_RANGE - 1), (0, MAX_RANGE), (7, 7), (2, 3), (8, 8), (9, 9),
    (MAX_INT64 - 1, MAX_INT64 - 1), (MAX_INT64 - 1, MAX_INT64), (MAX_INT64, MAX_INT64),
    (MAX_INT64 - MAX_RANGE, MAX_INT64 - 1), (MAX_INT64 - MAX_RANGE - 1, MAX_INT64 - 1),
    (-(2**62), 3), (None, 3), (3, None),
]  # fmt: skip
POOL: dict[FieldKind, tuple[object, ...]] = {
    FieldKind.INTEGER: (
        None, -MAX_INT64, -(2**62), -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 9, 2**15 - 1, 2**15,
        MAX_INT64 - 1, MAX_INT64,
    ),
    FieldKind.TEXT: (
        None, "", "m", "NONE", "UNKNOWN_SERVER_ERROR", "PENDING", "FENCED_LEADER_EPOCH", "FINE",
        "AVAILABLE", "ACQUIRED", "IN_PROGRESS", "request", "share_partition", "batch_optimized",
        "record_limit", "earliest", "by_duration", "read_committed",
    ),
    FieldKind.FLAG: (None, False, True),
    FieldKind.RECORD: (None,),
    FieldKind.INTEGERS: (
        None, [], [0], [None], [1, None], [-1, 9], [-(2**62)], [MAX_INT64, 1, None],
    ),
    FieldKind.TEXTS: (
        None, [], ["NONE"], [None], ["NONE", None], ["NONE", "FINE"], ["UNKNOWN_SERVER_ERROR"],
    ),
}  # fmt: skip
"""What is put in the place of a value: each bound, and what is beyond it."""


def _spoilings(
    fields: tuple[TraceField, ...], row: Row, path: Path
) -> Iterator[tuple[Path, object]]:
    """Yield places in a row or a part of it, each with what may be put there."""
    for field in fields:
        place = (*path, field.name)
        if field.kind in POOL:
            yield from ((place, value) for value in POOL[field.kind])
        if field.kind is FieldKind.RECORD and row.get(field.name):
            yield from _spoilings(field.parts, row[field.name], place)
        elif field.kind in (FieldKind.RECORDS, FieldKind.ROWS):
            items = row[field.name]
            yield from (
                (place, value) for value in (None, [], items[:1], items[::-1], [*items, items[0]])
            )
            for i, item in enumerate(items):
                yield (*place, i), None
                parts = tuple(part for part in field.parts if part.name not in ("first", "last"))
                yield from _spoilings(parts, item, (*place, i))
                ranges = RANGES if "first" in item else []
                both = [{**item, "first": first, "last": last} for first, last in ranges]
                yield from (((*place, i), new) for new in both)
                yield from ((place, [new]) for new in both if i == 0)


def _spoiled(operation: str) -> Iterator[tuple[Path, Row]]:
    """Yield an event of an operation with one value spoiled that it needs, or that all have."""
    row = _row(operation)
    names = RECORDED.get(operation, set())
    if operation not in READ_BY_THE_MODEL:
        names = {*names, *OPERATION_FIELDS[operation], "entry"}
    for path, value in _spoilings(tuple(f for f in EVENT if f.name in names), row, ()):
        changed = copy.deepcopy(row)
        _set(*path)(changed, value)
        yield path, changed


def _are_events(rows: list[Row]) -> list[bool]:
    """Tell of each row whether the replay of the specification can read it."""
    table = table_from_rows(rows)
    return [_is_event(row, table.slice(i, 1)) for i, row in enumerate(rows)]


def _is_event(row: Row, alone: pa.Table) -> bool:
    try:
        event_from_row(row)
    except InvalidValueError:
        return False
    except (AttributeError, TypeError):
        assert first_bad_row(alone), row  # A null that the codec leaves to this check.
        return False
    return first_bad_row(alone) is None


def _found_valid(rows: list[Row]) -> list[bool]:
    """Tell of each row whether the kernel takes it for an event."""
    unreadable = set(flatten(table_from_rows(rows)).unreadable.tolist())
    return [row not in unreadable for row in range(len(rows))]


@pytest.mark.parametrize("operation", [o for o in OPERATION_FIELDS if o not in READ_BY_THE_MODEL])
def test_kernel_and_model_agree_which_rows_are_events(operation: str) -> None:
    paths, rows = map(list, zip(*_spoiled(operation), strict=True))
    for path, row, *agree in zip(paths, rows, _found_valid(rows), _are_events(rows), strict=True):
        assert agree in ([True, True], [False, False]), (path, row)


@pytest.mark.parametrize(
    ("batches", "end", "valid"),
    [
        ([], 0, True),
        ([], -1, False),
        ([], None, False),
        ([], MAX_INT64 - 1, True),
        ([], MAX_INT64, False),
        ([(0, 6)], 6, False),
        ([(0, 6)], 7, True),
        ([(0, 2), (5, 6)], 6, False),
        ([(0, 2), (5, 6)], 7, True),
        ([(MAX_INT64 - 9, MAX_INT64 - 2)], MAX_INT64 - 1, True),
        ([(MAX_INT64 - 9, MAX_INT64 - 1)], MAX_INT64, False),
    ],
)
def test_a_log_ends_past_its_last_batch(
    batches: list[tuple[int, int]], end: int | None, *, valid: bool
) -> None:
    usual = _row("produce")
    listed = [{"first": first, "last": last} for first, last in batches]
    rows = [usual, {**usual, "log_batches": listed, "log_end_offset": end}, usual]
    assert _found_valid(rows) == _are_events(rows) == [True, valid, True]


@pytest.mark.parametrize("number", [None, 0, 1, 5, 6, 7])
@pytest.mark.parametrize("acquired", [None, [], _three(delivery_count=1)])
def test_a_count_is_of_the_records_acquired(number: int | None, acquired: list[Row] | None) -> None:
    row = _row("acquire")
    row["result"] |= {"acquired": acquired, "count": number}
    right = number in (None, 2 * len(acquired or ()))
    assert _found_valid([row]) == _are_events([row]) == [right]


@pytest.mark.parametrize("operation", OPERATION_FIELDS)
def test_an_event_of_each_operation_is_one(operation: str) -> None:
    assert _found_valid([_row(operation)]) == [True]


def test_fields_that_an_operation_does_not_need_may_hold_anything() -> None:
    row = {**_row("produce"), "ms": -5, "acquire_mode": "none", "id": -3, "member": None}
    row |= {"ranges": [{"first": -1, "last": 5}], "batches": _three(types=[])}
    assert _found_valid([row]) == _are_events([row]) == [True]
    assert _found_valid([{**row, "op": "nothing"}]) == [False]


@pytest.mark.parametrize("row", [2, 3])
@pytest.mark.parametrize(
    "change",
    [
        {"op": "nothing"},
        {"after": after(1, 0)},
        {"op": "alter_config", "config": {**CONFIG, "delivery_count_limit": 0}},
        {"op": "initialize", "config": CONFIG},
    ],
)
def test_a_replay_ends_before_a_row_that_holds_no_event(row: int, change: Row) -> None:
    rows = story(*[{"op": "produce", "log_batches": [], "log_end_offset": 0}] * 3)
    rows[row].update(change)
    result = replay_partition(table_from_rows(rows), KAFKA)
    assert (result.events, result.divergence) == (row, None)
    assert result.unreadable == "row is 'malformed'; allowed: an event"
