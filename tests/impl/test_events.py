from impl.encode import Members
from impl.events import (
    ACQUIRED_FROM,
    ACQUIRED_TO,
    FIELDS,
    MEMBER,
    MISSING,
    MS,
    OP,
    OPERATIONS,
    RECORDS_FROM,
    SKIP_ACQUIRE,
    TIME,
    events_of,
)
from model.trace_arrow import table_from_rows
from tests.impl.helpers import TRACES, rows_by_partition


def test_a_batch_of_rows_and_a_slice_of_it_say_the_same() -> None:
    rows = next(iter(rows_by_partition(TRACES[0]).values()))[:60]
    batch = table_from_rows(rows).to_batches()[0]
    whole, part = events_of(batch, Members()), events_of(batch.slice(20, 30), Members())
    assert whole.fields.shape == (FIELDS, 60)
    assert whole.fields[TIME].tolist() == [row["time_ms"] for row in rows]
    assert whole.fields[MS].tolist() == [row.get("ms", MISSING) for row in rows]
    assert part.fields[OP].tolist() == whole.fields[OP, 20:50].tolist()
    for row in range(30):
        low, high = part.fields[ACQUIRED_FROM, row], part.fields[ACQUIRED_TO, row]
        taken = rows[row + 20]["result"].get("acquired")
        assert (taken is None) == (low < 0)
        assert part.acquired[low:high].tolist() == [list(r.values()) for r in taken or ()]


def test_a_skipped_acquire_is_an_operation_of_its_own() -> None:
    rows = [r for r in next(iter(rows_by_partition(TRACES[0]).values())) if r.get("skipped")]
    renamed = {**rows[0], "op": "skip_acquire"}
    members = Members()
    batch = table_from_rows([rows[0], renamed, {**rows[0], "member": ""}]).to_batches()[0]
    events = events_of(batch, members)
    assert events.fields[OP].tolist() == [SKIP_ACQUIRE, -1, SKIP_ACQUIRE]
    assert OPERATIONS[SKIP_ACQUIRE] == "skip_acquire"
    assert events.fields[MEMBER].tolist() == [0, 0, -1]
    assert members.names[0] == rows[0]["member"]


def test_records_that_were_not_recorded_are_not_none() -> None:
    row = next(iter(rows_by_partition(TRACES[0]).values()))[0]
    silent = {**row, "after": {**row["after"], "records": None}}
    batch = table_from_rows([row, silent]).to_batches()[0]
    assert events_of(batch, Members()).fields[RECORDS_FROM].tolist() == [0, -1]
