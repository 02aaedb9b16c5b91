"""What faulty implementations have in common: small alterations of operations, states and steps.

``change``, ``each`` and ``to`` say what becomes of the fields of a value; ``on``, ``before``,
``after`` and ``ending`` when. An alteration of records names those that it concerns by ``At``.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import attrs

from model.errors import ErrorCode
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
from model.outcome import Choice, Expiry
from model.ranges import OffsetRange, StateBatch
from model.states import AcquireMode, RecordState
from spec.partition import SharePartition, Step
from spec.policies import chosen_offsets
from spec.read import learn
from spec.record import UNDELIVERED, Record, is_held, is_lock_over
from spec.window import Window, replace
from tools.promises.behaviour import Begins, Chooses, Ends, Reads

_Operation = TypeVar("_Operation", bound=Operation)
Value = Callable[[Any], Any]
"""What becomes of a value."""

MANY = 10**6
_FEW = 1000


def to(value: object) -> Value:
    """Return what makes this of any value."""
    return lambda _value: value


def change(**fields: Value) -> Value:
    """Return what alters fields of an attrs value, each by a function of what it was."""
    return lambda value: attrs.evolve(
        value, **{name: alter(getattr(value, name)) for name, alter in fields.items()}
    )


def each(alter: Value) -> Value:
    """Return what alters every member of a tuple."""
    return lambda values: tuple(map(alter, values))


def on(
    kind: type[_Operation],
    alter: Callable[[_Operation], Operation],
    fits: Callable[[_Operation], object] = lambda _operation: True,
) -> Reads:
    """Return an alteration of each operation of a kind, or of those that fit."""
    return lambda _partition, operation: (
        alter(operation) if isinstance(operation, kind) and fits(operation) else operation
    )


def asking_more(more: int, mode: AcquireMode) -> Reads:
    """Return an alteration that takes so many records more than the maximum in this mode."""
    most = change(max_fetch_records=lambda most: most and most + more)
    return on(Acquire, most, lambda fetch: fetch.acquire_mode is mode)


def retyped(old: int, new: int) -> Reads:
    """Return an alteration that takes one acknowledge type for another."""
    types = each(lambda given: new if given == old else given)
    return on(Acknowledge, change(batches=each(change(types=types))))


def read_state(**fields: Value) -> Reads:
    """Return an alteration of what a new leader makes of the durable state."""
    return on(Initialize, change(persisted=change(**fields)))


# What is acquired, and where the window starts.


def taking(
    acquired: Callable[[list[int], SharePartition, Acquire], Iterable[int]],
    entered: Callable[[list[int]], Iterable[int]] = lambda _offsets: (),
) -> Chooses:
    """Return an alteration of what each fetch acquires, from the offsets of the policy."""

    def chooses(partition: SharePartition, operation: Operation, choice: Choice) -> Choice:
        if not isinstance(operation, Acquire):
            return choice
        offsets = chosen_offsets(learn(partition, operation), operation)
        taken = acquired(offsets, partition, operation)
        return Choice(acquired=ranges(taken), entered=ranges(entered(offsets)))

    return chooses


def ranges(offsets: Iterable[int]) -> tuple[OffsetRange, ...]:
    """Return a range for each offset."""
    return tuple(OffsetRange(offset, offset) for offset in offsets)


def starting(start: Callable[[SharePartition], int]) -> Chooses:
    """Return an alteration of where the start offset goes, from the state before."""

    def chooses(partition: SharePartition, operation: Operation, choice: Choice) -> Choice:
        if not partition.ready or isinstance(operation, Initialize | AdvanceLogStart | ResetOffset):
            return choice
        to_, expired = start(partition), choice.expired
        if isinstance(operation, AdvanceTime):
            due = due_offsets(partition, operation.ms)
            expired = (Expiry(ranges(due), partition.window.start_offset),) if due else ()
        return attrs.evolve(choice, start_offset=to_, expired=expired)

    return chooses


def refusing(status: ErrorCode, fits: Callable[[SharePartition, Acknowledge], object]) -> Chooses:
    """Return an alteration that answers acknowledgements that fit with this error, or none."""

    def chooses(partition: SharePartition, operation: Operation, choice: Choice) -> Choice:
        if not isinstance(operation, Acknowledge) or not partition.ready:
            return choice
        return attrs.evolve(choice, refusal=status) if fits(partition, operation) else choice

    return chooses


def due_offsets(partition: SharePartition, ms: int) -> list[int]:
    """Return the offsets whose locks are over when so much time has passed."""
    records, now = partition.window.records, partition.now + ms
    return sorted(o for o in partition.window.held if is_lock_over(records[o], now))


# Records.


@attrs.frozen
class At:
    """A record, and the operation before or after which it is looked at.

    ``partition`` is the state before the operation.
    """

    partition: SharePartition
    operation: Any
    offset: int
    record: Record

    @property
    def was(self) -> Record:
        """The record before the operation."""
        return self.partition.window.records.get(self.offset, UNDELIVERED)

    @property
    def is_changed(self) -> bool:
        """Whether the operation changed it."""
        return self.was != self.record

    @property
    def is_renewed(self) -> bool:
        """Whether it is held on, until another time."""
        both = is_held(self.was) and is_held(self.record)
        return bool(both and self.was.deadline != self.record.deadline)

    def is_settled(self, state: RecordState) -> bool:
        """Whether it is in this state, and no write of it is outstanding."""
        return self.record.state is state and not self.record.pending

    @property
    def is_named(self) -> bool:
        """Whether an acknowledgement names it, by the first offsets of a batch."""
        batches: tuple[AcknowledgementBatch, ...] = self.operation.batches
        return any(
            self.offset in range(max(0, batch.first), batch.last + 1)[:_FEW] for batch in batches
        )


Fits = Callable[[At], object]
Alters = Callable[[At], Record]


def left(state: RecordState) -> Alters:
    """Return what leaves a record in a state, held by nobody and as often delivered."""
    return lambda at: Record(state, at.record.delivery_count)


FREED = left(RecordState.AVAILABLE)


def recorded(**fields: Callable[[At], object]) -> Alters:
    """Return what alters fields of a record, each by a function of where it is."""
    return lambda at: attrs.evolve(at.record, **{name: of(at) for name, of in fields.items()})


def _altered(
    old: SharePartition,
    operation: Operation,
    new: SharePartition,
    fits: Fits,
    alters: Alters,
) -> dict[int, Record]:
    """Return the records of a state that are altered, by offset."""
    places = (At(old, operation, offset, record) for offset, record in new.window.records.items())
    return {at.offset: alters(at) for at in places if fits(at)}


def with_records(partition: SharePartition, records: Mapping[int, Record]) -> SharePartition:
    """Return the share-partition with these records."""
    return attrs.evolve(partition, window=replace(partition.window, records))


def before(kind: type, fits: Fits, alters: Alters = FREED) -> Begins:
    """Return an alteration of the records that fit before an operation of this kind."""

    def begins(partition: SharePartition, operation: Operation) -> SharePartition:
        if not isinstance(operation, kind):
            return partition
        return with_records(partition, _altered(partition, operation, partition, fits, alters))

    return begins


def after(kind: type, fits: Fits, alters: Alters = FREED, *, writes: bool = False) -> Ends:
    """Return an alteration of the records that fit after an operation, perhaps also as written."""

    def ends(old: SharePartition, operation: Operation, step: Step) -> Step:
        if not isinstance(operation, kind):
            return step
        records = _altered(old, operation, step.partition, fits, alters)
        after_it = attrs.evolve(step, partition=with_records(step.partition, records))
        return _rewritten(after_it, records) if writes else after_it

    return ends


def _rewritten(step: Step, records: Mapping[int, Record]) -> Step:
    """Return the step whose writes have these records, each in a batch of its own."""

    def batches(written: tuple[StateBatch, ...]) -> tuple[StateBatch, ...]:
        return tuple(
            StateBatch(o, o, r.state, r.delivery_count)
            for batch in written
            for o in range(batch.first, batch.last + 1)
            for r in (records.get(o, Record(batch.state, batch.delivery_count)),)
        )

    return written(state_batches=batches)(step)


# Steps.


def ending(kind: type, alter: Callable[[SharePartition, Step], Step]) -> Ends:
    """Return an alteration of the step of each operation of this kind, from the state before."""
    return lambda old, operation, step: alter(old, step) if isinstance(operation, kind) else step


def answering(**fields: Value) -> Callable[[SharePartition, Step], Step]:
    """Return an alteration of the outcome alone."""
    return lambda _old, step: attrs.evolve(step, outcome=change(**fields)(step.outcome))


def moving(
    window: Callable[[SharePartition, Step], Window],
) -> Callable[[SharePartition, Step], Step]:
    """Return an alteration of the window of the state after."""

    def alter(old: SharePartition, step: Step) -> Step:
        moved = attrs.evolve(step.partition, window=window(old, step))
        return attrs.evolve(step, partition=moved)

    return alter


def written(**fields: Value) -> Callable[[Step], Step]:
    """Return an alteration of every write of a step."""
    return change(outcome=change(writes=each(change(**fields))))


def writing(**fields: Value) -> Ends:
    """Return an alteration of every write, as it is sent."""
    return lambda _old, _operation, step: written(**fields)(step)


def writing_of(**fields: Callable[[SharePartition, SharePartition], object]) -> Ends:
    """Return an alteration of every write by what it says of the states before and after."""

    def ends(old: SharePartition, _operation: Operation, step: Step) -> Step:
        return written(**{name: to(of(old, step.partition)) for name, of in fields.items()})(step)

    return ends


def counted(count: Callable[[int], int]) -> Callable[[SharePartition, Step], Step]:
    """Return an alteration of the delivery count of what was acquired, in state and answer."""
    recount = change(delivery_count=count)

    def alter(_old: SharePartition, step: Step) -> Step:
        acquired, records = step.outcome.acquired, step.partition.window.records
        offsets = (o for part in acquired for o in range(part.first, part.last + 1))
        recounted = {o: recount(records[o]) for o in offsets if o in records}
        outcome = attrs.evolve(step.outcome, acquired=each(recount)(acquired))
        return Step(with_records(step.partition, recounted), outcome)

    return alter
