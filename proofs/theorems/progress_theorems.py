"""Theorems about records in progress (KAFKA-20458, a draft, as docs/in-progress.md settles it)."""

from collections.abc import Iterator
from typing import Any

import attrs

from model.errors import ErrorCode
from model.operations import MarkInProgress, ProgressBatch
from model.profile import DRAFT_RESOLVED
from model.states import RecordState
from proofs.theorems.controls import adds, also_allows, becomes, called_with, sets
from proofs.theorems.points import Points
from proofs.theorems.situation import any_record, number, offset, situation_at
from proofs.theorems.symbolic import conjunction, implies
from proofs.theorems.theorem import Control, Theorem, about, laws
from proofs.theorems.transitions import TRANSITIONS, OneRecord, Transition, is_sound
from spec import mark_in_progress, window
from spec import record as rules
from spec.coordinator import Durable
from spec.log import Log
from spec.logic import Term, absent, either, negate
from spec.partition import SharePartition, Step, complete_count
from spec.record import Record
from spec.window import Window

ACQUIRED, IN_PROGRESS = RecordState.ACQUIRED, RecordState.IN_PROGRESS
ENDS = frozenset(
    {
        "accept", "reject", "acknowledge as gap", "acknowledge as release", "release", "expire",
        "vanish", "commit", "roll back",
    }
)  # fmt: skip
"""The transitions in which a mark that was made before could make a difference."""


_law = laws("KAFKA-20458, markInProgress handler")


KEEPS_THE_LOCK = _law(
    "a_mark_holds_until_stale_or_too_old",
    "A mark keeps the lock until the threshold after it or the extension after the first mark, "
    "or until its end before.",
    40,
)
GRACE_IS_SHORT = _law(
    "grace_ends_a_lock_only_at_its_end",
    "Of a member that left, a record in progress ends with the grace, or at its own deadline.",
    40,
)
ONLY_ITS_OWNER = _law(
    "only_its_owner_ends_a_record_in_progress",
    "What is not the owner's doing, nor its deadline, leaves a record in progress as it is.",
    40,
)
NEVER_SHORTENS = _law(
    "a_mark_never_shortens_a_lock",
    "A mark never shortens a lock, whatever the durations are by now.",
)
CHANGES_PROGRESS = _law(
    "a_mark_changes_only_progress",
    "A mark keeps the delivery count, the owner and the acquisition, and makes no write.",
    38,
)
ITS_DELIVERY = _law(
    "a_mark_names_its_delivery", "A mark that names another acquisition is refused.", 41
)
LEAVES_THE_REST = _law(
    "a_mark_leaves_the_rest",
    "A batch of marks changes no other record, nothing durable, no outstanding write and no lag.",
    38,
)
ERASED = _law(
    "marks_can_be_erased",
    "A record in progress goes through each transition as an ACQUIRED one, timers aside.",
    42,
)


def erased(record: Record) -> Record:
    """Return the record as it would be had it never been marked, but for its deadline."""
    state = either(record.state == IN_PROGRESS, ACQUIRED, record.state)
    return attrs.evolve(record, state=state, progress_start=None, last_progress=None)


def _same(one: Record, other: Record, *aside: str) -> Term:
    """Whether two records are the same, but for the fields named."""
    fields = (field.name for field in attrs.fields(Record) if field.name not in aside)
    return conjunction(*(_equal(getattr(one, n), getattr(other, n)) for n in fields))


def _equal(one: Term, other: Term) -> Term:
    if one is None or other is None:
        return absent(one) & absent(other)
    return one == other


def _mark(s: OneRecord) -> Record:
    return rules.mark(s.record, s.now, s.threshold, s.extension)


def _may_mark(s: OneRecord) -> Term:
    allowed = rules.can_mark(s.record, s.member, s.acquisition, s.now, s.extension)
    return conjunction(is_sound(s), allowed)


def _lasts_as_long_as_it_may(s: OneRecord) -> Term:
    after = _mark(s)
    due = (s.later >= s.now + s.threshold) | (s.later >= after.progress_start + s.extension)
    return rules.is_lock_over(after, s.later) == (due & rules.is_lock_over(s.record, s.later))


def _keeps_the_deadline(s: OneRecord) -> Term:
    return _mark(s).deadline >= s.record.deadline


def _may_stay(s: OneRecord) -> Term:
    return conjunction(is_sound(s), rules.can_stay(s.record, s.member, s.now, s.threshold))


def _stays_for_the_grace(s: OneRecord) -> Term:
    after = rules.give_grace(s.record, s.now + s.grace)
    due = (s.later >= s.now + s.grace) | rules.is_lock_over(s.record, s.later)
    return rules.is_lock_over(after, s.later) == due


def _keeps_what_it_must(s: OneRecord) -> Term:
    kept = attrs.evolve(s.record, state=IN_PROGRESS)
    return _same(_mark(s), kept, "deadline", "progress_start", "last_progress")


def _is_anothers(s: OneRecord) -> Term:
    foreign = negate(s.record.owner == s.member)
    return conjunction(is_sound(s), s.record.state == IN_PROGRESS, foreign)


def _goes_as_acquired(s: OneRecord, transition: Transition) -> Term:
    plain = attrs.evolve(s, record=erased(s.record))
    return conjunction(
        transition.allows(plain) == transition.allows(s),
        implies(
            transition.allows(s),
            _same(erased(transition.effect(s)), erased(transition.effect(plain))),
        ),
    )


def _is_marked(s: OneRecord) -> Term:
    return conjunction(is_sound(s), negate(absent(s.record.progress_start)))


def _counts_marks(rule: Any) -> Any:  # noqa: ANN401 - any rule
    def wrong(record: Record, *rest: Term) -> Record:
        after: Record = rule(record, *rest)
        more = either(absent(record.progress_start), 0, 1)
        return attrs.evolve(after, delivery_count=after.delivery_count + more)

    return wrong


def _mark_theorems() -> Iterator[Theorem]:
    late = Control("mark adds a millisecond", "spec.record:mark", adds(1, "deadline"))
    counts = Control("mark counts a delivery", "spec.record:mark", adds(1, "delivery_count"))
    early = Control("mark ends the lock", "spec.record:mark", sets(deadline=0))
    for stated, hypothesis, claim, control in (
        (KEEPS_THE_LOCK, _may_mark, _lasts_as_long_as_it_may, late),
        (NEVER_SHORTENS, _may_mark, _keeps_the_deadline, early),
        (CHANGES_PROGRESS, _may_mark, _keeps_what_it_must, counts),
        (
            ERASED,
            _may_mark,
            lambda s: _same(erased(_mark(s)), erased(s.record), "deadline"),
            counts,
        ),
    ):
        yield Theorem(stated, "mark", OneRecord, hypothesis, claim, control)
    yield Theorem(
        GRACE_IS_SHORT,
        "stay for the grace",
        OneRecord,
        _may_stay,
        _stays_for_the_grace,
        Control(
            "give_grace takes the later of the two ends",
            "spec.record:_earlier",
            becomes(lambda one, other: either(one <= other, other, one)),
        ),
    )
    yield Theorem(
        ITS_DELIVERY,
        "mark",
        OneRecord,
        lambda s: conjunction(
            is_sound(s),
            rules.is_held_by(s.record, s.member),
            negate(s.record.acquisition == s.acquisition),
        ),
        lambda s: negate(rules.can_mark(s.record, s.member, s.acquisition, s.now, s.extension)),
        Control(
            "can_mark asks only who holds the record",
            "spec.record:can_mark",
            becomes(lambda record, member, *_rest: rules.is_held_by(record, member)),
        ),
    )


def _transition_theorems() -> Iterator[Theorem]:
    for transition in TRANSITIONS:
        if transition.guard not in {"", "is_lock_over"}:
            yield Theorem(
                ONLY_ITS_OWNER,
                transition.name,
                OneRecord,
                _is_anothers,
                about(lambda s, t: negate(t.allows(s)), transition),
                Control(
                    f"{transition.guard} lets records in progress through",
                    f"spec.record:{transition.guard}",
                    also_allows(lambda record: record.state == IN_PROGRESS),
                ),
            )
        if transition.name in ENDS:
            yield Theorem(
                ERASED,
                transition.name,
                OneRecord,
                _is_marked,
                about(_goes_as_acquired, transition),
                Control(
                    f"{transition.rule} counts a delivery more of a record that was marked",
                    f"spec.record:{transition.rule}",
                    _counts_marks,
                ),
            )


@attrs.frozen
class Marked:
    """A window that has a record at one offset, and a mark of the offsets ``first`` to ``last``.

    ``epoch`` is the leader's; ``token`` and ``acquisition`` are what the mark names. The other
    fields are as in ``OneRecord``.
    """

    start: Term = number()
    end: Term = number()
    at: Term = offset()
    record: Record = any_record()
    first: Term = number()
    last: Term = number()
    epoch: Term = number()
    token: Term = number()
    acquisition: Term = number()
    member: Term = number()
    now: Term = number()

    @classmethod
    def reached(cls, state: SharePartition) -> "Iterator[Marked]":
        """Yield marks of a record and of its neighbour, in a state that a run reached."""
        now, epoch = state.window, state.durable.leader_epoch
        for at in now.records:
            here = situation_at(cls, state, at, epoch=epoch, token=epoch, member="a")
            for first, last in ((at, at), (at + 1, at + 1), (now.start_offset, at)):
                yield attrs.evolve(here, first=first, last=last)


def _before(s: Marked) -> SharePartition:
    empty: Any = Points()
    there = window.replace(Window(s.start, s.end, empty, empty), {s.at: s.record})
    durable = Durable(leader_epoch=s.epoch)
    log = Log(0, s.end)
    return SharePartition(
        DRAFT_RESOLVED, now=s.now, log=log, window=there, durable=durable, ready=True
    )


def _marked(s: Marked, before: SharePartition) -> Step:
    batch = ProgressBatch(s.first, s.last, s.token, s.acquisition)
    return mark_in_progress.mark_in_progress(before, MarkInProgress(s.member, (batch,)))


def _leaves_the_rest(s: Marked) -> Term:
    before = _before(s)
    step = _marked(s, before)
    after = step.partition
    there = after.window.records[s.at]
    named = conjunction(s.first <= s.at, s.at <= s.last)
    untouched = negate(named) if step.outcome.marked[0] is ErrorCode.NONE else True
    return conjunction(
        implies(untouched, _same(there, s.record)),
        after.durable is before.durable,
        after.outstanding is before.outstanding,
        not step.outcome.writes,
        complete_count(after) == complete_count(before),
        after.window.start_offset == s.start,
        after.window.end_offset == s.end,
    )


def _with_the_whole_window(state: SharePartition, batch: ProgressBatch) -> tuple[Any, ...]:
    now = state.window
    return state, attrs.evolve(batch, first=now.start_offset, last=now.end_offset)


_OPERATION_THEOREMS = (
    Theorem(
        LEAVES_THE_REST,
        "mark in progress",
        Marked,
        lambda s: conjunction(s.start <= s.at, s.at < s.end),
        _leaves_the_rest,
        Control(
            "mark_in_progress marks the whole window",
            "spec.mark_in_progress:_marked",
            called_with(_with_the_whole_window),
        ),
        runnable=lambda s: rules.is_held(s.record) & negate(absent(s.record.deadline)),
    ),
)

PROGRESS_THEOREMS = (*_mark_theorems(), *_transition_theorems(), *_OPERATION_THEOREMS)
