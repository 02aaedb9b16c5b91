import copy
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from impl.kernel import replay_partition
from model.checks import MAX_RANGE
from model.errors import InvalidValueError
from model.profile import DRAFT_RESOLVED, KAFKA, Profile
from model.trace_arrow import table_from_rows
from tests.impl.helpers import TRACES, interpreted, rows_by_partition
from tests.impl.walk import Walk

Row = dict[str, Any]


def _set(*path: str | int) -> Callable[[Row, object], None]:
    def change(row: Row, value: object) -> None:
        inner: Any = row
        for part in path[:-1]:
            inner = inner[part]
        inner[path[-1]] = value

    return change


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
