"""Theorems about records in progress (KAFKA-20458, a draft, as docs/in-progress.md settles it)."""

from collections.abc import Iterator
from typing import Any

import attrs

from model.states import RecordState
from proofs.theorems.controls import adds, becomes, sets
from proofs.theorems.record_operations import TRANSITIONS, OneRecord, Transition, is_sound
from proofs.theorems.record_theorems import lets_through
from proofs.theorems.symbolic import conjunction
from proofs.theorems.theorem import Control, Theorem, about, laws
from spec import record as rules
from spec.logic import Term, absent, either, negate
from spec.record import Record

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
ERASED = _law(
    "marks_can_be_erased",
    "A record in progress goes through each transition as an ACQUIRED one, timers aside.",
    42,
)


def erased(record: Record) -> Record:
    """Return the record as it would be had it never been marked, but for its deadline."""
    state = either(record.state == IN_PROGRESS, ACQUIRED, record.state)
    return attrs.evolve(record, state=state, progress_start=None, last_progress=None)


def _same(record: Record, other: Record, *aside: str) -> Term:
    """Whether two records are the same, but for the fields named."""
    fields = (field.name for field in attrs.fields(Record) if field.name not in aside)
    return conjunction(*(_equal(getattr(record, n), getattr(other, n)) for n in fields))


def _equal(value: Term, other: Term) -> Term:
    if value is None or other is None:
        return absent(value) & absent(other)
    return value == other


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
    after, unmarked = transition.after(s), transition.after(plain)
    if after is None or unmarked is None:
        return after is unmarked
    return _same(erased(after), erased(unmarked))


def _is_marked(s: OneRecord, transition: Transition) -> Term:
    marked = negate(absent(s.record.progress_start))
    return conjunction(is_sound(s), marked, transition.given(s))


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
            becomes(lambda end, other: either(end <= other, other, end)),
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
                about(lambda s, t: not t.happens(s), transition),
                lets_through(
                    transition, lambda record: record.state == IN_PROGRESS, "records in progress"
                ),
            )
        if transition.name in ENDS:
            yield Theorem(
                ERASED,
                transition.name,
                OneRecord,
                about(_is_marked, transition),
                about(_goes_as_acquired, transition),
                Control(
                    f"{transition.rule} counts a delivery more of a record that was marked",
                    f"spec.record:{transition.rule}",
                    _counts_marks,
                ),
            )


PROGRESS_THEOREMS = (*_mark_theorems(), *_transition_theorems())
