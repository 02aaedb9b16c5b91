from typing import Any

import attrs
import pytest

from judge.compare import first_mismatch, persisted_mismatch
from judge.engine import SpecEngine
from judge.mismatch import Mismatch
from judge.written import Around
from model.errors import ErrorCode
from model.guards import Difference
from model.outcome import Completion, Outcome, Write
from model.profile import KAFKA
from model.ranges import AcquiredRange, RecordRange, StateBatch
from model.snapshot import DurableState, SharePartitionSnapshot
from model.states import RecordState
from model.trace import TraceEvent
from tests.replay.samples import events, kafka_rows

BEFORE = SharePartitionSnapshot(10, 20, 0, (RecordRange(10, 19, RecordState.ACQUIRED, 1, "m"),))
AFTER = SharePartitionSnapshot(
    10, 20, 5, (RecordRange(10, 14, RecordState.ACKNOWLEDGED, 1, None, pending=True),)
)
WRITE = Write(3, 10, 5, (StateBatch(10, 14, RecordState.ACKNOWLEDGED, 1),), ErrorCode.PENDING)
OUTCOME = Outcome(
    ErrorCode.PENDING,
    (AcquiredRange(12, 15, 2),),
    (WRITE,),
    (Completion(1, ErrorCode.NONE),),
    acquisition=7,
    marked=(ErrorCode.NONE,),
)


LEADER = SpecEngine(KAFKA)
"""One that knows nothing more: no start offset may be later than that after the event."""

AROUND = Around(BEFORE, AFTER, LEADER)


def event(operation: str = "acknowledge", **changes: dict[str, Any]) -> TraceEvent:
    row = next(r for r in kafka_rows(count=500) if r["op"] == operation)
    (sample,) = events([row])
    outcome = attrs.evolve(OUTCOME, **changes.pop("outcome", {}))
    after = attrs.evolve(AFTER, **changes.pop("after", {}))
    return attrs.evolve(sample, outcome=outcome, after=after)


def found(recorded: TraceEvent, expected: Outcome = OUTCOME) -> Mismatch:
    mismatch = first_mismatch(recorded, expected, AROUND)
    assert mismatch is not None
    return mismatch


def test_what_was_expected_is_no_mismatch() -> None:
    assert first_mismatch(event(), OUTCOME, AROUND) is None


@pytest.mark.parametrize(
    ("changes", "difference", "offset"),
    [
        ({"outcome": {"status": ErrorCode.NONE}}, Difference.STATUS, None),
        ({"outcome": {"can_acquire": False}}, Difference.STATUS, None),
        ({"outcome": {"acquired": (AcquiredRange(12, 15, 3),)}}, Difference.ACQUIRED, 12),
        ({"outcome": {"acquired": (AcquiredRange(12, 14, 2),)}}, Difference.ACQUIRED, 15),
        ({"outcome": {"acquisition": 1}}, Difference.ACQUISITION, None),
        ({"outcome": {"marked": ()}}, Difference.MARKED, None),
        ({"outcome": {"marked": (ErrorCode.INVALID_REQUEST,)}}, Difference.MARKED, None),
        ({"outcome": {"writes": ()}}, Difference.WRITTEN_STATE, 10),
        (
            {"outcome": {"writes": (attrs.evolve(WRITE, start_offset=9),)}},
            Difference.WRITTEN_START_OFFSET,
            None,
        ),
        (
            {"outcome": {"writes": (attrs.evolve(WRITE, delivery_complete_count=4),)}},
            Difference.WRITTEN_DELIVERY_COMPLETE_COUNT,
            None,
        ),
        ({"outcome": {"completed": ()}}, Difference.COMPLETED, None),
        ({"after": {"start_offset": 9}}, Difference.START_OFFSET, None),
        ({"after": {"end_offset": 21}}, Difference.END_OFFSET, None),
        ({"after": {"delivery_complete_count": 6}}, Difference.DELIVERY_COMPLETE_COUNT, None),
        ({"after": {"records": ()}}, Difference.RECORDS, 10),
        (
            {"after": {"records": (attrs.evolve((AFTER.records or ())[0], pending=False),)}},
            Difference.RECORDS,
            10,
        ),
    ],
)
def test_each_difference_is_found_with_its_offset(
    changes: dict[str, Any], difference: Difference, offset: int | None
) -> None:
    mismatch = found(event(**changes))
    assert (mismatch.difference, mismatch.offset) == (difference, offset)
    assert mismatch.recorded != mismatch.expected


def test_the_number_of_an_acquisition_that_was_not_recorded_is_not_compared() -> None:
    assert first_mismatch(event(outcome={"acquisition": None}), OUTCOME, AROUND) is None
    none = attrs.evolve(OUTCOME, acquisition=None)
    assert found(event(), none).expected == "acquisition none"


def test_the_first_check_that_fails_is_the_verdict() -> None:
    recorded = event(outcome={"status": ErrorCode.NONE, "writes": ()}, after={"end_offset": 21})
    assert found(recorded).difference is Difference.STATUS


def test_how_offsets_are_spread_over_writes_does_not_matter_and_the_last_one_counts() -> None:
    first = Write(3, 10, 2, (StateBatch(10, 11, RecordState.ACKNOWLEDGED, 1),), ErrorCode.PENDING)
    second = Write(4, 10, 5, (StateBatch(12, 14, RecordState.ACKNOWLEDGED, 1),), ErrorCode.PENDING)
    assert first_mismatch(event(outcome={"writes": (first, second)}), OUTCOME, AROUND) is None


def test_written_entries_below_the_start_offset_do_not_count() -> None:
    lingering = StateBatch(2, 9, RecordState.ARCHIVED, 1)
    write = attrs.evolve(WRITE, state_batches=(lingering, *WRITE.state_batches))
    assert first_mismatch(event(outcome={"writes": (write,)}), OUTCOME, AROUND) is None


def test_the_writes_of_an_expiry_are_paired_by_their_id() -> None:
    gone = Write(7, 10, 0, (StateBatch(5, 9, RecordState.AVAILABLE, 1),))
    recorded = event("advance_time", outcome={"writes": (gone, WRITE)})
    assert first_mismatch(recorded, OUTCOME, AROUND) is None
    other = attrs.evolve(WRITE, delivery_complete_count=9)
    recorded = event("advance_time", outcome={"writes": (gone, other)})
    assert found(recorded).difference is Difference.WRITTEN_DELIVERY_COMPLETE_COUNT


def test_a_record_never_delivered_is_as_good_as_none_and_what_is_outside_is_not_compared() -> None:
    records = (
        RecordRange(2, 9, RecordState.ACQUIRED, 1, "m"),
        *(AFTER.records or ()),
        RecordRange(15, 19, RecordState.AVAILABLE, 0),
        RecordRange(20, 25, RecordState.ACQUIRED, 1, "m"),
    )
    assert first_mismatch(event(after={"records": records}), OUTCOME, AROUND) is None
    assert first_mismatch(event(after={"records": None}), OUTCOME, AROUND) is None


def test_a_record_across_an_empty_window_is_outside_it() -> None:
    empty = SharePartitionSnapshot(10, 10, 0, ())
    across = {**attrs.asdict(empty), "records": (RecordRange(8, 12, RecordState.ACQUIRED, 1, "m"),)}
    assert first_mismatch(event(after=across), OUTCOME, attrs.evolve(AROUND, after=empty)) is None


def test_a_new_leader_reads_what_was_written() -> None:
    row = kafka_rows(count=1)[0]
    batches = [
        {"first": 3, "last": 4, "state": 2, "delivery_count": 1},
        {"first": 5, "last": 6, "state": 2, "delivery_count": 1},
    ]
    row["persisted"] = {"start_offset": 2, "delivery_complete_count": 4, "state_batches": batches}
    (started,) = events([row])
    merged = (StateBatch(3, 6, RecordState.ACKNOWLEDGED, 1),)
    assert persisted_mismatch(started, DurableState(2, 4, merged, 7, 9)) is None
    mismatch = persisted_mismatch(started, DurableState(2, 4, ()))
    assert mismatch
    assert (mismatch.difference, mismatch.offset) == (Difference.PERSISTED, 3)
    row["persisted"]["start_offset"] = -1
    (started,) = events([row])
    assert persisted_mismatch(started, DurableState(2, 4))
