"""Theorems about the two ends of a write: its request and its answer (KIP-932, durable state)."""

from collections.abc import Callable
from typing import Any

import attrs

from model.errors import ErrorCode
from model.guards import Guard
from model.operations import CompleteWrite
from model.outcome import Answer, Completion, Write
from model.ranges import StateBatch
from model.states import RecordState
from proofs.theorems.any_partition import FAILED, AnyPartition, is_possible, partition_of, places
from proofs.theorems.attempts import Refusal, attempted, standing_in
from proofs.theorems.controls import becomes, called_with, does_nothing, returns, wrong
from proofs.theorems.durable_situation import is_persisted
from proofs.theorems.effects import changes_to, completes, others_wait, reports
from proofs.theorems.symbolic import conjunction, largest
from proofs.theorems.theorem import Subject
from spec import record as rules
from spec import writes
from spec.logic import Term, negate
from spec.partition import Outstanding, SharePartition, Step
from spec.record import Record

NONE, PENDING = ErrorCode.NONE, ErrorCode.PENDING


@attrs.frozen
class Merged:
    """The durable state after a write, as the arguments that ``merge`` was given."""

    durable: Any
    write: Any
    profile: Any


def merging(function: Callable[[], Any]) -> Any:  # noqa: ANN401 - any result
    """Run the function and note what it merges; the theorems on ``merge`` tell the rest."""
    with standing_in(writes, merge=Merged):
        return function()


def _is_durable_if(
    success: bool,  # noqa: FBT001 - a condition like the others
    before: SharePartition,
    after: SharePartition,
    write: Write,
) -> bool:
    """Whether exactly this write was merged into what was durable, or nothing was."""
    now: Any = after.durable
    if not success:
        return now is before.durable
    if not isinstance(now, Merged):
        return False
    known = now.durable is before.durable and now.profile is before.profile
    return known and now.write is write


def _waiting(s: AnyPartition, **fields: Any) -> tuple[SharePartition, Outstanding]:  # noqa: ANN401 - any field
    """Return a share-partition in which a write is outstanding for some of the two records."""
    before = partition_of(s)
    batch = StateBatch(s.first, s.last, RecordState.ARCHIVED, s.acquisition)
    write = Write(s.write_id, s.start, s.complete, (batch,))
    named = ((s.offset, s.awaited), (s.other, s.other_awaited))
    offsets = tuple(offset for offset, held in named if held)
    waiting = attrs.evolve(Outstanding(write, offsets, s.seq), **fields)
    outstanding = before.outstanding.set(s.write_id, waiting)
    return attrs.evolve(before, outstanding=outstanding), waiting


def _answered(before: SharePartition, write_id: Term, status: ErrorCode = NONE) -> Any:  # noqa: ANN401 - a step, or its refusal
    operation = CompleteWrite(write_id, status)
    return merging(lambda: attempted(lambda: writes.complete_write(before, operation)))


def _settled(s: AnyPartition, record: Record, status: ErrorCode) -> Record:
    if status is NONE:
        return rules.commit(record)
    return rules.roll_back(record, s.now, rules.failed_state(s.dead_letter_queue))


def _alone(s: AnyPartition, *_of: object) -> Term:
    """Whether the second record is a change of the first, in a window that tracks one offset."""
    inside = conjunction(s.start <= s.offset, s.offset < s.end, negate(s.other_tracked))
    return conjunction(inside, is_persisted(s.other_record.state))


def _changed(s: AnyPartition) -> dict[Term, Record]:
    return {s.offset: s.other_record}


COMPLETE, SETTLE, MAKE = (
    f"spec.writes:{name}" for name in ("complete_write", "_settle", "make_write")
)
COMMITS_ALL, FAILS_ALL = (
    wrong(
        SETTLE,
        how,
        called_with(lambda state, waiting, _was, *held, s=status: (state, waiting, s, *held)),
    )
    for how, status in (("always commits", NONE), ("always rolls back", FAILED))
)
TAKES_ANY = wrong(COMPLETE, "takes any answer", becomes(lambda state, _operation: Step(state)))
MISCOUNTS = wrong(
    MAKE,
    "knows of no delivery complete count",
    returns(lambda pair: (pair[0], attrs.evolve(pair[1], delivery_complete_count=-1))),
)
NUMBERS_ALL = wrong(
    MAKE,
    "takes the next number always",
    called_with(lambda state, changed, answer: (state, changed, attrs.evolve(answer, id=None))),
)
_write = Subject("KIP-932, Managing durable share-partition state", AnyPartition, is_possible)
_ANSWERS = {"write succeeds": (NONE,), "write fails": (FAILED,)}


@_write.theorem(
    59, of=_ANSWERS, control=lambda status: FAILS_ALL if status is NONE else COMMITS_ALL
)
def answer_settles_its_records(s: AnyPartition, status: ErrorCode) -> Term:
    """The answer to a write commits its records or rolls them back, and changes no other record."""
    before, waiting = _waiting(s)
    step: Step = _answered(before, s.write_id, status)
    after, awaited = step.partition, (s.awaited, s.other_awaited)
    expected = (
        (_settled(s, place.record, status) if named else place.record) if place.tracked else None
        for place, named in zip(places(s), awaited, strict=True)
    )
    unnoticed, _ = _waiting(s, seq=None)
    return conjunction(
        changes_to(s, before, after, expected, "outstanding", "durable"),
        others_wait(s, after),
        negate(s.write_id in after.outstanding),
        _is_durable_if(status is NONE, before, after, waiting.write),
        step.outcome.status is status,
        step.outcome.completed == (Completion(s.seq, status),),
        not step.outcome.writes,
        not _answered(unnoticed, s.write_id, status).outcome.completed,
    )


@_write.theorem(59, of="complete write", control=TAKES_ANY)
def only_outstanding_writes_are_answered(s: AnyPartition) -> Term:
    """Only an outstanding write can be answered."""
    step = _answered(_waiting(s)[0], s.elsewhere)
    known = (s.elsewhere == s.write_id) | (s.elsewhere == s.waiting)
    if isinstance(step, Refusal):
        return conjunction(negate(known), step.guard is Guard.WRITE_IS_OUTSTANDING)
    return known


_REQUESTS = {
    f"{name} when it {becomes}": (name, Answer(status))
    for name in ("write_and_wait", "write_and_forget")
    for becomes, status in (("is outstanding", PENDING), ("succeeds", NONE), ("fails", FAILED))
} | {"write_and_forget, kept back": ("write_and_forget", Answer(PENDING, keeps_back=True))}


def _requested(
    s: AnyPartition, name: str, answer: Answer
) -> tuple[SharePartition, SharePartition, Write]:
    """Return the share-partition before and after a change is written, and the write."""
    before = partition_of(s)
    if name == "write_and_forget":
        return before, *merging(lambda: writes.write_and_forget(before, _changed(s), answer))
    step: Step = merging(lambda: writes.write_and_wait(before, _changed(s), answer, s.seq))
    (write,) = step.outcome.writes
    return before, step.partition, write


@_write.theorem(58, 59, of=_REQUESTS, where=_alone, control=MISCOUNTS)
def change_holds_as_its_write_allows(s: AnyPartition, name: str, answer: Answer) -> Term:
    """A change that waits for its write holds if that succeeds; another holds at once."""
    before, after, write = _requested(s, name, attrs.evolve(answer, id=s.write_id))
    waits, status, expected = name == "write_and_wait", answer.status, s.other_record
    if answer.keeps_back:
        expected = attrs.evolve(expected, pending=True)
    elif waits and status is not PENDING:
        expected = _settled(s, expected, status)
    seq, named = s.seq if waits else None, (s.offset,) if waits or answer.keeps_back else ()
    outstanding = Outstanding(write, named, seq)
    offsets = s.offset, s.other, s.elsewhere
    return conjunction(
        changes_to(s, before, after, (expected, None), "outstanding", "durable", "next_write"),
        after.outstanding.get(s.write_id) == (outstanding if status is PENDING else None),
        others_wait(s, after),
        _is_durable_if(status is NONE, before, after, write),
        write.id == s.write_id,
        write.start_offset == s.start,
        write.delivery_complete_count == s.complete + completes(s.other_record),
        write.status is status,
        *(reports(write, offset, _changed(s).get(offset)) for offset in offsets),
        after.next_write == largest(s.next_write, s.write_id + 1),
    )


@_write.theorem(
    58,
    of={"a write that was seen": (None,), "a write that was seen before its numbers": (0,)},
    control=wrong("spec.writes:as_written", "keeps its own form", does_nothing),
)
def seen_write_is_durable_as_it_was_made(s: AnyPartition, made_after: int | None) -> Term:
    """A write that was seen has its own form, and its own numbers unless they are still to come."""
    own = Write(s.write_id, s.start, s.complete)
    seen = Write(0, s.first, s.last, (StateBatch(s.first, s.last, RecordState.ARCHIVED, 1),))
    made = writes.as_written(own, Answer(written=seen, made_after=made_after))
    numbers = seen if made_after is None else own
    return conjunction(
        made.id == own.id,
        made.start_offset == numbers.start_offset,
        made.delivery_complete_count == numbers.delivery_complete_count,
        made.state_batches is seen.state_batches,
    )


@_write.theorem(58, of="make write", where=_alone, control=NUMBERS_ALL)
def outstanding_writes_differ(s: AnyPartition) -> Term:
    """No two outstanding writes have one number; a write without a number takes the next."""
    before = partition_of(s)
    after, write = writes.make_write(before, _changed(s), Answer(NONE))
    step = attempted(lambda: _requested(s, "write_and_wait", Answer(PENDING, s.elsewhere)))
    taken = s.elsewhere == s.waiting
    return conjunction(
        write.id == s.next_write,
        after.next_write == s.next_write + 1,
        taken if step == Refusal(None) else negate(taken),
    )
