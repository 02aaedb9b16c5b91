"""Beside the lockstep, which compares checkpoints with the specification's."""

import attrs
import pytest

from impl import layout as at
from impl.partition import FastSharePartition
from model.config import SharePartitionConfig
from model.errors import ErrorCode, IllegalChoiceError, InvalidValueError
from model.guards import Guard
from model.operations import (
    AdvanceTime,
    Checkpoint,
    CompleteWrite,
    Expire,
    Gap,
    LockEnd,
    OutstandingWrite,
)
from model.profile import DRAFT_RESOLVED, KAFKA
from model.ranges import RecordRange, StateBatch
from model.snapshot import DurableState, SharePartitionSnapshot
from model.states import RecordState
from tests.impl.scenario import ranges, shown

HELD, FREE, DONE = RecordState.ACQUIRED, RecordState.AVAILABLE, RecordState.ACKNOWLEDGED
RECORDS = (
    RecordRange(0, 1, FREE, 1),
    RecordRange(2, 3, HELD, 1, "a"),
    RecordRange(5, 5, DONE, 2, "b", pending=True),
    RecordRange(6, 6, RecordState.ARCHIVED, 1),
)
WRITE = OutstandingWrite(3, 0, 2, (StateBatch(5, 5, DONE, 2),), 8)
TOLD = Checkpoint(
    SharePartitionConfig(record_lock_duration_ms=50),
    0,
    SharePartitionSnapshot(0, 7, 2, RECORDS),
    (LockEnd(2, 3, 60), LockEnd(5, 5, 70)),
    (WRITE,),
    20,
    timed=True,
)


def taken() -> FastSharePartition:
    made = FastSharePartition(KAFKA)
    made.apply(TOLD)
    return made


def test_a_state_is_taken_over() -> None:
    made = taken()
    assert shown(made) == "0-1:A1 2-3:Q1a 5-5:K2! 6-6:X1"
    assert (made.lag(), made.snapshot().delivery_complete_count) == (5, 2)
    made.apply(AdvanceTime(40))
    made.apply(Expire(ranges((2, 3)), 60))
    answered = made.apply(CompleteWrite(3, ErrorCode.NOT_COORDINATOR), seq=9)
    assert [(c.seq, c.status) for c in answered.completed] == [(8, ErrorCode.NOT_COORDINATOR)]
    assert shown(made) == "0-3:A1 5-5:Q2b 6-6:X1"


@pytest.mark.parametrize("records", [RECORDS, ()])
def test_a_window_that_is_told_ends_with_a_record(records: tuple[RecordRange, ...]) -> None:
    told = attrs.evolve(TOLD, state=SharePartitionSnapshot(0, 9, 2 if records else 0, records))
    if not records:
        told = attrs.evolve(told, deadlines=(), outstanding=())
    made = FastSharePartition(KAFKA)
    made.apply(told)
    assert shown(made).endswith("8-8:A0")
    made.apply(AdvanceTime(1))
    made.apply(attrs.evolve(told, time_ms=21))


def test_only_where_records_are_missing_the_log_has_holes() -> None:
    state = taken()._state  # noqa: SLF001 - an empty hole changes no answer until there is no room
    holes = state.holes[state.header[at.HOLES_HEAD] : state.header[at.HOLES_TAIL]]
    assert holes.tolist() == [[4, 4]]


def test_in_the_middle_it_is_compared() -> None:
    made = taken()
    made.apply(TOLD)
    for wrong in (
        attrs.evolve(TOLD, timed=False),
        attrs.evolve(TOLD, outstanding=()),
        attrs.evolve(TOLD, outstanding=(attrs.evolve(WRITE, start_offset=1),)),
        attrs.evolve(TOLD, outstanding=(attrs.evolve(WRITE, state_batches=()),)),
        attrs.evolve(TOLD, deadlines=(LockEnd(2, 3, 59), LockEnd(5, 5, 70))),
        attrs.evolve(TOLD, config=SharePartitionConfig(record_lock_duration_ms=51)),
    ):
        with pytest.raises(IllegalChoiceError, match=Guard.CHECKPOINT_IS_THE_STATE.name):
            made.apply(wrong)


@pytest.mark.parametrize(
    "writes", [(), (attrs.evolve(WRITE, state_batches=(StateBatch(5, 5, DONE, 1),)),)]
)
def test_a_pending_record_waits_for_a_write_that_is_told(
    writes: tuple[OutstandingWrite, ...],
) -> None:
    made = FastSharePartition(KAFKA)
    with pytest.raises(IllegalChoiceError, match=r"\b5\b") as refused:
        made.apply(attrs.evolve(TOLD, outstanding=writes))
    assert refused.value.guard == Guard.CHECKPOINT_IS_THE_STATE


def test_a_gap_forgets_everything_but_what_is_durable() -> None:
    made = taken()
    made.apply(CompleteWrite(3, ErrorCode.NONE))
    made.apply(Gap(1))
    with pytest.raises(IllegalChoiceError, match=Guard.PARTITION_IS_INITIALIZED.name):
        made.apply(AdvanceTime(1))
    lost = tuple(attrs.evolve(r, state=FREE, pending=False, owner=None) for r in RECORDS)
    state = SharePartitionSnapshot(0, 7, 0, lost)
    with pytest.raises(IllegalChoiceError, match="CHECKPOINT_IS_THE_STATE: at 5"):
        made.apply(attrs.evolve(TOLD, state=state, outstanding=()))
    made.apply(TOLD)
    assert shown(made) == "0-1:A1 2-3:Q1a 5-5:K2! 6-6:X1"


def test_a_write_without_an_answer_may_be_in_what_a_leader_reads() -> None:
    made = taken()
    made.apply(Gap())
    read = DurableState(0, 7, (StateBatch(9, 9, DONE, 4),))
    assert made.readable(read) == read
    assert made.durable() == DurableState(-1, -1)


def test_a_profile_with_marks_has_no_checkpoints() -> None:
    made = FastSharePartition(DRAFT_RESOLVED)
    with pytest.raises(InvalidValueError, match="operation is"):
        made.apply(TOLD)
