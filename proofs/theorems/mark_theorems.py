"""Theorems about marks as operations: two batches, each by itself (KAFKA-20458, a draft)."""

from typing import Any

import attrs

from model.errors import ErrorCode
from model.operations import MarkInProgress, ProgressBatch
from model.profile import DRAFT_RESOLVED, KIP
from proofs.theorems.controls import becomes, leaves
from proofs.theorems.operation_cases import Place, places
from proofs.theorems.operation_situation import (
    OneOperation,
    Refusal,
    attempted,
    is_owned_by,
    is_possible,
    kept,
    names_no_others,
    partition_of,
    rest_of_the_window,
    same_record,
)
from proofs.theorems.symbolic import conjunction
from proofs.theorems.theorem import Control, Theorem, laws
from spec import mark_in_progress
from spec import record as rules
from spec.coordinator import Durable
from spec.logic import Term, absent, negate
from spec.partition import SharePartition, Step
from spec.record import Record

_law = laws("KAFKA-20458, markInProgress handler")
NONE, INVALID_REQUEST = ErrorCode.NONE, ErrorCode.INVALID_REQUEST
INVALID_RECORD_STATE = ErrorCode.INVALID_RECORD_STATE


def _before(s: OneOperation) -> SharePartition:
    """Return the share-partition; the leader epoch is ``elapsed``."""
    before = partition_of(s, DRAFT_RESOLVED)
    return attrs.evolve(before, durable=Durable(leader_epoch=s.elapsed))


def _batch(s: OneOperation, first: Term, last: Term) -> ProgressBatch:
    """Return a batch of marks; the leader epoch that it names is ``seq``."""
    return ProgressBatch(first, last, s.seq, s.acquisition)


def _may_mark(s: OneOperation, record: Record) -> Term:
    """Whether the member may mark the record, in the fields of it and of the batch."""
    begun = record.progress_start
    young = True if begun is None else s.now < begun + s.extension
    fresh = negate(conjunction(negate(absent(begun)), negate(young)))
    ours = conjunction(s.seq == s.elapsed, record.acquisition == s.acquisition)
    return conjunction(is_owned_by(record, s.member), ours, fresh)


def _answer(s: OneOperation, first: Term, last: Term, records: dict[int, Record]) -> ErrorCode:
    """Return how a batch must be answered, of the records as they are before it."""
    if first > last or last >= s.end:
        return INVALID_REQUEST
    for place in places(s):
        if _is_named(place, first, last) and not _may_mark(s, records[place.index]):
            return INVALID_RECORD_STATE
    return NONE


def _is_named(place: Place, first: Term, last: Term) -> Term:
    return conjunction(place.tracked, first <= place.offset, place.offset <= last)


def _marked(s: OneOperation, first: Term, last: Term, records: dict[int, Record]) -> ErrorCode:
    """Mark the records of a batch as the rule says, and return the answer."""
    answer = _answer(s, first, last, records)
    for place in places(s):
        if answer is NONE and _is_named(place, first, last):
            before = records[place.index]
            records[place.index] = rules.mark(before, s.now, s.threshold, s.extension)
    return answer


def _marks_batches(s: OneOperation) -> Term:
    """Whether each batch marks all its records or none, after what the batch before did."""
    before = _before(s)
    spans = (s.first, s.last), (s.second, s.second_last)
    operation = MarkInProgress(s.member, tuple(_batch(s, *span) for span in spans))
    step: Step = mark_in_progress.mark_in_progress(before, operation)
    records = {place.index: place.record for place in places(s)}
    answers = tuple(_marked(s, *span, records) for span in spans)
    after = step.partition
    return conjunction(
        step.outcome.marked == answers,
        *(
            same_record(after.window.records.get(p.offset), records[p.index] if p.tracked else None)
            for p in places(s)
        ),
        kept(before, after, "window"),
        after.window.start_offset == s.start,
        rest_of_the_window(s, after),
        not step.outcome.writes,
    )


def _is_one_batch(s: OneOperation) -> Term:
    """Whether the second batch can name the first offset alone."""
    return conjunction(is_possible(s), negate(s.other_tracked))


def _marks_nothing_else(s: OneOperation) -> Term:
    """Whether one batch marks both its records or neither."""
    before = _before(s)
    batch = _batch(s, s.first, s.last)
    step = mark_in_progress.mark_in_progress(before, MarkInProgress(s.member, (batch,)))
    records = {place.index: place.record for place in places(s)}
    answer = _marked(s, s.first, s.last, records)
    return conjunction(
        step.outcome.marked == (answer,),
        *(
            same_record(step.partition.window.records.get(p.offset), records[p.index])
            for p in places(s)
        ),
        kept(before, step.partition, "window"),
        rest_of_the_window(s, step.partition),
    )


def _is_of_the_draft(s: OneOperation) -> Term:
    """Whether a profile without records in progress refuses marks, also none."""
    before = partition_of(s, KIP)
    step = attempted(
        lambda: mark_in_progress.mark_in_progress(before, MarkInProgress(s.member, ()))
    )
    return bool(step == Refusal(None))


def _both_are_tracked(s: OneOperation) -> Term:
    return conjunction(is_possible(s), s.tracked, s.other_tracked)


MARKS = _law(
    "a_batch_of_marks_is_all_or_none",
    "A batch marks each record that it names, if its member holds them all by that token.",
    11,
    32,
    38,
    41,
)
DRAFT = _law("marks_are_of_the_draft", "Only a profile with records in progress takes marks.")


def _untouched(state: SharePartition, *_rest: Any) -> SharePartition:  # noqa: ANN401 - any argument
    return state


MARK_THEOREMS = (
    Theorem(
        MARKS,
        "mark two records",
        OneOperation,
        _both_are_tracked,
        _marks_nothing_else,
        Control(
            "mark_in_progress marks nothing",
            "spec.mark_in_progress:mark_in_progress",
            leaves(_untouched),
        ),
        runnable=names_no_others,
    ),
    Theorem(
        MARKS,
        "mark a record twice",
        OneOperation,
        _is_one_batch,
        _marks_batches,
        Control(
            "can_mark asks only who holds the record",
            "spec.record:can_mark",
            becomes(lambda record, member, *_rest: rules.is_held_by(record, member)),
        ),
        runnable=names_no_others,
    ),
    Theorem(
        DRAFT,
        "mark under kip",
        OneOperation,
        is_possible,
        _is_of_the_draft,
        Control(
            "mark_in_progress marks under any profile",
            "spec.mark_in_progress:mark_in_progress",
            becomes(lambda state, _operation: Step(state)),
        ),
    ),
)
