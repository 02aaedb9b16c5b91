from typing import Any

import attrs
import pytest
from immutables import Map

from judge.invariants import PARTITION_INVARIANTS, RECORD_INVARIANTS, violated
from model.outcome import Write
from model.profile import DRAFT_RESOLVED, KIP
from model.ranges import StateBatch
from model.states import RecordState
from spec.coordinator import Durable
from spec.log import Log
from spec.partition import Outstanding, SharePartition, new_partition
from spec.record import Record
from spec.window import Window, replace
from tests.spec.worlds import SMALL, window_of

AVAILABLE, ACQUIRED = RecordState.AVAILABLE, RecordState.ACQUIRED
ACKNOWLEDGED, ARCHIVED = RecordState.ACKNOWLEDGED, RecordState.ARCHIVED
HELD = Record(ACQUIRED, 1, "c1", 100)
WAITING = Record(ACKNOWLEDGED, 1, pending=True, former_owner="c1", former_deadline=100)
DONE = Record(ARCHIVED, 2)
MARKED = Record(
    RecordState.IN_PROGRESS, 1, "c1", 100, acquisition=2, progress_start=40, last_progress=50
)
LIMIT = 2


def sound(**changes: Any) -> SharePartition:  # noqa: ANN401 - any field
    """One record of each kind: held, pending, done, available; and a hole in the log."""
    records = {10: HELD, 11: WAITING, 12: DONE, 13: Record(AVAILABLE, 1), 17: Record(AVAILABLE, 0)}
    write = Write(0, 10, 1)
    partition = SharePartition(
        KIP,
        SMALL,
        log=Log(0, 30, ((14, 15),)),
        window=window_of(10, 18, records),
        outstanding=Map({0: Outstanding(write, (11, 3), 7), 1: Outstanding(write)}),
        durable=Durable(8, 1, Map({9: (ACKNOWLEDGED, 1), 13: (AVAILABLE, 1)})),
        ready=True,
        highest_limit=LIMIT,
    )
    return attrs.evolve(partition, **changes)


def with_record(record: Record, *, awaited: bool = False) -> SharePartition:
    """The record stands at offset 16; an outstanding write may be waiting for it."""
    outstanding = sound().outstanding
    if awaited:
        outstanding = outstanding.set(2, Outstanding(Write(2, 10, 1), (16,), 8))
    return sound(window=replace(sound().window, {16: record}), outstanding=outstanding)


def outside(offset: int) -> SharePartition:
    return sound(window=replace(sound().window, {offset: Record(AVAILABLE, 1)}))


def with_write(batch: StateBatch) -> SharePartition:
    waiting = Outstanding(Write(2, 10, 1, (batch,)))
    return sound(outstanding=sound().outstanding.set(2, waiting))


def draft(record: Record) -> SharePartition:
    """The record alone, under the profile that has records in progress; the clock is at 60."""
    return sound(
        profile=DRAFT_RESOLVED,
        window=window_of(10, 17, {16: record}),
        outstanding=Map(),
        now=60,
        next_acquisition=3,
    )


def marked(**changes: object) -> SharePartition:
    return draft(attrs.evolve(MARKED, **changes))


WINDOW = sound().window
NO_RECORDS = sound(window=Window(12, 12), outstanding=Map())

BROKEN: list[tuple[str, SharePartition]] = [
    ("owner_iff_held", with_record(Record(AVAILABLE, 1, "c1"))),
    ("owner_iff_held", with_record(attrs.evolve(HELD, owner=None))),
    ("deadline_iff_held", with_record(Record(AVAILABLE, 1, None, 100))),
    ("deadline_iff_held", with_record(attrs.evolve(HELD, deadline=None))),
    ("held_is_not_pending", with_record(attrs.evolve(HELD, pending=True), awaited=True)),
    ("delivery_count_within_limit", with_record(Record(ARCHIVED, LIMIT + 1))),
    ("delivery_count_within_limit", with_record(Record(AVAILABLE, -1))),
    ("available_can_be_delivered", with_record(Record(AVAILABLE, LIMIT))),
    ("held_was_delivered", with_record(Record(ACKNOWLEDGED, 0))),
    ("held_was_delivered", with_record(attrs.evolve(HELD, delivery_count=0))),
    (
        "former_owner_only_if_pending",
        with_record(Record(AVAILABLE, 1, former_owner="c1", former_deadline=100)),
    ),
    ("former_lock_is_whole", with_record(attrs.evolve(WAITING, former_owner=None), awaited=True)),
    (
        "former_lock_is_whole",
        with_record(attrs.evolve(WAITING, former_deadline=None), awaited=True),
    ),
    (
        "pending_was_delivered",
        with_record(Record(ARCHIVED, 0, pending=True), awaited=True),
    ),
    (
        "pending_was_delivered",
        with_record(attrs.evolve(WAITING, delivery_count=LIMIT), awaited=True),
    ),
    ("state_is_of_the_table", with_record(Record(6, 1))),
    ("state_is_of_the_table", with_record(Record(-1, 1))),
    ("owner_iff_held", marked(owner=None)),
    ("deadline_iff_held", marked(deadline=None)),
    ("held_was_delivered", marked(delivery_count=0)),
    ("progress_iff_in_progress", marked(progress_start=None, last_progress=None)),
    ("progress_iff_in_progress", marked(progress_start=None)),
    ("progress_iff_in_progress", marked(state=ACQUIRED)),
    ("progress_is_in_order", marked(progress_start=51)),
    ("progress_is_in_order", marked(last_progress=61)),
    ("acquisition_only_if_held_or_pending", draft(Record(AVAILABLE, 1, acquisition=0))),
    ("held_has_an_acquisition", draft(HELD)),
    ("held_has_an_acquisition", marked(acquisition=3)),
    ("in_progress_only_where_it_is_allowed", with_record(attrs.evolve(HELD, acquisition=0))),
    (
        "only_persisted_states_are_written",
        with_write(StateBatch(16, 16, RecordState.IN_PROGRESS, 1)),
    ),
    ("records_lie_in_the_window", outside(9)),
    ("records_lie_in_the_window", outside(18)),
    ("window_ends_with_a_record", sound(window=attrs.evolve(WINDOW, end_offset=19))),
    ("counts_follow_the_records", sound(window=attrs.evolve(WINDOW, acquirable=0))),
    ("counts_follow_the_records", sound(window=attrs.evolve(WINDOW, held=Map()))),
    (
        "counts_follow_the_records",
        sound(window=attrs.evolve(WINDOW, held=Map({10: None, 12: None}))),
    ),
    ("pending_iff_write_outstanding", with_record(WAITING)),
    ("pending_iff_write_outstanding", with_record(HELD, awaited=True)),
    ("acquired_is_never_durable", sound(durable=Durable(8, 1, Map({9: (ACQUIRED, 1)})))),
    ("acquired_is_never_durable", sound(durable=Durable(8, 1, Map({7: (ARCHIVED, 1)})))),
    ("durable_start_never_ahead", sound(durable=Durable(11, 0))),
]
"""States that break one invariant and no other."""

IMPLIED: list[tuple[str, str, SharePartition]] = [
    ("progress_has_an_acquisition", "held_has_an_acquisition", marked(acquisition=None)),
    ("progress_iff_in_progress", "progress_is_in_order", marked(last_progress=None)),
    (
        "in_progress_only_where_it_is_allowed",
        "progress_has_an_acquisition",
        attrs.evolve(with_record(attrs.evolve(MARKED, acquisition=None)), now=60),
    ),
    (
        "former_owner_only_if_pending",
        "former_lock_is_whole",
        with_record(Record(AVAILABLE, 1, former_owner="c1")),
    ),
    (
        "former_owner_only_if_pending",
        "former_lock_is_whole",
        with_record(Record(AVAILABLE, 1, former_deadline=100)),
    ),
    (
        "window_is_ordered",
        "complete_count_within_window",
        attrs.evolve(NO_RECORDS, window=Window(12, 11)),
    ),
    (
        "lag_counts_the_unfinished",
        "counts_follow_the_records",
        sound(window=attrs.evolve(WINDOW, complete=1)),
    ),
]
"""States that cannot break an invariant alone: what they lack is part of another as well."""


def names(partition: SharePartition) -> set[str]:
    return {invariant.name for invariant in violated(partition)}


@pytest.mark.parametrize(
    ("name", "partition"), BROKEN, ids=[f"{i}-{name}" for i, (name, _) in enumerate(BROKEN)]
)
def test_a_broken_state_names_its_invariant(name: str, partition: SharePartition) -> None:
    assert names(partition) == {name}


@pytest.mark.parametrize(
    ("name", "other", "partition"), IMPLIED, ids=[f"{i}-{row[0]}" for i, row in enumerate(IMPLIED)]
)
def test_a_state_that_breaks_an_implied_invariant_names_both(
    name: str, other: str, partition: SharePartition
) -> None:
    assert names(partition) == {name, other}


def test_every_invariant_is_broken_by_a_state_here() -> None:
    every = [invariant.name for invariant in (*RECORD_INVARIANTS, *PARTITION_INVARIANTS)]
    assert len(set(every)) == len(every)
    implied = {name for row in IMPLIED for name in row[:2]}
    assert set(every) == {row[0] for row in BROKEN} | implied


def test_every_invariant_has_a_sentence() -> None:
    for invariant in (*RECORD_INVARIANTS, *PARTITION_INVARIANTS):
        assert invariant.sentence.endswith(".")


def test_a_share_partition_without_a_leader_breaks_no_invariant() -> None:
    assert violated(new_partition(KIP)) == []
    assert violated(attrs.evolve(outside(9), ready=False)) == []
