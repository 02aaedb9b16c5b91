"""What faulty implementations have in common: small alterations of operations and states."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs

from model.config import SharePartitionConfig
from model.operations import (
    Acknowledge,
    AcknowledgementBatch,
    Acquire,
    AdvanceLogStart,
    AdvanceTime,
    Initialize,
    Operation,
    ResetOffset,
)
from model.outcome import Choice, Expiry, Outcome, Write
from model.ranges import AcquiredRange, OffsetRange
from model.states import AcquireMode
from spec.partition import SharePartition, Step
from spec.policies import chosen_offsets
from spec.read import learn
from spec.record import Record, is_held, is_lock_over
from spec.window import replace
from tools.promises.behaviour import Begins, Chooses, Ends, GoesBy, Reads

Change = Callable[[int, Record], Record]
Ranges = tuple[OffsetRange, ...]


def reading(change: Callable[[Acquire], Acquire]) -> Reads:
    """Return an alteration of each fetch that reads something."""

    def reads(_partition: SharePartition, operation: Operation) -> Operation:
        read = isinstance(operation, Acquire) and bool(operation.log_batches)
        return change(operation) if read and isinstance(operation, Acquire) else operation

    return reads


def reading_batches(change: Callable[[Ranges], Ranges]) -> Reads:
    """Return an alteration of the log batches of each fetch that reads some."""
    return reading(lambda fetch: attrs.evolve(fetch, log_batches=change(fetch.log_batches)))


def asking_more(more: int, *modes: AcquireMode) -> Reads:
    """Return an alteration that takes so many records more than the maximum in these modes."""

    def does(_partition: SharePartition, operation: Operation) -> Operation:
        if not isinstance(operation, Acquire) or operation.acquire_mode not in modes:
            return operation
        if not operation.max_fetch_records:
            return operation
        return attrs.evolve(operation, max_fetch_records=operation.max_fetch_records + more)

    return does


def taking(change: Callable[[SharePartition, Acquire, list[int]], Choice]) -> Chooses:
    """Return an alteration of what each fetch acquires, from the offsets of the policy."""

    def chooses(partition: SharePartition, operation: Operation, choice: Choice) -> Choice:
        if not isinstance(operation, Acquire):
            return choice
        offsets = chosen_offsets(learn(partition, operation), operation)
        return change(partition, operation, offsets)

    return chooses


def ranges(offsets: Iterable[int]) -> Ranges:
    """Return a range for each offset."""
    return tuple(OffsetRange(offset, offset) for offset in offsets)


def starting(start: Callable[[SharePartition], int]) -> Chooses:
    """Return an alteration of where the start offset goes, from the state before."""

    def chooses(partition: SharePartition, operation: Operation, choice: Choice) -> Choice:
        if not partition.ready or isinstance(operation, Initialize | AdvanceLogStart | ResetOffset):
            return choice
        to, expired = start(partition), choice.expired
        if isinstance(operation, AdvanceTime):
            due = due_offsets(partition, operation.ms)
            expired = (Expiry(ranges(due), partition.window.start_offset),) if due else ()
        return attrs.evolve(choice, start_offset=to, expired=expired)

    return chooses


def configured(**change: Callable[[int], object]) -> GoesBy:
    """Return an alteration of settings, each by a function of its value."""

    def goes_by(config: SharePartitionConfig) -> SharePartitionConfig:
        values: dict[str, Any] = {
            name: alter(getattr(config, name)) for name, alter in change.items()
        }
        return attrs.evolve(config, **values)

    return goes_by


def due_offsets(partition: SharePartition, ms: int) -> list[int]:
    """Return the offsets whose locks are over when so much time has passed."""
    records, now = partition.window.records, partition.now + ms
    return sorted(o for o in partition.window.held if is_lock_over(records[o], now))


def before(kind: type, change: Callable[[Operation], Change]) -> Begins:
    """Return an alteration of every record before an operation of this kind."""

    def begins(partition: SharePartition, operation: Operation) -> SharePartition:
        return mapped(partition, change(operation)) if isinstance(operation, kind) else partition

    return begins


def after(kind: type | tuple[type, ...], change: Callable[[SharePartition, Step], Step]) -> Ends:
    """Return an alteration of the step of each operation of this kind."""

    def ends(old: SharePartition, operation: Operation, step: Step) -> Step:
        return change(old, step) if isinstance(operation, kind) else step

    return ends


def mapped(partition: SharePartition, change: Change) -> SharePartition:
    """Return the share-partition with every record changed."""
    records = partition.window.records
    changed = {offset: change(offset, record) for offset, record in records.items()}
    return attrs.evolve(partition, window=replace(partition.window, changed))


def records_changed(change: Change) -> Callable[[SharePartition, Step], Step]:
    """Return an alteration of every record of the state after."""
    return lambda _old, step: attrs.evolve(step, partition=mapped(step.partition, change))


def changed_records(old: SharePartition, step: Step) -> dict[int, Record]:
    """Return the records that an operation changed, by offset."""
    known = old.window.records
    after_it = step.partition.window.records
    return {o: r for o, r in after_it.items() if known.get(o) != r}


def replaced(step: Step, records: Mapping[int, Record]) -> Step:
    """Return the step with these records in the state after."""
    tracked = {o: r for o, r in records.items() if o in step.partition.window.records}
    window = replace(step.partition.window, tracked)
    return attrs.evolve(step, partition=attrs.evolve(step.partition, window=window))


def writing(change: Callable[[SharePartition, Write], Write]) -> Ends:
    """Return an alteration of every write, as it is sent, from the state before."""

    def ends(old: SharePartition, _operation: Operation, step: Step) -> Step:
        writes = tuple(change(old, write) for write in step.outcome.writes)
        return attrs.evolve(step, outcome=attrs.evolve(step.outcome, writes=writes))

    return ends


def answering(change: Callable[[Outcome], Outcome]) -> Callable[[SharePartition, Step], Step]:
    """Return an alteration of the outcome alone."""
    return lambda _old, step: attrs.evolve(step, outcome=change(step.outcome))


def retyped(old: int, new: int) -> Reads:
    """Return an alteration that takes one acknowledge type for another."""

    def batch(named: AcknowledgementBatch) -> AcknowledgementBatch:
        return attrs.evolve(named, types=tuple(new if t == old else t for t in named.types))

    return acknowledging(lambda request: tuple(map(batch, request.batches)))


def acknowledging(
    change: Callable[[Acknowledge], tuple[AcknowledgementBatch, ...]],
) -> Reads:
    """Return an alteration of the batches of an acknowledgement."""

    def does(_partition: SharePartition, operation: Operation) -> Operation:
        if not isinstance(operation, Acknowledge):
            return operation
        return attrs.evolve(operation, batches=change(operation))

    return does


def named_in(operation: Operation) -> set[int]:
    """Return the offsets that an acknowledgement names, of each batch the first few."""
    if not isinstance(operation, Acknowledge):
        return set()
    return {o for b in operation.batches for o in range(max(0, b.first), b.last + 1)[:_FEW]}


def counted(count: Callable[[int], int]) -> Callable[[SharePartition, Step], Step]:
    """Return an alteration of the delivery count of what was acquired, in state and answer."""

    def change(_old: SharePartition, step: Step) -> Step:
        acquired = tuple(
            AcquiredRange(part.first, part.last, count(part.delivery_count))
            for part in step.outcome.acquired
        )
        offsets = {o for part in acquired for o in range(part.first, part.last + 1)}

        def recount(offset: int, record: Record) -> Record:
            if offset not in offsets:
                return record
            return attrs.evolve(record, delivery_count=count(record.delivery_count))

        outcome = attrs.evolve(step.outcome, acquired=acquired)
        return Step(mapped(step.partition, recount), outcome)

    return change


def held_now(old: SharePartition, step: Step) -> Iterable[tuple[int, Record, Record]]:
    """Yield the offset and record, before and after, of what is held before and after."""
    for offset in old.window.held:
        record = step.partition.window.records.get(offset)
        if record is not None and is_held(record):
            yield offset, old.window.records[offset], record


_FEW = 1000
