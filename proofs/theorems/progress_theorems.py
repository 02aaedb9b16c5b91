"""Theorems about records in progress (KAFKA-20458, a draft, as docs/in-progress.md settles it)."""

from typing import Any

import attrs

from model.errors import ErrorCode
from model.operations import MarkInProgress, ProgressBatch
from model.profile import DRAFT_RESOLVED
from model.states import RecordState
from proofs.theorems.any_partition import AnyPartition, operated, partition_of, places
from proofs.theorems.attempts import Refusal, attempted
from proofs.theorems.controls import adds, becomes, changes_nothing, wrong
from proofs.theorems.effects import changes_to
from proofs.theorems.record_operations import TRANSITIONS, Transition, is_sound
from proofs.theorems.record_theorems import lets_through
from proofs.theorems.records import is_owned_by
from proofs.theorems.symbolic import conjunction, is_between, is_same
from proofs.theorems.theorem import Subject
from spec import mark_in_progress
from spec import record as rules
from spec.coordinator import Durable
from spec.logic import Term, absent, either, negate
from spec.record import Record

SOURCE = "KAFKA-20458, markInProgress handler"
ACQUIRED, IN_PROGRESS = RecordState.ACQUIRED, RecordState.IN_PROGRESS
ENDS = frozenset(
    {
        "accept", "reject", "acknowledge as gap", "acknowledge as release", "release", "expire",
        "vanish", "commit", "roll back",
    }
)  # fmt: skip
"""The transitions in which a mark that was made before could make a difference."""


def _counts_marks(rule: Any) -> Any:  # noqa: ANN401 - any rule
    def wrong_rule(record: Record, *rest: Term) -> Record:
        after: Record = rule(record, *rest)
        more = either(absent(record.progress_start), 0, 1)
        return attrs.evolve(after, delivery_count=after.delivery_count + more)

    return wrong_rule


MARK = "spec.record:mark"
LATE = wrong(MARK, "adds a millisecond", adds(1, "deadline"))
COUNTS = wrong(MARK, "counts a delivery", adds(1, "delivery_count"))
Span = tuple[Term, Term]
ANY_DELIVERY = wrong(
    "spec.record:can_mark",
    "asks only who holds the record",
    becomes(lambda record, member, *_rest: rules.is_held_by(record, member)),
)
MARKS_NOTHING = changes_nothing("spec.mark_in_progress:mark_in_progress", "marks nothing")
TAKES_THE_LATER = wrong(
    "spec.record:_earlier",
    "takes the later end",
    becomes(lambda end, other: either(end <= other, other, end)),
)


def erased(record: Record) -> Record:
    """Return the record as it would be had it never been marked, but for its deadline."""
    state = either(record.state == IN_PROGRESS, ACQUIRED, record.state)
    return attrs.evolve(record, state=state, progress_start=None, last_progress=None)


def _marked(s: AnyPartition) -> Record:
    return rules.mark(s.record, s.now, s.threshold, s.extension)


def _can_mark(s: AnyPartition) -> Term:
    return rules.can_mark(s.record, s.member, s.acquisition, s.now, s.extension)


_progress = Subject(SOURCE, AnyPartition, is_sound)


@_progress.theorem(40, of="mark", where=_can_mark, control=LATE)
def a_mark_holds_until_stale_or_too_old(s: AnyPartition) -> Term:
    """A mark keeps the lock for the threshold or till the extension, or to its end before."""
    after, later = _marked(s), s.now + s.elapsed
    due = (s.elapsed >= s.threshold) | (later >= after.progress_start + s.extension)
    return rules.is_lock_over(after, later) == (due & rules.is_lock_over(s.record, later))


@_progress.theorem(38, 42, of="mark", where=_can_mark, control=COUNTS)
def a_mark_changes_only_progress(s: AnyPartition) -> Term:
    """A mark keeps the delivery count, the owner and the acquisition, and makes no write."""
    kept = attrs.evolve(s.record, state=IN_PROGRESS)
    same = is_same(_marked(s), kept, "deadline", "progress_start", "last_progress")
    return conjunction(same, is_same(erased(_marked(s)), erased(s.record), "deadline"))


@_progress.theorem(
    40,
    of="stay for the grace",
    where=lambda s: rules.can_stay(s.record, s.member, s.now, s.threshold),
    control=TAKES_THE_LATER,
)
def grace_ends_a_lock_only_at_its_end(s: AnyPartition) -> Term:
    """Of a member that left, a record in progress ends with the grace, or at its own deadline."""
    after, later = rules.give_grace(s.record, s.now + s.grace), s.now + s.elapsed
    due = (s.elapsed >= s.grace) | rules.is_lock_over(s.record, later)
    return rules.is_lock_over(after, later) == due


@_progress.theorem(
    42,
    of=[each for each in TRANSITIONS if each.name in ENDS],
    where=lambda s, transition: conjunction(
        negate(absent(s.record.progress_start)), transition.given(s)
    ),
    control=lambda each: wrong(f"spec.record:{each.rule}", "counts marks", _counts_marks),
)
def marks_can_be_erased(s: AnyPartition, transition: Transition) -> Term:
    """A record in progress goes through each transition as an ACQUIRED one, timers aside."""
    after = transition.after(s)
    unmarked = transition.after(attrs.evolve(s, record=erased(s.record)))
    if after is None or unmarked is None:
        return after is unmarked
    return is_same(erased(after), erased(unmarked))


@_progress.theorem(
    40,
    of=[each for each in TRANSITIONS if each.guard not in {"", "is_lock_over"}],
    where=lambda s, _transition: conjunction(
        s.record.state == IN_PROGRESS, negate(s.record.owner == s.member)
    ),
    control=lambda each: lets_through(
        each, lambda record: record.state == IN_PROGRESS, "records in progress"
    ),
)
def only_its_owner_ends_a_record_in_progress(s: AnyPartition, transition: Transition) -> Term:
    """What is not the owner's doing, nor its deadline, leaves a record in progress as it is."""
    return not transition.happens(s)


_marks = operated(SOURCE)


def _may_mark(s: AnyPartition, record: Record) -> Term:
    """Whether the member may mark the record, in the fields of it and of the batch."""
    begun = record.progress_start
    young = True if begun is None else s.now < begun + s.extension
    fresh = negate(conjunction(negate(absent(begun)), negate(young)))
    ours = conjunction(s.seq == s.elapsed, record.acquisition == s.acquisition)
    return conjunction(is_owned_by(record, s.member), ours, fresh)


def _mark_batch(s: AnyPartition, span: Span, records: list[Record]) -> ErrorCode:
    """Mark the records of a batch as the rule says, all or none, and return the answer."""
    first, last = span
    if first > last or last >= s.end:
        return ErrorCode.INVALID_REQUEST
    named = [p for p in places(s) if conjunction(p.tracked, is_between(first, p.offset, last))]
    if not all(_may_mark(s, records[place.index]) for place in named):
        return ErrorCode.INVALID_RECORD_STATE
    for place in named:
        record = records[place.index]
        records[place.index] = rules.mark(record, s.now, s.threshold, s.extension)
    return ErrorCode.NONE


def _are_tracked(s: AnyPartition, batches: int) -> Term:
    """Whether both records are there for one batch, or one for two that may name it."""
    both = conjunction(s.tracked, s.other_tracked)
    return both if batches == 1 else negate(s.other_tracked)


@_marks.theorem(
    11,
    32,
    38,
    41,
    of={"mark two records": (1,), "mark a record twice": (2,)},
    where=_are_tracked,
    control=lambda batches: MARKS_NOTHING if batches == 1 else ANY_DELIVERY,
)
def a_batch_of_marks_is_all_or_none(s: AnyPartition, batches: int) -> Term:
    """A batch marks each record that it names, if its member holds them all by that token.

    The leader epoch is ``elapsed``, that of the token ``seq``. Without the profile none is made.
    """
    before = attrs.evolve(partition_of(s, DRAFT_RESOLVED), durable=Durable(leader_epoch=s.elapsed))
    spans = ((s.first, s.last), (s.second, s.second_last))[:batches]
    token = s.seq, s.acquisition
    operation = MarkInProgress(s.member, tuple(ProgressBatch(*span, *token) for span in spans))
    step = mark_in_progress.mark_in_progress(before, operation)
    without = attempted(lambda: mark_in_progress.mark_in_progress(partition_of(s), operation))
    records = [place.record for place in places(s)]
    answers = tuple(_mark_batch(s, span, records) for span in spans)
    after = step.partition
    return conjunction(
        isinstance(without, Refusal),
        step.outcome.marked == answers,
        changes_to(s, before, after, [records[p.index] if p.tracked else None for p in places(s)]),
        not step.outcome.writes,
    )
