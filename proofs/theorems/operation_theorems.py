"""Theorems about the operations that run: guard, effect, what is written, and what stays.

Each runs the operation itself on a window of any width with records at any two offsets.
"""

from collections.abc import Callable, Iterator
from typing import Any

import attrs

from model.config import IsolationLevel
from model.errors import ErrorCode
from model.guards import Guard
from model.operations import ArchiveAborted
from model.outcome import Choice, Write
from model.ranges import AcquiredRange, OffsetRange
from proofs.theorems.acknowledge_cases import ACKNOWLEDGEMENTS
from proofs.theorems.controls import becomes, leaves, returns
from proofs.theorems.operation_cases import CASES, OperationCase, Place, accepts_all, places
from proofs.theorems.operation_situation import (
    OneOperation,
    Refusal,
    attempted,
    completes,
    is_complete,
    is_possible,
    kept,
    names_no_others,
    others_wait,
    partition_of,
    reports,
    rest_of_the_window,
    same_record,
)
from proofs.theorems.points import Points
from proofs.theorems.symbolic import conjunction
from proofs.theorems.theorem import Control, Property, Theorem, about, laws
from spec import aborted
from spec.logic import Term, negate
from spec.partition import SharePartition, Step
from spec.record import Record
from spec.window import Window


def _step(s: OneOperation, case: OperationCase) -> tuple[SharePartition, Step | Refusal]:
    before = case.before(s)
    return before, attempted(lambda: case.operate(s, before))


def _is_guarded(s: OneOperation, case: OperationCase) -> Term:
    _before, step = _step(s, case)
    if isinstance(step, Refusal):
        return conjunction(negate(case.accepts(s)), step.guard is case.guard(s))
    return case.accepts(s)


def _changes_records(s: OneOperation, case: OperationCase) -> Term:
    _before, step = _step(s, case)
    if isinstance(step, Refusal):
        return True
    now = step.partition.window
    return conjunction(
        *(
            same_record(now.records.get(place.offset), _record_after(s, case, place, now))
            for place in places(s)
        )
    )


def _record_after(s: OneOperation, case: OperationCase, place: Place, now: Window) -> Record | None:
    if not place.tracked or _is_passed(case, place, now):
        return None
    changed = case.change(s, place)
    return place.record if changed is None else changed


def _is_passed(case: OperationCase, place: Place, now: Window) -> bool:
    """Whether the start offset has moved past a record that is finished."""
    return case.moves and bool(place.offset < now.start_offset) and bool(_is_finished(place.record))


def _is_finished(record: Record) -> Term:
    return conjunction(is_complete(record), negate(record.pending))


def _leaves_the_rest(s: OneOperation, case: OperationCase) -> Term:
    before, step = _step(s, case)
    if isinstance(step, Refusal):
        return True
    after = step.partition
    clock = s.now + s.elapsed if case.elapses else s.now
    return conjunction(
        kept(before, after, "window", "outstanding", "next_write", "now"),
        after.now == clock,
        rest_of_the_window(s, after),
        _starts_rightly(s, case, step),
        others_wait(s, after),
    )


def _starts_rightly(s: OneOperation, case: OperationCase, step: Step) -> Term:
    """Whether the start offset is where it was, or where no finished record follows."""
    start = step.partition.window.start_offset
    if not (case.moves and step.outcome.writes):
        return start == s.start
    stops = [
        negate(conjunction(place.tracked, place.offset == start, _is_finished(place.record)))
        for place in places(s)
    ]
    return conjunction(start >= s.start, *stops)


def _writes_its_changes(s: OneOperation, case: OperationCase) -> Term:
    _before, step = _step(s, case)
    if isinstance(step, Refusal):
        return True
    now = step.partition.window
    after = {place.offset: _record_after(s, case, place, now) for place in places(s)}
    written = [place for place in places(s) if _is_written(s, case, place)]
    if not written and not case.writes_always:
        outcome = step.outcome
        return conjunction(not outcome.writes, step.partition.next_write == s.next_write)
    (write,) = step.outcome.writes
    here = {place.offset: after[place.offset] for place in written}
    states = [record for record in after.values() if record is not None]
    return conjunction(
        write.id == s.write_id,
        write.start_offset == now.start_offset,
        write.delivery_complete_count == s.complete + completes(*states),
        write.status is ErrorCode.PENDING,
        *(reports(write, offset, here.get(offset)) for offset in (s.offset, s.other, s.elsewhere)),
        step.partition.next_write == max(s.next_write, s.write_id + 1),
        _waits(s, case, step, write, tuple(here)),
    )


def _is_written(s: OneOperation, case: OperationCase, place: Place) -> Term:
    return place.tracked and case.change(s, place) is not None and case.writes(s, place)


def _waits(
    s: OneOperation, case: OperationCase, step: Step, write: Write, changed: tuple[Term, ...]
) -> Term:
    waiting = step.partition.outstanding.get(s.write_id)
    if waiting is None or waiting.write is not write:
        return False
    if not case.waits:
        return not waiting.offsets and waiting.seq is None
    named = [offset in waiting.offsets for offset in (s.offset, s.other)]
    expected = [offset in changed for offset in (s.offset, s.other)]
    answered = step.outcome.status is ErrorCode.PENDING
    return conjunction(answered, waiting.seq == s.seq, named == expected)


def _property(name: str, sentence: str, *numbers: int) -> dict[str, Any]:
    return {"name": name, "sentence": sentence, "numbers": numbers}


GUARD = _property(
    "operation_is_accepted_when_each_record_allows_it",
    "An operation is accepted exactly if each record that it names allows it.",
    11,
)
EFFECT = _property(
    "operation_changes_the_records_it_names",
    "An operation changes each record that it names as its rule says, and no other record.",
    11,
    32,
)
REST = _property(
    "operation_leaves_the_rest",
    "An operation leaves both ends of the window, other offsets, other writes and what is durable.",
)
WRITTEN = _property(
    "operation_writes_its_changes",
    "One write reports each record that changed, and no other, with start offset and counts.",
)
FORGETS_WRITES = returns(
    lambda step: attrs.evolve(step, partition=attrs.evolve(step.partition, outstanding=Points()))
)
"""A step after which no write is outstanding."""


def _operation_of(case: OperationCase) -> str:
    return OPERATIONS.get(case.name, "spec.acknowledge:acknowledge_records")


OPERATIONS = {
    "member leaves": "spec.release:release_member",
    "time passes": "spec.expire:advance_time",
    "chosen locks expire": "spec.expire:advance_time",
    "dead letters are finished": "spec.dead_letters:finish_dead_letters",
    "aborted records are archived": "spec.aborted:archive_aborted_records",
}
"""The functions that cases run; the others acknowledge."""


def _theorems(case: OperationCase) -> Iterator[Theorem]:
    target = _operation_of(case)
    function = target.split(":")[1]
    if case.accepts is not accepts_all:
        yield _theorem(case, GUARD, _is_guarded, case.destroyed)
    yield _theorem(
        case,
        EFFECT,
        _changes_records,
        Control(f"{function} changes nothing", target, leaves(lambda state, *_rest: state)),
    )
    forgets = Control(f"{function} forgets the writes that wait", target, FORGETS_WRITES)
    yield _theorem(case, REST, _leaves_the_rest, forgets)
    writes = Control(f"{function} writes what nothing changed", target, WRITES_MORE)
    quiet = case.name in QUIET
    yield _theorem(case, WRITTEN, _writes_its_changes, writes if quiet else MISREPORTS)


QUIET = frozenset(
    {
        "acknowledge by RENEW",
        "acknowledge by RENEW, then by RENEW",
        "aborted records are archived",
    }
)
"""The cases in which nothing is written."""
WRITES_MORE = returns(
    lambda step: attrs.evolve(step, outcome=attrs.evolve(step.outcome, writes=(Write(0, 0, 0),)))
)
MISREPORTS = Control(
    "make_write says that the start offset is one further on",
    "spec.writes:make_write",
    returns(lambda pair: (pair[0], attrs.evolve(pair[1], start_offset=pair[1].start_offset + 1))),
)


def _theorem(
    case: OperationCase,
    stated: dict[str, Any],
    claim: Callable[[OneOperation, OperationCase], Term],
    control: Control,
) -> Theorem:
    return Theorem(
        Property(source=case.source, **stated),
        case.name,
        OneOperation,
        lambda s: conjunction(is_possible(s), case.given(s)),
        about(claim, case),
        control,
        runnable=names_no_others,
    )


def _asks_for_committed(s: OneOperation) -> Term:
    """Whether aborted records are archived under read_committed alone."""
    before = partition_of(s, isolation_level=IsolationLevel.READ_UNCOMMITTED)
    step = attempted(lambda: aborted.archive_aborted_records(before, ArchiveAborted(()), Choice()))
    return bool(step == Refusal(Guard.ONLY_COMMITTED_IS_ASKED_FOR))


def _gets_committed(s: OneOperation) -> Term:
    """Whether a member gets of what was acquired exactly what no aborted transaction holds."""
    acquired = (AcquiredRange(s.first, s.last, s.acquisition),)
    given = aborted.committed(acquired, (OffsetRange(s.second, s.second_last),))
    holding = [part for part in given if conjunction(part.first <= s.offset, s.offset <= part.last)]
    named = conjunction(s.first <= s.offset, s.offset <= s.last)
    without = negate(conjunction(s.second <= s.offset, s.offset <= s.second_last))
    if not holding:
        return negate(conjunction(named, without))
    return conjunction(named, without, *(p.delivery_count == s.acquisition for p in holding))


_committed = laws("KIP-932, Group configuration")
COMMITTED = (
    Theorem(
        _committed(
            "only_committed_is_asked_for",
            "Only under read_committed are records of aborted transactions archived.",
        ),
        "aborted records are archived",
        OneOperation,
        is_possible,
        _asks_for_committed,
        Control(
            "archive_aborted_records archives at any isolation level",
            "spec.aborted:archive_aborted_records",
            becomes(lambda state, *_rest: Step(state)),
        ),
    ),
    Theorem(
        _committed(
            "only_committed_is_given",
            "A member gets what was acquired, without what an aborted transaction holds.",
        ),
        "committed",
        OneOperation,
        lambda s: conjunction(is_possible(s), s.acquisition > 0),
        _gets_committed,
        Control("committed gives nothing", "spec.aborted:committed", becomes(lambda *_of: ())),
        runnable=names_no_others,
    ),
)
OPERATION_THEOREMS = (
    *COMMITTED,
    *(theorem for case in (*ACKNOWLEDGEMENTS, *CASES) for theorem in _theorems(case)),
)
