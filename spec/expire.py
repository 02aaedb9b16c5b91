"""Time passes, and acquisition locks expire (KIP-932, In-flight records)."""

from collections.abc import Sequence

import attrs

from model.checks import MAX_INT64
from model.errors import InvalidValueError
from model.guards import Guard
from model.operations import AdvanceTime
from model.outcome import Answer, Choice, Expiry, Outcome, Write
from model.ranges import OffsetRange
from spec.partition import SharePartition, Step, move_start, require
from spec.ranges import offsets, runs
from spec.record import UNDELIVERED, Record, expire, failed_state, is_lock_over
from spec.writes import write_and_forget


def advance_time(
    partition: SharePartition, operation: AdvanceTime, choice: Choice, answers: Sequence[Answer]
) -> Step:
    """Move the clock on and let the acquisition locks that are due expire.

    Guard: a lock expires neither before its deadline nor, once the clock has passed it, later.
    Effect: each as ``record.expire``. How many writes report them is the implementation's choice.
    Delivery count: unchanged.
    Persistence: a write for each group of locks; what becomes of it changes nothing here. A group
    whose records the start offset has passed still writes that, and the delivery complete count.
    """
    if partition.now + operation.ms > MAX_INT64:
        raise InvalidValueError("ms", operation.ms, "a time that keeps the clock within 64 bits")
    partition = attrs.evolve(partition, now=partition.now + operation.ms)
    writes: list[Write] = []
    for index, group in enumerate(_groups(partition, choice)):
        partition = move_start(partition, group.start_offset)
        expired = _expired(partition, group)
        if group.locks:
            answer = answers[index] if index < len(answers) else Answer()
            partition, write = write_and_forget(partition, expired, answer)
            writes.append(write)
    left = due_offsets(partition)
    require(not left, Guard.LOCK_ENDS_ON_TIME, f"the lock of offset {min(left, default=0)} is due")
    return Step(partition, Outcome(writes=tuple(writes)))


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


def _expired(partition: SharePartition, group: Expiry) -> dict[int, Record]:
    window, config, expired = partition.window, partition.config, {}
    failed = failed_state(config.dead_letter_queue)
    for offset in offsets(group.locks):
        if offset < window.start_offset:
            continue
        record = window.records.get(offset, UNDELIVERED)
        over = is_lock_over(record, partition.now)
        require(over, Guard.LOCK_LASTS_ITS_DURATION, f"offset {offset} holds no lock that is over")
        expired[offset] = expire(record, config.delivery_count_limit, failed)
    return expired
