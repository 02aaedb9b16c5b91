"""Acquiring records: a fetch takes available records and may move the end of the window."""

import attrs

from model.errors import InvalidValueError
from model.guards import Guard
from model.operations import Acquire, Produce, SkipAcquire
from model.outcome import Choice, Outcome
from model.ranges import AcquiredRange
from model.states import AcquireMode, RecordState
from spec.log import hole_end, learn_hole, learn_read
from spec.partition import SharePartition, Step, move_start, require
from spec.policies import chosen_offsets
from spec.ranges import offsets, runs
from spec.record import UNDELIVERED, Record, acquire, can_vanish, is_acquirable, vanish
from spec.window import Window, extend, replace, tracked


def produce(partition: SharePartition, operation: Produce) -> Step:
    """Append batches to the log. The share-partition itself does not change (KIP-932).

    Guard: the batches come after the end of the log.
    Effect: offsets that the batches leave out are known not to be in the log.
    Delivery count: unchanged.
    Persistence: none.
    """
    log = partition.log
    if operation.log_end_offset < log.end_offset:
        allowed = f"at least the log end offset, which is {log.end_offset}"
        raise InvalidValueError("log_end_offset", operation.log_end_offset, allowed)
    at = log.end_offset
    for batch in operation.log_batches:
        if batch.first < at:
            raise InvalidValueError("log_batches", batch.first, f"offsets from {at}")
        log = learn_hole(log, at, batch.first - 1)
        at = batch.last + 1
    log = learn_hole(log, at, operation.log_end_offset - 1)
    return Step(attrs.evolve(partition, log=attrs.evolve(log, end_offset=operation.log_end_offset)))


def acquire_records(partition: SharePartition, operation: Acquire, choice: Choice) -> Step:
    """Acquire records for a member (KIP-932, In-flight records; KIP-1206).

    Guard: each record was read from the log and is AVAILABLE, or new to the window; record_limit
    takes at most the maximum; the window grows over no record that stays out of it, and within its
    limit. Which of the records that remain are taken is the implementation's choice.
    Effect: ACQUIRED by the member until now plus the lock duration; the end offset moves up. Where
    records may be marked in progress, the acquisition has a number, which a mark must name.
    Delivery count: one more for each record acquired.
    Persistence: none.
    """
    partition = learn(partition, operation)
    taken = (
        chosen_offsets(partition, operation)
        if choice.acquired is None
        else sorted(offsets(choice.acquired))
    )
    check_taken(partition, operation, taken)
    entered = _entered_offsets(partition, operation, choice, taken)
    window = partition.window
    end = max([window.end_offset, *(o + 1 for o in taken[-1:]), *(o + 1 for o in entered[-1:])])
    _check_growth(partition, {*taken, *entered}, end)
    deadline = partition.now + partition.config.record_lock_duration_ms
    number = partition.next_acquisition if taken and partition.profile.in_progress else None
    acquired = {
        o: acquire(window.records.get(o, UNDELIVERED), operation.member, deadline, number)
        for o in taken
    }
    changes = {**dict.fromkeys(entered, UNDELIVERED), **acquired}
    grown = attrs.evolve(
        partition,
        window=replace(extend(window, end), changes),
        next_acquisition=partition.next_acquisition + (number is not None),
    )
    moved = move_start(grown, choice.start_offset)
    new = [offset for offset in changes if offset >= window.end_offset]
    if new:
        check_width(moved, operation, window.end_offset, min(new), taken)
    counts = ((offset, record.delivery_count) for offset, record in acquired.items())
    ranges = tuple(AcquiredRange(*run) for run in runs(counts))
    return Step(moved, Outcome(acquired=ranges, acquisition=number))


def skip_acquire(partition: SharePartition, _operation: SkipAcquire) -> Step:
    """Acquire nothing, because nothing can be acquired (Kafka: SharePartition.canAcquireRecords).

    Guard: no record is available and the window is full.
    Effect: none.
    Delivery count: unchanged.
    Persistence: none.
    """
    window = partition.window
    width, limit = _width(window), partition.config.partition_max_record_locks
    detail = f"{window.acquirable} are available, the window spans {width} of {limit} offsets"
    require(window.acquirable == 0 and width >= limit, Guard.CAN_ACQUIRE, detail)
    return Step(partition, Outcome(can_acquire=False))


def learn(partition: SharePartition, operation: Acquire) -> SharePartition:
    """Learn from a read which offsets the log lacks (KIP-1226, Compacted records).

    Guard: something was read.
    Effect: offsets that the read skipped are not in the log. Records that were AVAILABLE between
    the fetch offset and the first offset read are ARCHIVED.
    Delivery count: unchanged.
    Persistence: none (Kafka: SharePartition.maybeArchiveStaleBatches).
    """
    if not operation.log_batches:
        return partition
    read = tuple((batch.first, batch.last) for batch in operation.log_batches)
    log = learn_read(partition.log, operation.fetch_offset, read)
    window = partition.window
    gone = {
        offset: vanish(window.records[offset])
        for offset in tracked(window, operation.fetch_offset, read[0][0])
        if can_vanish(window.records[offset])
    }
    return attrs.evolve(partition, log=log, window=replace(window, gone))


def check_taken(partition: SharePartition, operation: Acquire, taken: list[int]) -> None:
    """Refuse offsets that may not be acquired: each is read, AVAILABLE and named once."""
    window, previous = partition.window, None
    low, high = _read_extent(operation)
    for offset in taken:
        once = offset >= window.start_offset and offset != previous
        require(once, Guard.ONLY_AVAILABLE_IS_ACQUIRED, f"offset {offset} is not available")
        require(low <= offset <= high, Guard.ONLY_READ_IS_ACQUIRED, f"offset {offset} was not read")
        record = window.records.get(offset, UNDELIVERED)
        available = Guard.ONLY_AVAILABLE_IS_ACQUIRED
        guard = Guard.NO_ACQUIRE_DURING_WRITE if record.pending else available
        require(is_acquirable(record), guard, f"offset {offset} is {_describe(record)}")
        previous = offset
    limit = operation.max_fetch_records
    if operation.acquire_mode is AcquireMode.RECORD_LIMIT or limit == 0:
        detail = f"{len(taken)} records where {limit} were asked for"
        require(len(taken) <= limit, Guard.WITHIN_RECORD_LIMIT, detail)


def _entered_offsets(
    partition: SharePartition, operation: Acquire, choice: Choice, taken: list[int]
) -> list[int]:
    window, mine = partition.window, set(taken)
    if choice.entered is not None:
        low, high = _read_extent(operation)
        entered = []
        for offset in sorted(set(offsets(choice.entered))):
            if offset in mine or offset < window.start_offset or offset in window.records:
                continue
            read = low <= offset <= high
            require(read, Guard.ONLY_READ_IS_ACQUIRED, f"offset {offset} was not read")
            entered.append(offset)
        return entered
    end = choice.end_offset
    if end is None:
        end = max([window.end_offset, *(offset + 1 for offset in taken[-1:])])
    return [
        offset
        for batch in operation.log_batches
        for offset in range(max(batch.first, window.end_offset), min(batch.last + 1, end))
        if offset not in mine
    ]


def _check_growth(partition: SharePartition, inside: set[int], end: int) -> None:
    offset = partition.window.end_offset
    while offset < end:
        if offset in inside:
            offset += 1
            continue
        gap = hole_end(partition.log, offset)
        detail = f"offset {offset} is in the log and stays out"
        require(gap is not None, Guard.NO_RECORD_SKIPPED, detail)
        offset = (gap or 0) + 1


def check_width(
    partition: SharePartition, operation: Acquire, old_end: int, first_new: int, taken: list[int]
) -> None:
    """Refuse a window that grew beyond its limit by more than the log batch that crosses it."""
    window, limit = partition.window, partition.config.partition_max_record_locks
    cap = window.start_offset + limit
    if partition.profile.gap_at_the_end_is_free:
        cap = first_new + limit - max(0, old_end - window.start_offset)
    if window.end_offset <= cap:
        return
    last = window.end_offset - 1
    begun = [batch for batch in operation.log_batches if batch.first <= last <= batch.last]
    crosses = bool(begun) and max(begun[0].first, old_end) < cap
    if operation.acquire_mode is AcquireMode.RECORD_LIMIT:
        may = partition.profile.record_limit_may_overshoot
        crosses = crosses and may and not (taken and taken[-1] >= max(cap, old_end))
    detail = f"the window would span {_width(window)} offsets, the limit is {limit}"
    require(crosses, Guard.WITHIN_WINDOW_LIMIT, detail)


def _read_extent(operation: Acquire) -> tuple[int, int]:
    if not operation.log_batches:
        return 0, -1
    return operation.log_batches[0].first, operation.log_batches[-1].last


def _describe(record: Record) -> str:
    waiting = ", its write is outstanding" if record.pending else ""
    return f"{RecordState(record.state).name}{waiting}"


def _width(window: Window) -> int:
    return window.end_offset - window.start_offset
