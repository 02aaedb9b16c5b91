"""Faulty implementations of what is read and acquired, and of the window."""

from collections.abc import Callable
from typing import Any

import attrs

from model.config import IsolationLevel
from model.operations import (
    Acknowledge,
    Acquire,
    AdvanceLogStart,
    AdvanceTime,
    ArchiveAborted,
    MemberLeaves,
    Operation,
    SkipAcquire,
)
from model.ranges import OffsetRange
from model.states import AcknowledgeType, AcquireMode, RecordState
from spec.log import batch_at
from spec.partition import SharePartition, Step
from spec.record import UNDELIVERED, is_held, is_terminal
from spec.window import Window, drop_below, extend, first_unfinished, replace
from tools.promises.altering import (
    MANY,
    after,
    asking_more,
    before,
    change,
    counted,
    ending,
    left,
    moving,
    on,
    starting,
    taking,
    to,
)
from tools.promises.behaviour import TRACE, Behaviour, Manner

LOSSY, LAZY, GREEDY, FORGETFUL, LYING = Manner
Ranges = tuple[OffsetRange, ...]


def _reading(alter: Callable[[Ranges], Ranges]) -> Callable[..., Operation]:
    """Return an alteration of the log batches of each fetch that reads some."""
    return on(Acquire, change(log_batches=alter), lambda fetch: fetch.log_batches)


def _beheaded(batches: Ranges) -> Ranges:
    first = batches[0]
    if first.first == first.last:
        return batches
    return (OffsetRange(first.first + 1, first.last), *batches[1:])


def _further_on(fetch: Acquire) -> Acquire:
    rest = fetch.log_batches[1:]
    return attrs.evolve(fetch, fetch_offset=rest[0].first, log_batches=rest) if rest else fetch


def _joined(batches: Ranges) -> Ranges:
    joined = list(batches[:1])
    for batch in batches[1:]:
        if batch.first == joined[-1].last + 1:
            joined[-1] = OffsetRange(joined[-1].first, batch.last)
        else:
            joined.append(batch)
    return tuple(joined)


def _past_the_end(partition: SharePartition, operation: Operation) -> Operation:
    if not isinstance(operation, Acquire):
        return operation
    end = partition.log.end_offset
    read = operation.log_batches
    if read and read[-1].last != end - 1:
        return operation
    return attrs.evolve(operation, log_batches=(*read, OffsetRange(end, end + 2)))


def _undelivered(offsets: list[int], partition: SharePartition, _fetch: Acquire) -> list[int]:
    records = partition.window.records
    return [o for o in offsets if not records.get(o, UNDELIVERED).delivery_count]


def _and_the_next(offsets: list[int], _partition: SharePartition, fetch: Acquire) -> list[int]:
    return [*offsets, *(batch.last + 1 for batch in fetch.log_batches[-1:])]


_THIRD = 3


def _without_limit(fits: Callable[[Operation], bool]) -> dict[str, Any]:
    """Return what ignores the delivery limit in some operations alone."""

    def begins(partition: SharePartition, operation: Operation) -> SharePartition:
        if not fits(operation):
            return partition
        endless = attrs.evolve(partition.config, delivery_count_limit=MANY)
        return attrs.evolve(partition, config=endless)

    def ends(old: SharePartition, operation: Operation, step: Step) -> Step:
        return change(partition=change(config=to(old.config)))(step) if fits(operation) else step

    return {"begins": begins, "ends": ends}


def _releases(operation: Operation) -> bool:
    if isinstance(operation, Acknowledge):
        return any(AcknowledgeType.RELEASE in batch.types for batch in operation.batches)
    return isinstance(operation, MemberLeaves)


def _past_one(partition: SharePartition) -> int:
    """Return the offset after the first unfinished record, where there is one."""
    furthest = first_unfinished(partition.window, partition.log)
    return min(furthest + 1, partition.window.end_offset)


def _past_pending(partition: SharePartition) -> int:
    window, offset = partition.window, partition.window.start_offset
    while (record := window.records.get(offset)) is not None and is_terminal(record):
        offset += 1
    return max(offset, first_unfinished(window, partition.log))


def _once_all_is_written(partition: SharePartition) -> int:
    window = partition.window
    return window.start_offset if partition.outstanding else first_unfinished(window, partition.log)


def _unmoved(old: SharePartition, step: Step) -> Step:
    return attrs.evolve(step, partition=attrs.evolve(old, log=step.partition.log))


def _emptied(_old: SharePartition, step: Step) -> Window:
    return drop_below(step.partition.window, step.partition.window.end_offset)


def _past_held(_old: SharePartition, step: Step) -> Window:
    window = step.partition.window
    offset = first_unfinished(window, step.partition.log)
    while offset in window.held:
        offset += 1
    return drop_below(window, offset)


def _archiving_the_rest(_old: SharePartition, step: Step) -> Window:
    """Archive what follows the last acquired record in its log batch and was never delivered."""
    window, acquired = step.partition.window, step.outcome.acquired
    batch = batch_at(step.partition.log, acquired[-1].last) if acquired else None
    if batch is None:
        return window
    rest = range(acquired[-1].last + 1, batch[1] + 1)
    lost = [o for o in rest if window.records.get(o, UNDELIVERED) == UNDELIVERED]
    gone = attrs.evolve(UNDELIVERED, state=RecordState.ARCHIVED)
    return replace(extend(window, max(window.end_offset, batch[1] + 1)), dict.fromkeys(lost, gone))


def _only_in_state(old: SharePartition, step: Step) -> Step:
    uncounted = counted(lambda count: max(1, count - 1))(old, step)
    return attrs.evolve(step, partition=uncounted.partition)


_LIMIT, _OPTIMIZED = AcquireMode.RECORD_LIMIT, AcquireMode.BATCH_OPTIMIZED
_ONE = "one consumer"
_FINAL = "complete is final"
_DELIVERED = "available is delivered"

# fmt: off
DELIVERING = (
    Behaviour("skips the first log batch that it reads", "at least once", LOSSY,
        reads=_reading(lambda read: read[1:] or read)),
    Behaviour("skips a log batch between others", "at least once", LOSSY,
        reads=_reading(lambda read: (*read[:1], *read[2:]))),
    Behaviour("skips the first record that it reads", "at least once", LOSSY,
        reads=_reading(_beheaded)),
    Behaviour("fetches from the second log batch on", "at least once", LOSSY,
        reads=on(Acquire, _further_on)),
    Behaviour("grows the window over the first record it could take", "at least once", LOSSY,
        chooses=taking(lambda offsets, *_: offsets[1:])),
    Behaviour("reports several log batches as a large one", "records of the log", LYING,
        reads=_reading(_joined)),
    Behaviour("acquires the offset after the last it takes", "records of the log", GREEDY,
        chooses=taking(_and_the_next)),
    Behaviour("reports an offset more of the last log batch", "records of the log", LYING,
        reads=_reading(lambda read: (*read[:-1],
            OffsetRange(read[-1].first, read[-1].last + 1)))),
    Behaviour("reads past the end of the log", "readable records", GREEDY,
        reads=_past_the_end),
    Behaviour("reads open transactions under read_committed", "readable records", GREEDY,
        follows=False, faces=TRACE),  # The kit leaves no transaction of cores open.
    Behaviour("delivers records of aborted transactions", "committed records", GREEDY,
        ends=ending(ArchiveAborted, lambda old, step: attrs.evolve(step, partition=old))),
    Behaviour("reads what is not committed under read_committed", "committed records", GREEDY,
        goes_by=change(isolation_level=to(IsolationLevel.READ_UNCOMMITTED)),
        faces=()),
    Behaviour("archives every record with those of an aborted transaction", "committed records",
        LOSSY, ends=after(ArchiveAborted, lambda at: is_held(at.record),
            left(RecordState.ARCHIVED))),
    Behaviour("does not follow the log start offset", "log start", FORGETFUL,
        ends=ending(AdvanceLogStart, _unmoved)),
    Behaviour("begins below the log start offset", "log start", GREEDY,
        follows=False, ends=ending(AdvanceLogStart, _unmoved)),
    Behaviour("drops the whole window when the log start offset moves", "log start", LOSSY,
        ends=ending(AdvanceLogStart, moving(_emptied))),
    Behaviour("acquires what another member holds", _ONE, GREEDY,
        begins=before(Acquire,
            lambda at: is_held(at.record) and at.record.owner != at.operation.member)),
    Behaviour("acquires again what the member holds", _ONE, GREEDY,
        begins=before(Acquire,
            lambda at: is_held(at.record) and at.record.owner == at.operation.member)),
    Behaviour("delivers acknowledged records again", _FINAL, FORGETFUL,
        begins=before(Acquire, lambda at: at.is_settled(RecordState.ACKNOWLEDGED))),
    Behaviour("delivers archived records again", _FINAL, FORGETFUL,
        begins=before(Acquire, lambda at: at.is_settled(RecordState.ARCHIVED))),
    Behaviour("archives what it read and did not deliver", _FINAL, LOSSY,
        ends=ending(Acquire, moving(_archiving_the_rest))),
    Behaviour("delivers a released record before its write is answered",
        "no delivery during a write", GREEDY, begins=before(Acquire,
            lambda at: at.record.pending and at.record.state is RecordState.AVAILABLE)),
    Behaviour("delivers an acknowledged record before its write is answered",
        "no delivery during a write", GREEDY, begins=before(Acquire,
            lambda at: at.record.pending and is_terminal(at.record))),
    Behaviour("does not count redeliveries", "delivery count", FORGETFUL,
        ends=ending(Acquire, counted(lambda count: max(1, count - 1)))),
    Behaviour("begins to count again with each delivery", "delivery count", FORGETFUL,
        ends=ending(Acquire, counted(lambda _count: 1))),
    Behaviour("counts each delivery twice", "delivery count", GREEDY,
        ends=ending(Acquire, counted(lambda count: count + 1))),
    Behaviour("counts deliveries from 0", "delivery count", FORGETFUL,
        ends=ending(Acquire, counted(lambda count: count - 1))),
    Behaviour("counts redeliveries in its answers alone", "delivery count", LYING,
        ends=ending(Acquire, _only_in_state)),
    Behaviour("ignores the maximum under record_limit", "maximum of records", GREEDY,
        does=asking_more(MANY, _LIMIT)),
    Behaviour("acquires a record more than the maximum under record_limit", "maximum of records",
        GREEDY, does=asking_more(1, _LIMIT)),
    Behaviour("ignores the maximum under batch_optimized", "maximum of records", GREEDY,
        does=asking_more(MANY, _OPTIMIZED)),
    Behaviour("goes on with another log batch at the maximum", "maximum of records", GREEDY,
        does=asking_more(1, _OPTIMIZED)),
    Behaviour("ignores the limit of the window", "limit of the window", GREEDY,
        goes_by=change(partition_max_record_locks=lambda limit: limit * MANY)),
    Behaviour("lets the window grow by an offset more", "limit of the window", GREEDY,
        goes_by=change(partition_max_record_locks=lambda limit: limit + 1)),
    Behaviour("ignores the delivery limit", "delivery limit", GREEDY,
        goes_by=change(delivery_count_limit=lambda limit: limit * 1000)),
    Behaviour("delivers once more than the limit", "delivery limit", GREEDY,
        goes_by=change(delivery_count_limit=lambda limit: limit + 1)),
    Behaviour("delivers once less than the limit", "delivery limit", LOSSY,
        goes_by=change(delivery_count_limit=lambda limit: limit - 1)),
    Behaviour("ignores the delivery limit of what is released", "delivery limit", GREEDY,
        **_without_limit(_releases)),
    Behaviour("ignores the delivery limit of what expires", "delivery limit", GREEDY,
        **_without_limit(lambda operation: isinstance(operation, AdvanceTime))),
    Behaviour("never acquires anything", _DELIVERED, LAZY, chooses=taking(lambda *_: ())),
    Behaviour("reads nothing in any fetch", _DELIVERED, LAZY,
        reads=_reading(lambda _read: ())),
    Behaviour("says of each fetch that nothing can be acquired", _DELIVERED, LYING,
        reads=on(Acquire, lambda fetch: SkipAcquire(fetch.member))),
    Behaviour("passes over the first available record", _DELIVERED, LAZY,
        chooses=taking(lambda offsets, *_: offsets[1:], lambda offsets: offsets[:1])),
    Behaviour("passes over records that were released", _DELIVERED, FORGETFUL,
        chooses=taking(_undelivered)),
    Behaviour("passes over a single record for ever", _DELIVERED, LAZY,
        chooses=taking(lambda offsets, *_: [o for o in offsets if o != _THIRD],
            lambda offsets: [o for o in offsets if o == _THIRD])),
    Behaviour("never moves the start offset", "the window slides", LAZY,
        chooses=starting(lambda partition: partition.window.start_offset)),
    Behaviour("moves the start offset only while nothing is written", "the window slides", LAZY,
        chooses=starting(_once_all_is_written)),
    Behaviour("moves the start offset back", "start offset", LYING,
        chooses=starting(lambda partition: max(0, partition.window.start_offset - 1))),
    Behaviour("moves the start offset to the end of the window", "start offset", LOSSY,
        chooses=starting(lambda partition: partition.window.end_offset)),
    Behaviour("moves the start offset past an unfinished record", "start offset", LOSSY,
        chooses=starting(_past_one)),
    Behaviour("moves the start offset past a record that is held", "start offset", LOSSY,
        ends=ending(object, moving(_past_held))),
    Behaviour("moves the start offset before a write is answered", "start offset", LOSSY,
        chooses=starting(_past_pending)),
)
# fmt: on
"""Of what is read and acquired, and of the window."""
