"""Theorems about one record (KIP-932, In-flight records)."""

from collections.abc import Callable, Iterator
from typing import Any

import attrs

from judge.invariants import RECORD_INVARIANTS, Invariant
from model.states import RecordState
from proofs.theorems.any_partition import AnyPartition
from proofs.theorems.controls import also_allows, becomes, returns, wrong
from proofs.theorems.points import Points
from proofs.theorems.record_operations import (
    ACKNOWLEDGED,
    ACQUIRED,
    AVAILABLE,
    CHANGES,
    IN_PROGRESS,
    TRANSITIONS,
    Transition,
    is_sound,
    recovered,
)
from proofs.theorems.symbolic import conjunction, either_of, implies, is_same
from proofs.theorems.theorem import Control, Property, Subject, Theorem, about
from spec import record as rules
from spec.logic import Term, absent, either, negate
from spec.partition import SharePartition, Step
from spec.record import Record

Change = Callable[[Record], Record]
After = Callable[[AnyPartition], Record | None]


def _gives(**fields: Any) -> Change:  # noqa: ANN401 - values, or functions of the record
    """Return the change that gives a record these fields, of its own where they are functions."""

    def change(record: Record) -> Record:
        given = {name: of(record) if callable(of) else of for name, of in fields.items()}
        return attrs.evolve(record, **given)

    return change


def _flip(name: str) -> Callable[[Record], Term]:
    return lambda record: either(absent(getattr(record, name)), 0, None)


def _counted(more: int) -> Callable[[Record], Term]:
    return lambda record: record.delivery_count + more


Breaking = tuple[tuple[int, ...], str, Change]


def _by(how: str, *numbers: int, **fields: Any) -> Breaking:  # noqa: ANN401 - as ``_gives``
    """Return the numbers of properties, and the change that breaks them, in words and as fields."""
    return numbers, how, _gives(**fields)


INVARIANTS: dict[str, Breaking] = {
    "owner_iff_held": _by("forgets an owner, or leaves one", 2, 37, owner=_flip("owner")),
    "deadline_iff_held": _by(
        "forgets a deadline, or leaves one", 3, 37, deadline=_flip("deadline")
    ),
    "held_is_not_pending": _by(
        "leaves the record ACQUIRED while its write is outstanding", 2, 3,
        state=ACQUIRED, pending=True,
    ),
    "delivery_count_within_limit": _by(
        "adds two to the delivery count", 4, delivery_count=_counted(2)
    ),
    "available_can_be_delivered": _by(
        "makes the record AVAILABLE and counts one delivery more", 4,
        state=AVAILABLE, delivery_count=_counted(1),
    ),
    "held_was_delivered": _by(
        "makes the record ACKNOWLEDGED and forgets its deliveries", 5,
        state=ACKNOWLEDGED, delivery_count=0,
    ),
    "former_owner_only_if_pending": _by(
        "ends the write and keeps what it would have restored", 2, pending=False, former_owner=0
    ),
    "former_lock_is_whole": _by(
        "keeps the former owner without a deadline", 2, 3, former_owner=0, former_deadline=None
    ),
    "pending_was_delivered": _by(
        "leaves the write outstanding and forgets the deliveries", 4, 5,
        pending=True, delivery_count=0,
    ),
    "state_is_of_the_table": _by("gives the record a seventh state", 1, state=max(RecordState) + 1),
    "progress_iff_in_progress": _by(
        "forgets when progress began, or makes it up", 37, progress_start=_flip("progress_start")
    ),
    "progress_is_in_order": _by(
        "has progress begin after it was last seen", 37, progress_start=1, last_progress=0
    ),
    "acquisition_only_if_held_or_pending": _by(
        "frees the record and keeps the number of its acquisition", 41,
        state=AVAILABLE, pending=False, acquisition=0,
    ),
    "progress_has_an_acquisition": _by(
        "keeps progress and forgets the acquisition", 41, progress_start=0, acquisition=None
    ),
}  # fmt: skip
"""Of each invariant the properties that need it, and a change of a rule that breaks it.

They are proved together: each transition keeps all of them of a record that has all of them.
"""
OPERATIONS = {
    "release": "spec.release:release_member",
    "stay for the grace": "spec.release:release_member",
    "renew": "spec.acknowledge:acknowledge_records",
    "mark": "spec.mark_in_progress:mark_in_progress",
}
"""The operations that ask more of a record than the guard of the transition."""


def _changes_all(state: SharePartition, *_rest: object) -> Step:
    records: Any = Points(tuple((offset, rules.UNDELIVERED) for offset in state.window.records))
    return Step(attrs.evolve(state, window=attrs.evolve(state.window, records=records)))


def lets_through(transition: Transition, allowed: Callable[[Record], Term], what: str) -> Control:
    """Return the control under which the transition is made of what is allowed here as well."""
    if transition.name in OPERATIONS:
        target = OPERATIONS[transition.name]
        name = f"{target.split(':')[1]} takes every record out of its state"
        return Control(name, target, becomes(_changes_all))
    name = f"{transition.guard} lets {what} through"
    return Control(name, f"spec.record:{transition.guard}", also_allows(allowed))


def _breaking(rule: str, how: str, change: Change) -> Control:
    """Return the control that changes the result of a rule, or the rule if it is a constant."""

    def broken(right: object) -> object:
        return change(right) if isinstance(right, Record) else returns(change)(right)

    return wrong(f"spec.record:{rule}", how, broken)


def _each_breaking(how: str, change: Change) -> dict[str, Control]:
    return {made.name: _breaking(made.rule, how, change) for made in TRANSITIONS}


def _may(s: AnyPartition, transition: Transition) -> Term:
    return conjunction(is_sound(s), transition.happens(s))


def _durable_is_sound(s: AnyPartition) -> Term:
    """Whether what is durable can be: every invariant holds of it; ACQUIRED is never written."""
    state, count = s.state, s.count
    return conjunction(
        s.offset < s.other,
        s.limit <= s.highest,
        negate(state == ACQUIRED),
        state <= IN_PROGRESS,
        count <= s.highest,
        implies((state == AVAILABLE) | (state == IN_PROGRESS), count < s.highest),
        implies(state == ACKNOWLEDGED, count >= 1),
    )


def _keeps(s: AnyPartition, after: After, known: Invariant) -> Term:
    record = after(s)
    return record is None or known.holds(record, s.highest, s.now)


def _invariants() -> Iterator[Theorem]:
    may = {made.name: about(_may, made) for made in TRANSITIONS}
    for known in RECORD_INVARIANTS:
        numbers, how, change = INVARIANTS[known.name]
        stated = Property(known.name, known.sentence, _RECORD.source, numbers)
        for made in TRANSITIONS:
            claim, control = about(_keeps, made.after, known), _breaking(made.rule, how, change)
            yield Theorem(stated, made.name, AnyPartition, may[made.name], claim, control)
        claim, control = about(_keeps, recovered, known), _breaking("recover", how, change)
        yield Theorem(stated, "recover", AnyPartition, _durable_is_sound, claim, control)


_RECORD = Subject("KIP-932, In-flight records", AnyPartition, is_sound)
GUARDED = [made for made in TRANSITIONS if made.guard and made.name != "stay for the grace"]
INVARIANT_THEOREMS = tuple(_invariants())


@_RECORD.theorem(
    1,
    of=[*TRANSITIONS],
    given=_may,
    control=_each_breaking(*INVARIANTS["state_is_of_the_table"][1:]),
)
def only_the_edges_of_the_table(s: AnyPartition, transition: Transition) -> Term:
    """Each transition leads from the states that the KIP names to the states that it names."""
    after = transition.after(s)
    return after is None or either_of(*(after.state == state for state in transition.enters))


@_RECORD.theorem(
    5,
    of=[*CHANGES],
    given=_may,
    control=_each_breaking(
        "adds one more to the delivery count", _gives(delivery_count=_counted(1))
    ),
)
def delivery_count_counts_acquisitions(s: AnyPartition, transition: Transition) -> Term:
    """Acquiring adds one to the delivery count, and nothing else changes it."""
    after = transition.after(s)
    more = 1 if transition.name == "acquire" else 0
    return after is None or after.delivery_count == s.record.delivery_count + more


@_RECORD.theorem(
    1,
    of=GUARDED,
    given=lambda s, _made: conjunction(is_sound(s), rules.is_finished(s.record)),
    control=lambda made: lets_through(made, rules.is_terminal, "terminal records"),
)
def terminal_records_stay_terminal(s: AnyPartition, transition: Transition) -> Term:
    """A record that is ACKNOWLEDGED or ARCHIVED, with no write outstanding, never changes."""
    return not transition.happens(s)


@_RECORD.theorem(
    1,
    of="commit",
    given=lambda s: conjunction(is_sound(s), s.record.pending, rules.is_terminal(s.record)),
    control=_breaking("commit", "makes the record AVAILABLE", _gives(state=AVAILABLE)),
)
def what_is_written_stays_terminal(s: AnyPartition) -> Term:
    """A record that is ACKNOWLEDGED or ARCHIVED stays so when its write succeeds."""
    return rules.is_finished(rules.commit(s.record))


@_RECORD.theorem(
    2,
    18,
    of="roll back",
    given=lambda s: conjunction(is_sound(s), s.record.pending),
    control=_breaking("roll_back", "leaves an owner of its own", _gives(owner=0, deadline=99)),
)
def failed_write_gives_the_lock_back(s: AnyPartition) -> Term:
    """A write that fails gives the lock back, unless it is over; a record that vanished stays."""
    record, failed = s.record, rules.failed_state(s.dead_letter_queue)
    restored = rules.roll_back(record, s.now, failed)
    if record.former_owner is None or absent(record.former_owner):
        return is_same(restored, Record(record.state, record.delivery_count))
    if record.former_deadline <= s.now:
        ended = either(record.exhausted, failed, AVAILABLE)
        return is_same(restored, Record(ended, record.delivery_count))
    held = Record(
        either(absent(record.progress_start), ACQUIRED, IN_PROGRESS),
        record.delivery_count,
        record.former_owner,
        record.former_deadline,
        acquisition=record.acquisition,
        progress_start=record.progress_start,
        last_progress=record.last_progress,
    )
    return is_same(restored, held)
