"""The transitions of a record: a coverage goal for each, and those that one operation made.

A goal is named by the state before, the cause and the state after. A state whose write is
outstanding is pending, if only for a moment where the write is answered at once.
"""

from collections.abc import Iterable, Iterator
from enum import StrEnum

import attrs

from conformance.cores.acknowledgements import typed
from conformance.goals import Goal, Group
from model import operations as ops
from model.errors import ErrorCode
from model.states import AcknowledgeType, RecordState
from model.trace import TraceEvent
from spec.partition import SharePartition
from spec.record import UNDELIVERED, Record
from spec.window import Window, tracked

NEW, GONE = "never delivered", "below the start offset"
"""The state of a record before its first delivery, and after the start offset has passed it."""

AVAILABLE, ACQUIRED, ACKNOWLEDGED, ARCHIVING, ARCHIVED, _ = (state.name for state in RecordState)
PENDING = " pending"


class Cause(StrEnum):
    """Why the state of a record changes."""

    ACQUIRE = "acquire"
    ACCEPT = AcknowledgeType.ACCEPT.name.lower()
    RELEASE = AcknowledgeType.RELEASE.name.lower()
    REJECT = AcknowledgeType.REJECT.name.lower()
    GAP = AcknowledgeType.GAP.name.lower()
    RENEW = AcknowledgeType.RENEW.name.lower()
    LEAVES = "its holder leaves"
    EXPIRES = "its lock expires"
    SUCCEEDS = "its write succeeds"
    FAILS = "its write fails"
    DEAD_LETTER = "the dead-letter queue is done"
    ABORTED = "its transaction was aborted"
    LOST = "the log has lost it"
    PASSED = "the start offset passes"
    LOG_PASSED = "the log start offset passes"
    TAKEN_OVER = "a new leader reads"


Moved = tuple[str, Cause, str]
"""A record's state before, the cause, and its state after."""


def transition_name(before: str, cause: Cause, after: str) -> str:
    """Return the name of a transition of one record."""
    return f"{before} → {after}: {cause}"


# The goals.

_WRITE, _FAIL, _DLQ = ("pending_writes",), ("write_errors",), ("dead_letter_queue",)
_LOG, _OVER, _ABORTED = ("advance_log_start",), ("take_over",), ("aborted_transactions",)

_ENDS = {
    Cause.ACCEPT: (ACKNOWLEDGED,),
    Cause.RELEASE: (AVAILABLE, ARCHIVED, ARCHIVING),
    Cause.REJECT: (ARCHIVED, ARCHIVING),
    Cause.GAP: (ARCHIVED,),
    Cause.LEAVES: (AVAILABLE, ARCHIVED, ARCHIVING),
}
_WRITTEN = (ACKNOWLEDGED, AVAILABLE, ARCHIVED, ARCHIVING)
_ROLLED_BACK = {
    ACKNOWLEDGED: (ACQUIRED, AVAILABLE, ARCHIVED, ARCHIVING),
    AVAILABLE: (ACQUIRED, AVAILABLE),
    ARCHIVED: (ACQUIRED, AVAILABLE, ARCHIVED, ARCHIVING),
    ARCHIVING: (ACQUIRED, AVAILABLE, ARCHIVING),
}
_TAKEN_OVER = {
    ACQUIRED: (NEW, AVAILABLE),
    AVAILABLE: (NEW, AVAILABLE),
    ACKNOWLEDGED: (ACKNOWLEDGED,),
    ARCHIVED: (NEW, AVAILABLE, ARCHIVED, ARCHIVING),
    ARCHIVING: (NEW, AVAILABLE, ARCHIVING),
    **{state + PENDING: (NEW, AVAILABLE) for state in _WRITTEN},
}


def _goal(before: str, cause: Cause, after: str, needs: tuple[str, ...] = ()) -> Goal:
    """Return the goal of a transition.

    It needs the dead-letter queue if either state is ARCHIVING, but pending writes only if
    ``needs`` says so: also a write that is answered at once is pending for a moment.
    """
    queued = _DLQ if ARCHIVING in {state.removesuffix(PENDING) for state in (before, after)} else ()
    needs = tuple(dict.fromkeys((*needs, *queued)))
    return Goal(Group.TRANSITION, transition_name(before, cause, after), needs)


def _transitions() -> Iterator[Goal]:
    """Yield a goal for each transition while a share-partition has one leader."""
    yield _goal(NEW, Cause.ACQUIRE, ACQUIRED)
    yield _goal(AVAILABLE, Cause.ACQUIRE, ACQUIRED)
    yield _goal(ACQUIRED, Cause.RENEW, ACQUIRED, ("renew",))
    for cause, states in _ENDS.items():
        yield from (_goal(ACQUIRED, cause, after + PENDING) for after in states)
    yield _goal(ACQUIRED, Cause.EXPIRES, AVAILABLE)
    yield _goal(ACQUIRED, Cause.EXPIRES, ARCHIVED)
    yield _goal(ACQUIRED, Cause.EXPIRES, ARCHIVING)
    for state in _WRITTEN:
        yield _goal(state + PENDING, Cause.SUCCEEDS, state)
        for after in _ROLLED_BACK[state]:
            yield _goal(state + PENDING, Cause.FAILS, after, _FAIL)
    yield _goal(ARCHIVING, Cause.DEAD_LETTER, ARCHIVED)
    yield _goal(ACQUIRED, Cause.ABORTED, ARCHIVED, _ABORTED)
    yield _goal(AVAILABLE, Cause.LOST, ARCHIVED)
    # What was never delivered need not enter the window without being acquired.
    yield attrs.evolve(_goal(NEW, Cause.LOST, ARCHIVED), optional=True)
    yield _goal(AVAILABLE + PENDING, Cause.LOST, ARCHIVED + PENDING, _WRITE)


def _ends() -> Iterator[Goal]:
    """Yield a goal for each way to leave the window, or to get another leader."""
    for state in (ACKNOWLEDGED, ARCHIVED):
        yield _goal(state, Cause.PASSED, GONE)
    for state in (ACQUIRED, *_WRITTEN):
        yield _goal(state, Cause.LOG_PASSED, GONE, _LOG)
    for state in _WRITTEN:
        yield _goal(state + PENDING, Cause.LOG_PASSED, GONE, (*_LOG, *_WRITE))
    for state, states in _TAKEN_OVER.items():
        needs = (*_OVER, *(_WRITE if state.endswith(PENDING) else ()))
        yield from (_goal(state, Cause.TAKEN_OVER, after, needs) for after in states)


TRANSITIONS = (*_transitions(), *_ends())


# What one operation did.


def _label(record: Record | None) -> str:
    if record is None or record == UNDELIVERED:
        return NEW
    return RecordState(record.state).name + (PENDING if record.pending else "")


def moved(before: SharePartition, event: TraceEvent, after: SharePartition) -> Iterator[Moved]:
    """Yield each transition of a record in one legal operation."""
    match event.operation:
        case ops.Initialize():
            yield from _taken_over(before, after)
            return
        case ops.Acquire():
            yield from _acquired(before.window, event, after.window)
        case ops.Acknowledge() | ops.MemberLeaves():
            yield from _acknowledged(before.window, event, after.window)
        case ops.AdvanceTime():
            yield from _written(before.window, event, after.window, Cause.EXPIRES)
        case ops.FinishDeadLetter():
            yield from _written(before.window, event, after.window, Cause.DEAD_LETTER)
        case ops.ArchiveAborted():
            for _offset in set(before.window.held) - set(after.window.held):
                yield ACQUIRED, Cause.ABORTED, ARCHIVED
        case ops.CompleteWrite(id_, status):
            offsets = before.outstanding[id_].offsets
            yield from _completed(before.window, offsets, status, after.window)
    yield from _passed(before.window, event, after.window)


def _taken_over(before: SharePartition, after: SharePartition) -> Iterator[Moved]:
    for offset, record in before.window.records.items():
        if offset >= after.window.start_offset:
            yield _label(record), Cause.TAKEN_OVER, _label(after.window.records.get(offset))


def _acquired(before: Window, event: TraceEvent, after: Window) -> Iterator[Moved]:
    acquired = {o for r in event.outcome.acquired for o in range(r.first, r.last + 1)}
    for offset in acquired:
        yield _label(before.records.get(offset)), Cause.ACQUIRE, ACQUIRED
    for offset, record in before.records.items():
        if offset in acquired or record.state != RecordState.AVAILABLE:
            continue
        now = after.records.get(offset)
        if now is None or now.state == RecordState.ARCHIVED:
            ended = ARCHIVED + PENDING if record.pending else ARCHIVED
            yield _label(record), Cause.LOST, ended


def _acknowledged(before: Window, event: TraceEvent, after: Window) -> Iterator[Moved]:
    causes = _causes(event)
    for write in event.outcome.writes:
        for batch in write.state_batches:
            state = batch.state.name
            for offset in range(max(batch.first, before.start_offset), batch.last + 1):
                yield ACQUIRED, causes.get(offset, Cause.LEAVES), state + PENDING
                if write.status is ErrorCode.NONE:
                    yield state + PENDING, Cause.SUCCEEDS, state
                elif write.status is not ErrorCode.PENDING:
                    yield state + PENDING, Cause.FAILS, ACQUIRED
    if event.outcome.writes or event.outcome.status is ErrorCode.NONE:
        for offset, cause in causes.items():
            if cause is Cause.RENEW and offset in after.held:
                yield ACQUIRED, cause, ACQUIRED


def _causes(event: TraceEvent) -> dict[int, Cause]:
    """Return the acknowledge type for each offset: the last, if a request has several for one."""
    if not isinstance(event.operation, ops.Acknowledge):
        return {}
    return {
        offset: Cause(AcknowledgeType(type_).name.lower())
        for batch in event.operation.batches
        for offset, type_ in typed(batch)
    }


def _written(before: Window, event: TraceEvent, after: Window, cause: Cause) -> Iterator[Moved]:
    for write in event.outcome.writes:
        for batch in write.state_batches:
            for offset in range(batch.first, batch.last + 1):
                if offset in before.records and offset >= after.start_offset:
                    yield _label(before.records[offset]), cause, _label(after.records[offset])
                elif offset in before.records:
                    yield _label(before.records[offset]), cause, batch.state.name


def _completed(
    before: Window, offsets: Iterable[int], status: ErrorCode, after: Window
) -> Iterator[Moved]:
    cause = Cause.SUCCEEDS if status is ErrorCode.NONE else Cause.FAILS
    for offset in offsets:
        if (record := before.records.get(offset)) is None:
            continue
        # The start offset passes only what is finished: after a failed write, what is ARCHIVED.
        ended = ARCHIVED if cause is Cause.FAILS else RecordState(record.state).name
        now = after.records.get(offset)
        yield _label(record), cause, ended if now is None else _label(now)


def _passed(before: Window, event: TraceEvent, after: Window) -> Iterator[Moved]:
    operation, below = event.operation, before.start_offset
    if isinstance(operation, ops.AdvanceLogStart):
        below = max(below, operation.log_start_offset)
        for offset in tracked(before, before.start_offset, below):
            if (state := _label(before.records[offset])) != NEW:
                yield state, Cause.LOG_PASSED, GONE
    states = {
        offset: batch.state.name
        for write in event.outcome.writes
        for batch in write.state_batches
        for offset in range(batch.first, batch.last + 1)
    }
    for offset in range(below, after.start_offset):
        record = before.records.get(offset)
        if record is not None or offset in states:
            state = states.get(offset) or _label(record).removesuffix(PENDING)
            if state not in (ACKNOWLEDGED, ARCHIVED):
                state = ARCHIVED  # It was archived in this operation: the log had lost it.
            yield state, Cause.PASSED, GONE
