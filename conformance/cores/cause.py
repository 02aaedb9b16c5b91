"""The probable cause of a deviation: which transition went wrong, and the smallest difference.

Numbers, members and places of a sequence are left out, so that two sequences which show the same
mistake have the same cause. A number or a start offset that follows from a wrong record has the
record's cause: with the record mended it would be right.
"""

import re
from collections.abc import Iterable

import attrs

from conformance.cores.acknowledgements import typed
from judge.choices import recorded_answers, recorded_choice
from judge.compare import first_mismatch
from judge.engine import SpecEngine
from judge.finding import Finding, FindingKind
from judge.view import snapshot
from judge.written import Around
from model import operations as ops
from model.errors import ErrorCode, IllegalChoiceError, InvalidValueError
from model.guards import Difference
from model.outcome import Outcome
from model.ranges import RecordRange, StateBatch, number_of_offsets
from model.rules import VERDICT_RULES
from model.snapshot import SharePartitionSnapshot
from model.states import TERMINAL_STATES, AcknowledgeType, RecordState
from model.trace import TraceEvent
from spec.partition import SharePartition
from spec.record import UNDELIVERED, Record, is_terminal
from spec.step import apply

Cause = tuple[str, ...]
"""The rule or the transition, and the difference, in words."""

_RECORD = (Difference.WRITTEN_STATE, Difference.RECORDS)
_NUMBERS = (
    Difference.WRITTEN_START_OFFSET,
    Difference.WRITTEN_DELIVERY_COMPLETE_COUNT,
    Difference.DELIVERY_COMPLETE_COUNT,
    Difference.END_OFFSET,
)
_STAYS = "the change stays"
_WITHOUT_QUEUE = RecordState.ARCHIVED.name, RecordState.ARCHIVING.name
_NOT_IN_FLIGHT = "a record that is not in flight"

AT_LIMIT = "a delivery fails at the delivery limit"
BELOW_LIMIT = "a delivery fails below the delivery limit"
FAILS = "a delivery fails"
REFUSED = "an acknowledgement is refused"
WRITE_FAILS, WRITE_SUCCEEDS = "a write fails", "a write succeeds"
WRITTEN = "a change of state is written"
ACQUIRED = "a record is acquired"
ACCEPTED, REJECTED = "a record is accepted", "a record is rejected"
GAP, RENEWED = "a gap is acknowledged", "a lock is renewed"
OTHERS = "another record is acknowledged"
READ = "a new leader reads"
LOG_START = "the log start offset advances"
DEAD_LETTER = "the dead-letter queue finishes a record"
ABORTED = "records of an aborted transaction are read"
ALTERED, PRODUCED = "the configuration is altered", "records are produced"
_TYPES = {
    AcknowledgeType.GAP: GAP,
    AcknowledgeType.ACCEPT: ACCEPTED,
    AcknowledgeType.REJECT: REJECTED,
    AcknowledgeType.RENEW: RENEWED,
}
_OPERATIONS = {
    ops.Initialize: READ,
    ops.Acquire: ACQUIRED,
    ops.Acknowledge: OTHERS,
    ops.AdvanceLogStart: LOG_START,
    ops.FinishDeadLetter: DEAD_LETTER,
    ops.ArchiveAborted: ABORTED,
    ops.AlterConfig: ALTERED,
    ops.Produce: PRODUCED,
}


@attrs.frozen
class _Judged:
    """An event of a target, and what the specification makes of it."""

    event: TraceEvent
    before: SharePartition
    outcome: Outcome
    after: SharePartitionSnapshot
    leader: SpecEngine


def cause_of(
    finding: Finding, event: TraceEvent, before: SharePartition, outcome: Outcome
) -> Cause:
    """Return the probable cause of what is wrong with an event.

    ``before`` is the share-partition before it, ``outcome`` the expected one; a guard has none.
    """
    if finding.kind is FindingKind.DIFFERENCE:
        judged = _applied(event, before, recorded=True)
        known = judged and attrs.evolve(judged, outcome=outcome)
        return _of_difference(Difference[finding.name], finding, known)
    if finding.kind is FindingKind.GUARD:
        return _of_guard(finding, event, before)
    return (finding.name,)


def _applied(event: TraceEvent, before: SharePartition, *, recorded: bool) -> _Judged | None:
    """Return what the rules make of an event, the start offset as recorded or as far as it may."""
    choice = recorded_choice(event)
    choice = choice if recorded else attrs.evolve(choice, start_offset=None)
    try:
        step = apply(before, event.operation, choice, recorded_answers(event), event.seq)
    except (IllegalChoiceError, InvalidValueError):
        return None
    leader = SpecEngine(before.profile, step.partition)
    return _Judged(event, before, step.outcome, leader.snapshot(), leader)


def _of_guard(finding: Finding, event: TraceEvent, before: SharePartition) -> Cause:
    """Return the cause of a refused choice; a start offset may follow from a wrong record."""
    accepted = recorded_choice(event).refusal is ErrorCode.NONE
    asserts = VERDICT_RULES[finding.name].asserts
    if asserts == "answer" and accepted:
        return (finding.name, "what must be refused is accepted")
    if asserts != "furthest start offset":
        detail = finding.expected.removeprefix("not allowed: ")
        below = asserts == "least start offset" and _digits(detail)[-1] < before.log.start_offset
        return (finding.name, _plain(detail) + (", below the log" if below else ""))
    judged = _applied(event, before, recorded=False)
    if judged is None:
        return (finding.name,)
    around = Around(snapshot(before), judged.after, judged.leader)
    mismatch = first_mismatch(event, judged.outcome, around)
    if mismatch and mismatch.difference in _RECORD and mismatch.offset is not None:
        return _of_record(mismatch.offset, judged)
    if mismatch and mismatch.difference is not Difference.START_OFFSET:
        return (mismatch.difference.name, _plain(mismatch.recorded), _plain(mismatch.expected))
    return _of_passed(finding, judged)


def _of_passed(finding: Finding, judged: _Judged) -> Cause:
    """Return the cause of a start offset that passes a record: its write failed, or it is held."""
    offset = judged.after.start_offset
    if _fails(offset, judged):
        return (WRITE_FAILS, _STAYS)
    state = _held(judged.after, offset)
    return (finding.name, state[0] if state else _NOT_IN_FLIGHT)


def _of_difference(difference: Difference, finding: Finding, judged: _Judged | None) -> Cause:
    recorded, expected = finding.recorded, finding.expected
    if judged and difference in _RECORD and finding.offset is not None:
        return _of_record(finding.offset, judged)
    if judged and difference is Difference.DELIVERY_COMPLETE_COUNT:
        offset = _explaining(judged)
        if offset is not None:
            return _of_record(offset, judged)
    if difference is Difference.ACQUIRED:
        return (ACQUIRED, f"the delivery count is {_more(recorded, expected)}")
    if difference in _NUMBERS:
        return (difference.name, _more(recorded, expected))
    if difference is Difference.PERSISTED:
        return (difference.name,)
    operation = type(judged.event.operation).__name__ if judged else ""
    return (difference.name, operation, _plain(recorded), _plain(expected))


def _of_record(offset: int, judged: _Judged) -> Cause:
    """Return the transition of one record, and how its state differs from the expected one."""
    wrote, should = (_written(o, offset) for o in (judged.event.outcome, judged.outcome))
    observed, wanted = (_held(s, offset) for s in (judged.event.after, judged.after))
    before = judged.before.window.records.get(offset, UNDELIVERED)
    earlier = RecordState(before.state).name, before.delivery_count
    if _fails(offset, judged) and wrote == should:
        skips_the_queue = (_name(observed), _name(wanted)) == _WITHOUT_QUEUE
        stays = observed == (wrote or earlier) and not skips_the_queue
        return (WRITE_FAILS, _STAYS if stays else f"{_name(observed)} instead of {_name(wanted)}")
    if wrote is None and should is not None:
        if observed == wanted:
            return (WRITTEN, "it is not")
        if observed == earlier:
            return (_transition(offset, before, judged, at_limit=False), "nothing changes")
    seen, due = (wrote, should) if wrote != should else (observed, wanted)
    if seen and due and seen[0] == due[0]:
        transition = _transition(offset, before, judged, at_limit=False)
        if seen[1] == due[1]:
            return (transition, "another owner or pending write")
        return (transition, f"the delivery count is {'less' if seen[1] < due[1] else 'more'}")
    return (
        _transition(offset, before, judged, at_limit=True),
        f"{_name(seen)} instead of {_name(due)}",
    )


def _transition(offset: int, before: Record, judged: _Judged, *, at_limit: bool) -> str:
    """Return what happens to one record in an event; ``at_limit``: and whether at the limit."""
    operation = judged.event.operation
    limit = judged.before.config.delivery_count_limit
    failed = FAILS
    if at_limit:
        failed = AT_LIMIT if before.delivery_count >= limit else BELOW_LIMIT
    if isinstance(operation, ops.MemberLeaves | ops.AdvanceTime):
        return failed
    if isinstance(operation, ops.CompleteWrite):
        return WRITE_SUCCEEDS if operation.status is ErrorCode.NONE else WRITE_FAILS
    if isinstance(operation, ops.Acknowledge):
        if judged.outcome.status is not ErrorCode.NONE and not judged.outcome.writes:
            return REFUSED
        types = {o: type_ for batch in operation.batches for o, type_ in typed(batch)}
        if types.get(offset) == AcknowledgeType.RELEASE:
            return failed
        if offset in types:
            return _TYPES[AcknowledgeType(types[offset])]
    return _OPERATIONS.get(type(operation), type(operation).__name__)


def _fails(offset: int, judged: _Judged) -> bool:
    """Return whether a write of this record's state fails in the event."""
    operation = judged.event.operation
    if isinstance(operation, ops.CompleteWrite):
        waiting = judged.before.outstanding.get(operation.id)
        return (
            operation.status is not ErrorCode.NONE
            and waiting is not None
            and offset in waiting.offsets
        )
    return any(
        write.status not in (ErrorCode.NONE, ErrorCode.PENDING)
        for write in judged.outcome.writes
        for batch in write.state_batches
        if batch.first <= offset <= batch.last
    )


def _explaining(judged: _Judged) -> int | None:
    """Return a record that is wrong and explains a wrong delivery complete count; None if none."""
    observed, wanted = judged.event.after, judged.after
    if observed.records is None or wanted.records is None:
        return None
    more = observed.delivery_complete_count - wanted.delivery_complete_count
    offsets = range(wanted.start_offset, wanted.end_offset)
    wrong = [o for o in offsets if _held(observed, o) != _held(wanted, o)]
    kept = [o for o in wrong if _keeps_its_count(o, judged)]
    if more != _complete(observed) - _complete(wanted):
        return kept[0] if more == len(kept) else None
    return next(iter(wrong), None)


def _keeps_its_count(offset: int, judged: _Judged) -> bool:
    """Return whether a write that fails had counted a record, which is wrongly still complete."""
    before = judged.before.window.records.get(offset, UNDELIVERED)
    states = [_held(state, offset) for state in (judged.event.after, judged.after)]
    complete = [state is not None and RecordState[state[0]] in TERMINAL_STATES for state in states]
    return _fails(offset, judged) and bool(is_terminal(before)) and complete == [True, False]


def _complete(state: SharePartitionSnapshot) -> int:
    return number_of_offsets(r for r in state.records or () if r.state in TERMINAL_STATES)


_State = tuple[str, int]
"""The name of a state, and a delivery count."""


def _written(outcome: Outcome, offset: int) -> _State | None:
    return _state_at(offset, (batch for write in outcome.writes for batch in write.state_batches))


def _held(state: SharePartitionSnapshot, offset: int) -> _State | None:
    return _state_at(offset, state.records or ())


def _state_at(offset: int, ranges: Iterable[StateBatch | RecordRange]) -> _State | None:
    found = (each for each in ranges if each.first <= offset <= each.last)
    return next(((each.state.name, each.delivery_count) for each in found), None)


def _name(state: _State | None) -> str:
    return state[0] if state else "no change"


def _more(recorded: str, expected: str) -> str:
    """Return whether the first number that differs is more or less than it should be."""
    pairs = zip(_digits(recorded), _digits(expected), strict=False)
    first, other = next((pair for pair in pairs if pair[0] != pair[1]), (0, 0))
    return "more" if first > other else "less"


def _digits(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]


def _plain(text: str) -> str:
    """Return a text without the members and numbers of a sequence."""
    return re.sub(r"\d+", "N", re.sub(r"\bm\d+\b", "a member", text))
