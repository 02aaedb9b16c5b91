import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pytest

from impl.encode import Members
from impl.events import Events, events_of
from impl.kernel import (
    KernelResult,
    flatten,
    replay_each,
    replay_partition,
    replay_rows_of,
    result_of,
)
from impl.partition import FastSharePartition
from model.errors import InvalidValueError
from model.guards import Difference
from model.profile import DRAFT_RESOLVED, KAFKA, KIP, Profile
from model.states import RecordState
from model.trace_arrow import table_from_rows
from replay.histories import draw_history
from tests.impl.by_hand import Row, spans, story
from tests.impl.helpers import TRACES, interpreted, table_of
from tests.impl.walk import Walk
from tests.replay.samples import recorded
from tests.traces import rows_by_partition


@pytest.mark.parametrize("profile", [KAFKA, KIP, DRAFT_RESOLVED], ids=lambda profile: profile.name)
@pytest.mark.parametrize("seed", range(20))
def test_both_faces_and_both_ways_to_run_agree(seed: int, profile: Profile) -> None:
    walk = Walk(FastSharePartition(profile), seed, profile)
    table = table_of(walk.run(150))
    result = replay_partition(table, profile)
    assert result.divergence is None
    if seed < 4:
        again = interpreted("kernel").replay_partition(table, profile)
        assert _numbers(again) == _numbers(result)
    assert result.lag[-1] == walk.partition.lag()
    for event, counts in zip(walk.events, result.counts.tolist(), strict=True):
        if event.after.records is not None:
            assert counts == [
                sum(r.last - r.first + 1 for r in event.after.records if r.state is state)
                for state in RecordState
            ]


def _numbers(result: KernelResult) -> list[list[int]]:
    arrays = (result.lag, result.counts, result.start_offsets, result.end_offsets)
    return [np.asarray(array).ravel().tolist() for array in arrays]


@pytest.mark.parametrize("again", [False, True])
def test_share_partitions_in_turn_end_as_each_does_alone(*, again: bool) -> None:
    """One diverges, one has a row that holds no event, one needs more room, and two are short."""
    stories = [rows[:90] for rows in list(rows_by_partition(TRACES[3]).values())[:4]]
    wrong = {**stories[1][30], "after": {**stories[1][30]["after"], "start_offset": 10**6}}
    stories[1][30] = wrong
    stories[2][40] = {**stories[2][40], "op": "explode"}
    walked = Walk(FastSharePartition(KAFKA), 3, KAFKA).rows(250)
    stories += [walked, stories[0][:1], stories[3][:3]]
    ends = np.cumsum([len(rows) for rows in stories])
    starts = ends - [len(rows) for rows in stories]
    flat = flatten(table_from_rows([row for rows in stories for row in rows]))
    if again:
        replay_each(flat, starts, ends, KAFKA)
    ended = replay_each(flat, starts, ends, KAFKA)
    assert ended.tolist() == [True, False, False, True, True, True, True]
    for rows, first, end, is_whole in zip(stories, starts, ends, ended, strict=True):
        alone = replay_partition(table_from_rows(rows), KAFKA)
        found = (result_of if is_whole else partial(replay_rows_of, profile=KAFKA))(
            flat, first, end
        )
        assert _numbers(found) == _numbers(alone)
        assert (found.divergence, found.unreadable) == (alone.divergence, alone.unreadable)
        assert (alone.events == len(rows)) == is_whole


def test_chunks_slices_and_further_columns_make_no_difference() -> None:
    rows = next(iter(rows_by_partition(TRACES[3]).values()))
    table = table_from_rows(rows)
    whole = replay_partition(table, KAFKA)
    before = table_from_rows(rows[:7])
    pieces = [before, *(table.slice(i, 13) for i in range(0, len(rows), 13))]
    sliced = pa.concat_tables(pieces).slice(7)
    sliced = sliced.append_column("line", pa.array(range(len(rows))))
    assert _numbers(replay_partition(sliced, KAFKA)) == _numbers(whole)


def test_batches_follow_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = next(iter(rows_by_partition(TRACES[3]).values()))
    whole = replay_partition(table_from_rows(rows), KAFKA)
    monkeypatch.setattr("impl.kernel._CHUNK", 7)
    assert _numbers(replay_partition(table_from_rows(rows), KAFKA)) == _numbers(whole)
    changed = copy.deepcopy(rows)
    changed[100]["after"]["delivery_complete_count"] += 1
    found = replay_partition(table_from_rows(changed), KAFKA).divergence
    assert found
    assert (found.row, found.kind) == (100, Difference.DELIVERY_COMPLETE_COUNT)


def test_a_checkpoint_is_taken_over_with_writes_after_it() -> None:
    """Interpreted, so that an array which lacks what the events wrote is read past its end."""
    (whole,) = recorded("agent-4.4.0-seven-members").values()
    first = next(place for place, row in enumerate(whole) if row["op"] == "checkpoint")
    rows = copy.deepcopy(whole[first : first + 60])
    replay = interpreted("kernel").replay_partition
    result = replay(table_from_rows(rows), KAFKA)
    assert (result.divergence, result.events) == (None, len(rows))
    assert result.end_offsets.tolist() == [row["after"]["end_offset"] for row in rows]
    written = rows[2]["writes"][0]
    written["delivery_complete_count"] += 1
    found = replay(table_from_rows(rows), KAFKA).divergence
    assert found
    assert (found.row, found.kind.name) == (
        written["made_after"] - rows[0]["seq"],
        Difference.WRITTEN_DELIVERY_COMPLETE_COUNT.name,
    )


def test_a_table_must_have_the_columns_of_a_trace() -> None:
    with pytest.raises(InvalidValueError, match="column op"):
        replay_partition(table_from_rows([]).drop_columns("op"), KAFKA)
    assert replay_partition(table_from_rows([]), KAFKA).events == 0


def _put(value: object, *path: str | int) -> Callable[[Row], None]:
    def change(row: Row) -> None:
        inner: Any = row
        for part in path[:-1]:
            inner = inner[part]
        inner[path[-1]] = value

    return change


def _walked() -> list[Row]:
    walk = Walk(interpreted("partition").FastSharePartition(DRAFT_RESOLVED), 1, DRAFT_RESOLVED)
    return walk.rows(400)


def test_a_number_that_was_not_recorded_is_not_compared() -> None:
    rows = _walked()
    for row in rows:
        row["result"].pop("acquisition", None)
    assert replay_partition(table_from_rows(rows), DRAFT_RESOLVED).divergence is None


def test_an_operation_that_the_profile_lacks_is_refused() -> None:
    mark = {"op": "mark_in_progress", "member": "m", "progress_batches": []}
    text = (
        "operation is 'mark_in_progress'; "
        "allowed: an operation of the profile, which has no IN_PROGRESS"
    )
    assert _refused(story(mark), KIP) == (1, text)
    assert replay_partition(table_from_rows(story(mark)), DRAFT_RESOLVED).divergence is None


def test_a_divergence_before_a_bad_row_is_reported() -> None:
    rows = copy.deepcopy(next(iter(rows_by_partition(TRACES[0]).values()))[:40])
    rows[20]["after"]["delivery_complete_count"] += 1
    rows[30]["op"] = "nothing"
    found = replay_partition(table_from_rows(rows), KAFKA).divergence
    assert found
    assert found.row == 20


def test_the_first_wrong_row_is_reported() -> None:
    initialize = story()[0]
    rows = story({"op": "produce", "log_batches": [], "log_end_offset": 0}, *[initialize] * 4)
    assert _refused(rows) is None
    spoilt = copy.deepcopy(rows)
    _put(1, "after", "end_offset")(spoilt[1])
    _put("nothing", "op")(spoilt[2])
    _put(0, "config", "delivery_count_limit")(spoilt[3])
    _put(0, "config", "partition_max_record_locks")(spoilt[4])
    found = replay_partition(table_from_rows(spoilt), KAFKA).divergence
    assert found
    assert (found.row, found.kind, found.offset) == (1, Difference.END_OFFSET, None)
    for row in (2, 3, 4):
        spoilt[row - 1] = rows[row - 1]
        assert (_refused(spoilt) or (0,))[0] == row


def _refused(rows: list[Row], profile: Profile = KAFKA) -> tuple[int, str] | None:
    """Return the row that cannot be read, and why."""
    result = replay_partition(table_from_rows(rows), profile)
    assert result.divergence is None
    return (result.events, result.unreadable) if result.unreadable else None


def _altered(**settings: object) -> Row:
    return {"op": "alter_config", "config": {**story()[0]["config"], **settings}}


REFUSED: list[tuple[Row, str]] = [
    (
        {"op": "produce", "log_batches": [], "log_end_offset": 10, "time_ms": 3},
        "time_ms is 3; allowed: the clock after the event",
    ),
    (
        {"op": "produce", "log_batches": spans((8, 9)), "log_end_offset": 12},
        "log_batches is [{'first': 8, 'last': 9}]; allowed: batches at or after the log end offset",
    ),
    (
        {"op": "produce", "log_batches": [], "log_end_offset": 9},
        "log_end_offset is 9; allowed: at least the log end offset so far",
    ),
    (
        _altered(record_lock_duration_ms=90_001),
        "record_lock_duration_ms is 90001; allowed: at most in_progress_staleness_threshold_ms",
    ),
    (
        _altered(in_progress_staleness_threshold_ms=1_800_001),
        (
            "in_progress_staleness_threshold_ms is 1800001; "
            "allowed: at most in_progress_max_lock_extension_ms"
        ),
    ),
]


@pytest.mark.parametrize(("event", "text"), REFUSED, ids=[text.split()[0] for _, text in REFUSED])
def test_a_value_that_the_state_refuses_is_shown(event: Row, text: str) -> None:
    rows = story({"op": "produce", "log_batches": [], "log_end_offset": 10}, event)
    assert _refused(rows, DRAFT_RESOLVED) == (2, text)


def test_no_more_rows_than_a_chunk_are_flattened_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    def sized(batch: pa.RecordBatch, members: Members) -> Events:
        sizes.append(batch.num_rows)
        return events_of(batch, members)

    monkeypatch.setattr("impl.kernel._CHUNK", 3)
    monkeypatch.setattr("impl.kernel.events_of", sized)
    rows = story(*[{"op": "produce", "log_batches": [], "log_end_offset": 0}] * 6)
    assert replay_partition(table_from_rows(rows), KAFKA).events == 7
    assert sizes == [3, 3, 1]


def test_arrays_of_a_share_partition_that_is_over_change_nothing_in_the_next() -> None:
    rows = draw_history(1, 0, 300).rows
    flat, other = flatten(rows), flatten(rows)
    fresh = replay_rows_of(flat, 0, 300, KAFKA)
    for array in flat.spare[0][1:-1]:  # The last are the events' own.
        array[:] = 7
    again = replay_rows_of(attrs.evolve(other, spare=flat.spare), 0, 300, KAFKA)
    assert (fresh.events, again.events, again.divergence) == (300, 300, None)
    for name in ("lag", "counts", "start_offsets", "end_offsets"):
        assert np.array_equal(getattr(fresh, name), getattr(again, name))
    flat.spare[0].header[:] = 7  # A header is never taken: it would end the replay.
    assert replay_rows_of(attrs.evolve(other, spare=flat.spare), 0, 300, KAFKA).events == 300
