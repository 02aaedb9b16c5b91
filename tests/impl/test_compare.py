"""Equal states in other words, and the first of many differences, in recorded events.

The specification, which follows the same events, has to find the same. That each one wrong value
is found tests.test_lockstep shows, which spoils every kind of value, but seldom an answer's status,
what is completed, or one of several writes.
"""

import copy
import json
from collections.abc import Callable
from functools import cache
from itertools import count
from operator import itemgetter
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.guards import Difference as Kind
from model.operations import (
    Acknowledge,
    AcknowledgementBatch,
    Acquire,
    AdvanceTime,
    CompleteWrite,
    FinishDeadLetter,
    Initialize,
    Operation,
    Produce,
    SkipAcquire,
)
from model.outcome import Answer, Choice, Expiry
from model.profile import KAFKA
from model.ranges import StateBatch
from model.snapshot import DurableState
from model.states import AcknowledgeType, AcquireMode, RecordState
from model.trace_codec import row_from_event
from tests.impl import both_sides
from tests.impl.both_sides import Found
from tests.impl.helpers import interpreted
from tests.lockstep.pair import Pair
from tests.spec.worlds import spans as ranges

compare = interpreted("compare")

Row = dict[str, Any]
Change = Callable[[Row], object]
Step = Operation | tuple[Operation, Choice | ErrorCode]

ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT
CONFIG = SharePartitionConfig(record_lock_duration_ms=1000, partition_max_record_locks=10)
BEGIN = Initialize(CONFIG, 10, 10, DurableState(10, 0))
LOG = ranges((10, 12), (16, 19))
PRODUCED = Produce(LOG, 20)
READ = Acquire("m", AcquireMode.BATCH_OPTIMIZED, 500, 500, 10, LOG)
INIT, FORGET, PRODUCE, FETCH, SKIP, THREE, ONE, ASK, ANSWER, EXPIRE = range(10)


def acknowledge(*batches: tuple[int, int]) -> Acknowledge:
    return Acknowledge("m", tuple(AcknowledgementBatch(b[0], b[0], (b[1],)) for b in batches))


def recorded(*steps: Step) -> list[Row]:
    """Return what is recorded of operations, some with a choice or the answer to their write."""
    pair = Pair(KAFKA)
    for step in steps:
        operation, told = step if isinstance(step, tuple) else (step, Choice())
        if isinstance(told, Choice):
            pair.do(operation, told)
        else:
            pair.do(operation, None, (Answer(told),))
    assert len(pair.events) == len(steps)
    return [json.loads(json.dumps(row_from_event(event))) for event in pair.events]


@cache
def story() -> list[Row]:
    """Return events on the offsets 10 to 19, of which 13 to 15 are not in the log."""
    groups = Expiry(ranges((10, 10))), Expiry(ranges((19, 19)))
    return recorded(
        BEGIN,
        FinishDeadLetter(ranges((5, 6))),
        PRODUCED,
        READ,
        SkipAcquire("n"),
        acknowledge((11, ACCEPT), (12, RELEASE), (16, REJECT)),
        acknowledge((17, ACCEPT)),
        (acknowledge((18, RELEASE)), ErrorCode.PENDING),
        CompleteWrite(3, ErrorCode.NONE),
        (AdvanceTime(1000), Choice(expired=groups)),
    )


def found(rows: list[Row]) -> Found | None:
    return both_sides.found(rows, KAFKA)


def changed(rows: list[Row], place: int, *changes: Change) -> list[Row]:
    """Return the rows, one of them changed."""
    rows = copy.deepcopy(rows)
    for change in changes:
        change(rows[place])
    return rows


def edit(path: str, change: Callable[[Any], object]) -> Change:
    """Return a change of what a path of names and places leads to."""
    *steps, last = (int(step) if step.isdigit() else step for step in path.split("."))

    def edited(row: Row) -> None:
        inner: Any = row
        for step in steps:
            inner = inner[step]
        inner[last] = change(inner.get(last) if isinstance(inner, dict) else inner[last])

    return edited


def put(path: str, value: object) -> Change:
    return edit(path, lambda _: value)


def add(path: str, amount: int = 1) -> Change:
    return edit(path, lambda value: value + amount)


def also(path: str, *more: Row) -> Change:
    return edit(path, lambda items: [*items, *more])


def among(path: str, *more: Row) -> Change:
    return edit(path, lambda items: sorted([*items, *more], key=itemgetter("first")))


def taken(first: int, last: int) -> Row:
    return {"first": first, "last": last, "delivery_count": 1}


def entry(first: int, last: int, state: RecordState, count: int = 1) -> Row:
    return {"first": first, "last": last, "state": state.value, "delivery_count": count}


def record(first: int, last: int, state: str, count: int, member: str | None = None) -> Row:
    span = {"first": first, "last": last, "state": state, "delivery_count": count}
    return {**span, "member": member, "pending": False}


def answer(seq: int, status: str) -> Row:
    return {"seq": seq, "status": status}


def spread(*numbers: int) -> Change:
    """Return a change that gives each entry of a write a write of its own, with these counts."""

    def change(row: Row) -> None:
        (whole,) = row["writes"]
        row["writes"] = [
            {**whole, "id": i, "delivery_complete_count": number, "state_batches": [batch]}
            for i, (number, batch) in enumerate(zip(numbers, whole["state_batches"], strict=True))
        ]

    return change


ENTRIES, RECORDS = "writes.0.state_batches", "after.records"
COMPLETE = "delivery_complete_count"
SPOILED: list[tuple[int, Change, Kind, int | None]] = [
    (INIT, put("result.status", "NOT_COORDINATOR"), Kind.STATUS, None),
    (SKIP, put("result.can_acquire", value=True), Kind.STATUS, None),
    (THREE, spread(2, 2, 1), Kind.WRITTEN_DELIVERY_COMPLETE_COUNT, None),
    (EXPIRE, add(f"writes.0.{COMPLETE}"), Kind.WRITTEN_DELIVERY_COMPLETE_COUNT, None),
    (EXPIRE, add(f"writes.1.{COMPLETE}"), Kind.WRITTEN_DELIVERY_COMPLETE_COUNT, None),
    (THREE, put("completed", [answer(0, "NONE")]), Kind.COMPLETED, None),
    (ANSWER, put("completed", []), Kind.COMPLETED, None),
    (ANSWER, add("completed.0.seq"), Kind.COMPLETED, None),
    (ANSWER, put("completed.0.status", "NOT_COORDINATOR"), Kind.COMPLETED, None),
    (ANSWER, also("completed", answer(ONE, "NONE")), Kind.COMPLETED, None),
    (ANSWER, put("completed", [answer(7, "PENDING"), answer(7, "NONE")]), Kind.COMPLETED, None),
]


@pytest.mark.parametrize(
    ("place", "spoil", "kind", "offset"),
    SPOILED,
    ids=[f"{number}-{case[2].name}" for number, case in enumerate(SPOILED)],
)
def test_wrong_recorded_values_are_found(
    place: int, spoil: Change, kind: Kind, offset: int | None
) -> None:
    rows = changed(story()[: place + 1], place, spoil)
    assert found(rows) == (place, kind, offset)
    behind = {**story()[place], "seq": place + 1}
    assert found([*rows, behind]) == (place, kind, offset)


IN_OTHER_WORDS: list[tuple[int, Change]] = [
    (FETCH, edit("result.acquired", lambda ranges: ranges[::-1])),
    (FETCH, put("result.acquired", [taken(10, 11), taken(12, 12), taken(16, 19)])),
    (FORGET, put("writes", [])),  # It says nothing of any record.
    (THREE, edit(ENTRIES, lambda entries: entries[::-1])),
    (THREE, also(ENTRIES, entry(5, 9, RecordState.ARCHIVED))),
    (THREE, spread(0, 1, 2)),
    (EXPIRE, also("writes.1.state_batches", entry(5, 9, RecordState.AVAILABLE))),
    (ANSWER, also("completed", answer(ASK, "NONE"))),
    (ASK, put(RECORDS, None)),
    (SKIP, add(f"{RECORDS}.0.first", -1)),
    (SKIP, add(f"{RECORDS}.1.last", 5)),
    (SKIP, among(RECORDS, record(5, 9, "ARCHIVED", 1), record(20, 25, "ACQUIRED", 1, "m"))),
    (SKIP, among(RECORDS, record(13, 15, "AVAILABLE", 0))),
    (
        SKIP,
        edit(RECORDS, lambda old: [{**old[0], "last": 10}, {**old[0], "first": 11}, old[1]]),
    ),
]


@pytest.mark.parametrize(("place", "change"), IN_OTHER_WORDS, ids=map(str, count()))
def test_equal_states_may_be_recorded_in_other_ranges(place: int, change: Change) -> None:
    assert found(changed(story(), place, change)) is None


def test_a_record_that_was_never_delivered_need_not_be_recorded() -> None:
    some = Choice(acquired=ranges((10, 12)), end_offset=20)
    rows = recorded(BEGIN, PRODUCED, (READ, some), AdvanceTime(0))
    assert rows[3]["after"]["records"][1] == record(16, 19, "AVAILABLE", 0)
    assert found(changed(rows, 3, edit(RECORDS, lambda records: records[:1]))) is None


def test_a_record_that_was_archived_without_a_delivery_must_be_recorded() -> None:
    archived = StateBatch(11, 11, RecordState.ARCHIVED, 0)
    rows = recorded(attrs.evolve(BEGIN, persisted=DurableState(10, 0, (archived,))))
    assert found(changed(rows, 0, put(RECORDS, []))) == (0, Kind.RECORDS, 11)


SPOILS: dict[Kind, Change] = {
    Kind.STATUS: put("result.status", "NOT_COORDINATOR"),
    Kind.ACQUIRED: put("result.acquired", [taken(3, 3)]),
    Kind.ACQUISITION: put("result.acquisition", 0),
    Kind.MARKED: put("result.marked", ["NONE"]),
    Kind.WRITTEN_STATE: add(f"{ENTRIES}.0.delivery_count"),
    Kind.WRITTEN_START_OFFSET: put("writes.0.start_offset", 11),
    Kind.WRITTEN_DELIVERY_COMPLETE_COUNT: add(f"writes.0.{COMPLETE}"),
    Kind.COMPLETED: also("completed", answer(0, "NONE")),
    Kind.START_OFFSET: add("after.start_offset"),
    Kind.END_OFFSET: add("after.end_offset"),
    Kind.DELIVERY_COMPLETE_COUNT: add(f"after.{COMPLETE}"),
    Kind.RECORDS: put(RECORDS, []),
}
OFFSETS = {Kind.ACQUIRED: 3, Kind.WRITTEN_STATE: 11, Kind.RECORDS: 10}


def in_order(rows: list[Row], kinds: list[Kind]) -> None:
    """Mend one of the things that are wrong with the last row after the other."""
    place = len(rows) - 1
    for number, kind in enumerate(kinds):
        spoils = [SPOILS[other] for other in kinds[number:]]
        assert found(changed(rows, place, *spoils)) == (place, kind, OFFSETS.get(kind))


def test_the_first_of_many_differences_is_reported() -> None:
    in_order(story()[: THREE + 1], [kind for kind in SPOILS if kind is not Kind.START_OFFSET])


def test_a_leader_that_failed_has_not_moved_the_window() -> None:
    malformed = DurableState(10, 0, (StateBatch(9, 9, RecordState.AVAILABLE, 1),))
    rows = recorded(attrs.evolve(BEGIN, persisted=malformed))
    written = {Kind.WRITTEN_STATE, Kind.WRITTEN_START_OFFSET, Kind.WRITTEN_DELIVERY_COMPLETE_COUNT}
    in_order(rows, [kind for kind in SPOILS if kind not in {*written, Kind.RECORDS}])


def test_a_leader_that_reads_unwritten_state_is_found() -> None:
    first = Initialize(CONFIG, 0, 0, DurableState(0, 0))
    rows = recorded(first, first)
    assert found(changed(rows, 1, add(f"persisted.{COMPLETE}"))) == (1, Kind.PERSISTED, None)
    rows = recorded(BEGIN, BEGIN)
    spoils = [add(path) for path in ("persisted.start_offset", "after.start_offset")]
    rows = changed(rows, 1, *spoils, add("after.end_offset"))
    assert found(rows) == (1, Kind.PERSISTED, None)


@pytest.mark.parametrize(
    ("parts", "kind"), [((11, 13), None), ((11, 12), Kind.PERSISTED), ((11, 14), Kind.PERSISTED)]
)
def test_a_leader_reads_each_offset_once(parts: tuple[int, int], kind: Kind | None) -> None:
    begin = attrs.evolve(
        BEGIN, persisted=DurableState(10, 0, (StateBatch(11, 14, RecordState.AVAILABLE, 1),))
    )
    first, second = parts
    read = [entry(first, 12, RecordState.AVAILABLE), entry(second, 14, RecordState.AVAILABLE)]
    told = found(changed(recorded(begin, begin), 1, put("persisted.state_batches", read)))
    assert told == (kind and (1, kind, None))


def test_a_leader_does_not_read_acquisitions() -> None:
    assert found(recorded(BEGIN, PRODUCED, READ, BEGIN)) is None


def part(ranges_: list[tuple[int, int, int]], around: int) -> object:
    """Return ranges among so many others on both sides, which are none of them."""
    others = [(0, 99, 1)] * around
    rows = np.array([*others, *ranges_, *others], np.int64).reshape(-1, 3)
    return compare.RowSpan(rows, around, around + len(ranges_))


def first_difference(
    one: list[tuple[int, int, int]], other: list[tuple[int, int, int]], start: int
) -> int:
    """Return it, which is the same whichever is expected and whatever is around."""
    first, *others = (
        compare.first_difference(part(pair[0], around), part(pair[1], around), start)
        for pair in ((one, other), (other, one))
        for around in range(2)
    )
    assert others == [first] * 3
    return int(first)


RANGES = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 3), st.integers(1, 2)).map(
        lambda drawn: (drawn[0], drawn[0] + drawn[1], drawn[2])
    ),
    max_size=6,
).map(sorted)


@given(RANGES, RANGES, st.integers(0, 9), st.integers(0, 5))
def test_lists_of_ranges_are_compared_offset_by_offset(
    one: list[tuple[int, int, int]],
    tail: list[tuple[int, int, int]],
    start: int,
    common: int,
) -> None:
    other = sorted(one[:common] + tail)
    said = [
        {o: value for first, last, value in reversed(part) for o in range(first, last + 1)}
        for part in (one, other)
    ]
    differing = (o for o in range(start, 13) if said[0].get(o) != said[1].get(o))
    assert first_difference(one, other, start) == next(differing, -1)
