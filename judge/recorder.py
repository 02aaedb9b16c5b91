"""What a recording leaves open: the rules of ``spec``, as far as a recorder can tell what happened.

Where time is virtual every lock ends at its deadline, with the clock. Where the clock is a real one
(``timed``) a timer ends them, one after another and a little late, and other operations come
between. A leader may let go of a share-partition between a change and the write that reports it
(``made_after``), and make writes besides those of its operations. A write that was seen and failed
may be durable all the same, since the answer follows the write (docs/decisions.md, 147).
"""

from collections.abc import Iterable, Sequence

import attrs
from immutables import Map

from judge.checkpoint import lose_events, take_checkpoint
from judge.recorded_partition import RecordedPartition, in_doubt, recorded
from model import operations as ops
from model.errors import ErrorCode
from model.guards import Guard
from model.outcome import Answer, Choice, Completion, Composed, Write
from model.ranges import offsets
from spec.coordinator import Durable, merge
from spec.expire import advance_clock
from spec.logic import either
from spec.partition import Outstanding, SharePartition, Step, complete_count, require
from spec.record import failed_state, roll_back
from spec.step import check_ready, conclude, transition
from spec.validation import validate
from spec.window import replace
from spec.writes import as_written, send


def apply_recorded(
    partition: SharePartition,
    operation: ops.Operation,
    choice: Choice,
    answers: Sequence[Answer],
    seq: int,
) -> Step:
    """Apply an operation as ``spec.step.apply`` does, or one that only a recording has."""
    before = recorded(partition)
    if isinstance(operation, ops.Gap):
        return lose_events(before, operation)
    if isinstance(operation, ops.Checkpoint):
        step, answers = take_checkpoint(before, operation, seq), ()
    else:
        check_ready(before, operation)
        step = _happen(before, operation, choice, answers, seq)
        step = Step(_note_writes(before, operation, step, answers), step.outcome)
    step = conclude(step, choice)
    if choice.deadline_ms is not None:
        outcome = attrs.evolve(step.outcome, deadline_ms=choice.deadline_ms)
        step = attrs.evolve(step, outcome=outcome)
    if not step.partition.ready:
        return step
    if len(answers) > len(step.outcome.writes):
        made = {write.id for write in step.outcome.writes}
        others = (answer for answer in answers if answer.id not in made)
        step = attrs.evolve(step, partition=write_besides(recorded(step.partition), others))
    if before.timed and isinstance(operation, ops.AdvanceTime):
        return step
    return _note_event(step, seq)


def _happen(
    partition: RecordedPartition,
    operation: ops.Operation,
    choice: Choice,
    answers: Sequence[Answer],
    seq: int,
) -> Step:
    """Return what the operation itself does, with what a recorder may say of it."""
    match operation:
        case ops.AdvanceTime() if partition.timed:
            return pass_time(partition, operation, choice.paused_ms)
        case ops.CompleteWrite():
            check_answer(partition, operation)
            step = transition(partition, operation, choice, answers, seq)
            step = Step(keep_held(partition, step.partition, operation), step.outcome)
            return _complete_untold(partition, operation, choice, step)
        case ops.Acquire() | ops.Acknowledge() if choice.deadline_ms is not None:
            if isinstance(operation, ops.Acquire) or _is_well_formed(partition, operation):
                choice = attrs.evolve(choice, deadline_ms=granted_until(partition, choice))
    return transition(partition, operation, choice, answers, seq)


def _complete_untold(
    before: RecordedPartition, operation: ops.CompleteWrite, choice: Choice, step: Step
) -> Step:
    """Believe a recording which operation a write completes that a checkpoint told without it.

    Guard: none; that operation was before the checkpoint, or the answer completes none.
    """
    seq, told_at = choice.completed, before.told_at.get(operation.id)
    if seq is None or told_at is None or not 0 <= seq < told_at:
        return step
    completed = (Completion(seq, operation.status),)
    return Step(step.partition, attrs.evolve(step.outcome, completed=completed))


def _is_well_formed(partition: SharePartition, operation: ops.Acknowledge) -> bool:
    return validate(operation, partition.profile) is ErrorCode.NONE


def _note_writes(
    before: RecordedPartition, operation: ops.Operation, step: Step, answers: Sequence[Answer]
) -> RecordedPartition:
    """Return the share-partition after an operation, with what was seen of its writes."""
    after = recorded(step.partition)
    match operation:
        case ops.CompleteWrite(id=id_, status=status, overtaken=overtaken):
            write, seen = before.outstanding[id_].write, before.seen - {id_}
            if id_ in before.told_at:
                after = attrs.evolve(after, told_at=before.told_at.delete(id_))
            if overtaken and status is ErrorCode.NONE:
                doubtful = in_doubt(before.durable, (*before.doubtful, write), before.profile)
                return attrs.evolve(after, seen=seen, doubtful=doubtful, durable=before.durable)
            answer = Answer(status, written=write if id_ in before.seen else None)
            doubtful = _doubt(before, [(write, answer)])
            return attrs.evolve(after, seen=seen, doubtful=doubtful)
        case ops.Initialize() | ops.ResetOffset() if step.outcome.status is not ErrorCode.NONE:
            return after
        case ops.Initialize(time_ms=now, timed=timed):
            return attrs.evolve(
                after,
                timed=timed,
                last_event=now if timed else 0,
                seen=frozenset(),
                made_after=Map(),
                told_at=Map(),
                doubtful=_outlasting(before, after.durable),
                durable_whole=True,
            )
        case ops.ResetOffset():
            nothing: Map[int, int] = Map()
            return attrs.evolve(
                after, seen=frozenset(), made_after=nothing, told_at=nothing, doubtful=()
            )
    return note_sent(before, after, step.outcome.writes, answers)


def note_sent(
    before: RecordedPartition,
    after: RecordedPartition,
    writes: Sequence[Write],
    answers: Sequence[Answer],
) -> RecordedPartition:
    """Note which of these writes were seen, and which take their numbers after a later operation.

    An answer belongs to the write that it names, or to the next.
    """
    named = {answer.id: answer for answer in answers if answer.id is not None}
    unnamed = iter([answer for answer in answers if answer.id is None])
    seen, made_after, answered = before.seen, before.made_after, []
    for write in writes:
        answer = named.get(write.id) or next(unnamed, Answer())
        if answer.status is not ErrorCode.PENDING:
            answered.append((write, answer))
            continue
        if answer.written is not None:
            seen |= {write.id}
        if answer.made_after is not None:
            made_after = made_after.set(write.id, answer.made_after)
    doubtful = _doubt(before, answered)
    if (seen, made_after, doubtful) == (after.seen, after.made_after, after.doubtful):
        return after
    return attrs.evolve(after, seen=seen, made_after=made_after, doubtful=doubtful)


def _doubt(
    before: RecordedPartition, answered: Sequence[tuple[Write, Answer]]
) -> tuple[Write, ...]:
    """Return what may be durable though nobody said so, once writes, seen or not, are answered."""
    doubtful, durable, profile = before.doubtful, before.durable, before.profile
    failed = (a.written is not None and a.status is not ErrorCode.NONE for _write, a in answered)
    if not (doubtful or any(failed)):
        return ()
    for write, answer in answered:
        if answer.status is ErrorCode.NONE:
            durable = merge(durable, as_written(write, answer), profile)
        elif answer.written is not None:
            doubtful = (*doubtful, as_written(write, answer))
        doubtful = in_doubt(durable, doubtful, profile)
    return doubtful


def _outlasting(before: RecordedPartition, durable: Durable) -> tuple[Write, ...]:
    """Return what may become durable after a leader has begun: writes of one that nothing fences.

    That is one in the leader epoch and the state epoch in which the state has been read.
    """
    epochs = before.durable.leader_epoch, before.durable.state_epoch
    if epochs != (durable.leader_epoch, durable.state_epoch):
        return ()
    outstanding = (before.outstanding[id_].write for id_ in before.seen)
    return in_doubt(durable, (*before.doubtful, *outstanding), before.profile)


def pass_time(partition: RecordedPartition, operation: ops.AdvanceTime, paused_ms: int = 0) -> Step:
    """Let a real clock move on; a timer ends locks (``spec.expire.expire_locks``).

    Guard: no lock is held longer than its duration and what the profile grants a timer, and by
    ``paused_ms`` if its process was paused.
    """
    moved = advance_clock(partition, operation)
    now, records, sweep = moved.now, moved.window.records, moved.profile.sweep_ms + paused_ms
    held = ((offset, records[offset].deadline) for offset in moved.window.held)
    late = min(((offset, end) for offset, end in held if now - end > sweep), default=None)
    offset, end = late or (0, 0)
    detail = f"offset {offset} is held {now - end} ms past its deadline, {end}"
    require(late is None, Guard.LOCK_ENDS_ON_TIME, detail)
    return Step(moved)


def granted_until(partition: RecordedPartition, choice: Choice) -> int:
    """Return when the locks end that an operation grants or renews.

    Guard: a lock lasts its duration. By a real clock it was granted at some time since the event
    before, and no longer before now than the profile says; otherwise now.
    """
    duration, deadline = partition.config.record_lock_duration_ms, choice.deadline_ms
    latest = partition.now + duration
    if deadline is None:
        return latest
    earliest = partition.last_event + duration if partition.timed else latest
    detail = f"a lock granted until {deadline}, which may end from {earliest} to {latest}"
    require(deadline >= earliest, Guard.LOCK_LASTS_ITS_DURATION, detail)
    require(deadline <= latest, Guard.LOCK_ENDS_ON_TIME, detail)
    late = latest - partition.profile.grant_ms
    lasts: int = either(deadline < late, late, deadline)
    return lasts


def check_answer(partition: RecordedPartition, operation: ops.CompleteWrite) -> None:
    """Refuse the answer to a write that has not been made, and a late timer of a virtual clock."""
    if operation.id not in partition.outstanding:
        return
    made_after = partition.made_after.get(operation.id)
    detail = f"write {operation.id} is made after event {made_after}"
    require(made_after is None, Guard.WRITE_IS_OUTSTANDING, detail)
    detail = f"{operation.held}, and a virtual clock ends each lock that is over"
    require(partition.timed or not operation.held, Guard.LOCK_ENDS_ON_TIME, detail)


def keep_held(
    before: SharePartition, after: SharePartition, operation: ops.CompleteWrite
) -> SharePartition:
    """Give records back whose lock is over although their timer, which is late, has not ended it.

    These are ``held`` of a write that failed.
    """
    if not operation.held or operation.status is ErrorCode.NONE:
        return after
    awaited, records = before.outstanding[operation.id].offsets, before.window.records
    failed = failed_state(before.config.dead_letter_queue)
    again = {
        offset: roll_back(records[offset], (records[offset].former_deadline or 0) - 1, failed)
        for offset in {*offsets(operation.held)} & {*awaited}
        if offset in records
    }
    return attrs.evolve(after, window=replace(after.window, again))


def write_besides(partition: RecordedPartition, answers: Iterable[Answer]) -> RecordedPartition:
    """Take note of writes that were seen, beside those that the operation has to make.

    They change no record. What they wrote may be durable, and is once they succeed; that they tell
    nothing but the truth is for those who saw them to check.
    """
    for answer in answers:
        if answer.written is not None:
            write = attrs.evolve(answer.written, status=answer.status)
            made = attrs.evolve(partition, next_write=max(partition.next_write, write.id + 1))
            sent = recorded(send(made, Outstanding(write), answer.status))
            made_now = attrs.evolve(answer, id=write.id, made_after=None)
            partition = note_sent(partition, sent, (write,), (made_now,))
    return partition


def _note_event(step: Step, seq: int) -> Step:
    """Let writes take their numbers that are made after this event, and note its time."""
    partition = recorded(step.partition)
    if partition.timed:
        partition = attrs.evolve(partition, last_event=partition.now)
    if not partition.made_after:
        return Step(partition, step.outcome)
    partition, composed = compose(partition, seq)
    return Step(partition, attrs.evolve(step.outcome, composed=composed))


def compose(
    partition: RecordedPartition, seq: int
) -> tuple[RecordedPartition, tuple[Composed, ...]]:
    """Let the outstanding writes take their numbers that are made after the operation ``seq``.

    Such a write tells what other operations did meanwhile: it has the start offset and the delivery
    complete count of now.
    """
    numbers = partition.window.start_offset, complete_count(partition)
    due = sorted(id_ for id_, after in partition.made_after.items() if after == seq)
    outstanding, made_after = partition.outstanding, partition.made_after
    for id_ in due:
        sent = outstanding[id_]
        write = attrs.evolve(
            sent.write, start_offset=numbers[0], delivery_complete_count=numbers[1]
        )
        outstanding = outstanding.set(id_, attrs.evolve(sent, write=write))
        made_after = made_after.delete(id_)
    if due:
        partition = attrs.evolve(partition, outstanding=outstanding, made_after=made_after)
    return partition, tuple(Composed(id_, *numbers) for id_ in due)
