"""Theorems about successive writes, and a new leader's recovery (KIP-932, KIP-1226)."""

from collections.abc import Iterator
from typing import Any

import attrs

from model.outcome import Write
from model.profile import KAFKA_4_4, KIP, Profile
from model.ranges import StateBatch
from model.states import RecordState
from proofs.theorems.controls import adds, becomes, called_with
from proofs.theorems.durable_situation import (
    durable_fields,
    durable_of,
    entries_agree,
    is_persisted,
    is_same,
    law,
)
from proofs.theorems.record_operations import TRANSITIONS, OneRecord, Transition, is_sound
from proofs.theorems.situation import any_offset, any_record, flag, number
from proofs.theorems.symbolic import conjunction, implies
from proofs.theorems.theorem import Control, Theorem, about
from spec import coordinator
from spec import record as rules
from spec.coordinator import Durable
from spec.lag import share_partition_lag
from spec.logic import Term, negate
from spec.partition import SharePartition
from spec.record import UNDELIVERED, Record

ARCHIVING = RecordState.ARCHIVING

WRITES = frozenset({"acknowledge", "release", "expire", "finish_dead_letter"})
FINAL = frozenset({"commit", "expire", "finish dead letter"})
"""The transitions after which the record may be durable as the leader has it."""


def _is_behind(record: Record, state: Term, count: Term) -> Term:
    """Whether what is durable is behind the record, as far as the leader knows."""
    waits = rules.is_held(record) | record.pending
    ended = negate(record.state == ARCHIVING) | (state <= ARCHIVING)
    level = negate(waits) & (record.delivery_count == count) & ended
    return (record.delivery_count > count) | level


def _publishes(transition: Transition) -> Any:  # noqa: ANN401 - a hypothesis
    return lambda s: conjunction(
        is_sound(s), transition.happens(s), _is_behind(s.record, s.durable_state, s.durable_count)
    )


def _stays_behind(s: OneRecord, transition: Transition) -> Term:
    after = transition.after(s)
    if after is None:
        return True
    behind = _is_behind(after, s.durable_state, s.durable_count)
    if transition.name in FINAL:
        return conjunction(behind, _is_behind(after, after.state, after.delivery_count))
    return behind


def _is_newer(s: OneRecord, transition: Transition) -> Term:
    after = transition.after(s)
    return after is None or _wins(
        (after.state, after.delivery_count), (s.durable_state, s.durable_count)
    )


def _wins(written: tuple[Term, Term], known: tuple[Term, Term]) -> Term:
    """Whether the coordinator prefers what is written to what it knows, which is not the same."""
    higher = (written[1] == known[1]) & (written[0] > known[0])
    return (written[1] > known[1]) | higher


def _publisher_theorems() -> Iterator[Theorem]:
    for transition in TRANSITIONS:
        control = Control(
            f"{transition.rule} gives two deliveries back",
            f"spec.record:{transition.rule}",
            adds(-2, "delivery_count"),
        )
        if transition.rule in WRITES:
            yield Theorem(
                law(
                    "every_write_is_newer",
                    "What a leader writes of a record wins over what is durable of it.",
                    29,
                    43,
                ),
                transition.name,
                OneRecord,
                _publishes(transition),
                about(_is_newer, transition),
                control,
            )
        if transition.name != "enter":
            yield Theorem(
                law(
                    "durable_state_stays_behind",
                    "What is durable of a record never has more deliveries than its leader counts.",
                    29,
                ),
                transition.name,
                OneRecord,
                _publishes(transition),
                about(_stays_behind, transition),
                control,
                runnable=lambda s: s.record.delivery_count > 1,
            )


@attrs.frozen
class Recovery:
    """A durable state at one offset, a change that is written, and where the start offset goes.

    ``record`` is what the leader has after the change; ``written`` says that the write names it.
    The start offset of the leader moves from ``before`` to ``after`` because of the change.
    """

    start: Term = number()
    complete: Term = number()
    offset: Term = any_offset()
    known: Term = flag()
    state: Term = number()
    count: Term = number()
    before: Term = number()
    after: Term = number()
    written_complete: Term = number()
    record: Record = any_record()
    written: Term = flag()
    log_end: Term = number()

    @classmethod
    def reached(cls, state: SharePartition) -> "Iterator[Recovery]":
        """Yield the recoveries after a write that is outstanding where a run came to."""
        for waiting in state.outstanding.values():
            write = waiting.write
            for offset, record in state.window.records.items():
                yield cls(
                    **durable_fields(state.durable, offset),
                    before=write.start_offset,
                    after=write.start_offset,
                    written_complete=write.delivery_complete_count,
                    record=rules.commit(record),
                    written=offset in waiting.offsets,
                    log_end=state.log.end_offset,
                )


def _is_recovery(s: Recovery) -> Term:
    same = conjunction(
        s.known, is_same((s.state, s.count), (s.record.state, s.record.delivery_count))
    )
    newer = implies(s.known, _wins((s.record.state, s.record.delivery_count), (s.state, s.count)))
    passed = conjunction(s.before <= s.offset, s.offset < s.after)
    return conjunction(
        s.start <= s.before,
        s.before <= s.after,
        s.after - s.before <= s.written_complete,
        implies(s.start == s.before, s.complete <= s.written_complete),
        implies(s.known, s.start <= s.offset),
        implies(s.written, conjunction(s.before <= s.offset, newer, is_persisted(s.record.state))),
        implies(passed, conjunction(rules.is_finished(s.record), s.written | same)),
        implies(conjunction(s.offset < s.before, s.start <= s.offset, s.known), _ends(s.state)),
        implies(conjunction(s.offset < s.before, s.start <= s.offset), s.known),
        is_persisted(s.state),
    )


def _ends(state: Term) -> Term:
    return rules.is_terminal(Record(state, 1))


def _forms(s: Recovery, profile: Profile) -> tuple[Durable, Durable, Durable]:
    """Return what is durable after Kafka's write, the KIP's that moves the start, and its other."""
    batches: tuple[StateBatch, ...] = ()
    if s.written:
        batches = (StateBatch(s.offset, s.offset, s.record.state, s.record.delivery_count),)
    moved = s.written_complete - (s.after - s.before)
    as_kafka = Write(0, s.before, s.written_complete, batches)
    with_start = Write(0, s.after, moved, batches)
    without_start = Write(0, -1, s.written_complete, batches)
    durable = durable_of(s)
    kafka, moving, staying = (
        coordinator.merge(durable, write, profile)
        for write in (as_kafka, with_start, without_start)
    )
    return kafka, moving, staying


def _is_passed(s: Recovery, durable: Durable) -> Term:
    """Whether a new leader's start offset passes the offset."""
    if s.offset < durable.start_offset:
        return True
    entry = durable.entries.get(s.offset)
    return rules.is_finished(UNDELIVERED if entry is None else rules.recover(*entry))


def _recover_equally(s: Recovery) -> Term:
    for profile in (KIP, KAFKA_4_4):
        forms = _forms(s, profile)
        if s.offset < s.after:
            equal = conjunction(*(_is_passed(s, form) for form in forms))
        else:
            equal = conjunction(*(entries_agree(s, forms[0], form) for form in forms[1:]))
        if not equal:
            return False
    return True


def _without_batches(durable: Durable, write: Write, profile: Profile) -> tuple[Any, ...]:
    if write.start_offset > durable.start_offset:
        write = attrs.evolve(write, state_batches=())
    return durable, write, profile


def _lags_agree(s: Recovery) -> Term:
    kafka, moved, _kept = _forms(s, KIP)
    lag, moved_lag = (
        share_partition_lag(s.log_end, form.start_offset, form.delivery_complete_count)
        for form in (kafka, moved)
    )
    return lag == moved_lag


def _recovery_theorems() -> Iterator[Theorem]:
    stated = law(
        "kip_and_kafka_writes_recover_equally",
        "A new leader finds the same, whichever start offset the KIP or Kafka puts into a write.",
        24,
    )
    yield Theorem(
        stated,
        "records",
        Recovery,
        lambda s: conjunction(_is_recovery(s), s.start <= s.offset),
        _recover_equally,
        Control(
            "merge overlooks the batches of a write that moves the start offset",
            "spec.coordinator:merge",
            called_with(_without_batches),
        ),
    )
    yield Theorem(stated, "lag", Recovery, _is_recovery, _lags_agree, LOWER_START)


LOWER_START = Control(
    "merge_start keeps the start offset and takes the count",
    "spec.coordinator:merge_start",
    becomes(lambda current, given, _profile: (current[0], given[1])),
)
RECOVERY_THEOREMS = (*_publisher_theorems(), *_recovery_theorems())
