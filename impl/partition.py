"""One share-partition that takes and returns the model's values, over the compiled algorithm."""

from collections.abc import Sequence, Sized
from operator import itemgetter
from typing import Self

import attrs

from impl import (
    aborted,
    acknowledge,
    acquire,
    checkpoint,
    dead_letter,
    expiry,
    leadership,
    progress,
    window,
    writes,
)
from impl import layout as at
from impl.durable import merge_journal, note_shown
from impl.encode import (
    STATUS_NUMBERS,
    Members,
    acknowledgement_of,
    answers_of,
    batch_rows,
    expiries_of,
    fetch_of,
    leader_of,
    mark_of,
    noticed_of,
    or_unset,
    range_rows,
    settings_of,
    stable_of,
    taken_of,
    written_of,
)
from impl.state import State, copy_of, new_state, rows_needed, with_room
from impl.whole_state import durable_state, state_batches, state_of, whole_state
from model.checks import whole
from model.errors import ErrorCode, IllegalChoiceError, InvalidValueError
from model.guards import Guard
from model.operations import (
    Acknowledge,
    Acquire,
    AdvanceLogStart,
    AdvanceTime,
    AlterConfig,
    ArchiveAborted,
    Checkpoint,
    Compact,
    CompleteWrite,
    Expire,
    FinishDeadLetter,
    Gap,
    Initialize,
    MarkInProgress,
    MemberLeaves,
    Operation,
    Produce,
    ResetOffset,
    SkipAcquire,
)
from model.outcome import Answer, Choice, Completion, Composed, Outcome, Write
from model.profile import Profile
from model.ranges import AcquiredRange, RecordRange, StateBatch, join_neighbours, record_range
from model.snapshot import DurableState, SharePartitionSnapshot
from model.states import RecordState
from model.whole_state import WholeState

_ANY = Choice()
_LONG_JOURNAL = 64
_STATES = tuple(RecordState)  # In the order of the ids, from 0.


class FastSharePartition:
    """A share-partition whose state is an interval list and whose operations are compiled.

    ``profile`` says which rules apply. Offsets and times as in
    ``model.operations``.
    """

    def __init__(self, profile: Profile) -> None:
        """Start with a share-partition that no leader has initialized."""
        self.profile = profile
        self._state = new_state(profile)
        self._spare: State | None = None
        self._members = Members()

    def __copy__(self) -> Self:
        """Return one that goes its own way: this one's next operations overwrite its arrays."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._state, other._spare = copy_of(self._state), None
        return other

    def apply(
        self,
        operation: Operation,
        choice: Choice = _ANY,
        answers: tuple[Answer, ...] = (),
        seq: int = 0,
    ) -> Outcome:
        """Apply an operation; ``answers`` are those to its writes, ``seq`` identifies it later.

        Raises IllegalChoiceError if a guard refuses the choice, and InvalidValueError for a value
        that is not allowed; the share-partition is then as it was.
        """
        state = copy_of(self._state, self._spare)
        rows = rows_needed(state.header, _ranges_named(operation, choice, answers))
        state = with_room(state, rows)._replace(written=written_of(answers))
        header = state.header
        header[at.CALL] = whole("seq", seq, 0)
        header[at.ANSWERED_CALL], header[at.WHERE] = at.NO_CALL, at.NOWHERE
        header[at.CLAIM], header[at.PAUSED] = or_unset(choice.deadline_ms), choice.paused_ms
        if isinstance(operation, Initialize):
            lenient = int(choice.refusal is ErrorCode.NONE)
            verdict = leadership.initialize(
                state, leader_of(operation), lenient, or_unset(choice.start_offset)
            )
        elif isinstance(operation, Gap):
            verdict = at.FINE
            checkpoint.lose_events(header)
        elif isinstance(operation, Checkpoint):
            start = or_unset(choice.start_offset)
            state, verdict = checkpoint.take_checkpoint(
                state, self._members, operation, self.profile, seq, start
            )
            header = state.header
        elif not header[at.INITIALIZED]:
            verdict = leadership.NOT_INITIALIZED
        else:
            verdict = self._step(state, operation, choice, answers)
        made = int(header[at.WRITES_TAIL])
        is_told = header[at.INITIALIZED] and not isinstance(operation, Checkpoint | Gap)
        if verdict == at.FINE and len(answers) > made and is_told:
            verdict = writes.write_besides(state, answers_of(answers))
        _raise_refusal(verdict, int(header[at.WHERE]), operation)
        if header[at.JOURNAL_TAIL] > _LONG_JOURNAL:
            merge_journal(state)
        between = header[at.TIMED] and isinstance(operation, AdvanceTime)
        is_event = header[at.INITIALIZED] and not between
        if is_event:
            writes.compose(state)
            header[at.LAST_EVENT] = header[at.NOW]
        header[at.ANSWERED_CALL] = writes.call_answered(header, or_unset(choice.completed))
        outcome = _outcome(state, skipped=isinstance(operation, SkipAcquire))
        if is_event and header[at.UNMADE]:
            outcome = attrs.evolve(outcome, composed=_composed(state))
        self._state, self._spare = state, self._state
        return outcome

    def _step(  # noqa: C901, PLR0911, PLR0912 - one for each operation
        self, state: State, operation: Operation, choice: Choice, answers: tuple[Answer, ...]
    ) -> int:
        start = or_unset(choice.start_offset)
        match operation:
            case Acquire():
                fetch = fetch_of(operation, self._members.number(operation.member))
                return acquire.acquire(state, fetch, taken_of(choice))
            case Acknowledge():
                sent = acknowledgement_of(operation, self._members.number(operation.member))
                refusal = at.UNSET if choice.refusal is None else STATUS_NUMBERS[choice.refusal]
                results = answers_of(answers)
                return acknowledge.acknowledge(state, sent, refusal, results, start)
            case MemberLeaves(member):
                number, results = self._members.number(member), answers_of(answers)
                return acknowledge.release(state, number, results, int(choice.written), start)
            case AdvanceTime(ms):
                results = answers_of(answers)
                return expiry.advance_time(state, ms, expiries_of(choice), results, start)
            case Expire(ranges):
                due, results = or_unset(operation.due_ms), answers_of(answers)
                return expiry.expire(state, range_rows(ranges), due, results, start)
            case Produce(batches, log_end):
                stable = stable_of(operation)
                return leadership.produce(state, range_rows(batches), log_end, stable, start)
            case CompleteWrite(name, status, held, overtaken):
                number, rows = STATUS_NUMBERS[status], range_rows(held)
                return writes.complete_write(state, name, number, rows, int(overtaken), start)
            case AdvanceLogStart(log_start):
                return leadership.advance_log_start(state, log_start, start)
            case ResetOffset(offset):
                return leadership.reset_offset(state, offset, start)
            case AlterConfig(config):
                return leadership.alter_config(state, settings_of(config), start)
            case MarkInProgress():
                mark = mark_of(operation, self._members.number(operation.member))
                return progress.mark_in_progress(state, mark, start)
            case FinishDeadLetter(ranges):
                results = answers_of(answers)
                return dead_letter.finish_dead_letter(state, range_rows(ranges), results, start)
            case ArchiveAborted(ranges):
                return aborted.archive_aborted(state, range_rows(ranges), noticed_of(choice), start)
            case Compact(ranges):
                return leadership.compact(state, range_rows(ranges), noticed_of(choice), start)
        return acquire.skip_acquire(state, start)

    def snapshot(self) -> SharePartitionSnapshot:
        """Return the window and its tracked records; empty at 0 before any leader."""
        header = self._state.header
        return SharePartitionSnapshot(
            int(header[at.START]),
            int(header[at.END]),
            int(window.complete_count(self._state)),
            _records(self._state, self._members),
        )

    def durable(self) -> DurableState:
        """Return what the share coordinator holds: -1 and -1 before any leader."""
        return durable_state(self._state)

    def readable(self, read: DurableState) -> DurableState:
        """Return what a new leader may read that comes nearest to what it read."""
        header = self._state.header
        if read.state_epoch > header[at.STATE_EPOCH]:
            return read
        other = FastSharePartition(self.profile)
        batches = batch_rows(read.state_batches)
        rows = rows_needed(header, len(batches) + int(header[at.PENDING_TAIL]))
        other._state = with_room(copy_of(self._state), rows)
        complete = read.delivery_complete_count
        note_shown(other._state, read.start_offset, complete, batches)
        return other.durable()

    def furthest(self, written: Sequence[StateBatch]) -> int:
        """Return how far the start offset may move once the records are as they were written."""
        return int(window.furthest_written(self._state, batch_rows(written)))

    def whole(self) -> WholeState:
        """Return the whole state, from which any engine can go on."""
        return whole_state(self._state, self._members)

    @classmethod
    def resumed(cls, profile: Profile, whole: WholeState) -> Self:
        """Return a share-partition that goes on from a whole state."""
        partition = cls(profile)
        partition._state = state_of(whole, partition._members, profile)
        return partition

    def lag(self) -> int:
        """Return the share-partition lag in offsets (KIP-1226), of the state in memory."""
        return int(window.lag(self._state))


def _ranges_named(operation: Operation, choice: Choice, answers: tuple[Answer, ...]) -> int:
    """Return how many ranges of offsets an operation, its choice and its writes name at most."""
    lists: list[Sized | None] = [choice.acquired, choice.entered, choice.archived, answers]
    lists += [a.written.state_batches for a in answers if a.written]
    lists += [group.locks for group in choice.expired or ()]
    match operation:
        case Acknowledge(batches=batches):
            lists += [batch.types for batch in batches]
        case Initialize(persisted=persisted):
            lists.append(persisted.state_batches)
        case _:
            lists += [v for v in attrs.astuple(operation, recurse=False) if isinstance(v, tuple)]
    return sum(len(ranges or ()) for ranges in lists)


def _raise_refusal(verdict: int, where: int, operation: Operation) -> None:
    """Raise the error of a verdict that refuses; ``where`` is the offset or number it is about."""
    reason = at.VERDICTS[verdict]
    if isinstance(reason, at.Invalid):
        # Without a number, show the operation's attribute, or the operation if it has none.
        value = getattr(operation, reason.name, operation) if where == at.NOWHERE else where
        raise InvalidValueError(reason.name, value, reason.allowed)
    if isinstance(reason, Guard):
        raise IllegalChoiceError(reason, f"{operation}" if where == at.NOWHERE else f"at {where}")


def _outcome(state: State, *, skipped: bool) -> Outcome:
    header = state.header
    acquired = state.acquired[: header[at.ACQUIRED_TAIL]].tolist()
    completed: tuple[Completion, ...] = ()
    if header[at.ANSWERED_CALL] != at.NO_CALL:
        status = at.STATUSES[header[at.ANSWERED_STATUS]]
        completed = (Completion(int(header[at.ANSWERED_CALL]), status),)
    return Outcome(
        at.STATUSES[header[at.STATUS]],
        tuple(AcquiredRange(*row) for row in acquired),
        tuple(
            Write(
                row[at.W_ID],
                row[at.W_START],
                row[at.W_COMPLETE],
                state_batches(state.batches[row[at.W_FROM] : row[at.W_TO]]),
                at.STATUSES[row[at.W_STATUS]],
            )
            for row in state.writes[: header[at.WRITES_TAIL]].tolist()
        ),
        completed,
        can_acquire=not skipped,
        acquisition=None if header[at.NUMBER] == at.NO_NUMBER else int(header[at.NUMBER]),
        marked=tuple(
            at.STATUSES[row] for row in state.ranges[: header[at.MARKED_TAIL], 0].tolist()
        ),
        deadline_ms=None if header[at.CLAIM] == at.UNSET else int(header[at.CLAIM]),
    )


def _composed(state: State) -> tuple[Composed, ...]:
    rows = state.outstanding[: state.header[at.OUTSTANDING_TAIL]].tolist()
    composed = (row for row in rows if row[at.O_MADE_AFTER] == at.MADE_NOW)
    return tuple(
        Composed(row[at.O_ID], row[at.O_START], row[at.O_COMPLETE])
        for row in sorted(composed, key=itemgetter(at.O_ID))
    )


def _records(state: State, members: Members) -> tuple[RecordRange, ...]:
    """Return the runs, joined where they differ only in hidden columns."""
    header = state.header
    shown: list[tuple[int, int, tuple[int, int, int, bool]]] = []
    for row in state.runs[header[at.HEAD] : header[at.TAIL]].tolist():
        owner = row[at.OWNER] if row[at.STATE] in (at.ACQUIRED, at.IN_PROGRESS) else at.NOBODY
        is_pending = bool(row[at.WRITE] != at.NO_WRITE)
        known = row[at.STATE], row[at.COUNT], owner, is_pending
        shown.append((row[at.FIRST], row[at.LAST], known))
    return tuple(
        record_range(first, last, _STATES[kind], count, members.name(owner), pending)
        for first, last, (kind, count, owner, pending) in join_neighbours(shown)
    )
