from typing import Any

from impl import events as event
from impl.encode import Members
from impl.events import events_of
from model.trace_arrow import table_from_rows
from tests.impl.helpers import TRACES
from tests.traces import rows_by_partition

Row = dict[str, Any]


def test_a_slice_of_a_batch_has_the_same_events() -> None:
    rows = next(iter(rows_by_partition(TRACES[0]).values()))[:60]
    batch = table_from_rows(rows).to_batches()[0]
    whole, part = events_of(batch, Members()), events_of(batch.slice(20, 30), Members())
    assert whole.fields.shape == (event.FIELDS, 60) == (event.MARKED_TO + 1, 60)
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
    assert events.fields[event.ACQUIRABLE].tolist() == [0, 0, 0]
    assert event.OPERATIONS[event.SKIP_ACQUIRE] == "skip_acquire"
    assert events.fields[event.MEMBER].tolist() == [0, 0, -2]
    assert members.names[0] == rows[0]["member"]


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
