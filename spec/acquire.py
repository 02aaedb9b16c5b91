"""Acquiring records: a fetch takes available records and may move the end of the window."""

from bisect import bisect_left

import attrs

from model.errors import IllegalChoiceError
from model.guards import Guard
from model.operations import Acquire, SkipAcquire
from model.outcome import Choice, Outcome
from model.ranges import AcquiredRange, offsets, runs
from model.states import AcquireMode, RecordState
from spec import kafka
from spec.expire import granted_until
from spec.log import batch_at, outside_holes
from spec.offered import note_fetch, note_full
from spec.partition import SharePartition, Step, move_start, require
from spec.policies import chosen_offsets
from spec.read import check_read, learn
from spec.record import UNDELIVERED, Record, acquire, is_acquirable
from spec.window import Window, extend, replace


def acquire_records(partition: SharePartition, operation: Acquire, choice: Choice) -> Step:
    """Acquire records for a member (KIP-932, In-flight records; KIP-1206).

    Guard: the read shows what the log holds (``read.check_read``); each record was read and is
    AVAILABLE, or new to the window; the maximum is not exceeded, or with batch_optimized by less
    than a log batch; the window passes no record that stays out of it, and does not exceed its
    limit; no record is passed over again and again (``offered.note_fetch``). Which of the records
    that remain are taken is the implementation's choice.
    Effect: ACQUIRED by the member for the lock duration (``expire.granted_until``); the end offset
    moves up. Where records may be marked in progress, the acquisition has a number, which a mark
    must name.
    Delivery count: one more for each record acquired.
    Persistence: none.
    """
    deadline = granted_until(partition, choice)
    check_read(partition, operation)
    partition, mine = learn(partition, operation, choice), choice.acquired
    taken = chosen_offsets(partition, operation) if mine is None else sorted(offsets(mine))
    check_taken(partition, operation, taken)
    check_maximum(partition, operation, taken)
    entered = _entered_offsets(partition, operation, choice, taken)
    window = partition.window
    end = max([window.end_offset, *(o + 1 for o in taken[-1:]), *(o + 1 for o in entered[-1:])])
    check_growth(partition, {*taken, *entered}, end)
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
    moved = attrs.evolve(moved, passed_over=note_fetch(partition, operation, taken))
    counts = ((offset, record.delivery_count) for offset, record in acquired.items())
    ranges = tuple(AcquiredRange(*run) for run in runs(counts))
    return Step(moved, Outcome(acquired=ranges, acquisition=number))


def skip_acquire(partition: SharePartition, _operation: SkipAcquire, choice: Choice) -> Step:
    """Acquire nothing, because nothing can be acquired (Kafka: SharePartition.canAcquireRecords).

    Guard: no record is available and the window is full; it does not stay full of finished records
    (``offered.note_full``).
    Effect: none, but that the start offset moves as chosen.
    Delivery count: unchanged.
    Persistence: none.
    """
    check_full(partition)
    moved = move_start(partition, choice.start_offset)
    moved = attrs.evolve(moved, stuck=note_full(moved))
    return Step(moved, Outcome(can_acquire=False))


def check_full(partition: SharePartition) -> None:
    """Refuse to acquire nothing where a record is available or the window has room."""
    window = partition.window
    width, limit = _width(window), partition.config.partition_max_record_locks
    detail = f"{window.acquirable} are available, the window spans {width} of {limit} offsets"
    require(window.acquirable == 0 and width >= limit, Guard.CAN_ACQUIRE, detail)


def check_taken(partition: SharePartition, operation: Acquire, taken: list[int]) -> None:
    """Refuse offsets that may not be acquired: each is read, AVAILABLE and named once."""
    window, previous = partition.window, None
    low, high = _read_extent(operation)
    log_start = partition.log.start_offset
    for offset in taken:
        once = offset >= window.start_offset and offset != previous
        require(once, Guard.ONLY_AVAILABLE_IS_ACQUIRED, f"offset {offset} is not available")
        detail = f"offset {offset} is below the log start offset, {log_start}"
        require(offset >= log_start, Guard.NOT_BELOW_LOG_START, detail)
        require(low <= offset <= high, Guard.ONLY_READ_IS_ACQUIRED, f"offset {offset} was not read")
        _check_available(offset, window.records.get(offset, UNDELIVERED))
        previous = offset


def _check_available(offset: int, record: Record) -> None:
    """Refuse to acquire a record that is not AVAILABLE, or whose write is outstanding."""
    if is_acquirable(record):
        return
    state = RecordState(record.state).name
    if record.pending:
        detail = f"offset {offset} is {state}, its write is outstanding"
        raise IllegalChoiceError(Guard.NO_ACQUIRE_DURING_WRITE, detail)
    raise IllegalChoiceError(Guard.ONLY_AVAILABLE_IS_ACQUIRED, f"offset {offset} is {state}")


def check_maximum(partition: SharePartition, operation: Acquire, taken: list[int]) -> None:
    """Refuse more records than the member asked for (KIP-1206, share.acquire.mode).

    record_limit takes at most the maximum. batch_optimized may complete the log batch in which the
    maximum is reached.
    """
    maximum = operation.max_fetch_records
    detail = f"{len(taken)} records where {maximum} were asked for"
    if operation.acquire_mode is AcquireMode.RECORD_LIMIT or maximum == 0:
        require(len(taken) <= maximum, Guard.WITHIN_RECORD_LIMIT, detail)
        return
    if not taken or kafka.may_exceed_maximum(partition.profile, partition.window, taken):
        return
    first = _batch_start(partition, operation, taken[-1])
    before = bisect_left(taken, first)
    detail = f"{before} records before the log batch at {first}, {detail}"
    require(before < maximum, Guard.WITHIN_MAXIMUM_AND_ONE_BATCH, detail)


def _batch_start(partition: SharePartition, operation: Acquire, offset: int) -> int:
    """Return where the log batch of an offset begins: as produced, or else as it was read."""
    produced = batch_at(partition.log, offset)
    if produced is not None:
        return produced[0]
    read = (batch.first for batch in operation.log_batches if batch.first <= offset <= batch.last)
    return next(read, offset)


def _entered_offsets(
    partition: SharePartition, operation: Acquire, choice: Choice, taken: list[int]
) -> list[int]:
    window, mine = partition.window, set(taken)
    end, entered = choice.end_offset, []
    lowest = max(window.end_offset, partition.log.start_offset)
    if choice.entered is not None:
        low, high = _read_extent(operation)
        for offset in sorted(set(offsets(choice.entered))):
            if offset in mine or offset < window.start_offset or offset in window.records:
                continue
            read = low <= offset <= high
            require(read, Guard.ONLY_READ_IS_ACQUIRED, f"offset {offset} was not read")
            entered.append(offset)
        # What was read past the last of these enters too, told or not.
        lowest = max([lowest, *(offset + 1 for offset in (*taken[-1:], *entered[-1:]))])
        end = lowest if end is None else end
    if end is None:
        end = max([window.end_offset, *(offset + 1 for offset in taken[-1:])])
    return entered + [
        offset
        for batch in operation.log_batches
        for offset in range(max(batch.first, lowest), min(batch.last + 1, end))
        if offset not in mine
    ]


def check_growth(partition: SharePartition, inside: set[int], end: int) -> None:
    """Refuse a window that grew over an offset that may hold a record and stays out."""
    for offset in outside_holes(partition.log, partition.window.end_offset, end):
        detail = f"offset {offset} is in the log and stays out"
        require(offset in inside, Guard.NO_RECORD_SKIPPED, detail)


def check_width(
    partition: SharePartition, operation: Acquire, old_end: int, first_new: int, taken: list[int]
) -> None:
    """Refuse a window that grew beyond its limit (KIP-932, share.partition.max.record.locks)."""
    window, limit = partition.window, partition.config.partition_max_record_locks
    profile = partition.profile
    cap = window.start_offset + limit + kafka.free_gap(profile, window, old_end, first_new)
    beyond = profile, window, operation, (old_end, cap), taken
    within = window.end_offset <= cap or kafka.may_overshoot(*beyond)
    detail = f"the window would span {_width(window)} offsets, the limit is {limit}"
    require(within, Guard.WITHIN_WINDOW_LIMIT, detail)


def _read_extent(operation: Acquire) -> tuple[int, int]:
    if not operation.log_batches:
        return 0, -1
    return operation.log_batches[0].first, operation.log_batches[-1].last


def _width(window: Window) -> int:
    return window.end_offset - window.start_offset
