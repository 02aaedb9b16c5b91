from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from impl.layout import HEADER_SIZE, PENDING_TAIL
from model.guards import Difference, Guard
from model.profile import DRAFT_RESOLVED, KAFKA, KIP, Profile
from model.trace_arrow import table_from_rows
from tests.impl.both_sides import found
from tests.impl.by_hand import Row, after, fetched, spans, story
from tests.impl.helpers import interpreted, table_of
from tests.impl.walk import Walk


@pytest.mark.parametrize("profile", [KAFKA, KIP, DRAFT_RESOLVED], ids=lambda profile: profile.name)
def test_a_replay_that_lacks_room_goes_on_where_it_stopped(
    profile: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk = Walk(interpreted("partition").FastSharePartition(profile), 1, profile)
    table = table_of(walk.run(80))
    replay_partition = interpreted("kernel").replay_partition
    before = replay_partition(table, profile)
    monkeypatch.setattr(interpreted("state"), "_INITIAL_ROWS", 1)
    after = replay_partition(table, profile)
    assert after.divergence is None
    assert after.lag.tolist() == before.lag.tolist()
    assert after.counts.tolist() == before.counts.tolist()
    assert after.events == len(walk.events)


def test_a_long_journal_is_merged_in_passing(monkeypatch: pytest.MonkeyPatch) -> None:
    walk = Walk(interpreted("partition").FastSharePartition(KAFKA), 2, KAFKA)
    table = table_of(walk.run(200))
    monkeypatch.setattr(interpreted("replay"), "_LONG_JOURNAL", 1)
    assert interpreted("kernel").replay_partition(table, KAFKA).divergence is None


def columns(rows: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """Return the events and leaders that the replay of these rows is given."""
    given: list[Any] = []

    def replay_rows(_state: object, events: object, leaders: object, *_: object) -> object:
        given.extend((events, leaders))
        return interpreted("replay").Stop(len(rows), 0, 0)

    monkeypatch.setattr(interpreted("kernel"), "replay_rows", replay_rows)
    interpreted("kernel").replay_partition(table_from_rows(rows), KAFKA)
    return given[0], given[1]


@pytest.mark.parametrize("profile", [KAFKA, DRAFT_RESOLVED], ids=lambda profile: profile.name)
def test_room_is_made_for_every_range_that_an_event_names(
    profile: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = Walk(interpreted("partition").FastSharePartition(profile), 5, profile).rows(250)
    events, leaders = columns(rows, monkeypatch)
    replay = vars(interpreted("replay"))
    position = np.array(replay["POSITION"], np.int64)
    header = np.zeros(HEADER_SIZE, np.int64)
    header[PENDING_TAIL] = 3  # A leader may read these too.
    for place, row in enumerate(rows):
        position[replay["P_ROW"]] = place
        outstanding = 3 * (row["op"] == "initialize")
        ranges = replay["_ranges_named"](header, events, leaders, position)
        assert ranges == named(row) + len(row["writes"]) + outstanding, row
        position[replay["P_LEADER"]] += row["op"] in ("initialize", "alter_config")


def named(row: dict[str, Any]) -> int:
    """Count the ranges of offsets in a row; of an acknowledgement one for each type."""
    batches, persisted = row.get("batches") or (), row.get("persisted") or {}
    lists = (
        *(row.get(name) for name in ("log_batches", "ranges", "progress_batches")),
        *(each["types"] for each in batches),
        *(write["state_batches"] for write in row["writes"]),
        row["result"].get("acquired"),
        row["after"]["records"],
        persisted.get("state_batches"),
    )
    return sum(len(each or ()) for each in lists)


def test_a_trace_may_begin_with_any_seq() -> None:
    walk = Walk(interpreted("partition").FastSharePartition(KAFKA), 4, KAFKA)
    rows = [{**row, "seq": row["seq"] + 7, "completed": []} for row in walk.rows(0)]
    produced = {**rows[0], "seq": 8, "op": "produce", "log_batches": [], "log_end_offset": 0}
    replay_partition = interpreted("kernel").replay_partition
    assert replay_partition(table_from_rows([*rows, produced]), KAFKA).events == 2
    result = replay_partition(table_from_rows([*rows, {**produced, "seq": 9}]), KAFKA)
    assert result.unreadable == "seq is 9; allowed: one more than the seq before"


def test_an_operation_without_a_leader_diverges_at_no_offset() -> None:
    walk = Walk(interpreted("partition").FastSharePartition(KAFKA), 4, KAFKA)
    row = {**walk.rows(0)[0], "op": "produce", "log_batches": [], "log_end_offset": 0}
    found = interpreted("kernel").replay_partition(table_from_rows([row]), KAFKA).divergence
    assert (found.kind, found.offset) == (Guard.PARTITION_IS_INITIALIZED, None)


@pytest.mark.parametrize("profile", [KAFKA, DRAFT_RESOLVED], ids=lambda profile: profile.name)
@pytest.mark.parametrize("seed", range(3))
def test_ranges_may_be_recorded_in_any_order(seed: int, profile: Profile) -> None:
    rows = Walk(interpreted("partition").FastSharePartition(profile), seed, profile).rows(200)
    for row in rows:
        for ranges in (row["result"].get("acquired"), row.get("ranges")):
            (ranges or []).reverse()
        for write in row["writes"]:
            write["state_batches"].reverse()
    assert found(rows, profile) is None


def test_state_batches_below_the_start_offset_are_not_compared() -> None:
    rows = Walk(interpreted("partition").FastSharePartition(KAFKA), 3, KAFKA).rows(150)
    changed = 0
    for before, row in pairwise(rows):
        start = before["after"]["start_offset"]
        if start > 0 and row["writes"] and row["op"] != "advance_time":
            below = {"first": start - 1, "last": start - 1, "state": 4, "delivery_count": 1}
            row["writes"][0]["state_batches"].insert(0, below)
            changed += 1
    assert changed > 5
    assert found(rows, KAFKA) is None


def record(first: int, last: int, state: str = "AVAILABLE", count: int = 0) -> Row:
    held = {"member": "m"} if state == "ACQUIRED" else {}
    span = {"first": first, "last": last, "state": state, "delivery_count": count}
    return {**span, "member": None, "pending": False, **held}


ACQUIRED = record(8, 9, "ACQUIRED", 1)
ENTERING: list[tuple[list[Row] | None, Guard | Difference | None]] = [
    ([record(5, 7), ACQUIRED], None),
    (None, None),
    ([record(0, 7), ACQUIRED], None),
    ([record(5, 7), ACQUIRED, record(10, 12)], None),
    ([record(5, 5), record(6, 6), record(7, 7), ACQUIRED], None),
    ([ACQUIRED], Guard.NO_RECORD_SKIPPED),
    ([record(7, 7), ACQUIRED], Guard.NO_RECORD_SKIPPED),
    ([record(5, 7, "ARCHIVED"), ACQUIRED], Guard.NO_RECORD_SKIPPED),
    ([record(5, 7, "ACQUIRED"), ACQUIRED], Guard.NO_RECORD_SKIPPED),
    ([record(5, 7, "AVAILABLE", 1), ACQUIRED], Guard.NO_RECORD_SKIPPED),
    ([{**record(5, 7), "pending": True}, ACQUIRED], Guard.NO_RECORD_SKIPPED),
    ([record(5, 7)], Difference.RECORDS),
]


@pytest.mark.parametrize(("records", "kind"), ENTERING, ids=map(str, range(len(ENTERING))))
def test_read_records_enter_if_recorded_as_never_delivered(
    records: list[Row] | None, kind: Guard | Difference | None
) -> None:
    """The log has the offsets 5 to 9, of which 8 and 9 are acquired."""
    fetch = fetched((5, 9)) | {"fetch_offset": 0, "after": after(0, 10) | {"records": records}}
    fetch["result"] = {"status": "NONE", "acquired": [{**spans((8, 9))[0], "delivery_count": 1}]}
    rows = story({"op": "produce", "log_batches": spans((5, 9)), "log_end_offset": 10}, fetch)
    assert (found(rows, KAFKA) or (2, None))[:2] == (2, kind)


@pytest.mark.parametrize("pending", [False, True])
def test_a_record_below_the_start_offset_is_kept_back_by_another_write(*, pending: bool) -> None:
    """The log loses record 0 while its release is written; then the lock of record 1 expires."""

    def released(id_: int, offset: int) -> Row:
        state = [{**spans((offset, offset))[0], "state": 0, "delivery_count": 1}]
        numbers = {"start_offset": offset, "delivery_complete_count": 0, "state_batches": state}
        return {"writes": [{"id": id_, "status": "PENDING", **numbers}]}

    def state(start: int, *records: Row) -> Row:
        return {"after": after(start, 2) | {"records": list(records)}}

    held, waiting = record(1, 1, "ACQUIRED", 1), {**record(0, 0, count=1), "pending": True}
    gone = {**waiting, "state": "ARCHIVED"}
    fetch = fetched((0, 1)) | state(0, record(0, 1, "ACQUIRED", 1))
    fetch["result"] = {"status": "NONE", "acquired": [{**spans((0, 1))[0], "delivery_count": 1}]}
    batch = {**spans((0, 0))[0], "types": [2]}
    release = {"op": "acknowledge", "member": "m", "batches": [batch], **released(0, 0)}
    release |= {"result": {"status": "PENDING"}, **state(0, waiting, held)}
    deletion = {"op": "advance_log_start", "log_start_offset": 1, **state(1, gone, held)}
    available = {**record(1, 1, count=1), "pending": pending}
    expiry = {"op": "advance_time", "ms": 1000, "time_ms": 1000, **released(1, 1)}
    expiry |= state(1, gone, available)
    produce = {"op": "produce", "log_batches": spans((0, 1)), "log_end_offset": 2}
    assert found(story(produce, fetch, release, deletion, expiry), KAFKA) is None
