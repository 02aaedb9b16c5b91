"""Theorems about one record (KIP-932, In-flight records)."""

from collections.abc import Callable, Iterator
from typing import Any

import attrs

from model.states import RecordState
from proofs.theorems.controls import also_allows, becomes, off_by_one, returns, sets
from proofs.theorems.points import Points
from proofs.theorems.record_operations import (
    TRANSITIONS,
    OneRecord,
    Transition,
    is_sound,
    recovered,
)
from proofs.theorems.symbolic import conjunction, implies
from proofs.theorems.theorem import Control, Property, Theorem, about, laws
from spec import record as rules
from spec.invariants import RECORD_INVARIANTS, RecordInvariant
from spec.logic import Term, absent, either, negate
from spec.partition import SharePartition, Step
from spec.record import Record

_law = laws("KIP-932, In-flight records")

AVAILABLE, ACQUIRED = RecordState.AVAILABLE, RecordState.ACQUIRED
ACKNOWLEDGED, IN_PROGRESS = RecordState.ACKNOWLEDGED, RecordState.IN_PROGRESS


def _may(transition: Transition) -> Callable[[OneRecord], Term]:
    return lambda s: conjunction(is_sound(s), transition.happens(s))


def _after(change: Callable[[Record], Record]) -> Callable[[object], object]:
    """Change the result of a rule, or the rule itself if it is a constant."""

    def wrong(rule: object) -> object:
        if isinstance(rule, Record):
            return change(rule)
        return returns(change)(rule)

    return wrong


def _flip(value: Term) -> Term:
    return either(absent(value), 0, None)


INVARIANT_CHANGES: dict[str, tuple[str, Callable[[Record], Record]]] = {
    "owner_iff_held": (
        "forgets an owner, or leaves one",
        lambda r: attrs.evolve(r, owner=_flip(r.owner)),
    ),
    "deadline_iff_held": (
        "forgets a deadline, or leaves one",
        lambda r: attrs.evolve(r, deadline=_flip(r.deadline)),
    ),
    "held_is_not_pending": (
        "leaves the record ACQUIRED while its write is outstanding",
        lambda r: attrs.evolve(r, state=ACQUIRED, pending=True),
    ),
    "delivery_count_within_limit": (
        "adds two to the delivery count",
        lambda r: attrs.evolve(r, delivery_count=r.delivery_count + 2),
    ),
    "available_can_be_delivered": (
        "makes the record AVAILABLE and counts one delivery more",
        lambda r: attrs.evolve(r, state=AVAILABLE, delivery_count=r.delivery_count + 1),
    ),
    "held_was_delivered": (
        "makes the record ACKNOWLEDGED and forgets its deliveries",
        lambda r: attrs.evolve(r, state=ACKNOWLEDGED, delivery_count=0),
    ),
    "former_owner_only_if_pending": (
        "ends the write and keeps what it would have restored",
        lambda r: attrs.evolve(r, pending=False, former_owner=0),
    ),
    "former_lock_is_whole": (
        "keeps the former owner without a deadline",
        lambda r: attrs.evolve(r, former_owner=0, former_deadline=None),
    ),
    "pending_was_delivered": (
        "leaves the write outstanding and forgets the deliveries",
        lambda r: attrs.evolve(r, pending=True, delivery_count=0),
    ),
    "state_is_of_the_table": (
        "gives the record a seventh state",
        lambda r: attrs.evolve(r, state=max(RecordState) + 1),
    ),
    "progress_iff_in_progress": (
        "forgets when progress began, or makes it up",
        lambda r: attrs.evolve(r, progress_start=_flip(r.progress_start)),
    ),
    "progress_is_in_order": (
        "has progress begin after it was last seen",
        lambda r: attrs.evolve(r, progress_start=1, last_progress=0),
    ),
    "acquisition_only_if_held_or_pending": (
        "frees the record and keeps the number of its acquisition",
        lambda r: attrs.evolve(r, state=AVAILABLE, pending=False, acquisition=0),
    ),
    "progress_has_an_acquisition": (
        "keeps progress and forgets the acquisition",
        lambda r: attrs.evolve(r, progress_start=0, acquisition=None),
    ),
}
NAMED = {transition.name: transition for transition in TRANSITIONS}
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


HOLDERS = frozenset({"is_held_by", "can_renew", "can_mark", "can_stay"})
"""The guards of transitions that only the holder of a record may make."""
INVARIANT_NUMBERS = {
    "owner_iff_held": (2, 37),
    "deadline_iff_held": (3, 37),
    "held_is_not_pending": (2, 3),
    "progress_iff_in_progress": (37,),
    "progress_is_in_order": (37,),
    "delivery_count_within_limit": (4,),
    "available_can_be_delivered": (4,),
    "state_is_of_the_table": (1,),
}


def _changed(transition: Transition, how: str, change: Callable[[Record], Record]) -> Control:
    name = f"{transition.rule} {how}"
    return Control(name, f"spec.record:{transition.rule}", _after(change))


def _keeps(s: OneRecord, transition: Transition, known: RecordInvariant) -> Term:
    after = transition.after(s)
    return after is None or known.holds(after, s.highest, s.now)


def _recovers(s: OneRecord, known: RecordInvariant) -> Term:
    after = recovered(s)
    return after is not None and known.holds(after, s.highest, s.now)


def _enters(s: OneRecord, transition: Transition) -> Term:
    after = transition.after(s)
    return after is None or _in(after.state, transition.enters)


def _counts(s: OneRecord, transition: Transition, step: int) -> Term:
    after = transition.after(s)
    return after is None or after.delivery_count == s.record.delivery_count + step


def _is_barred(s: OneRecord, transition: Transition) -> Term:
    return not transition.happens(s)


def _invariants() -> Iterator[Theorem]:
    for known in RECORD_INVARIANTS:
        stated = Property(
            known.name,
            known.sentence,
            "KIP-932, In-flight records",
            INVARIANT_NUMBERS.get(known.name, ()),
        )
        for transition in TRANSITIONS:
            yield Theorem(
                stated,
                transition.name,
                OneRecord,
                _may(transition),
                about(_keeps, transition, known),
                _changed(transition, *INVARIANT_CHANGES[known.name]),
            )
        yield Theorem(
            stated,
            "recover",
            OneRecord,
            _durable_is_sound,
            about(_recovers, known),
            Control(
                f"recover {INVARIANT_CHANGES[known.name][0]}",
                "spec.record:recover",
                _after(INVARIANT_CHANGES[known.name][1]),
            ),
        )


def _durable_is_sound(situation: OneRecord) -> Term:
    """Whether what is durable can be: every invariant holds of it; ACQUIRED is never written."""
    state, count = situation.durable_state, situation.durable_count
    return conjunction(
        situation.limit <= situation.highest,
        negate(state == ACQUIRED),
        state <= IN_PROGRESS,
        count <= situation.highest,
        implies((state == AVAILABLE) | (state == IN_PROGRESS), count < situation.highest),
        implies(state == ACKNOWLEDGED, count >= 1),
    )


ONLY_THE_EDGES = _law(
    "only_the_edges_of_the_table",
    "Each transition leads from the states that the KIP names to the states that it names.",
    1,
)
TERMINAL_STAYS = _law(
    "terminal_records_stay_terminal",
    "A record that is ACKNOWLEDGED or ARCHIVED, with no write outstanding, never changes.",
    1,
)
COUNT_CHANGES = _law(
    "delivery_count_counts_acquisitions",
    "Acquiring adds one to the delivery count, and nothing else changes it.",
    5,
)
NOT_TWICE = _law(
    "no_held_record_is_acquired", "A record under an acquisition lock cannot be acquired.", 10
)
ONLY_HOLDERS = Property(
    "only_the_holder_acknowledges",
    "What a member says of a record that it does not hold, or its leaving, changes nothing.",
    "KIP-932, ShareAcknowledge",
    (11,),
)
LOCK_LASTS = _law(
    "lock_lasts_its_duration", "An acquisition lock does not expire before its deadline.", 3
)


def _in(state: Term, states: tuple[RecordState, ...]) -> Term:
    matches: Term = state == states[0]
    for other in states[1:]:
        matches = matches | (state == other)
    return matches


def _transition_laws() -> Iterator[Theorem]:
    for transition in TRANSITIONS:
        yield Theorem(
            ONLY_THE_EDGES,
            transition.name,
            OneRecord,
            _may(transition),
            about(_enters, transition),
            _changed(transition, *INVARIANT_CHANGES["state_is_of_the_table"]),
        )
        if transition.name == "enter":
            continue
        step = 1 if transition.name == "acquire" else 0
        yield Theorem(
            COUNT_CHANGES,
            transition.name,
            OneRecord,
            _may(transition),
            about(_counts, transition, step),
            _changed(
                transition,
                "adds one more to the delivery count",
                lambda r: attrs.evolve(r, delivery_count=r.delivery_count + 1),
            ),
        )


def _is_final(situation: OneRecord) -> Term:
    final = rules.is_terminal(situation.record) & negate(situation.record.pending)
    return conjunction(is_sound(situation), final)


def _stays_terminal() -> Iterator[Theorem]:
    for transition in TRANSITIONS:
        if not transition.guard or transition.name == "stay for the grace":
            continue
        yield Theorem(
            TERMINAL_STAYS,
            transition.name,
            OneRecord,
            _is_final,
            about(_is_barred, transition),
            lets_through(transition, rules.is_terminal, "terminal records"),
        )
    yield Theorem(
        TERMINAL_STAYS,
        "commit",
        OneRecord,
        lambda s: conjunction(is_sound(s), s.record.pending, rules.is_terminal(s.record)),
        lambda s: rules.is_finished(rules.commit(s.record)),
        Control("commit makes the record AVAILABLE", "spec.record:commit", sets(state=AVAILABLE)),
    )


def _guards() -> Iterator[Theorem]:
    held = Control(
        "is_acquirable lets ACQUIRED records through",
        "spec.record:is_acquirable",
        also_allows(lambda r: r.state == ACQUIRED),
    )
    yield Theorem(
        NOT_TWICE,
        "acquire",
        OneRecord,
        lambda s: conjunction(is_sound(s), rules.is_held(s.record)),
        about(_is_barred, NAMED["acquire"]),
        held,
    )
    for transition in TRANSITIONS:
        if transition.guard in HOLDERS:
            yield Theorem(
                ONLY_HOLDERS,
                transition.name,
                OneRecord,
                lambda s: conjunction(is_sound(s), negate(s.record.owner == s.member)),
                about(_is_barred, transition),
                Control(
                    "is_held_by asks only whether anybody holds the record",
                    "spec.record:is_held_by",
                    becomes(lambda record, _member: rules.is_held(record)),
                ),
            )
    yield Theorem(
        LOCK_LASTS,
        "expire",
        OneRecord,
        lambda s: conjunction(
            is_sound(s), rules.is_held(s.record), _later(s.record.deadline, s.now)
        ),
        about(_is_barred, NAMED["expire"]),
        Control(
            "is_lock_over ends the lock one millisecond early",
            "spec.record:is_lock_over",
            off_by_one(1),
        ),
    )


def _later(deadline: Term, now: Term) -> Term:
    return False if deadline is None else deadline > now


RECORD_THEOREMS = (*_invariants(), *_transition_laws(), *_stays_terminal(), *_guards())
