"""Theorems about the two ends of a write: its request and its answer (KIP-932, durable state)."""

from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import attrs

from model.errors import ErrorCode
from model.guards import Guard
from model.operations import CompleteWrite
from model.outcome import Answer, Completion, Composed, Write
from model.ranges import StateBatch
from model.states import RecordState
from proofs.theorems.controls import becomes, called_with, returns
from proofs.theorems.durable_situation import is_persisted
from proofs.theorems.operation_cases import Place, places
from proofs.theorems.operation_situation import (
    FAILED,
    OneOperation,
    Refusal,
    attempted,
    completes,
    is_possible,
    kept,
    others_wait,
    partition_of,
    reports,
    rest_of_the_window,
    same_record,
)
from proofs.theorems.symbolic import conjunction
from proofs.theorems.theorem import Control, Theorem, about, laws
from spec import record as rules
from spec import writes
from spec.logic import Term, negate
from spec.partition import Outstanding, SharePartition, Step
from spec.record import Record

_law = laws("KIP-932, Managing durable share-partition state")
NONE, PENDING = ErrorCode.NONE, ErrorCode.PENDING
ANSWERS = {"succeeds": NONE, "fails": FAILED}


@attrs.frozen
class Merged:
    """The durable state after a write, as the arguments that ``merge`` was given."""

    durable: Any
    write: Any
    profile: Any


def _becomes_durable(before: SharePartition, after: SharePartition, write: Write) -> bool:
    """Whether exactly this write was merged into what was durable."""
    now: Any = after.durable
    if not isinstance(now, Merged):
        return False
    known = now.durable is before.durable and now.profile is before.profile
    return known and now.write is write


def merging(function: Callable[[], Any]) -> Any:  # noqa: ANN401 - any result
    """Run the function and note what it merges; the theorems on ``merge`` tell the rest."""
    with patch.object(writes, "merge", Merged):
        return function()


def _outstanding_write(s: OneOperation) -> Write:
    batch = StateBatch(s.first, s.last, RecordState.ARCHIVED, s.acquisition)
    return Write(s.write_id, s.start, s.complete, (batch,))


def _awaiting(s: OneOperation) -> tuple[SharePartition, Outstanding]:
    """Return a share-partition in which a write is outstanding for some of the two records."""
    before = partition_of(s)
    named = ((s.offset, s.awaited), (s.other, s.other_awaited))
    waiting = Outstanding(
        _outstanding_write(s), tuple(offset for offset, held in named if held), s.seq
    )
    outstanding = before.outstanding.set(s.write_id, waiting)
    return attrs.evolve(before, outstanding=outstanding), waiting


def _settled(s: OneOperation, record: Record, status: ErrorCode) -> Record:
    if status is NONE:
        return rules.commit(record)
    return rules.roll_back(record, s.now, rules.failed_state(s.dead_letter_queue))


def _completes_each(s: OneOperation, status: ErrorCode) -> Term:
    before, waiting = _awaiting(s)
    operation = CompleteWrite(s.write_id, status)
    step: Step = merging(lambda: writes.complete_write(before, operation))
    after, awaited = step.partition, (s.awaited, s.other_awaited)
    return conjunction(
        *(
            same_record(
                after.window.records.get(place.offset), _after_answer(s, place, status, named)
            )
            for place, named in zip(places(s), awaited, strict=True)
        ),
        after.window.start_offset == s.start,
        rest_of_the_window(s, after),
        kept(before, after, "window", "outstanding", "durable"),
        others_wait(s, after),
        negate(s.write_id in after.outstanding),
        _is_durable_if(status is NONE, before, after, waiting.write),
        step.outcome.status is status,
        step.outcome.completed == (Completion(s.seq, status),),
        not step.outcome.writes,
    )


def _after_answer(s: OneOperation, place: Place, status: ErrorCode, named: Term) -> Record | None:
    if not place.tracked:
        return None
    return _settled(s, place.record, status) if named else place.record


def _is_durable_if(
    success: bool,  # noqa: FBT001 - a condition like the others
    before: SharePartition,
    after: SharePartition,
    write: Write,
) -> bool:
    return _becomes_durable(before, after, write) if success else after.durable is before.durable


def _completes_nobody(s: OneOperation) -> Term:
    """Whether the answer to a write that nobody waits for completes no operation."""
    before, waiting = _awaiting(s)
    unnoticed = before.outstanding.set(s.write_id, attrs.evolve(waiting, seq=None))
    before = attrs.evolve(before, outstanding=unnoticed)
    step: Step = merging(lambda: writes.complete_write(before, CompleteWrite(s.write_id, NONE)))
    return not step.outcome.completed


def _is_refused(s: OneOperation) -> Term:
    """Whether an answer is refused exactly if no write of that id is outstanding."""
    before, _waiting = _awaiting(s)
    operation = CompleteWrite(s.elsewhere, NONE)
    step = merging(lambda: attempted(lambda: writes.complete_write(before, operation)))
    known = (s.elsewhere == s.write_id) | (s.elsewhere == s.waiting)
    if isinstance(step, Refusal):
        return conjunction(negate(known), step.guard is Guard.WRITE_IS_OUTSTANDING)
    return known


def _changed(s: OneOperation) -> dict[Term, Record]:
    """Return the change of one record to any other, ``other_record``."""
    return {s.offset: s.other_record}


def _waits_for_it(s: OneOperation, status: ErrorCode) -> Term:
    before = partition_of(s)
    answer = Answer(status, s.write_id)
    step: Step = merging(lambda: writes.write_and_wait(before, _changed(s), answer, s.seq))
    (write,) = step.outcome.writes
    after = step.partition
    expected = s.other_record if status is PENDING else _settled(s, s.other_record, status)
    return conjunction(
        same_record(after.window.records.get(s.offset), expected),
        step.outcome.status is status,
        _is_made(s, before, after, write, status),
        _has_outstanding(s, after, status, Outstanding(write, (s.offset,), s.seq)),
    )


def _forgets_it(s: OneOperation, status: ErrorCode) -> Term:
    before = partition_of(s)
    answer = Answer(status, s.write_id)
    after, write = merging(lambda: writes.write_and_forget(before, _changed(s), answer))
    return conjunction(
        same_record(after.window.records.get(s.offset), s.other_record),
        _is_made(s, before, after, write, status),
        _has_outstanding(s, after, status, Outstanding(write)),
    )


def _is_made(
    s: OneOperation, before: SharePartition, after: SharePartition, write: Write, status: ErrorCode
) -> Term:
    """Whether the write says what changed, is durable if it succeeded, and changed nothing else."""
    return conjunction(
        kept(before, after, "window", "outstanding", "durable", "next_write"),
        after.window.start_offset == s.start,
        rest_of_the_window(s, after),
        others_wait(s, after),
        _is_durable_if(status is NONE, before, after, write),
        write.id == s.write_id,
        write.start_offset == s.start,
        write.delivery_complete_count == s.complete + completes(s.other_record),
        write.status is status,
        *(
            reports(write, offset, _changed(s).get(offset))
            for offset in (s.offset, s.other, s.elsewhere)
        ),
        after.next_write == max(s.next_write, s.write_id + 1),
    )


def _has_outstanding(
    s: OneOperation, after: SharePartition, status: ErrorCode, expected: Outstanding
) -> Term:
    waiting = after.outstanding.get(s.write_id)
    return waiting is None if status is not PENDING else waiting == expected


def _is_made_later(s: OneOperation) -> tuple[SharePartition, Outstanding]:
    """Return a share-partition with a write that is made after the operation ``elapsed``."""
    before = partition_of(s)
    waiting = Outstanding(_outstanding_write(s), (s.offset,), s.seq, s.elapsed)
    return attrs.evolve(before, outstanding=before.outstanding.set(s.write_id, waiting)), waiting


def _composes(s: OneOperation) -> Term:
    """Whether a write takes its numbers after the operation that it waits for, and no other."""
    before, waiting = _is_made_later(s)
    now = attrs.evolve(before, window=attrs.evolve(before.window, start_offset=s.second))
    after, composed = writes.compose(now, s.second_last)
    if s.elapsed != s.second_last:
        return after is now and not composed
    numbers = s.second, before.window.complete
    write = attrs.evolve(waiting.write, start_offset=numbers[0], delivery_complete_count=numbers[1])
    expected = attrs.evolve(waiting, write=write, made_after=None)
    return conjunction(
        kept(now, after, "outstanding"),
        others_wait(s, after),
        after.outstanding[s.write_id] == expected,
        composed == (Composed(s.write_id, *numbers),),
    )


def _waits_to_be_made(s: OneOperation) -> Term:
    """Whether a write that is made later is outstanding so, and cannot be answered before."""
    before, answer = partition_of(s), Answer(PENDING, s.write_id, s.elapsed)
    step = writes.write_and_wait(before, _changed(s), answer, s.seq)
    forgotten, _write = writes.write_and_forget(before, _changed(s), answer)
    later = [state.outstanding[s.write_id] for state in (step.partition, forgotten)]
    early, _waiting = _is_made_later(s)
    operation = CompleteWrite(s.write_id, NONE)
    refused = merging(lambda: attempted(lambda: writes.complete_write(early, operation)))
    return conjunction(
        *(waiting.made_after == s.elapsed for waiting in later),
        refused == Refusal(Guard.WRITE_IS_OUTSTANDING),
    )


def _takes_the_next_number(s: OneOperation) -> Term:
    before = partition_of(s)
    after, write = writes.make_write(before, _changed(s), Answer(NONE))
    return conjunction(write.id == s.next_write, after.next_write == s.next_write + 1)


def _number_is_free(s: OneOperation) -> Term:
    """Whether a write that must wait is refused exactly if its number is that of one that waits."""
    before = partition_of(s)
    answer = Answer(PENDING, s.elsewhere)
    step = attempted(lambda: writes.write_and_wait(before, _changed(s), answer, s.seq))
    taken = s.elsewhere == s.waiting
    return taken if step == Refusal(None) else negate(taken)


def _alone(s: OneOperation) -> Term:
    """Whether the second record is a change of the first, in a window that tracks one offset."""
    inside = conjunction(s.start <= s.offset, s.offset < s.end, negate(s.other_tracked))
    return conjunction(is_possible(s), inside, is_persisted(s.other_record.state))


SETTLED = _law(
    "answer_settles_its_records",
    "The answer to a write commits its records or rolls them back, and changes no other record.",
)
NOBODY = _law("answer_without_a_caller", "An answer that no operation waits for completes none.")
KNOWN = _law("only_outstanding_writes_are_answered", "Only an outstanding write can be answered.")
WAITS = _law(
    "change_holds_only_if_its_write_succeeds",
    "A change that waits for its write is pending, then final, or undone if the write fails.",
)
FORGETS = _law(
    "change_holds_whatever_becomes_of_its_write",
    "A change that does not wait for its write holds at once; it is durable only on success.",
)
NUMBERED = _law("writes_are_numbered", "A write without a number takes the next one.")
FREE = _law("outstanding_writes_differ", "No two outstanding writes have the same number.")
COMPOSED = _law(
    "write_made_later_has_the_numbers_of_then",
    "A write that is made after a later operation has the start offset and the count of then.",
)
LATER = _law(
    "write_made_later_is_not_answered_before", "A write is not answered before it has been made."
)
COMMITS_ALL = Control(
    "_settle commits whatever the answer is",
    "spec.writes:_settle",
    called_with(lambda state, waiting, _status, *_held: (state, waiting, NONE)),
)
FAILS_ALL = Control(
    "_settle takes every answer for a failure",
    "spec.writes:_settle",
    called_with(lambda state, waiting, _status, *_held: (state, waiting, FAILED)),
)


def _answer_theorems() -> Iterator[Theorem]:
    for name, status in ANSWERS.items():
        control = FAILS_ALL if status is NONE else COMMITS_ALL
        yield Theorem(
            SETTLED,
            f"write {name}",
            OneOperation,
            is_possible,
            about(_completes_each, status),
            control,
        )
    yield Theorem(
        NOBODY,
        "write succeeds",
        OneOperation,
        is_possible,
        _completes_nobody,
        Control(
            "complete_write completes an operation always",
            "spec.writes:complete_write",
            returns(
                lambda step: attrs.evolve(
                    step, outcome=attrs.evolve(step.outcome, completed=(Completion(0, NONE),))
                )
            ),
        ),
    )
    yield Theorem(
        KNOWN,
        "complete write",
        OneOperation,
        is_possible,
        _is_refused,
        Control(
            "complete_write takes any answer",
            "spec.writes:complete_write",
            becomes(lambda state, _operation: Step(state)),
        ),
    )


def _request_theorems() -> Iterator[Theorem]:
    for stated, claim, function in (
        (WAITS, _waits_for_it, "write_and_wait"),
        (FORGETS, _forgets_it, "write_and_forget"),
    ):
        for name, status in {"is outstanding": PENDING, **ANSWERS}.items():
            yield Theorem(
                stated,
                f"{function} when it {name}",
                OneOperation,
                _alone,
                about(claim, status),
                MISCOUNTS,
            )
    yield Theorem(
        NUMBERED,
        "make write",
        OneOperation,
        _alone,
        _takes_the_next_number,
        Control(
            "make_write uses one number for all",
            "spec.writes:make_write",
            returns(lambda pair: (attrs.evolve(pair[0], next_write=0), pair[1])),
        ),
    )
    yield Theorem(
        FREE,
        "make write",
        OneOperation,
        _alone,
        _number_is_free,
        Control(
            "make_write takes the next number always",
            "spec.writes:make_write",
            called_with(
                lambda state, changed, answer: (state, changed, attrs.evolve(answer, id=None))
            ),
        ),
    )


def _later_theorems() -> Iterator[Theorem]:
    yield Theorem(
        COMPOSED,
        "compose",
        OneOperation,
        is_possible,
        _composes,
        Control(
            "compose makes no write",
            "spec.writes:compose",
            becomes(lambda state, _seq: (state, ())),
        ),
    )
    yield Theorem(
        LATER,
        "write later",
        OneOperation,
        _alone,
        _waits_to_be_made,
        Control(
            "complete_write takes any answer",
            "spec.writes:complete_write",
            becomes(lambda state, _operation: Step(state)),
        ),
    )


MISCOUNTS = Control(
    "make_write leaves its change out of the delivery complete count",
    "spec.writes:make_write",
    returns(
        lambda pair: (
            pair[0],
            attrs.evolve(pair[1], delivery_complete_count=pair[0].window.complete + 1),
        )
    ),
)
WRITE_THEOREMS = (*_answer_theorems(), *_request_theorems(), *_later_theorems())
