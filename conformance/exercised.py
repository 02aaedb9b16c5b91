"""What one legal operation exercised, by name: its answer, its transitions and the rules around it.

Every name follows from the states and the answers that a judge has anyway. A transition of a record
is its state before, its state after and the operation: both are equal where the operation came by
the record and left it as it was. A rule bounds an operation if it refuses an answer next to the one
that was given: one record more, the other verdict, a start offset or an expiry further.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Sized
from typing import Any

import attrs

from conformance.cores.acknowledgements import malformed, typed
from judge.choices import recorded_answers, recorded_choice
from judge.recorder import apply_recorded
from model import operations as ops
from model.errors import ErrorCode, IllegalChoiceError, InvalidValueError
from model.operation_table import OPERATION_TABLE
from model.outcome import Answer, Choice, Expiry
from model.ranges import OffsetRange, offsets, ranges_of
from model.states import AcknowledgeType, RecordState
from model.trace import TraceEvent
from spec.partition import SharePartition
from spec.record import UNDELIVERED, Record

NEW, GONE = "never delivered", "below the start offset"
"""The state of a record before its first delivery, and after the start offset has passed it."""

_EVERY = range(1 << 63)
"""Every offset: a new leader comes by all of them."""

AN_ERROR = "an error"
"""Any error that is the share coordinator's."""

_NAMES = {row.operation: row.op for row in OPERATION_TABLE}
_OWN = ("NONE", "PENDING", "INVALID_REQUEST", "INVALID_RECORD_STATE", "UNKNOWN_SERVER_ERROR")


def answer_name(asked: str, status: str) -> str:
    """Return the name of an answer to an operation, to a request or to a part of one."""
    return f"{asked} is answered {status}"


def bound_name(asked: str, rule: str) -> str:
    """Return the name of an answer next to which is one that a rule refuses."""
    return f"{asked} is bounded by {rule}"


def exercised(before: SharePartition, event: TraceEvent, after: SharePartition) -> Iterator[str]:
    """Yield what a legal event of a core exercised."""
    operation, outcome = event.operation, event.outcome
    name = _NAMES[type(operation)]
    yield answer_name(name, _status(outcome.status) if outcome.can_acquire else "skipped")
    if isinstance(operation, ops.Acknowledge) and any(map(malformed, operation.batches)):
        yield answer_name(f"a malformed {name}", _status(outcome.status))
    for write in outcome.writes:
        yield answer_name(f"a write of {name}", _status(write.status))
    if before.ready:
        yield from moved(before, after, *_causes(event, name))
        yield from (bound_name(name, rule) for rule in bounding(before, event, after))


def moved(
    before: SharePartition,
    after: SharePartition,
    cause: Callable[[int], str],
    named: Collection[int] = (),
) -> Iterator[str]:
    """Yield each change of a record, and each record that was ``named`` and did not change."""
    start = after.window.start_offset
    for offset in {*before.window.records, *after.window.records}:
        was = _label(before.window.records.get(offset))
        now = GONE if offset < start else _label(after.window.records.get(offset))
        if was != now or offset in named:
            yield f"{was} → {now}: {cause(offset)}"


def _label(record: Record | None) -> str:
    if record is None or record == UNDELIVERED:
        return NEW
    return RecordState(record.state).name + " pending" * bool(record.pending)


def _status(status: ErrorCode) -> str:
    return status.name if status.name in _OWN else AN_ERROR


def _causes(event: TraceEvent, name: str) -> tuple[Callable[[int], str], Collection[int]]:
    """Return how to name what befalls an offset, and the offsets that an operation comes by."""
    match event.operation:
        case ops.Acknowledge(batches=batches):
            types = (each for batch in batches for each in typed(batch))
            words = {offset: f"{name} {AcknowledgeType(kind).name}" for offset, kind in types}
            return lambda offset: words.get(offset, name), words
        case ops.CompleteWrite(status=status):
            ended = f"{name} {_status(status)}"
            return lambda _offset: ended, ()
        case ops.Acquire(log_batches=read) if read:
            return lambda _offset: name, range(read[0].first, read[-1].last + 1)
        case ops.Initialize():
            return lambda _offset: name, _EVERY
    return lambda _offset: name, ()


def bounding(before: SharePartition, event: TraceEvent, after: SharePartition) -> set[str]:
    """Return the rules that refuse an answer next to the one that was given."""
    choice = recorded_choice(event)
    others = _beside(choice, before, event, after)
    rules = refused(before, event.operation, others, recorded_answers(event), event.seq)
    return rules | ({"CAN_ACQUIRE"} if isinstance(event.operation, ops.SkipAcquire) else set())


def refused(
    before: SharePartition,
    operation: ops.Operation,
    choices: Iterable[Choice],
    answers: Sequence[Answer] = (),
    seq: int = 0,
) -> set[str]:
    """Return the names of the rules that refuse some of these choices in an operation."""
    rules = set[str]()
    for choice in choices:
        try:
            apply_recorded(before, operation, choice, answers, seq)
        except IllegalChoiceError as error:
            rules.add(error.guard.name)
        except InvalidValueError:
            continue
    return rules


def with_one_more(
    choice: Choice, read: Iterable[OffsetRange], taken: Collection[int]
) -> Iterator[Choice]:
    """Yield an acquisition with the first record of a read that it leaves out, and the next."""
    left = [offset for offset in offsets(read) if offset not in taken]
    last = max(taken, default=-1)
    for offset in {*left[:1], *[offset for offset in left if offset > last][:1]}:
        ranges = ranges_of(sorted((*taken, offset)))
        end = None if choice.end_offset is None else max(choice.end_offset, offset + 1)
        yield attrs.evolve(choice, acquired=ranges, end_offset=end)


def other_verdict(choice: Choice) -> Choice:
    """Return the choice that refuses an acknowledgement that was accepted, or accepts it."""
    accepted = choice.refusal in (None, ErrorCode.NONE)
    other = ErrorCode.INVALID_RECORD_STATE if accepted else ErrorCode.NONE
    return attrs.evolve(choice, refusal=other)


def _beside(
    choice: Choice, before: SharePartition, event: TraceEvent, after: SharePartition
) -> Iterator[Choice]:
    match event.operation:
        case ops.Acquire(log_batches=read):
            yield from with_one_more(choice, read, set(offsets(choice.acquired or ())))
        case ops.Acknowledge():
            yield other_verdict(choice)
        case ops.AdvanceTime():
            if expired := choice.expired or ():
                yield attrs.evolve(choice, expired=expired[1:])
            reported = {offset for each in expired for offset in offsets(each.locks)}
            if held := [offset for offset in before.window.held if offset not in reported]:
                more = Expiry((OffsetRange(held[0], held[0]),))
                yield attrs.evolve(choice, expired=(*expired, more))
        case ops.Initialize():
            return
    if choice.start_offset is not None and after.window.complete:
        yield attrs.evolve(choice, start_offset=choice.start_offset + 1)


def changed(before: object, after: object, what: str, cause: str) -> Iterator[str]:
    """Yield what becomes of a value, which may not exist before or after, field by field."""
    if before is None or after is None:
        if before is not after:
            yield f"{what} {'begins' if before is None else 'ends'}: {cause}"
        return
    for field in after.__attrs_attrs__:  # type: ignore[attr-defined] # a value made by attrs
        was, now = getattr(before, field.name), getattr(after, field.name)
        if was != now:
            yield f"{what}, {field.name.replace('_', ' ')} {_way(was, now)}: {cause}"


def _way(was: Any, now: Any) -> str:  # noqa: ANN401 - the values of any field
    if type(was) is type(now) is int:
        return "rises" if now > was else "falls"
    if isinstance(was, Sized) and isinstance(now, Sized) and len(was) != len(now):
        return "grows" if len(now) > len(was) else "shrinks"
    return "changes"
