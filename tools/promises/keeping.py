"""Faulty implementations of locks, acknowledgements, writes and the durable state."""

from collections.abc import Callable

import attrs

from model.errors import ErrorCode
from model.operations import (
    Acknowledge,
    AcknowledgementBatch,
    Acquire,
    AdvanceTime,
    CompleteWrite,
    FinishDeadLetter,
    Initialize,
    MemberLeaves,
    Operation,
    ResetOffset,
)
from model.outcome import Choice, Completion, Expiry, Write
from model.ranges import StateBatch
from model.snapshot import DurableState, SharePartitionSnapshot
from model.states import AcknowledgeType, RecordState
from spec.acknowledge import judge
from spec.log import hole_end
from spec.partition import SharePartition, Step
from spec.record import Record, is_acquirable, is_held, is_terminal
from spec.step import apply
from spec.window import extend, replace
from tools.promises.altering import (
    Change,
    acknowledging,
    after,
    answering,
    before,
    changed_records,
    configured,
    due_offsets,
    held_now,
    mapped,
    named_in,
    ranges,
    replaced,
    retyped,
    writing,
)
from tools.promises.behaviour import Behaviour, Ends, Face, Manner

LOSSY, LAZY, GREEDY, FORGETFUL, LYING = Manner
_MANY = 10**6
AVAILABLE, ARCHIVED = RecordState.AVAILABLE, RecordState.ARCHIVED
ACKNOWLEDGED, ARCHIVING = RecordState.ACKNOWLEDGED, RecordState.ARCHIVING
ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT
GAP, RENEW = AcknowledgeType.GAP, AcknowledgeType.RENEW


# Locks.


def _first_lock_alone(partition: SharePartition, operation: Operation, choice: Choice) -> Choice:
    if not isinstance(operation, AdvanceTime):
        return choice
    due = due_offsets(partition, operation.ms)[:1]
    return Choice(expired=(Expiry(ranges(due)),) if due else ())


def _no_lock(_partition: SharePartition, operation: Operation, choice: Choice) -> Choice:
    return Choice(expired=()) if isinstance(operation, AdvanceTime) else choice


def _renewed(deadline: Callable[[SharePartition, Record, Record], int]) -> Ends:
    """Return an alteration of the deadline that a renewal gives."""

    def change(old: SharePartition, step: Step) -> Step:
        longer = {
            offset: attrs.evolve(record, deadline=deadline(old, was, record))
            for offset, was, record in held_now(old, step)
            if record.deadline != was.deadline
        }
        return replaced(step, longer)

    return after(Acknowledge, change)


def _recounted_renewals(old: SharePartition, step: Step) -> Step:
    renewed = {
        offset: attrs.evolve(record, delivery_count=record.delivery_count + 1)
        for offset, was, record in held_now(old, step)
        if record.deadline != was.deadline
    }
    return replaced(step, renewed)


# Acknowledgements.


def _owned(fits: Callable[[Record], object]) -> Callable[[Operation], Change]:
    """Return an alteration after which the member holds what it names."""

    def of(operation: Operation) -> Change:
        named, member = named_in(operation), getattr(operation, "member", "")

        def change(offset: int, record: Record) -> Record:
            if offset not in named or not fits(record) or record.pending:
                return record
            return Record(RecordState.ACQUIRED, max(1, record.delivery_count), member, _MANY)

        return change

    return of


def _answer(status: ErrorCode, *, past: bool) -> Callable[..., Choice]:
    """Return a choice of one answer to acknowledgements: past the window, or to any."""

    def chooses(partition: SharePartition, operation: Operation, choice: Choice) -> Choice:
        if not isinstance(operation, Acknowledge) or not partition.ready:
            return choice
        if any(b.first < 0 or b.last < b.first or not b.types for b in operation.batches):
            return choice
        if past:
            judged = judge(partition, operation)
            beyond = judged.undelivered is not None and judged.renewed_at_fault is None
            return attrs.evolve(choice, refusal=status) if beyond else choice
        return attrs.evolve(choice, refusal=status)

    return chooses


def _half(_old: SharePartition, operation: Operation, step: Step) -> Step:
    """Apply the first batch of a request although the request is refused."""
    first = _first_of_refused(operation, step)
    return attrs.evolve(step, partition=first.partition) if first else step


def _half_written(_old: SharePartition, operation: Operation, step: Step) -> Step:
    """Apply and write the first batch of a request that is refused, unless it renews."""
    first = _first_of_refused(operation, step)
    if first is None or not first.outcome.writes:
        return step
    outcome = attrs.evolve(step.outcome, writes=first.outcome.writes)
    return attrs.evolve(first, outcome=outcome)


def _first_of_refused(operation: Operation, step: Step) -> Step | None:
    refused = step.outcome.status is not ErrorCode.NONE and not step.outcome.writes
    if not isinstance(operation, Acknowledge) or not refused or not operation.batches[1:]:
        return None
    return apply(step.partition, attrs.evolve(operation, batches=operation.batches[:1]))


def _first_type(request: Acknowledge) -> tuple[AcknowledgementBatch, ...]:
    return tuple(attrs.evolve(batch, types=batch.types[:1]) for batch in request.batches)


def _cumulative(_old: SharePartition, operation: Operation, step: Step) -> Step:
    """Acknowledge what is available below the last record that a request accepts."""
    answered = step.outcome.status in (ErrorCode.NONE, ErrorCode.PENDING)
    if not isinstance(operation, Acknowledge) or not answered:
        return step
    last = max((b.last for b in operation.batches if ACCEPT in b.types), default=-1)
    passed = {
        offset: attrs.evolve(record, state=ACKNOWLEDGED)
        for offset, record in step.partition.window.records.items()
        if offset < last and is_acquirable(record)
    }
    return replaced(step, passed)


# Leaving.


def _of_nobody(_partition: SharePartition, operation: Operation) -> Operation:
    return MemberLeaves("nobody") if isinstance(operation, MemberLeaves) else operation


def _everybodys(operation: Operation) -> Change:
    member = getattr(operation, "member", "")
    return lambda _o, r: attrs.evolve(r, owner=member) if is_held(r) else r


def _released(change: Callable[[Record], Record]) -> Callable[[SharePartition, Step], Step]:
    """Return an alteration of what an operation made available, in state and write."""

    def ends(old: SharePartition, step: Step) -> Step:
        free = {
            offset: change(record)
            for offset, record in changed_records(old, step).items()
            if record.state is AVAILABLE and record.delivery_count
        }
        writes = tuple(_rewritten(write, free) for write in step.outcome.writes)
        step = attrs.evolve(step, outcome=attrs.evolve(step.outcome, writes=writes))
        return replaced(step, free)

    return ends


def _rewritten(write: Write, records: "dict[int, Record]") -> Write:
    batches = tuple(
        StateBatch(o, o, r.state, r.delivery_count)
        for batch in write.state_batches
        for o in range(batch.first, batch.last + 1)
        for r in (records.get(o, Record(batch.state, batch.delivery_count)),)
    )
    return attrs.evolve(write, state_batches=batches)


def _less(record: Record) -> Record:
    return attrs.evolve(record, delivery_count=max(0, record.delivery_count - 1))


def _archived(record: Record) -> Record:
    return attrs.evolve(record, state=ARCHIVED)


# Writes.


def _taken_for(status: ErrorCode, instead: ErrorCode) -> Callable[..., Operation]:
    def does(_partition: SharePartition, operation: Operation) -> Operation:
        failed = isinstance(operation, CompleteWrite) and operation.status is not ErrorCode.NONE
        fits = failed if status is not ErrorCode.NONE else not failed
        if not isinstance(operation, CompleteWrite) or not fits:
            return operation
        return attrs.evolve(operation, status=instead)

    return does


def _answered_truly(_old: SharePartition, operation: Operation, step: Step) -> Step:
    if not isinstance(operation, CompleteWrite):
        return step
    status = operation.status
    completed = tuple(Completion(c.seq, status) for c in step.outcome.completed)
    outcome = attrs.evolve(step.outcome, status=status, completed=completed)
    return attrs.evolve(step, outcome=outcome)


def _batches(change: Callable[[StateBatch], StateBatch]) -> Callable[..., Write]:
    return lambda _old, write: attrs.evolve(
        write, state_batches=tuple(map(change, write.state_batches))
    )


def _complete(change: Callable[[SharePartition, Write], int]) -> Callable[..., Write]:
    return lambda old, write: attrs.evolve(write, delivery_complete_count=change(old, write))


def _to_the_end(_old: SharePartition, _operation: Operation, step: Step) -> Step:
    return _starting_at(step.partition.window.end_offset, step)


def _as_moved(_old: SharePartition, _operation: Operation, step: Step) -> Step:
    return _starting_at(step.partition.window.start_offset, step)


def _starting_at(start: int, step: Step) -> Step:
    writes = tuple(attrs.evolve(write, start_offset=start) for write in step.outcome.writes)
    return attrs.evolve(step, outcome=attrs.evolve(step.outcome, writes=writes))


def _besides(write: Callable[[SharePartition], Write]) -> Callable[..., Step]:
    """Return an end of an operation that writes besides."""

    def ends(_old: SharePartition, step: Step) -> Step:
        outcome = attrs.evolve(step.outcome, writes=(write(step.partition),))
        return attrs.evolve(step, outcome=outcome)

    return ends


def _held_as_acknowledged(partition: SharePartition) -> Write:
    window = partition.window
    batches = tuple(StateBatch(o, o, ACKNOWLEDGED, 1) for o in sorted(window.held))
    return Write(_MANY, window.start_offset, window.complete, batches)


# The durable state.


def _reading_state(change: Callable[[DurableState], DurableState]) -> Callable[..., Operation]:
    """Return an alteration of what a new leader makes of the durable state."""

    def does(_partition: SharePartition, operation: Operation) -> Operation:
        if not isinstance(operation, Initialize):
            return operation
        return attrs.evolve(operation, persisted=change(operation.persisted))

    return does


def _read_batches(change: Callable[[StateBatch], StateBatch]) -> Callable[..., Operation]:
    return _reading_state(
        lambda state: attrs.evolve(state, state_batches=tuple(map(change, state.state_batches)))
    )


def _not_durable(old: SharePartition, operation: Operation, step: Step) -> Step:
    if isinstance(operation, Initialize | ResetOffset):
        return step
    return attrs.evolve(step, partition=attrs.evolve(step.partition, durable=old.durable))


def _keeping_records(old: SharePartition, step: Step) -> Step:
    window = step.partition.window
    kept = {o: r for o, r in old.window.records.items() if o >= window.start_offset}
    end = max(kept, default=window.start_offset - 1) + 1
    window = replace(extend(window, end), kept)
    return attrs.evolve(step, partition=attrs.evolve(step.partition, window=window))


def _as_before(old: SharePartition, step: Step) -> Step:
    return attrs.evolve(step, partition=attrs.evolve(old, durable=step.partition.durable))


def _let_go(partition: SharePartition, operation: Operation) -> SharePartition:
    if not isinstance(operation, ResetOffset):
        return partition
    return mapped(
        attrs.evolve(partition, outstanding=type(partition.outstanding)()),
        lambda _o, r: Record(AVAILABLE, r.delivery_count) if is_held(r) else r,
    )


# The delivery complete count.


def _showing(count: Callable[[SharePartition, int], int]) -> Callable[..., SharePartitionSnapshot]:
    def shows(partition: SharePartition, shown: SharePartitionSnapshot) -> SharePartitionSnapshot:
        number = count(partition, shown.delivery_complete_count)
        return attrs.evolve(shown, delivery_complete_count=number)

    return shows


def _gaps(partition: SharePartition) -> int:
    window = partition.window
    inside = range(window.start_offset, window.end_offset)
    return sum(o not in window.records and hole_end(partition.log, o) is not None for o in inside)


def _settled_only(partition: SharePartition, _count: int) -> int:
    return sum(is_terminal(r) and not r.pending for r in partition.window.records.values())


# Dead letters.


def _revived(_old: SharePartition, step: Step) -> Step:
    changed = {
        o: Record(AVAILABLE, r.delivery_count)
        for o, r in changed_records(_old, step).items()
        if r.state is ARCHIVED
    }
    return replaced(step, changed)


_TYPES, _OWNER, _LOCK = "acknowledge types", "the owner acknowledges", "acquisition lock"
_LEAVING, _ANSWERS, _WRITTEN = "leaving releases", "answers of writes", "what is written"
_DURABLE, _COUNT, _LIMIT = "durable state", "delivery complete count", "delivery limit"
_RESET, _LETTERS, _RENEWAL = "altered offsets", "dead letters", "renewal"
_FAILED, _DONE = ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NONE
_TRACE = (Face.TRACE,)

# fmt: off
KEEPING = (
    Behaviour("never lets a lock expire", _LOCK, LAZY,
        goes_by=configured(record_lock_duration_ms=lambda ms: ms * _MANY)),
    Behaviour("lets a lock expire after half its duration", _LOCK, FORGETFUL,
        goes_by=configured(record_lock_duration_ms=lambda ms: ms // 2)),
    Behaviour("lets a lock last a millisecond longer", _LOCK, LAZY,
        goes_by=configured(record_lock_duration_ms=lambda ms: ms + 1)),
    Behaviour("keeps every lock that is due", _LOCK, LAZY, chooses=_no_lock),
    Behaviour("lets only the first of the due locks expire", _LOCK, LAZY,
        chooses=_first_lock_alone),
    Behaviour("does not extend a lock that is renewed", _RENEWAL, FORGETFUL,
        ends=_renewed(lambda _old, was, _record: was.deadline)),
    Behaviour("lets a renewed lock last for ever", _RENEWAL, GREEDY,
        ends=_renewed(lambda _old, _was, record: record.deadline + _MANY)),
    Behaviour("adds a renewal to what is left of the lock", _RENEWAL, GREEDY,
        ends=_renewed(lambda old, was, record: record.deadline + was.deadline - old.now)),
    Behaviour("shortens a lock that is renewed", _RENEWAL, LOSSY,
        ends=_renewed(lambda old, _was, record: (old.now + record.deadline) // 2)),
    Behaviour("counts a renewal as a delivery", _RENEWAL, LYING,
        ends=after(Acknowledge, _recounted_renewals)),
    Behaviour("renews where renewals are switched off", _RENEWAL, GREEDY,
        goes_by=configured(renew_acknowledge_enable=lambda _enabled: True)),
    Behaviour("lets anybody acknowledge what is held", _OWNER, GREEDY,
        begins=before(Acknowledge, _owned(is_held))),
    Behaviour("lets a member acknowledge what is available", _OWNER, GREEDY,
        begins=before(Acknowledge, _owned(lambda record: record.state is AVAILABLE))),
    Behaviour("lets a member acknowledge again", _OWNER, GREEDY,
        begins=before(Acknowledge, _owned(is_terminal))),
    Behaviour("refuses every acknowledgement", _OWNER, LYING,
        chooses=_answer(ErrorCode.INVALID_RECORD_STATE, past=False)),
    Behaviour("accepts what lies past the window", "what was delivered is acknowledged", LYING,
        chooses=_answer(ErrorCode.NONE, past=True)),
    Behaviour("applies the first batch of a refused request", "all or none", GREEDY,
        ends=_half),
    Behaviour("applies and writes the first batch of a refused request", _WRITTEN, GREEDY,
        ends=_half_written),
    Behaviour("releases what is accepted", _TYPES, FORGETFUL, does=retyped(ACCEPT, RELEASE)),
    Behaviour("acknowledges what is released", _TYPES, LOSSY, does=retyped(RELEASE, ACCEPT)),
    Behaviour("archives what is released", _TYPES, LOSSY, does=retyped(RELEASE, GAP)),
    Behaviour("delivers rejected records again", _TYPES, FORGETFUL, does=retyped(REJECT, RELEASE)),
    Behaviour("acknowledges what is rejected", _TYPES, LYING, does=retyped(REJECT, ACCEPT)),
    Behaviour("delivers gaps again", _TYPES, FORGETFUL, does=retyped(GAP, RELEASE)),
    Behaviour("acknowledges gaps", _TYPES, LYING, does=retyped(GAP, ACCEPT)),
    Behaviour("acknowledges what is available before what is accepted", _TYPES, LOSSY,
        ends=_cumulative, faces=()),
    Behaviour("takes the first type of a batch for all its records", _TYPES, LOSSY,
        does=acknowledging(_first_type)),
    Behaviour("keeps the records of a member that leaves", _LEAVING, LAZY, does=_of_nobody),
    Behaviour("releases everybody's records when a member leaves", _LEAVING, GREEDY,
        begins=before(MemberLeaves, _everybodys)),
    Behaviour("archives the records of a member that leaves", _LEAVING, LOSSY,
        ends=after(MemberLeaves, _released(_archived))),
    Behaviour("gives the attempt back when a member leaves", "delivery count", FORGETFUL,
        ends=after(MemberLeaves, _released(_less))),
    Behaviour("gives the attempt back when a record is released", "delivery count", FORGETFUL,
        ends=after(Acknowledge, _released(_less))),
    Behaviour("gives the attempt back when a lock expires", "delivery count", FORGETFUL,
        ends=after(AdvanceTime, _released(_less))),
    Behaviour("archives what expires", _LIMIT, LOSSY,
        ends=after(AdvanceTime, _released(_archived))),
    Behaviour("keeps a change whose write failed", _ANSWERS, LYING,
        does=_taken_for(_FAILED, _DONE), ends=_answered_truly),
    Behaviour("undoes a change whose write succeeded", _ANSWERS, LOSSY,
        does=_taken_for(_DONE, _FAILED), ends=_answered_truly),
    Behaviour("does not tell the caller how its write ended", _ANSWERS, LAZY,
        ends=after(CompleteWrite, answering(lambda out: attrs.evolve(out, completed=())))),
    Behaviour("tells the caller that a failed write succeeded", _ANSWERS, LYING,
        ends=after(CompleteWrite, answering(lambda out: attrs.evolve(out,
            completed=tuple(Completion(c.seq, ErrorCode.NONE) for c in out.completed))))),
    Behaviour("writes the end of the window as its start offset", _WRITTEN, LOSSY,
        ends=_to_the_end),
    Behaviour("writes the start offset to which its write moves it", _COUNT, LOSSY,
        ends=_as_moved),
    Behaviour("writes a start offset past the log with each fetch", _WRITTEN, LOSSY,
        ends=after(Acquire, _besides(lambda p: Write(_MANY, p.log.end_offset + 100, 0)))),
    Behaviour("writes what it delivers as acknowledged", _WRITTEN, LOSSY,
        ends=after(Acquire, _besides(_held_as_acknowledged))),
    Behaviour("writes a start offset that is too low", _WRITTEN, FORGETFUL,
        ends=writing(lambda _old, write: attrs.evolve(write, start_offset=0))),
    Behaviour("leaves the last records out of a write", _WRITTEN, LOSSY,
        ends=writing(lambda _old, write: attrs.evolve(write,
            state_batches=write.state_batches[:-1]))),
    Behaviour("writes every record as acknowledged", _WRITTEN, LYING,
        ends=writing(_batches(lambda batch: attrs.evolve(batch, state=ACKNOWLEDGED)))),
    Behaviour("writes a delivery count that is too low", _WRITTEN, FORGETFUL,
        ends=writing(_batches(lambda batch: attrs.evolve(batch,
            delivery_count=batch.delivery_count - 1)))),
    Behaviour("writes nothing", _WRITTEN, LAZY,
        ends=after(Acknowledge, answering(lambda out: attrs.evolve(out, writes=())))),
    Behaviour("does not adopt the durable records", _DURABLE, FORGETFUL,
        does=_reading_state(lambda state: attrs.evolve(state, state_batches=()))),
    Behaviour("begins at 0 whatever is durable", _DURABLE, FORGETFUL,
        does=_reading_state(lambda state: attrs.evolve(state, start_offset=0))),
    Behaviour("forgets delivery counts at a failover", _DURABLE, FORGETFUL,
        does=_read_batches(lambda batch: attrs.evolve(batch, delivery_count=0))),
    Behaviour("takes durable complete records for available", _DURABLE, FORGETFUL,
        does=_read_batches(lambda batch: attrs.evolve(batch, state=AVAILABLE))),
    Behaviour("takes durable available records for archived", _DURABLE, LOSSY,
        does=_read_batches(lambda batch: attrs.evolve(batch, state=ARCHIVED))),
    Behaviour("loses its whole durable state", _DURABLE, LOSSY, faces=_TRACE,
        reads=_reading_state(lambda state: attrs.evolve(state, start_offset=-1,
            delivery_complete_count=-1, state_batches=()))),
    Behaviour("never makes its writes durable", _DURABLE, LOSSY, ends=_not_durable, faces=_TRACE),
    Behaviour("reports a negative delivery complete count", _COUNT, LYING,
        shows=_showing(lambda _partition, _count: -10)),
    Behaviour("counts natural gaps as complete", _COUNT, LYING,
        shows=_showing(lambda partition, count: count + _gaps(partition))),
    Behaviour("counts a complete record once its write is answered", _COUNT, LAZY,
        shows=_showing(_settled_only)),
    Behaviour("writes no delivery complete count", _COUNT, LAZY,
        ends=writing(_complete(lambda _old, _write: 0))),
    Behaviour("writes a negative delivery complete count", _COUNT, LYING,
        ends=writing(_complete(lambda _old, _write: -10))),
    Behaviour("writes the delivery complete count of before", _COUNT, FORGETFUL,
        ends=writing(_complete(lambda old, _write: old.window.complete))),
    Behaviour("keeps records when offsets are altered", _RESET, FORGETFUL,
        ends=after(ResetOffset, _keeping_records), faces=_TRACE),
    Behaviour("does not move when offsets are altered", _RESET, LAZY,
        ends=after(ResetOffset, _as_before), faces=_TRACE),
    Behaviour("alters offsets while records are held", _RESET, GREEDY,
        begins=_let_go, faces=_TRACE),
    Behaviour("skips the dead-letter queue", _LETTERS, LOSSY,
        goes_by=configured(dead_letter_queue=lambda _queue: False)),
    Behaviour("delivers again what the dead-letter queue took", _LETTERS, FORGETFUL,
        ends=after(FinishDeadLetter, _revived)),
)
# fmt: on
"""Of locks, acknowledgements, writes and the durable state."""
