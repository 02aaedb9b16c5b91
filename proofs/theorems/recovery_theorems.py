"""Theorems about successive writes, and a new leader's recovery (KIP-932, KIP-1226)."""

from typing import Any

import attrs

from model.outcome import Write
from model.profile import KAFKA_4_4, KIP, Profile
from model.states import RecordState
from proofs.theorems.controls import adds, becomes, called_with
from proofs.theorems.durable_situation import (
    StateWrites,
    are_writes,
    durable_of,
    first_write,
    is_same,
    merged,
    wins,
)
from proofs.theorems.record_operations import TRANSITIONS, OneRecord, Transition, is_sound
from proofs.theorems.statement import Subject, theorems_in, wrong
from proofs.theorems.symbolic import conjunction, implies
from proofs.theorems.theorem import Control
from spec import record as rules
from spec.coordinator import Durable
from spec.lag import share_partition_lag
from spec.logic import Term, negate
from spec.record import UNDELIVERED, Record

SOURCE = "KIP-932, Managing durable share-partition state"
_record = Subject(SOURCE, OneRecord, is_sound, lambda s: s.record.delivery_count > 1)
_recovery = Subject(SOURCE, StateWrites, are_writes)
ARCHIVING = RecordState.ARCHIVING
WRITES = frozenset({"acknowledge", "release", "expire", "finish_dead_letter"})
FINAL = frozenset({"commit", "expire", "finish dead letter"})
"""The transitions after which the record may be durable as the leader has it."""
CHANGES = [each for each in TRANSITIONS if each.name != "enter"]


def _gives_back(transition: Transition) -> Control:
    change = adds(-2, "delivery_count")
    return wrong(f"spec.record:{transition.rule}", "gives two deliveries back", change)


def _is_behind(record: Record, state: Term, count: Term) -> Term:
    """Whether what is durable is behind the record, as far as the leader knows."""
    waits = rules.is_held(record) | record.pending
    ended = negate(record.state == ARCHIVING) | (state <= ARCHIVING)
    level = negate(waits) & (record.delivery_count == count) & ended
    return (record.delivery_count > count) | level


def _publishes(s: OneRecord, transition: Transition) -> Term:
    behind = _is_behind(s.record, s.durable_state, s.durable_count)
    return conjunction(transition.happens(s), behind)


@_record.theorem(29, of=CHANGES, where=_publishes, control=_gives_back)
def durable_state_stays_behind(s: OneRecord, transition: Transition) -> Term:
    """What is durable of a record never has more deliveries than its leader counts."""
    after = transition.after(s)
    if after is None:
        return True
    behind = _is_behind(after, s.durable_state, s.durable_count)
    if transition.name in FINAL:
        return conjunction(behind, _is_behind(after, after.state, after.delivery_count))
    return behind


@_record.theorem(
    29,
    43,
    of=[each for each in CHANGES if each.rule in WRITES],
    where=_publishes,
    control=_gives_back,
)
def every_write_is_newer(s: OneRecord, transition: Transition) -> Term:
    """What a leader writes of a record wins over what is durable of it."""
    after = transition.after(s)
    if after is None:
        return True
    return wins((after.state, after.delivery_count), (s.durable_state, s.durable_count))


def _is_moving(s: StateWrites) -> Term:
    """Whether the first write reports a change by which the leader's start offset moves.

    It moves from the start offset of the first write to that of the second. The record is as the
    first write says, also if that does not name it.
    """
    named = conjunction(s.one_first <= s.offset, s.offset <= s.one_last)
    record, durable = (s.one_state, s.one_count), (s.state, s.count)
    same = conjunction(s.known, is_same(durable, record))
    newer = implies(s.known, wins(record, durable))
    passed = conjunction(s.one_start <= s.offset, s.offset < s.two_start)
    below = conjunction(s.offset < s.one_start, s.start <= s.offset)
    return conjunction(
        negate(s.other_known),
        s.one_last < s.other,
        s.start >= 0,
        s.complete >= 0,
        s.start <= s.one_start,
        s.one_start <= s.two_start,
        s.two_start - s.one_start <= s.one_complete,
        implies(s.start == s.one_start, s.complete <= s.one_complete),
        implies(named, conjunction(s.one_start <= s.offset, newer)),
        implies(passed, conjunction(_is_final(s.one_state), named | same)),
        implies(below, conjunction(s.known, _is_final(s.state))),
    )


def _is_final(state: Term) -> Term:
    return rules.is_finished(Record(state, 1))


def _forms(s: StateWrites, profile: Profile) -> tuple[Durable, Durable, Durable]:
    """Return what is durable after Kafka's write, the KIP's that moves the start, and its other."""
    kafka = first_write(s)
    left = s.one_complete - (s.two_start - s.one_start)
    moving = attrs.evolve(kafka, start_offset=s.two_start, delivery_complete_count=left)
    forms = kafka, moving, attrs.evolve(kafka, start_offset=-1)
    first, second, third = (merged(durable_of(s), form, profile=profile) for form in forms)
    return first, second, third


def _is_passed(s: StateWrites, durable: Durable) -> Term:
    """Whether a new leader's start offset passes the offset."""
    if s.offset < durable.start_offset:
        return True
    entry = durable.entries.get(s.offset)
    return rules.is_finished(UNDELIVERED if entry is None else rules.recover(*entry))


def _without_batches(durable: Durable, write: Write, profile: Profile) -> tuple[Any, ...]:
    if write.start_offset > durable.start_offset:
        write = attrs.evolve(write, state_batches=())
    return durable, write, profile


@_recovery.theorem(
    24,
    of="records",
    where=lambda s: conjunction(_is_moving(s), s.start <= s.offset),
    control=wrong(
        "spec.coordinator:merge",
        "overlooks batches if the start moves",
        called_with(_without_batches),
    ),
)
def kip_and_kafka_writes_recover_equally(s: StateWrites) -> Term:
    """A new leader finds the same, whichever start offset the KIP or Kafka puts into a write."""
    for profile in (KIP, KAFKA_4_4):
        kafka, *others = _forms(s, profile)
        if s.offset < s.two_start:
            equal = conjunction(*(_is_passed(s, form) for form in (kafka, *others)))
        else:
            known = (form.entries.get(s.offset) for form in others)
            equal = conjunction(*(is_same(kafka.entries.get(s.offset), each) for each in known))
        if not equal:
            return False
    return True


@_recovery.theorem(
    24,
    of="lag",
    where=_is_moving,
    control=wrong(
        "spec.coordinator:merge_start",
        "keeps the start",
        becomes(lambda now, given, _: (now[0], given[1])),
    ),
)
def kip_and_kafka_writes_leave_one_lag(s: StateWrites) -> Term:
    """A new leader has the same lag, whether a write has the start offset of before or of after."""
    lags = (
        share_partition_lag(s.another, form.start_offset, form.delivery_complete_count)
        for form in _forms(s, KIP)[:2]
    )
    return next(lags) == next(lags)


RECOVERY_THEOREMS = theorems_in(globals())
