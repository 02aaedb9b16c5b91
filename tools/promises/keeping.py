"""Faulty implementations of locks, acknowledgements, writes and the durable state."""

from collections.abc import Callable

import attrs

from model.config import AutoOffsetReset
from model.errors import ErrorCode
from model.operations import (
    Acknowledge,
    Acquire,
    AdvanceTime,
    CompleteWrite,
    FinishDeadLetter,
    Initialize,
    MemberLeaves,
    Operation,
    ResetOffset,
)
from model.outcome import Choice, Expiry, Write
from model.ranges import StateBatch
from model.snapshot import SharePartitionSnapshot
from model.states import AcknowledgeType, RecordState
from spec.acknowledge import judge
from spec.log import hole_end
from spec.partition import SharePartition, Step
from spec.record import Record, is_acquirable, is_dead_letter, is_held, is_terminal
from spec.step import apply
from spec.window import Window, extend, replace
from tools.promises.altering import (
    MANY,
    Alters,
    At,
    after,
    answering,
    before,
    change,
    due_offsets,
    each,
    ending,
    moving,
    on,
    ranges,
    read_state,
    recorded,
    refusing,
    retyped,
    to,
    writing,
    writing_of,
)
from tools.promises.behaviour import CORE, TRACE, Behaviour, Chooses, Ends, Manner

LOSSY, LAZY, GREEDY, FORGETFUL, LYING = Manner
AVAILABLE, ARCHIVED = RecordState.AVAILABLE, RecordState.ARCHIVED
ACKNOWLEDGED = RecordState.ACKNOWLEDGED
ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT
GAP = AcknowledgeType.GAP


# Locks.


def _expiring(most: int) -> Chooses:
    """Return an alteration by which at most so many locks that are due expire."""

    def chooses(partition: SharePartition, operation: Operation, choice: Choice) -> Choice:
        if not isinstance(operation, AdvanceTime):
            return choice
        due = due_offsets(partition, operation.ms)[:most]
        return Choice(expired=(Expiry(ranges(due)),) if due else ())

    return chooses


def _renewed(deadline: Callable[[At], object]) -> Ends:
    """Return an alteration of the deadline that a renewal gives."""
    return after(Acknowledge, lambda at: at.is_renewed, recorded(deadline=deadline))


# Acknowledgements.


def _owned(fits: Callable[[Record], object]) -> Callable[..., SharePartition]:
    """Return an alteration after which the member holds what it names."""
    return before(
        Acknowledge,
        lambda at: at.is_named and fits(at.record) and not at.record.pending,
        lambda at: Record(
            RecordState.ACQUIRED, max(1, at.record.delivery_count), at.operation.member, MANY
        ),
    )


def _without_former_letters(partition: SharePartition, operation: Operation) -> Operation:
    """Leave out the dead letters of a former leader, which are marked by an acquisition."""
    if not isinstance(operation, FinishDeadLetter):
        return operation
    records = partition.window.records
    mine = (part for part in operation.ranges if records[part.first].acquisition is None)
    return FinishDeadLetter(tuple(mine))


def _is_sound(_partition: SharePartition, request: Acknowledge) -> bool:
    return all(0 <= b.first <= b.last and b.types for b in request.batches)


def _is_past(partition: SharePartition, request: Acknowledge) -> bool:
    """Whether a request names what was never delivered, and nothing else is wrong with it."""
    if not _is_sound(partition, request):
        return False
    judged = judge(partition, request)
    return judged.undelivered is not None and judged.renewed_at_fault is None


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


def _cumulative(old: SharePartition, operation: Operation, step: Step) -> Step:
    """Acknowledge what is available below the last record that a request accepts."""
    answered = step.outcome.status in (ErrorCode.NONE, ErrorCode.PENDING)
    if not isinstance(operation, Acknowledge) or not answered:
        return step
    last = max((b.last for b in operation.batches if ACCEPT in b.types), default=-1)
    passed = after(
        Acknowledge,
        lambda at: at.offset < last and is_acquirable(at.record),
        recorded(state=to(ACKNOWLEDGED)),
    )
    return passed(old, operation, step)


# Leaving.


def _released(kind: type, alters: Alters) -> Ends:
    """Return an alteration of what an operation made available, in state and write."""
    return after(
        kind,
        lambda at: at.is_changed and at.record.state is AVAILABLE and at.record.delivery_count,
        alters,
        writes=True,
    )


_LESS = recorded(delivery_count=lambda at: max(0, at.record.delivery_count - 1))
_ARCHIVED = recorded(state=to(ARCHIVED))


# Writes.


def _answered_truly(_old: SharePartition, operation: Operation, step: Step) -> Step:
    if not isinstance(operation, CompleteWrite):
        return step
    status = to(operation.status)
    told: Step = change(outcome=change(status=status, completed=each(change(status=status))))(step)
    return told


def _besides(write: Callable[[SharePartition], Write]) -> Ends:
    """Return an alteration by which each fetch writes besides."""
    return ending(
        Acquire,
        lambda old, step: answering(writes=to((write(step.partition),)))(old, step),
    )


def _held_as_acknowledged(partition: SharePartition) -> Write:
    window = partition.window
    batches = tuple(StateBatch(o, o, ACKNOWLEDGED, 1) for o in sorted(window.held))
    return Write(MANY, window.start_offset, window.complete, batches)


# The durable state.


def _not_durable(old: SharePartition, operation: Operation, step: Step) -> Step:
    if isinstance(operation, Initialize | ResetOffset):
        return step
    return attrs.evolve(step, partition=attrs.evolve(step.partition, durable=old.durable))


def _keeping_records(old: SharePartition, step: Step) -> Window:
    window = step.partition.window
    kept = {o: r for o, r in old.window.records.items() if o >= window.start_offset}
    end = max(kept, default=window.start_offset - 1) + 1
    return replace(extend(window, end), kept)


def _as_before(old: SharePartition, step: Step) -> Step:
    return attrs.evolve(step, partition=attrs.evolve(old, durable=step.partition.durable))


def _let_go(partition: SharePartition, operation: Operation) -> SharePartition:
    if not isinstance(operation, ResetOffset):
        return partition
    free = before(ResetOffset, lambda at: is_held(at.record))(partition, operation)
    return attrs.evolve(free, outstanding=type(partition.outstanding)())


# The delivery complete count.


def _showing(
    count: Callable[[SharePartition, int], int],
) -> Callable[[SharePartition, SharePartitionSnapshot], SharePartitionSnapshot]:
    return lambda partition, shown: attrs.evolve(
        shown, delivery_complete_count=count(partition, shown.delivery_complete_count)
    )


def _gaps(partition: SharePartition) -> int:
    window = partition.window
    inside = range(window.start_offset, window.end_offset)
    return sum(o not in window.records and hole_end(partition.log, o) is not None for o in inside)


def _settled_only(partition: SharePartition, _count: int) -> int:
    return sum(is_terminal(r) and not r.pending for r in partition.window.records.values())


_TYPES, _OWNER, _LOCK = "acknowledge types", "the owner acknowledges", "acquisition lock"
_LEAVING, _ANSWERS, _WRITTEN = "leaving releases", "answers of writes", "what is written"
_DURABLE, _COUNT, _LIMIT = "durable state", "delivery complete count", "delivery limit"
_RESET, _LETTERS, _RENEWAL = "altered offsets", "dead letters", "renewal"
_FAILED, _DONE = ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NONE

# fmt: off
KEEPING = (
    Behaviour("never lets a lock expire", _LOCK, LAZY,
        goes_by=change(record_lock_duration_ms=lambda ms: ms * MANY)),
    Behaviour("lets a lock expire after half its duration", _LOCK, FORGETFUL,
        goes_by=change(record_lock_duration_ms=lambda ms: ms // 2)),
    Behaviour("lets a lock last a millisecond longer", _LOCK, LAZY,
        goes_by=change(record_lock_duration_ms=lambda ms: ms + 1)),
    Behaviour("keeps every lock that is due", _LOCK, LAZY, chooses=_expiring(0)),
    Behaviour("lets only the first of the due locks expire", _LOCK, LAZY,
        chooses=_expiring(1)),
    Behaviour("does not extend a lock that is renewed", _RENEWAL, FORGETFUL,
        ends=_renewed(lambda at: at.was.deadline)),
    Behaviour("lets a renewed lock last for ever", _RENEWAL, GREEDY,
        ends=_renewed(lambda at: at.record.deadline + MANY)),
    Behaviour("adds a renewal to what is left of the lock", _RENEWAL, GREEDY,
        ends=_renewed(lambda at: at.record.deadline + at.was.deadline - at.partition.now)),
    Behaviour("shortens a lock that is renewed", _RENEWAL, LOSSY,
        ends=_renewed(lambda at: (at.partition.now + at.record.deadline) // 2)),
    Behaviour("counts a renewal as a delivery", _RENEWAL, LYING,
        ends=after(Acknowledge, lambda at: at.is_renewed,
            recorded(delivery_count=lambda at: at.record.delivery_count + 1))),
    Behaviour("renews where renewals are switched off", _RENEWAL, GREEDY,
        goes_by=change(renew_acknowledge_enable=to(value=True))),
    Behaviour("lets anybody acknowledge what is held", _OWNER, GREEDY,
        begins=_owned(is_held)),
    Behaviour("lets a member acknowledge what is available", _OWNER, GREEDY,
        begins=_owned(lambda record: record.state is AVAILABLE)),
    Behaviour("lets a member acknowledge again", _OWNER, GREEDY,
        begins=_owned(is_terminal)),
    Behaviour("refuses every acknowledgement", _OWNER, LYING,
        chooses=refusing(ErrorCode.INVALID_RECORD_STATE, _is_sound)),
    Behaviour("accepts what lies past the window", "what was delivered is acknowledged", LYING,
        chooses=refusing(ErrorCode.NONE, _is_past)),
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
        does=on(Acknowledge, change(batches=each(change(types=lambda types: types[:1]))))),
    Behaviour("keeps the records of a member that leaves", _LEAVING, LAZY,
        does=on(MemberLeaves, change(member=to("nobody")))),
    Behaviour("releases everybody's records when a member leaves", _LEAVING, GREEDY,
        begins=before(MemberLeaves, lambda at: is_held(at.record),
            recorded(owner=lambda at: at.operation.member))),
    Behaviour("archives the records of a member that leaves", _LEAVING, LOSSY,
        ends=_released(MemberLeaves, _ARCHIVED)),
    Behaviour("gives the attempt back when a member leaves", "delivery count", FORGETFUL,
        ends=_released(MemberLeaves, _LESS)),
    Behaviour("gives the attempt back when a record is released", "delivery count", FORGETFUL,
        ends=_released(Acknowledge, _LESS)),
    Behaviour("gives the attempt back when a lock expires", "delivery count", FORGETFUL,
        ends=_released(AdvanceTime, _LESS)),
    Behaviour("archives what expires", _LIMIT, LOSSY,
        ends=_released(AdvanceTime, _ARCHIVED)),
    Behaviour("keeps a change whose write failed", _ANSWERS, LYING,
        does=on(CompleteWrite, change(status=to(_DONE))), ends=_answered_truly),
    Behaviour("undoes a change whose write succeeded", _ANSWERS, LOSSY,
        ends=_answered_truly,
        does=on(CompleteWrite,
            change(status=lambda status: _FAILED if status is _DONE else status))),
    Behaviour("does not tell the caller how its write ended", _ANSWERS, LAZY,
        ends=ending(CompleteWrite, answering(completed=to(())))),
    Behaviour("tells the caller that a failed write succeeded", _ANSWERS, LYING,
        ends=ending(CompleteWrite, answering(completed=each(change(status=to(_DONE)))))),
    Behaviour("writes the end of the window as its start offset", _WRITTEN, LOSSY,
        ends=writing_of(start_offset=lambda _old, new: new.window.end_offset)),
    Behaviour("writes the start offset to which its write moves it", _COUNT, LOSSY,
        ends=writing_of(start_offset=lambda _old, new: new.window.start_offset)),
    Behaviour("writes a start offset past the log with each fetch", _WRITTEN, LOSSY,
        ends=_besides(lambda new: Write(MANY, new.log.end_offset + 100, 0))),
    Behaviour("writes what it delivers as acknowledged", _WRITTEN, LOSSY,
        ends=_besides(_held_as_acknowledged)),
    Behaviour("writes a start offset that is too low", _WRITTEN, FORGETFUL,
        ends=writing(start_offset=to(0))),
    Behaviour("leaves the last records out of a write", _WRITTEN, LOSSY,
        ends=writing(state_batches=lambda batches: batches[:-1])),
    Behaviour("writes every record as acknowledged", _WRITTEN, LYING,
        ends=writing(state_batches=each(change(state=to(ACKNOWLEDGED))))),
    Behaviour("writes a delivery count that is too low", _WRITTEN, FORGETFUL,
        ends=writing(state_batches=each(change(delivery_count=lambda count: count - 1)))),
    Behaviour("writes nothing", _WRITTEN, LAZY,
        ends=ending(Acknowledge, answering(writes=to(())))),
    Behaviour("does not adopt the durable records", _DURABLE, FORGETFUL,
        does=read_state(state_batches=to(()))),
    Behaviour("begins at 0 whatever is durable", _DURABLE, FORGETFUL,
        does=read_state(start_offset=to(0))),
    Behaviour("begins at the log start though the group begins at latest", _DURABLE, FORGETFUL,
        goes_by=change(auto_offset_reset=to(AutoOffsetReset.EARLIEST)), faces=CORE),
    Behaviour("forgets delivery counts at a failover", _DURABLE, FORGETFUL,
        does=read_state(state_batches=each(change(delivery_count=to(0))))),
    Behaviour("takes durable complete records for available", _DURABLE, FORGETFUL,
        does=read_state(state_batches=each(change(state=to(AVAILABLE))))),
    Behaviour("takes durable available records for archived", _DURABLE, LOSSY,
        does=read_state(state_batches=each(change(state=to(ARCHIVED))))),
    Behaviour("loses its whole durable state", _DURABLE, LOSSY, faces=TRACE,
        reads=read_state(start_offset=to(-1), delivery_complete_count=to(-1),
            state_batches=to(()))),
    Behaviour("never makes its writes durable", _DURABLE, LOSSY, ends=_not_durable, faces=TRACE),
    Behaviour("reports a negative delivery complete count", _COUNT, LYING,
        shows=_showing(lambda _partition, _count: -10)),
    Behaviour("counts natural gaps as complete", _COUNT, LYING,
        shows=_showing(lambda partition, count: count + _gaps(partition))),
    Behaviour("counts a complete record once its write is answered", _COUNT, LAZY,
        shows=_showing(_settled_only)),
    Behaviour("writes no delivery complete count", _COUNT, LAZY,
        ends=writing(delivery_complete_count=to(0))),
    Behaviour("writes a negative delivery complete count", _COUNT, LYING,
        ends=writing(delivery_complete_count=to(-10))),
    Behaviour("writes the delivery complete count of before", _COUNT, FORGETFUL,
        ends=writing_of(delivery_complete_count=lambda old, _new: old.window.complete)),
    Behaviour("keeps records when offsets are altered", _RESET, FORGETFUL,
        ends=ending(ResetOffset, moving(_keeping_records)), faces=TRACE),
    Behaviour("does not move when offsets are altered", _RESET, LAZY,
        ends=ending(ResetOffset, _as_before), faces=TRACE),
    Behaviour("alters offsets while records are held", _RESET, GREEDY,
        begins=_let_go, faces=TRACE),
    Behaviour("skips the dead-letter queue", _LETTERS, LOSSY,
        goes_by=change(dead_letter_queue=to(value=False))),
    Behaviour("delivers again what the dead-letter queue took", _LETTERS, FORGETFUL,
        ends=after(FinishDeadLetter, lambda at: at.is_changed and at.record.state is ARCHIVED),
        faces=TRACE),  # Short searches do not come so far.
    Behaviour("gives a new leader's dead letters to no queue", _LETTERS, FORGETFUL,
        ends=after(Initialize, lambda at: is_dead_letter(at.record),
            recorded(acquisition=lambda _at: 1)),
        reads=_without_former_letters, faces=CORE),
)
# fmt: on
"""Of locks, acknowledgements, writes and the durable state."""
