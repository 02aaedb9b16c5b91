from typing import Any

from impl import events as event
from impl.encode import Members
from impl.events import events_of
from impl.rows import Ints
from model.trace_arrow import table_from_rows
from tests.impl.helpers import TRACES, rows_by_partition

Row = dict[str, Any]


def test_a_slice_of_a_batch_has_the_same_events() -> None:
    rows = next(iter(rows_by_partition(TRACES[0]).values()))[:60]
    batch = table_from_rows(rows).to_batches()[0]
    whole, part = events_of(batch, Members()), events_of(batch.slice(20, 30), Members())
    assert whole.fields.shape == (event.FIELDS, 60) == (event.OVERLAPS + 1, 60)
    assert whole.fields[event.TIME].tolist() == [row["time_ms"] for row in rows]
    assert whole.fields[event.MS].tolist() == [row.get("ms", event.MISSING) for row in rows]
    assert part.fields[event.OP].tolist() == whole.fields[event.OP, 20:50].tolist()
    for row in range(30):
        low, high = part.fields[event.ACQUIRED_FROM, row], part.fields[event.ACQUIRED_TO, row]
        taken = rows[row + 20]["result"].get("acquired")
        assert (taken is None) == (low < 0)
        assert part.acquired[low:high].tolist() == [list(r.values()) for r in taken or ()]


def test_a_skipped_acquire_is_an_operation_of_its_own() -> None:
    rows = [r for r in next(iter(rows_by_partition(TRACES[0]).values())) if r.get("skipped")]
    renamed = {**rows[0], "op": "skip_acquire"}
    members = Members()
    batch = table_from_rows([rows[0], renamed, {**rows[0], "member": ""}]).to_batches()[0]
    events = events_of(batch, members)
    assert events.fields[event.OP].tolist() == [event.SKIP_ACQUIRE, -1, event.SKIP_ACQUIRE]
    assert events.fields[event.CAN_ACQUIRE].tolist() == [0, 0, 0]
    assert event.OPERATIONS[event.SKIP_ACQUIRE] == "skip_acquire"
    assert events.fields[event.MEMBER].tolist() == [0, 0, -2]
    assert members.names[0] == rows[0]["member"]


def test_unrecorded_records_differ_from_no_records() -> None:
    row = next(iter(rows_by_partition(TRACES[0]).values()))[0]
    silent = {**row, "after": {**row["after"], "records": None}}
    batch = table_from_rows([row, silent]).to_batches()[0]
    assert events_of(batch, Members()).fields[event.RECORDS_FROM].tolist() == [0, -1]


def test_arguments_of_few_operations_follow_those_of_the_others() -> None:
    usual: Row = {"seq": 0, "time_ms": 0, "result": {}, "writes": [], "completed": [], "after": {}}
    mark = {"first": 1, "last": 2, "leader_epoch": 3, "acquisition": 4}
    rows: list[Row] = [
        {"op": "mark_in_progress", "progress_batches": [mark, mark]},
        {"op": "finish_dead_letter", "ranges": [{"first": 7, "last": 8}]},
        {"op": "acknowledge", "batches": [{"first": 5, "last": 6, "types": [1, 2]}]},
        {"op": "produce", "log_batches": [{"first": 0, "last": 9}], "ranges": []},
        {"op": "mark_in_progress", "progress_batches": None},
        {"op": "archive_aborted", "ranges": [{"first": 3, "last": 4}]},
    ]
    rows[0] |= {"result": {"marked": ["NONE", "INVALID_REQUEST"], "acquisition": 5}}
    batch = table_from_rows([{**usual, **row} for row in rows]).to_batches()[0]
    events = events_of(batch, Members())
    f = events.fields

    def part(array: Ints, begin: int, row: int) -> object:
        low, high = f[begin, row], f[begin + 1, row]
        return None if low < 0 else array[low:high].tolist()

    assert [part(events.acks, event.ACKS_FROM, row) for row in range(6)] == [
        [[1, 2, 3, 4], [1, 2, 3, 4]],
        None,
        [[5, 6, 0, 2]],
        None,
        None,
        None,
    ]
    assert [part(events.log_batches, event.LOG_FROM, row) for row in range(6)] == [
        None,
        [[7, 8]],
        None,
        [[0, 9]],
        None,
        [[3, 4]],
    ]
    statuses = [event.STATUS_NAMES.index(name) for name in ("NONE", "INVALID_REQUEST")]
    assert part(events.types, event.MARKED_FROM, 0) == statuses
    assert (f[event.MARKED_TO] - f[event.MARKED_FROM]).tolist() == [2, 0, 0, 0, 0, 0]
    assert f[event.RECORDED_NUMBER].tolist() == [5, *[event.MISSING] * 5]


def test_an_acknowledgement_enters_at_the_share_partition_by_default() -> None:
    usual: Row = {"op": "acknowledge", "result": {}, "after": {}}
    rows = [{**usual, "entry": entry} for entry in ("request", "share_partition", None, "door")]
    entries = (
        events_of(table_from_rows(rows).to_batches()[0], Members()).fields[event.ENTRY].tolist()
    )
    assert [event.ENTRIES[entry] for entry in entries[:3]] == [
        *event.ENTRIES[::-1],
        "share_partition",
    ]
    assert entries[3] < 0
