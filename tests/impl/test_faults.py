import copy
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pyarrow as pa
import pytest

from impl.encode import Members
from impl.faults import FAULTS, NO_FAULT
from impl.kernel import replay_partition
from model.checks import MAX_INT64, MAX_RANGE
from model.errors import InvalidValueError
from model.profile import DRAFT_RESOLVED, KAFKA, Profile
from model.trace_arrow import table_from_rows
from model.trace_codec import event_from_row
from model.trace_schema import EVENT, OPERATION_FIELDS, Field, Kind
from replay.tables import first_bad_row
from tests.impl.helpers import TRACES, interpreted, rows_by_partition
from tests.impl.walk import Walk

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
        "persisted": {"start_offset": 1, "delivery_complete_count": 0, "state_batches": []},
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
}
"""What every event has, and of which some operations need more: operations that tell of each."""
READ_BY_THE_MODEL = ("initialize", "alter_config")
"""Operations whose arguments the compiled code does not read."""
RANGES: list[tuple[int | None, int | None]] = [
    (0, 0), (-1, 0), (1, 0), (0, MAX_RANGE - 1), (0, MAX_RANGE), (7, 7), (2, 3), (8, 8), (9, 9),
    (MAX_INT64 - 1, MAX_INT64 - 1), (MAX_INT64 - 1, MAX_INT64), (MAX_INT64, MAX_INT64),
    (MAX_INT64 - MAX_RANGE, MAX_INT64 - 1), (MAX_INT64 - MAX_RANGE - 1, MAX_INT64 - 1),
    (-(2**62), 3), (None, 3), (3, None),
]  # fmt: skip
POOL: dict[Kind, tuple[object, ...]] = {
    Kind.INTEGER: (
        None, -MAX_INT64, -(2**62), -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 9, 2**15 - 1, 2**15,
        MAX_INT64 - 1, MAX_INT64,
    ),
    Kind.TEXT: (
        None, "", "m", "NONE", "UNKNOWN_SERVER_ERROR", "PENDING", "FENCED_LEADER_EPOCH", "FINE",
        "AVAILABLE", "ACQUIRED", "IN_PROGRESS", "request", "share_partition", "batch_optimized",
        "record_limit",
    ),
    Kind.FLAG: (None, False, True),
    Kind.RECORD: (None,),
    Kind.INTEGERS: (None, [], [0], [None], [1, None], [-1, 9], [-(2**62)], [MAX_INT64, 1, None]),
    Kind.TEXTS: (
        None, [], ["NONE"], [None], ["NONE", None], ["NONE", "FINE"], ["UNKNOWN_SERVER_ERROR"],
    ),
}  # fmt: skip
"""What is put in the place of a value: each bound, and what is beyond it."""


def _spoilings(fields: tuple[Field, ...], row: Row, path: Path) -> Iterator[tuple[Path, object]]:
    """Yield places in a row or a part of it, each with what may be put there."""
    for field in fields:
        place = (*path, field.name)
        if field.kind in POOL:
            yield from ((place, value) for value in POOL[field.kind])
        if field.kind is Kind.RECORD and row.get(field.name):
            yield from _spoilings(field.parts, row[field.name], place)
        elif field.kind in (Kind.RECORDS, Kind.ROWS):
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


def _faults(rows: list[Row]) -> list[str]:
    """Return for each row the field that the kernel finds wrong, or nothing."""
    batch = table_from_rows(rows).to_batches()[0]
    events = interpreted("events").events_of(batch, Members())
    fault_of = interpreted("faults").fault_of
    return [FAULTS[fault_of(events, row)][0] for row in range(len(rows))]


def _names(operation: str, path: Path) -> set[str]:
    """Return how the kernel may name a place: itself, what it is in, or what it decides."""
    place = ".".join(part for part in path if isinstance(part, str))
    names = [name for name, _ in FAULTS[1:]]
    around = max((name for name in names if f"{place}.".startswith(f"{name}.")), default="")
    inside = [name for name in names if name.startswith(f"{place}.") and not around]
    decides = {
        ("produce", "log_batches"): "log_end_offset",
        ("complete_write", "result.status"): "status",
        ("release", "writes"): "writes.state_batches",
    }
    return {around, *inside, decides.get((operation, place), "")}


@pytest.mark.parametrize("operation", [o for o in OPERATION_FIELDS if o not in READ_BY_THE_MODEL])
def test_what_the_specification_cannot_read_is_no_event(operation: str) -> None:
    """And all that it can read is one. What is named is the field that was spoiled."""
    places, rows = map(list, zip(*_spoiled(operation), strict=True))
    found = zip(places, rows, _faults(rows), _are_events(rows), strict=True)
    for path, row, fault, is_event in found:
        assert (fault == "") == is_event, (path, row)
        assert is_event or fault in _names(operation, path), (path, row)


@pytest.mark.parametrize(
    ("batches", "end", "field"),
    [
        ([], 0, ""),
        ([], -1, "log_end_offset"),
        ([], None, "log_end_offset"),
        ([], MAX_INT64 - 1, ""),
        ([], MAX_INT64, "log_end_offset"),
        ([(0, 6)], 6, "log_end_offset"),
        ([(0, 6)], 7, ""),
        ([(0, 2), (5, 6)], 6, "log_end_offset"),
        ([(0, 2), (5, 6)], 7, ""),
        ([(MAX_INT64 - 9, MAX_INT64 - 2)], MAX_INT64 - 1, ""),
        ([(MAX_INT64 - 9, MAX_INT64 - 1)], MAX_INT64, "log_batches"),
    ],
)
def test_a_log_ends_past_its_last_batch(
    batches: list[tuple[int, int]], end: int | None, field: str
) -> None:
    usual = _row("produce")
    listed = [{"first": first, "last": last} for first, last in batches]
    rows = [usual, {**usual, "log_batches": listed, "log_end_offset": end}, usual]
    assert _faults(rows) == ["", field, ""]
    assert _are_events(rows) == [True, field == "", True]


@pytest.mark.parametrize("number", [None, 0, 1, 5, 6, 7])
@pytest.mark.parametrize("acquired", [None, [], _three(delivery_count=1)])
def test_a_count_is_of_the_records_acquired(number: int | None, acquired: list[Row] | None) -> None:
    row = _row("acquire")
    row["result"] |= {"acquired": acquired, "count": number}
    right = number in (None, 2 * len(acquired or ()))
    assert _faults([row]) == ["" if right else "result.count"]
    assert _are_events([row]) == [right]


@pytest.mark.parametrize("operation", OPERATION_FIELDS)
def test_an_event_of_each_operation_has_no_fault(operation: str) -> None:
    assert _faults([_row(operation)]) == [""]


def test_what_would_be_allowed_is_told() -> None:
    told = dict(FAULTS)
    assert FAULTS[NO_FAULT] == ("", "")
    assert len(told) == len(FAULTS)
    for name in ("batch_size", "max_fetch_records", "ms", "id", "result.acquisition"):
        assert told[name] == "a whole number that is not negative"
    for name in ("fetch_offset", "log_start_offset", "start_offset"):
        assert told[name] == "an offset"
    for name in ("log_batches", "result.acquired", "writes.state_batches", "ranges"):
        assert told[name].startswith("ranges from first to last, of at most 1048576 offsets")
    assert told["after.records"].startswith(told["ranges"])


def _has(*path: str | int) -> Callable[[Row], bool]:
    def found(row: Row) -> bool:
        inner: Any = row
        for part in path:
            if not inner or (isinstance(part, str) and part not in inner):
                return False
            inner = inner[part]
        return inner is not None

    return found


CASES: list[tuple[str, tuple[str | int, ...], object, str]] = [
    ("produce", ("op",), "nothing", "op"),
    ("produce", ("op",), None, "op"),
    ("produce", ("seq",), 10**6, "seq"),
    ("produce", ("seq",), None, "seq"),
    ("produce", ("time_ms",), 10**9, "time_ms"),
    ("produce", ("log_batches",), None, "log_batches"),
    ("produce", ("log_batches", 0, "first"), -1, "log_batches"),
    ("produce", ("log_batches", 0, "last"), None, "log_batches"),
    ("produce", ("log_batches", 0, "last"), MAX_RANGE * 2, "log_batches"),
    ("produce", ("log_end_offset",), 1, "log_end_offset"),
    ("produce", ("writes",), None, "writes"),
    ("produce", ("completed",), None, "completed"),
    ("produce", ("completed",), [{"seq": None, "status": "NONE"}], "completed"),
    ("produce", ("completed",), [{"seq": 1, "status": "FINE"}], "completed"),
    ("produce", ("result",), None, "result.status"),
    ("produce", ("result", "status"), "FINE", "result.status"),
    ("produce", ("after",), None, "after"),
    ("produce", ("after", "start_offset"), 2**62, "after"),
    ("produce", ("after", "delivery_complete_count"), -1, "after"),
    ("acquire", ("member",), None, "member"),
    ("acquire", ("member",), "", "member"),
    ("acquire", ("acquire_mode",), "all", "acquire_mode"),
    ("acquire", ("batch_size",), -1, "batch_size"),
    ("acquire", ("max_fetch_records",), None, "max_fetch_records"),
    ("acquire", ("fetch_offset",), 2**63 - 1, "fetch_offset"),
    ("acquire", ("result", "count"), 12345, "result.count"),
    ("acquire", ("result", "acquired", 0, "delivery_count"), 2**15, "result.acquired"),
    ("acquire", ("after", "records", 0, "state"), "HELD", "after.records"),
    ("acquire", ("after", "records", 0, "pending"), None, "after.records"),
    ("acquire", ("skipped",), True, "result.can_acquire"),
    ("acknowledge", ("batches",), None, "batches"),
    ("acknowledge", ("batches", 0, "first"), None, "batches"),
    ("acknowledge", ("batches", 0, "types"), None, "batches"),
    ("acknowledge", ("batches", 0, "types"), [None], "batches"),
    ("acknowledge", ("entry",), "door", "entry"),
    ("acknowledge", ("writes", 0, "id"), -1, "writes"),
    ("acknowledge", ("writes", 0, "status"), None, "writes"),
    ("acknowledge", ("writes", 0, "start_offset"), -2, "writes"),
    ("acknowledge", ("writes", 0, "state_batches"), None, "writes.state_batches"),
    ("acknowledge", ("writes", 0, "state_batches", 0, "state"), 1, "writes.state_batches"),
    ("acknowledge", ("writes", 0, "state_batches", 0, "state"), 6, "writes.state_batches"),
    ("advance_time", ("ms",), -1, "ms"),
    ("complete_write", ("id",), None, "id"),
    ("complete_write", ("result", "status"), "PENDING", "status"),
    ("advance_log_start", ("log_start_offset",), None, "log_start_offset"),
    ("initialize", ("config", "delivery_count_limit"), 0, "delivery_count_limit"),
    ("initialize", ("config", "auto_offset_reset"), "sometime", "auto_offset_reset"),
    ("initialize", ("log_end_offset",), -4, "log_end_offset"),
    ("acquire", ("result", "acquisition"), -1, "result.acquisition"),
    ("acquire", ("result", "marked"), ["FINE"], "result.marked"),
    ("mark_in_progress", ("member",), None, "member"),
    ("mark_in_progress", ("progress_batches",), None, "progress_batches"),
    ("mark_in_progress", ("progress_batches", 0, "last"), None, "progress_batches"),
    ("mark_in_progress", ("progress_batches", 0, "acquisition"), None, "progress_batches"),
    ("mark_in_progress", ("result", "marked"), [None], "result.marked"),
    ("finish_dead_letter", ("ranges",), None, "ranges"),
    ("finish_dead_letter", ("ranges", 0, "last"), -1, "ranges"),
    ("finish_dead_letter", ("ranges", 0, "first"), None, "ranges"),
    ("archive_aborted", ("ranges",), None, "ranges"),
    ("archive_aborted", ("ranges", 0, "first"), -1, "ranges"),
    ("archive_aborted", ("ranges", 0, "last"), None, "ranges"),
    ("archive_aborted", ("result", "status"), "FINE", "result.status"),
    ("alter_config", ("config", "isolation_level"), "snapshot", "isolation_level"),
    ("alter_config", ("config",), None, "config"),
    ("alter_config", ("config", "delivery_count_limit"), 0, "delivery_count_limit"),
    (
        "alter_config",
        ("config", "in_progress_staleness_threshold_ms"),
        1,
        "record_lock_duration_ms",
    ),
    (
        "initialize",
        ("config", "in_progress_max_lock_extension_ms"),
        149,
        "in_progress_staleness_threshold_ms",
    ),
]


@pytest.mark.parametrize(("operation", "path", "value", "field"), CASES)
def test_a_bad_value_is_named_with_its_row(
    operation: str, path: tuple[str | int, ...], value: object, field: str
) -> None:
    profile, rows, place = _rows_with(operation, path)
    changed = copy.deepcopy(rows[place])
    _set(*path)(changed, value)
    table = table_from_rows([*rows[:place], changed, *rows[place + 1 :]])
    with pytest.raises(InvalidValueError) as raised:
        replay_partition(table, profile)
    assert raised.value.name == field
    assert getattr(raised.value, "row", None) == place


@cache
def _walked() -> list[Row]:
    walk = Walk(interpreted("partition").FastSharePartition(DRAFT_RESOLVED), 1, DRAFT_RESOLVED)
    return walk.rows(150)


def _rows_with(operation: str, path: tuple[str | int, ...]) -> tuple[Profile, list[Row], int]:
    """Return rows of a share-partition, and the first of the operation that has this field.

    What brokers do not do yet, or record, is in a random history.
    """
    must_have = _has(*path[:-1])
    recorded = [rows for trace in TRACES for rows in rows_by_partition(trace).values()]
    for profile, stories in ((KAFKA, recorded), (DRAFT_RESOLVED, [_walked()])):
        for rows in stories:
            for place, row in enumerate(rows):
                known = profile is DRAFT_RESOLVED or not str(path[-1]).startswith("in_progress")
                if row["op"] == operation and must_have(row) and not row.get("skipped") and known:
                    return profile, rows[: place + 3], place
    raise AssertionError(operation)


def test_what_an_operation_does_not_need_may_be_anything() -> None:
    profile, rows, place = _rows_with("produce", ("op",))
    changed = {**rows[place], "ms": -5, "acquire_mode": "none", "id": -3}
    changed |= {"ranges": [{"first": -1, "last": 5}], "progress_batches": [{"first": 9}]}
    result = replay_partition(table_from_rows([*rows[:place], changed]), profile)
    assert result.divergence is None
