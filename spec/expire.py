"""Time passes, and acquisition locks expire (KIP-932, In-flight records)."""

from collections.abc import Sequence

import attrs

from model.checks import MAX_INT64
from model.errors import InvalidValueError
from model.guards import Guard
from model.operations import AdvanceTime, Expire
from model.outcome import Answer, Choice, Expiry, Outcome, Write
from model.ranges import OffsetRange, offsets, runs
from spec.partition import SharePartition, Step, move_start, require
from spec.record import UNDELIVERED, Record, expire, failed_state, is_held, is_lock_over
from spec.window import first_unfinished, tracked
from spec.writes import write_and_forget


def advance_time(
    partition: SharePartition, operation: AdvanceTime, choice: Choice, answers: Sequence[Answer]
) -> Step:
    """Move the clock on and let the acquisition locks that are due expire.

    Guard: a lock expires neither before its deadline nor, once the clock has passed it, later.
    Effect: each as ``record.expire``. How many writes report them is the implementation's choice.
    What a write that was seen names besides keeps its state, and locks that are over below the
    start offset of that write end with it.
    Delivery count: unchanged.
    Persistence: a write for each group of locks, also where the start offset has passed all its
    records; what becomes of it changes nothing here.
    """
    partition = advance_clock(partition, operation)
    writes: list[Write] = []
    for index, group in enumerate(_groups(partition, choice)):
        answer = answers[index] if index < len(answers) else Answer()
        partition = _at_the_write(partition, group, answer, choice.start_offset)
        expired = _expired(partition, group, seen=answer.written is not None)
        expired |= _passed(partition, answer)
        if group.locks or expired:
            partition, write = write_and_forget(partition, expired, answer)
            writes.append(write)
    still_due = due_offsets(partition)
    require(
        not still_due,
        Guard.LOCK_ENDS_ON_TIME,
        f"the lock of offset {min(still_due, default=0)} is due",
    )
    return Step(partition, Outcome(writes=tuple(writes)))


def advance_clock(partition: SharePartition, operation: AdvanceTime) -> SharePartition:
    """Return the share-partition with its clock moved on."""
    now = partition.now + operation.ms
    if now > MAX_INT64:
        raise InvalidValueError("ms", operation.ms, "a time that keeps the clock within 64 bits")
    return attrs.evolve(partition, now=now)


def expire_locks(partition: SharePartition, operation: Expire, answer: Answer) -> Step:
    """Let a timer end acquisition locks (KIP-932, In-flight records).

    Guard: each offset is held, and its deadline has come; the timer was due neither before that
    nor later than now. Offsets below the start offset are passed over.
    Effect: each as ``record.expire``.
    Delivery count: unchanged.
    Persistence: one write, also where the start offset has passed all of the records; what becomes
    of it changes nothing here.
    """
    due = partition.now if operation.due_ms is None else operation.due_ms
    detail = f"the timer was due at {due}, it is {partition.now}"
    require(due <= partition.now, Guard.LOCK_LASTS_ITS_DURATION, detail)
    expired = _expired(attrs.evolve(partition, now=due), Expiry(operation.ranges))
    if not operation.ranges:
        return Step(partition)
    partition, write = write_and_forget(partition, expired, answer)
    return Step(partition, Outcome(writes=(write,)))


def granted_until(partition: SharePartition, choice: Choice) -> int:
    """Return when the acquisition locks end that an operation grants or renews."""
    if choice.deadline_ms is not None:
        return choice.deadline_ms
    return partition.now + partition.config.record_lock_duration_ms


def due_offsets(partition: SharePartition) -> list[int]:
    """Return the offsets whose acquisition lock is over, ascending."""
    records, now = partition.window.records, partition.now
    return sorted(o for o in partition.window.held if is_lock_over(records[o], now))


def _groups(partition: SharePartition, choice: Choice) -> tuple[Expiry, ...]:
    if choice.expired is not None:
        return choice.expired
    due = ((offset, True) for offset in due_offsets(partition))
    locks = tuple(OffsetRange(first, last) for first, last, _ in runs(due))
    return (Expiry(locks),) if locks else ()


def _at_the_write(
    partition: SharePartition, group: Expiry, answer: Answer, end: int | None
) -> SharePartition:
    """Move the start offset to where it was at the moment of a write, at most to ``end``.

    A write that was seen may carry another start offset (docs/decisions.md, 25), which tells
    nothing of that moment.
    """
    start, window = group.start_offset, partition.window
    if answer.written is None or start is None:
        return move_start(partition, start)
    furthest = first_unfinished(window, partition.log)
    furthest = furthest if end is None else min(furthest, end)
    return move_start(partition, start) if window.start_offset <= start <= furthest else partition


def _passed(partition: SharePartition, answer: Answer) -> dict[int, Record]:
    """Return the records whose locks end because the start offset of a write that was seen says so.

    It needs no batches of what is finished below it.
    """
    if answer.written is None:
        return {}
    window, now = partition.window, partition.now
    below = tracked(window, window.start_offset, answer.written.start_offset)
    over = (o for o in below if is_lock_over(window.records[o], now))
    return _expired(partition, Expiry(tuple(OffsetRange(o, o) for o in over)))


def _expired(partition: SharePartition, group: Expiry, *, seen: bool = False) -> dict[int, Record]:
    """Return the records whose locks end; a write that was ``seen`` may name others besides."""
    window, config, expired = partition.window, partition.config, {}
    failed = failed_state(config.dead_letter_queue)
    for offset in offsets(sorted(group.locks, key=lambda lock: lock.first)):
        if offset < window.start_offset:
            continue
        record = window.records.get(offset, UNDELIVERED)
        if seen and not is_held(record):
            continue
        over = is_lock_over(record, partition.now)
        require(over, Guard.LOCK_LASTS_ITS_DURATION, f"offset {offset} holds no lock that is over")
        expired[offset] = expire(record, config.delivery_count_limit, failed)
    return expired
