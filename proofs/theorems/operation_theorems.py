"""Theorems about the operations that run: guard, effect, what is written, and what stays.

Each runs the operation itself on a window of any width with records at any two offsets.
"""

import attrs

from model.errors import ErrorCode
from model.outcome import Write
from model.ranges import AcquiredRange, OffsetRange
from proofs.theorems.controls import becomes, leaves, returns
from proofs.theorems.operation_cases import CASES, OperationCase, Place, places
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
    reports,
    rest_of_the_window,
    same_record,
)
from proofs.theorems.statement import Subject, theorems_in, wrong
from proofs.theorems.symbolic import conjunction
from proofs.theorems.theorem import Control
from spec import aborted
from spec.logic import Term, negate
from spec.partition import SharePartition, Step
from spec.record import Record
from spec.window import Window

_operation = Subject("KIP-932; KIP-1191", OneOperation, is_possible, names_no_others)
_aborted = Subject("KIP-932, Group configuration", OneOperation, is_possible, names_no_others)
MISREPORTS = wrong(
    "spec.writes:make_write",
    "says that the start offset is one further on",
    returns(lambda pair: (pair[0], attrs.evolve(pair[1], start_offset=pair[1].start_offset + 1))),
)
STAYS = leaves(lambda state, *_rest: state)
QUIET = ("acknowledge by RENEW", "aborted records are archived")
"""The cases in which nothing is written."""


def _writes_wrongly(target: str) -> Control:
    """Return the control by which an operation writes what nothing changed."""
    writes = (Write(0, 0, 0),)
    more = returns(
        lambda step: attrs.evolve(step, outcome=attrs.evolve(step.outcome, writes=writes))
    )
    return wrong(target, "writes what nothing changed", more)


def _step(s: OneOperation, case: OperationCase) -> tuple[SharePartition, Step | Refusal]:
    before = case.before(s)
    return before, attempted(lambda: case.operate(s, before))


def _record_after(s: OneOperation, case: OperationCase, place: Place, now: Window) -> Record | None:
    """Return the record that must be at the place; the start offset may have moved past it."""
    moved = case.moves and bool(place.offset < now.start_offset)
    if not place.tracked or (moved and bool(_is_finished(place.record))):
        return None
    changed = case.change(s, place)
    return place.record if changed is None else changed


def _is_finished(record: Record) -> Term:
    return conjunction(is_complete(record), negate(record.pending))


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


@_operation.theorem(
    11,
    of=[case for case in CASES if case.destroyed],
    control=lambda case: case.destroyed,
)
def operation_is_accepted_when_each_record_allows_it(s: OneOperation, case: OperationCase) -> Term:
    """An operation is accepted exactly if each record that it names allows it."""
    _before, step = _step(s, case)
    return (step if isinstance(step, Refusal) else None) == case.refuses(s)


@_operation.theorem(
    11,
    32,
    of=CASES,
    control=lambda case: wrong(case.target, "changes nothing", STAYS),
)
def operation_changes_the_records_it_names(s: OneOperation, case: OperationCase) -> Term:
    """An operation changes each record that it names as its rule says, and nothing else."""
    before, step = _step(s, case)
    if isinstance(step, Refusal):
        return True
    after = step.partition
    records = after.window.records
    return conjunction(
        *(
            same_record(records.get(place.offset), _record_after(s, case, place, after.window))
            for place in places(s)
        ),
        kept(before, after, "window", "outstanding", "next_write", "now"),
        after.now == (s.now + s.elapsed if case.elapses else s.now),
        rest_of_the_window(s, after),
        _starts_rightly(s, case, step),
        others_wait(s, after),
    )


@_operation.theorem(
    58,
    of=CASES,
    control=lambda case: _writes_wrongly(case.target) if case.name in QUIET else MISREPORTS,
)
def operation_writes_its_changes(s: OneOperation, case: OperationCase) -> Term:
    """One write reports each record that changed, and no other, with start offset and counts."""
    _before, step = _step(s, case)
    if isinstance(step, Refusal):
        return True
    now = step.partition.window
    after = {place.offset: _record_after(s, case, place, now) for place in places(s)}
    written = {p.offset: after[p.offset] for p in places(s) if _is_written(s, case, p)}
    if not written and not case.writes_always:
        unused = step.partition.next_write == s.next_write
        return conjunction(not step.outcome.writes, unused)
    (write,) = step.outcome.writes
    offsets = s.offset, s.other, s.elsewhere
    states = [record for record in after.values() if record is not None]
    return conjunction(
        write.id == s.write_id,
        write.start_offset == now.start_offset,
        write.delivery_complete_count == s.complete + completes(*states),
        write.status is ErrorCode.PENDING,
        *(reports(write, offset, written.get(offset)) for offset in offsets),
        step.partition.next_write == max(s.next_write, s.write_id + 1),
        _waits(s, case, step, tuple(written)),
    )


def _is_written(s: OneOperation, case: OperationCase, place: Place) -> Term:
    return place.tracked and case.change(s, place) is not None and case.writes(s, place)


def _waits(s: OneOperation, case: OperationCase, step: Step, changed: tuple[Term, ...]) -> Term:
    """Whether the write is outstanding, and settles the records if they wait for it."""
    waiting = step.partition.outstanding.get(s.write_id)
    if waiting is None or waiting.write is not step.outcome.writes[0]:
        return False
    if not case.waits:
        return not waiting.offsets and waiting.seq is None
    named = [offset in waiting.offsets for offset in (s.offset, s.other)]
    expected = [offset in changed for offset in (s.offset, s.other)]
    answered = step.outcome.status is ErrorCode.PENDING
    return conjunction(answered, waiting.seq == s.seq, named == expected)


@_aborted.theorem(
    56,
    of="committed",
    where=lambda s: s.acquisition > 0,
    control=wrong("spec.aborted:committed", "gives nothing", becomes(lambda *_of: ())),
)
def only_committed_is_given(s: OneOperation) -> Term:
    """A member gets what was acquired, without what an aborted transaction holds."""
    acquired = (AcquiredRange(s.first, s.last, s.acquisition),)
    given = aborted.committed(acquired, (OffsetRange(s.second, s.second_last),))
    holding = [part for part in given if conjunction(part.first <= s.offset, s.offset <= part.last)]
    named = conjunction(s.first <= s.offset, s.offset <= s.last)
    without = negate(conjunction(s.second <= s.offset, s.offset <= s.second_last))
    if not holding:
        return negate(conjunction(named, without))
    return conjunction(named, without, *(p.delivery_count == s.acquisition for p in holding))


OPERATION_THEOREMS = theorems_in(globals())
