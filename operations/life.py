"""The life of one record: each event that concerns its offset, with the rule that applies."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import attrs

import spec
from judge import checkpoint
from judge.words import clock_text, operation_text, write_text
from model import operations as ops
from model.errors import ErrorCode
from model.outcome import Write
from model.profile import Profile
from model.ranges import RecordRange
from model.snapshot import SharePartitionSnapshot
from model.states import TERMINAL_STATES, AcknowledgeType
from model.trace import TraceEvent
from operations.changes import state_text
from operations.frames import Frame, frames
from spec import acquire, coordinator, log_start, partition, produce, record

Rule = Callable[..., Any]

_RULES: Mapping[type, Rule] = {
    ops.Initialize: record.recover,
    ops.Checkpoint: checkpoint.take_checkpoint,
    ops.MemberLeaves: record.release,
    ops.AdvanceTime: record.expire,
    ops.Expire: record.expire,
    ops.AdvanceLogStart: log_start.advance_log_start,
    ops.MarkInProgress: record.mark,
    ops.FinishDeadLetter: record.finish_dead_letter,
    ops.ArchiveAborted: record.archive_aborted,
    ops.Compact: record.vanish,
}
"""The rule by which an operation changes a record, where it is always the same."""


@attrs.frozen
class LifeEvent:
    """What one event did to a record.

    ``time`` is ``time_ms`` in ISO 8601, if the clock is a real one. ``rule`` names a function of
    ``spec`` and says its sentence; of a divergence, the broken rule. Without ``is_checked`` an
    earlier event diverged, and the trace alone says so. ``diverges``: it is of the event that does.
    """

    seq: int
    time_ms: int
    time: str
    what: str
    state: str
    rule: str
    is_checked: bool = True
    diverges: bool = False


def life(events: Iterable[TraceEvent], profile: Profile, offset: int) -> Iterator[LifeEvent]:
    """Yield what happened to the record at ``offset``, to the end of the trace."""
    written: dict[int, Write] = {}
    log_begin = 0
    for frame in frames(events, profile):
        event, begin = frame.event, _log_start(frame, log_begin)
        outcome = frame.outcome or event.outcome
        written.update({w.id: w for w in outcome.writes if _reports(w, offset)})
        for what, rule in _happened(frame, offset, written, (log_begin, begin)):
            yield LifeEvent(
                event.seq,
                event.time_ms,
                clock_text(event.time_ms) if frame.timed else "",
                what,
                _state(frame, offset),
                rule,
                frame.is_checked,
                frame.finding is not None,
            )
        log_begin = begin


def rule_text(rule: Rule) -> str:
    """Return ``spec.record.acquire: Give the record to a member (KIP-932, In-flight records).``."""
    sentence = (inspect.getdoc(rule) or "").partition("\n\n")[0]
    return f"{plain_module(rule)}.{rule.__name__}: {' '.join(sentence.split())}"


def plain_module(rule: Rule) -> str:
    """Return the module of a rule as the repository has it, also where all is installed as one."""
    return rule.__module__.removeprefix(spec.__name__.removesuffix("spec"))


def _happened(
    frame: Frame, offset: int, written: Mapping[int, Write], log_begin: tuple[int, int]
) -> Iterator[tuple[str, str]]:
    """Yield what an event did to a record, and by which rule."""
    operation = frame.event.operation
    outcome = frame.outcome or frame.event.outcome
    if isinstance(operation, ops.Produce) and _covers(operation.log_batches, offset):
        yield "produced", rule_text(produce.produce)
    changed = list(_changed(frame, offset))
    if log_begin[0] <= offset < log_begin[1] and frame.event.seq:
        yield f"log start offset {log_begin[1]} passes it", rule_text(log_start.advance_log_start)
    else:
        yield from changed
    for write in outcome.writes:
        if _reports(write, offset):
            yield write_text(write), rule_text(coordinator.merge)
    if not changed and isinstance(operation, ops.CompleteWrite) and operation.id in written:
        yield operation_text(operation), rule_text(_end(operation.status))
    if frame.finding:
        yield f"the event diverges: {frame.finding.recorded}", _broken(frame)


def _changed(frame: Frame, offset: int) -> Iterator[tuple[str, str]]:
    """Yield why the record has another state than before, or another lock."""
    before, after = _known(frame.before, offset), _known(frame.state, offset)
    operation = frame.event.operation
    text, start = operation_text(operation), frame.state.start_offset
    if before == after:
        if _is_renewed(frame, offset):
            yield text, rule_text(record.renew)
        return
    passed = frame.before.start_offset <= offset < start and after is None
    if not passed or isinstance(operation, ops.Initialize):
        yield text, rule_text(_rule(frame, offset, after))
        return
    if before is None or before.pending or before.state not in TERMINAL_STATES:
        # It was finished by the event that let the start offset pass it.
        yield text, rule_text(_rule(frame, offset, before))
    yield f"the start offset, now {start}, passes it", rule_text(partition.move_start)


def _rule(frame: Frame, offset: int, after: RecordRange | None) -> Rule:
    operation = frame.event.operation
    match operation:
        case ops.Acquire():
            taken = _covers(frame.event.outcome.acquired, offset)
            return record.acquire if taken else acquire.acquire_records
        case ops.Acknowledge():
            released = _acknowledged(operation, offset) == AcknowledgeType.RELEASE
            return record.release if released else record.acknowledge
        case ops.CompleteWrite():
            return _end(operation.status)
    if after is None:
        return partition.move_start
    return _RULES.get(type(operation), partition.move_start)


def _end(status: ErrorCode) -> Rule:
    return record.commit if status is ErrorCode.NONE else record.roll_back


def _acknowledged(operation: ops.Acknowledge, offset: int) -> int | None:
    """Return how a record is acknowledged; None if it is not, or the batch is malformed."""
    for batch in operation.batches:
        if batch.first <= offset <= batch.last and batch.types:
            index = 0 if len(batch.types) == 1 else offset - batch.first
            return batch.types[index] if index < len(batch.types) else None
    return None


def _is_renewed(frame: Frame, offset: int) -> bool:
    operation = frame.event.operation
    if not isinstance(operation, ops.Acknowledge) or frame.outcome is None:
        return False
    renewed = _acknowledged(operation, offset) == AcknowledgeType.RENEW
    return renewed and frame.outcome.status is ErrorCode.NONE


def _known(state: SharePartitionSnapshot, offset: int) -> RecordRange | None:
    """Return the record at an offset of the window, as of one offset."""
    if not state.start_offset <= offset < state.end_offset:
        return None
    for each in state.records or ():
        if each.first <= offset <= each.last:
            return attrs.evolve(each, first=offset, last=offset)
    return None


def _state(frame: Frame, offset: int) -> str:
    """Return the state of a record after an event, and until when it is locked."""
    state, known = frame.state, _known(frame.state, offset)
    if known is not None:
        text = state_text(known)
        deadline = _deadline(frame, offset)
        return (
            text
            if deadline is None
            else f"{text}, locked until {clock_text(deadline, real=frame.timed)}"
        )
    if offset < state.start_offset:
        return "below the start offset"
    return "not in flight" if offset >= state.end_offset else "no record known"


def _deadline(frame: Frame, offset: int) -> int | None:
    if frame.partition is None or offset not in frame.partition.window.held:
        return None
    deadline: int = frame.partition.window.records[offset].deadline
    return deadline


def _log_start(frame: Frame, before: int) -> int:
    if frame.partition is not None and frame.partition.ready:
        return frame.partition.log.start_offset
    if isinstance(frame.event.operation, ops.AdvanceLogStart):
        return frame.event.operation.log_start_offset
    return before


def _broken(frame: Frame) -> str:
    return f"{frame.finding.name}: {frame.finding.sentence}" if frame.finding else ""


def _reports(write: Write, offset: int) -> bool:
    return _covers(write.state_batches, offset)


def _covers(ranges: Iterable[Any], offset: int) -> bool:
    return any(each.first <= offset <= each.last for each in ranges)
