"""What tells one mistake that stops a share-partition from another."""

import attrs
import pytest

from conformance.campaign import Fault, alone, unknown
from conformance.cores import asks, progress
from conformance.cores.kafka import KNOWN
from conformance.cores.kit import CORES
from conformance.known import read_known
from model.config import IsolationLevel, SharePartitionConfig
from model.errors import ErrorCode
from model.operations import (
    AcknowledgementBatch,
    Acquire,
    AdvanceLogStart,
    FinishDeadLetter,
    Operation,
    SkipAcquire,
)
from model.outcome import Choice
from model.profile import KAFKA
from model.ranges import OffsetRange
from model.states import AcquireMode
from spec.partition import SharePartition, Step, move_start
from spec.window import first_unfinished
from tools.promises.behaviour import Behaviour, Manner
from tools.promises.faces import core

CONFIG = SharePartitionConfig(1, 4, 100)
LEAD = asks.CoreTakeOver(CONFIG)
LONG = asks.CoreTakeOver(attrs.evolve(CONFIG, delivery_count_limit=5))
COMMITTED = asks.CoreTakeOver(attrs.evolve(CONFIG, isolation_level=IsolationLevel.READ_COMMITTED))
QUEUE = asks.CoreTakeOver(attrs.evolve(CONFIG, dead_letter_queue=True))
SIX = asks.CoreProduce(((0, 1),) * 6)
GAP_AT_1 = asks.CoreProduce(((0, 1), (1, 1), (0, 1), (0, 1), (0, 1)))
FETCH = asks.CoreFetch("m1", AcquireMode.BATCH_OPTIMIZED, 500, 500, 1)
WAIT = (FETCH,) * (KAFKA.offered_within + 5)
LOST = ErrorCode.COORDINATOR_NOT_AVAILABLE


def said(first: int, last: int, kind: int = 1, *answers: ErrorCode) -> asks.Ask:
    return asks.CoreAcknowledge("m1", (AcknowledgementBatch(first, last, (kind,)),), answers)


def stopping(stop: int) -> Behaviour:
    """Return a core whose start offset never passes ``stop``."""

    def chooses(partition: SharePartition, operation: Operation, choice: Choice) -> Choice:
        low = operation.log_start_offset if isinstance(operation, AdvanceLogStart) else 0
        return attrs.evolve(choice, start_offset=max(low, partition.window.start_offset))

    def ends(_before: SharePartition, _operation: Operation, step: Step) -> Step:
        window = step.partition.window
        furthest = min(first_unfinished(window, step.partition.log), stop)
        moved = move_start(step.partition, max(furthest, window.start_offset))
        return Step(moved, step.outcome)

    return Behaviour("stops", "", Manner.LAZY, chooses=chooses, ends=ends)


def fault_of(behaviour: Behaviour, *sequence: asks.Ask) -> Fault[asks.Ask]:
    (fault,) = alone(core(behaviour, KAFKA), sequence, CORES).faults
    return fault


FULL: tuple[asks.Ask, ...] = (SIX, *[FETCH] * 4)
TIMEOUT = asks.CoreAdvanceTime(100)
FAILED = asks.CoreCompleteWrite(0, LOST)
DELETED: tuple[asks.Ask, ...] = (asks.CoreAdvanceLogStart(1), said(1, 3))
HELD = (LEAD, *FULL, *DELETED)
WRITTEN = (LEAD, *FULL, said(0, 0, 1, ErrorCode.PENDING), *DELETED)
LETTER = (QUEUE, *FULL, said(0, 0, 3), *DELETED)
BEFORE_GAP: tuple[asks.Ask, ...] = (LONG, GAP_AT_1, *[FETCH] * 3, said(2, 2, 2))
NATURAL = (*BEFORE_GAP, asks.CoreAdvanceLogStart(1), LONG, *[FETCH] * 3)
"""The log start offset has come to a gap that the log always had, and the leader has changed."""

AFTER_GAP: tuple[asks.Ask, ...] = (LONG, *FULL, said(3, 3), LONG, *[FETCH] * 3)
"""A leader has read a finished record behind a gap, and delivered the gap."""

STOPPED = {
    "read at its start": (0, (LEAD, *FULL, said(0, 3), LEAD), progress.READ_FIRST),
    "read behind": (1, (LEAD, *FULL, said(1, 3), LEAD, FETCH, said(0, 0)), progress.READ_BEHIND),
    "accepted": (0, (LEAD, *FULL, said(0, 3)), progress.SINCE),
    "accepted behind": (1, (LEAD, *FULL, said(1, 3), said(0, 0)), progress.SINCE),
    "accepted by the next leader": (0, (LEAD, LEAD, *FULL, said(0, 3)), progress.SINCE),
    "its write fails": (
        0,
        (
            LEAD,
            *FULL,
            said(0, 0, 2, ErrorCode.PENDING),
            asks.CoreAdvanceTime(100),
            asks.CoreCompleteWrite(0, LOST),
        ),
        progress.WRITE_FAILED,
    ),
    "a gap that compaction empties": (
        0,
        (LONG, GAP_AT_1, *[FETCH] * 3, said(2, 2, 2), LONG, asks.CoreCompact(0), FETCH, FETCH),
        progress.READ_OPEN,
    ),
    "delivered twice": (0, (*AFTER_GAP, said(0, 0, 2), FETCH, said(0, 2)), progress.GIVEN_AGAIN),
    "delivered once": (0, (*AFTER_GAP, said(0, 2)), progress.SINCE),
    "compacted": (
        0,
        (LONG, *FULL, asks.CoreAdvanceTime(100), asks.CoreCompact(0)),
        progress.LACKED,
    ),
    "aborted": (0, (COMMITTED, asks.CoreProduceAborted(4), SIX), progress.ABORTED),
    "the log start offset moves": (
        1,
        (LEAD, *FULL, said(1, 3), asks.CoreAdvanceLogStart(1)),
        progress.LOG_START,
    ),
    "the log start offset moves to a gap": (
        1,
        (LEAD, GAP_AT_1, FETCH, FETCH, FETCH, asks.CoreAdvanceLogStart(1)),
        progress.LOG_START_IN_GAP,
    ),
    "what was deleted is held": (1, HELD, progress.UNFINISHED_BELOW),
    "what was deleted was held": (1, (*HELD, TIMEOUT), progress.SINCE),
    "what was deleted is written": (1, WRITTEN, progress.UNFINISHED_BELOW),
    "what was deleted was written": (
        1,
        (*WRITTEN, asks.CoreCompleteWrite(0, ErrorCode.NONE)),
        progress.SINCE,
    ),
    "what was deleted is held again": (1, (*WRITTEN, FAILED), progress.UNFINISHED_BELOW),
    "what was deleted was held again": (1, (*WRITTEN, FAILED, TIMEOUT), progress.SINCE),
    "the write of what was deleted fails": (1, (*WRITTEN, TIMEOUT, FAILED), progress.WRITE_FAILED),
    "the write of what was deleted failed": (
        1,
        (LONG, *WRITTEN[1:-1], TIMEOUT, FAILED, *[FETCH] * 3, said(1, 3)),
        progress.SINCE,
    ),
    "what was deleted is a dead letter": (1, LETTER, progress.UNFINISHED_BELOW),
    "what was deleted was a dead letter": (
        1,
        (*LETTER, asks.CoreFinishDeadLetter(0)),
        progress.SINCE,
    ),
    "what was held is not deleted": (
        2,
        (LEAD, *FULL, said(0, 0), asks.CoreAdvanceLogStart(1), said(1, 3)),
        progress.SINCE,
    ),
    "read in a gap": (
        0,
        (LEAD, *FULL, asks.CoreCompact(0), said(1, 1), LEAD, FETCH, FETCH, said(2, 3)),
        progress.READ_GAP,
    ),
    "read in a natural gap": (1, (*NATURAL, said(2, 4)), progress.READ_GAP),
    "a gap": (1, (LEAD, GAP_AT_1, FETCH, FETCH, FETCH, said(0, 0)), progress.GAP),
}


@pytest.mark.parametrize(("stop", "sequence", "cause"), STOPPED.values(), ids=STOPPED)
def test_a_full_window_stays_full_by_what_is_at_its_start(
    stop: int, sequence: tuple[asks.Ask, ...], cause: str
) -> None:
    deviation = fault_of(stopping(stop), *sequence, *WAIT).deviation
    assert deviation.name == "FINISHED_LEAVES_FULL_WINDOW"
    assert deviation.probable_cause == (progress.STAYS_FULL, cause)


@pytest.mark.parametrize(
    ("rejected", "cause"), [(0, progress.SINCE), (1, progress.UNFINISHED_BELOW)]
)
def test_a_deleted_dead_letter_waits_until_it_is_named(rejected: int, cause: str) -> None:
    def names(_partition: SharePartition, operation: Operation) -> Operation:
        named = FinishDeadLetter((OffsetRange(0, 0),))
        return named if isinstance(operation, FinishDeadLetter) else operation

    deleted = (
        *[said(o, o, 3 if o <= rejected else 1) for o in (0, 1)],
        asks.CoreAdvanceLogStart(2),
        said(2, 3),
    )
    sequence = (QUEUE, *FULL, *deleted, asks.CoreFinishDeadLetter(0), *WAIT)
    deviation = fault_of(attrs.evolve(stopping(2), reads=names), *sequence).deviation
    assert deviation.probable_cause == (progress.STAYS_FULL, cause)


def is_second(partition: SharePartition) -> bool:
    return partition.config == LONG.config


def reads_again(partition: SharePartition, operation: Operation) -> Operation:
    """Begin each fetch at the gap, once the second leader has delivered what is before it."""
    if not (isinstance(operation, Acquire) and operation.fetch_offset and is_second(partition)):
        return operation
    return attrs.evolve(operation, fetch_offset=1, log_batches=(OffsetRange(2, 2),))


def reads_to_the_end(_partition: SharePartition, operation: Operation) -> Operation:
    """Fetch from the gap where the window is full, past what it has room for."""
    if not isinstance(operation, SkipAcquire):
        return operation
    return Acquire("m1", AcquireMode.BATCH_OPTIMIZED, 500, 500, 1, (OffsetRange(2, 6),))


def delivers_nothing(partition: SharePartition, _operation: Operation, choice: Choice) -> Choice:
    """Acquire nothing under the second leader."""
    return attrs.evolve(choice, acquired=()) if is_second(partition) else choice


AGAIN = Behaviour("reads again", "", Manner.LAZY, reads=reads_again)
NOTHING = Behaviour("delivers nothing", "", Manner.LAZY, chooses=delivers_nothing)
READ: tuple[asks.Ask, ...] = (LEAD, GAP_AT_1, FETCH, FETCH, said(2, 2), LONG, *WAIT)


def test_fetches_from_a_gap_are_told_from_others_that_pass_over_a_record() -> None:
    again, nothing = (fault_of(each, *READ).deviation for each in (AGAIN, NOTHING))
    assert again.name == nothing.name == "RECORD_IS_OFFERED"
    assert again.probable_cause == (progress.WAITS, progress.READ_AGAIN)
    assert nothing.probable_cause[0] == "RECORD_IS_OFFERED"


def test_a_fetch_from_a_gap_may_read_past_a_window_that_stays_full() -> None:
    stops = stopping(1)

    def chooses(partition: SharePartition, operation: Operation, choice: Choice) -> Choice:
        """Acquire nothing of what is read from the gap."""
        chosen = stops.chooses(partition, operation, choice)
        from_gap = is_second(partition) and getattr(operation, "fetch_offset", 0) == 1
        return attrs.evolve(chosen, acquired=()) if from_gap else chosen

    stays = attrs.evolve(stops, reads=reads_to_the_end, chooses=chooses)
    wide = asks.CoreTakeOver(attrs.evolve(CONFIG, partition_max_record_locks=8))
    three = attrs.evolve(FETCH, mode=AcquireMode.RECORD_LIMIT, max_records=3)
    read = (wide, asks.CoreProduce(((0, 1), (1, 5))), FETCH, three, said(2, 4))
    deviation = fault_of(stays, *read, LONG, FETCH, said(0, 0), *WAIT).deviation
    assert deviation.name == "RECORD_IS_OFFERED"
    assert deviation.probable_cause == (progress.WAITS, progress.READ_AGAIN)


def begins_below(partition: SharePartition, operation: Operation) -> Operation:
    """Begin each fetch before the log start offset, under the second leader."""
    if not (isinstance(operation, Acquire) and is_second(partition)):
        return operation
    return attrs.evolve(operation, fetch_offset=0, log_batches=(OffsetRange(2, 2),))


BELOW = Behaviour("begins below", "", Manner.LAZY, reads=begins_below)
DELETED = (*READ[: -len(WAIT) - 1], asks.CoreAdvanceLogStart(1), LONG, *WAIT)


FIRST = asks.CoreTakeOver(attrs.evolve(CONFIG, delivery_count_limit=4))
AT_A_RELEASED = (
    FIRST,
    GAP_AT_1,
    FETCH,
    FETCH,
    said(0, 0, 2),
    said(2, 2),
    *DELETED[-len(WAIT) - 2 :],
)


def test_fetches_at_a_gap_below_the_log_are_told_from_others() -> None:
    """The others: nothing is delivered, and the state that the leader read has no gap there."""
    cases = (BELOW, DELETED), (NOTHING, DELETED), (BELOW, AT_A_RELEASED)
    below, *others = (fault_of(behaviour, *sequence).deviation for behaviour, sequence in cases)
    assert {each.name for each in (below, *others)} == {"RECORD_IS_OFFERED"}
    assert below.probable_cause == (progress.WAITS, progress.BEGAN_BELOW)
    assert {each.probable_cause[0] for each in others} == {"RECORD_IS_OFFERED"}


def goes_back(partition: SharePartition, operation: Operation) -> Operation:
    """Begin each fetch at the gap, once the second leader has delivered what is behind it."""
    delivered = is_second(partition) and 2 in partition.window.records
    if not (isinstance(operation, Acquire) and operation.fetch_offset and delivered):
        return operation
    return attrs.evolve(operation, fetch_offset=1, log_batches=(OffsetRange(2, 2),))


BACK = Behaviour("goes back", "", Manner.LAZY, reads=goes_back)
SECOND = (FIRST, GAP_AT_1, *[FETCH] * 3, said(3, 3, 2), LONG, FETCH, FETCH)


@pytest.mark.parametrize("delivers_again", [True, False])
def test_fetches_go_back_to_a_gap_once_a_record_before_it_is_delivered_again(
    *, delivers_again: bool
) -> None:
    again = (said(0, 0, 2), FETCH) if delivers_again else ()
    deviation = fault_of(BACK, *SECOND, *again, said(2, 2), *WAIT).deviation
    assert deviation.name == "RECORD_IS_OFFERED"
    went_back = deviation.probable_cause == (progress.WAITS, progress.WENT_BACK)
    assert went_back == delivers_again


def forgets_the_queue(_partition: SharePartition, operation: Operation) -> Operation:
    """Tell of a queue with nothing in it."""
    return FinishDeadLetter(()) if isinstance(operation, FinishDeadLetter) else operation


FORGETFUL = Behaviour("forgets the queue", "", Manner.LAZY, reads=forgets_the_queue)
REJECTED = said(3, 3, 3), asks.CoreFinishDeadLetter(0)
AT_A_RECORD = (QUEUE, SIX, *[FETCH] * 4, asks.CoreAdvanceLogStart(1), *REJECTED)
IN_THE_GAP = (QUEUE, GAP_AT_1, *[FETCH] * 3, asks.CoreAdvanceLogStart(1), *REJECTED)


def test_a_dead_letter_is_not_queued_after_the_log_start_came_to_a_gap_or_otherwise() -> None:
    other, known = (fault_of(FORGETFUL, *each).deviation for each in (AT_A_RECORD, IN_THE_GAP))
    assert other.name == known.name == "DEAD_LETTER_IS_QUEUED"
    assert known.probable_cause == (progress.NOT_QUEUED, progress.STARTED_IN_GAP)
    assert other.probable_cause[0] == "DEAD_LETTER_IS_QUEUED"


PLANTED: dict[str, tuple[Behaviour, tuple[asks.Ask, ...], set[str]]] = {
    "finished-records-behind-a-gap-fill-the-window": (
        stopping(0),
        (LEAD, LEAD, *FULL, said(0, 3), *WAIT),
        {"TakeOver"},
    ),
    "released-gap-holds-a-full-window": (
        stopping(0),
        (LEAD, GAP_AT_1, FETCH, FETCH, FETCH, said(0, 0), *WAIT),
        {"gap in the log"},
    ),
    "finished-records-after-a-gap-stop-fetches": (NOTHING, READ, {"TakeOver"}),
    "dead-letter-skipped-after-log-start-in-a-gap": (FORGETFUL, AT_A_RECORD, {"AdvanceLogStart"}),
}
"""A mistake that an entry hid while it went by these features alone."""


@pytest.mark.parametrize("name", PLANTED)
def test_no_known_deviation_of_kafka_hides_another_cause(name: str) -> None:
    behaviour, sequence, needs = PLANTED[name]
    fault, known = fault_of(behaviour, *sequence), read_known(KNOWN, CORES.read)
    (entry,) = (each for each in known if each.name == name)
    weaker = attrs.evolve(entry, needs=frozenset(needs), difference=())
    assert unknown([fault], [weaker]) == []
    assert unknown([fault], known) == [fault]


def test_a_leader_that_begins_in_a_gap_stops_whether_compaction_made_it_or_not() -> None:
    fault = fault_of(stopping(1), *NATURAL, said(2, 4), *WAIT)
    assert unknown([fault], read_known(KNOWN, CORES.read)) == []
