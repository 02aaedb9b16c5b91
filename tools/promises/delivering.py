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
from model.outcome import Choice
from model.ranges import OffsetRange
from model.states import AcknowledgeType, AcquireMode, RecordState
from spec.log import batch_at
from spec.partition import SharePartition, Step
from spec.record import UNDELIVERED, Record, is_held, is_terminal
from spec.window import drop_below, extend, first_unfinished, replace
from tools.promises.altering import (
    Change,
    Ranges,
    after,
    asking_more,
    before,
    configured,
    counted,
    ranges,
    reading,
    reading_batches,
    records_changed,
    starting,
    taking,
)
from tools.promises.behaviour import Behaviour, Manner

LOSSY, LAZY, GREEDY, FORGETFUL, LYING = Manner
_MANY = 10**6
_FREE = Record(RecordState.AVAILABLE, 1)


def _without_middle(batches: Ranges) -> Ranges:
    return (*batches[:1], *batches[2:])


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


def _skipping(_partition: SharePartition, operation: Operation) -> Operation:
    return SkipAcquire(operation.member) if isinstance(operation, Acquire) else operation


def _nothing(_partition: SharePartition, _fetch: Acquire, _offsets: list[int]) -> Choice:
    return Choice(acquired=(), entered=())


def _over_the_first(_partition: SharePartition, _fetch: Acquire, offsets: list[int]) -> Choice:
    return Choice(acquired=ranges(offsets[1:]), entered=())


def _leaving_first(_partition: SharePartition, _fetch: Acquire, offsets: list[int]) -> Choice:
    return Choice(acquired=ranges(offsets[1:]), entered=ranges(offsets[:1]))


def _leaving_again(partition: SharePartition, _fetch: Acquire, offsets: list[int]) -> Choice:
    records = partition.window.records
    new = [o for o in offsets if not records.get(o, UNDELIVERED).delivery_count]
    return Choice(acquired=ranges(new), entered=())


def _leaving_third(_partition: SharePartition, _fetch: Acquire, offsets: list[int]) -> Choice:
    kept = ranges(o for o in offsets if o == _THIRD)
    return Choice(acquired=ranges(o for o in offsets if o != _THIRD), entered=kept)


_THIRD = 3


def _unread_after_all(_partition: SharePartition, fetch: Acquire, offsets: list[int]) -> Choice:
    beyond = [fetch.log_batches[-1].last + 1] if fetch.log_batches else []
    return Choice(acquired=ranges([*offsets, *beyond]), entered=())


def _freed(operation: Operation, *, own: bool) -> Change:
    member = operation.member if isinstance(operation, Acquire) else ""

    def change(_offset: int, record: Record) -> Record:
        if is_held(record) and (record.owner == member) is own:
            return Record(RecordState.AVAILABLE, record.delivery_count)
        return record

    return change


def _revived(state: RecordState) -> Change:
    def change(_offset: int, record: Record) -> Record:
        fits = record.state is state and not record.pending
        return Record(RecordState.AVAILABLE, record.delivery_count) if fits else record

    return change


def _settled(_offset: int, record: Record) -> Record:
    available = record.pending and record.state is RecordState.AVAILABLE
    return Record(record.state, record.delivery_count) if available else record


def _undone(_offset: int, record: Record) -> Record:
    if record.pending and is_terminal(record):
        return Record(RecordState.AVAILABLE, record.delivery_count)
    return record


def _without_limit(fits: Callable[[Operation], bool]) -> dict[str, Any]:
    """Return what ignores the delivery limit in some operations alone."""

    def begins(partition: SharePartition, operation: Operation) -> SharePartition:
        if not fits(operation):
            return partition
        endless = attrs.evolve(partition.config, delivery_count_limit=_MANY)
        return attrs.evolve(partition, config=endless)

    def ends(old: SharePartition, operation: Operation, step: Step) -> Step:
        if not fits(operation):
            return step
        return attrs.evolve(step, partition=attrs.evolve(step.partition, config=old.config))

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


def _unmoved(old: SharePartition, step: Step) -> Step:
    log = step.partition.log
    return attrs.evolve(step, partition=attrs.evolve(old, log=log))


def _emptied(_old: SharePartition, step: Step) -> Step:
    window = drop_below(step.partition.window, step.partition.window.end_offset)
    return attrs.evolve(step, partition=attrs.evolve(step.partition, window=window))


def _past_held(_old: SharePartition, _operation: Operation, step: Step) -> Step:
    window = step.partition.window
    offset = first_unfinished(window, step.partition.log)
    while offset in window.held:
        offset += 1
    window = drop_below(window, offset)
    return attrs.evolve(step, partition=attrs.evolve(step.partition, window=window))


def _still_in_flight(old: SharePartition, step: Step) -> Step:
    return attrs.evolve(step, partition=old)


def _archiving_the_rest(_old: SharePartition, step: Step) -> Step:
    """Archive what follows the last acquired record in its log batch and was never delivered."""
    window, acquired = step.partition.window, step.outcome.acquired
    batch = batch_at(step.partition.log, acquired[-1].last) if acquired else None
    if batch is None:
        return step
    rest = range(acquired[-1].last + 1, batch[1] + 1)
    lost = [o for o in rest if window.records.get(o, UNDELIVERED) == UNDELIVERED]
    archived = dict.fromkeys(lost, attrs.evolve(UNDELIVERED, state=RecordState.ARCHIVED))
    window = replace(extend(window, max(window.end_offset, batch[1] + 1)), archived)
    return attrs.evolve(step, partition=attrs.evolve(step.partition, window=window))


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
        reads=reading_batches(lambda read: read[1:] or read)),
    Behaviour("skips a log batch between others", "at least once", LOSSY,
        reads=reading_batches(_without_middle)),
    Behaviour("skips the first record that it reads", "at least once", LOSSY,
        reads=reading_batches(_beheaded)),
    Behaviour("fetches from the second log batch on", "at least once", LOSSY,
        reads=reading(_further_on)),
    Behaviour("grows the window over the first record it could take", "at least once", LOSSY,
        chooses=taking(_over_the_first)),
    Behaviour("reports several log batches as a large one", "records of the log", LYING,
        reads=reading_batches(_joined)),
    Behaviour("acquires the offset after the last it takes", "records of the log", GREEDY,
        chooses=taking(_unread_after_all)),
    Behaviour("reports an offset more of the last log batch", "records of the log", LYING,
        reads=reading_batches(lambda read: (*read[:-1],
            OffsetRange(read[-1].first, read[-1].last + 1)))),
    Behaviour("reads past the end of the log", "readable records", GREEDY,
        reads=_past_the_end),
    Behaviour("reads open transactions under read_committed", "readable records", GREEDY,
        follows=False),
    Behaviour("delivers records of aborted transactions", "committed records", GREEDY,
        ends=after(ArchiveAborted, _still_in_flight)),
    Behaviour("reads what is not committed under read_committed", "committed records", GREEDY,
        goes_by=configured(isolation_level=lambda _level: IsolationLevel.READ_UNCOMMITTED),
        faces=()),
    Behaviour("archives every record with those of an aborted transaction", "committed records",
        LOSSY, ends=after(ArchiveAborted, records_changed(
            lambda _offset, record: Record(RecordState.ARCHIVED, record.delivery_count)
            if is_held(record) else record))),
    Behaviour("does not follow the log start offset", "log start", FORGETFUL,
        ends=after(AdvanceLogStart, _unmoved)),
    Behaviour("begins below the log start offset", "log start", GREEDY,
        follows=False, ends=after(AdvanceLogStart, _unmoved)),
    Behaviour("drops the whole window when the log start offset moves", "log start", LOSSY,
        ends=after(AdvanceLogStart, _emptied)),
    Behaviour("acquires what another member holds", _ONE, GREEDY,
        begins=before(Acquire, lambda fetch: _freed(fetch, own=False))),
    Behaviour("acquires again what the member holds", _ONE, GREEDY,
        begins=before(Acquire, lambda fetch: _freed(fetch, own=True))),
    Behaviour("delivers acknowledged records again", _FINAL, FORGETFUL,
        begins=before(Acquire, lambda _fetch: _revived(RecordState.ACKNOWLEDGED))),
    Behaviour("delivers archived records again", _FINAL, FORGETFUL,
        begins=before(Acquire, lambda _fetch: _revived(RecordState.ARCHIVED))),
    Behaviour("archives what it read and did not deliver", _FINAL, LOSSY,
        ends=after(Acquire, _archiving_the_rest)),
    Behaviour("delivers a released record before its write is answered",
        "no delivery during a write", GREEDY, begins=before(Acquire, lambda _fetch: _settled)),
    Behaviour("delivers an acknowledged record before its write is answered",
        "no delivery during a write", GREEDY, begins=before(Acquire, lambda _fetch: _undone)),
    Behaviour("does not count redeliveries", "delivery count", FORGETFUL,
        ends=after(Acquire, counted(lambda count: max(1, count - 1)))),
    Behaviour("begins to count again with each delivery", "delivery count", FORGETFUL,
        ends=after(Acquire, counted(lambda _count: 1))),
    Behaviour("counts each delivery twice", "delivery count", GREEDY,
        ends=after(Acquire, counted(lambda count: count + 1))),
    Behaviour("counts deliveries from 0", "delivery count", FORGETFUL,
        ends=after(Acquire, counted(lambda count: count - 1))),
    Behaviour("counts redeliveries in its answers alone", "delivery count", LYING,
        ends=after(Acquire, _only_in_state)),
    Behaviour("ignores the maximum under record_limit", "maximum of records", GREEDY,
        does=asking_more(_MANY, _LIMIT)),
    Behaviour("acquires a record more than the maximum under record_limit", "maximum of records",
        GREEDY, does=asking_more(1, _LIMIT)),
    Behaviour("ignores the maximum under batch_optimized", "maximum of records", GREEDY,
        does=asking_more(_MANY, _OPTIMIZED)),
    Behaviour("goes on with another log batch at the maximum", "maximum of records", GREEDY,
        does=asking_more(1, _OPTIMIZED)),
    Behaviour("ignores the limit of the window", "limit of the window", GREEDY,
        goes_by=configured(partition_max_record_locks=lambda limit: limit * _MANY)),
    Behaviour("lets the window grow by an offset more", "limit of the window", GREEDY,
        goes_by=configured(partition_max_record_locks=lambda limit: limit + 1)),
    Behaviour("ignores the delivery limit", "delivery limit", GREEDY,
        goes_by=configured(delivery_count_limit=lambda limit: limit * 1000)),
    Behaviour("delivers once more than the limit", "delivery limit", GREEDY,
        goes_by=configured(delivery_count_limit=lambda limit: limit + 1)),
    Behaviour("delivers once less than the limit", "delivery limit", LOSSY,
        goes_by=configured(delivery_count_limit=lambda limit: limit - 1)),
    Behaviour("ignores the delivery limit of what is released", "delivery limit", GREEDY,
        **_without_limit(_releases)),
    Behaviour("ignores the delivery limit of what expires", "delivery limit", GREEDY,
        **_without_limit(lambda operation: isinstance(operation, AdvanceTime))),
    Behaviour("never acquires anything", _DELIVERED, LAZY, chooses=taking(_nothing)),
    Behaviour("reads nothing in any fetch", _DELIVERED, LAZY,
        reads=reading_batches(lambda _read: ())),
    Behaviour("says of each fetch that nothing can be acquired", _DELIVERED, LYING,
        reads=_skipping),
    Behaviour("passes over the first available record", _DELIVERED, LAZY,
        chooses=taking(_leaving_first)),
    Behaviour("passes over records that were released", _DELIVERED, FORGETFUL,
        chooses=taking(_leaving_again)),
    Behaviour("passes over a single record for ever", _DELIVERED, LAZY,
        chooses=taking(_leaving_third)),
    Behaviour("never moves the start offset", "the window slides", LAZY,
        chooses=starting(lambda partition: partition.window.start_offset)),
    Behaviour("moves the start offset back", "start offset", LYING,
        chooses=starting(lambda partition: max(0, partition.window.start_offset - 1))),
    Behaviour("moves the start offset to the end of the window", "start offset", LOSSY,
        chooses=starting(lambda partition: partition.window.end_offset)),
    Behaviour("moves the start offset past an unfinished record", "start offset", LOSSY,
        chooses=starting(_past_one)),
    Behaviour("moves the start offset past a record that is held", "start offset", LOSSY,
        ends=_past_held),
    Behaviour("moves the start offset before a write is answered", "start offset", LOSSY,
        chooses=starting(_past_pending)),
)
# fmt: on
"""Of what is read and acquired, and of the window."""
