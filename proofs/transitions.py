"""What can happen to one record, as the rules of ``spec.record`` say it."""

from collections.abc import Callable, Iterator

import attrs

from model.states import AcknowledgeType, RecordState
from proofs.situation import any_record, flag, number
from proofs.symbolic import conjunction
from spec import record as rules
from spec.invariants import RECORD_INVARIANTS
from spec.logic import Term
from spec.partition import SharePartition
from spec.record import Record

__all__ = ["TRANSITIONS", "OneRecord", "Transition", "is_sound"]

AVAILABLE, ACQUIRED = RecordState.AVAILABLE, RecordState.ACQUIRED
ACKNOWLEDGED, ARCHIVED = RecordState.ACKNOWLEDGED, RecordState.ARCHIVED
ENDED = (AVAILABLE, ARCHIVED)


@attrs.frozen
class OneRecord:
    """A record and what may come to it.

    ``limit`` is the delivery count limit in force; ``highest`` the highest that ever was.
    ``durable_state`` and ``durable_count`` are what the share coordinator has of the record: one
    that was never written is AVAILABLE there, with delivery count 0.
    """

    record: Record = any_record()
    member: Term = number()
    now: Term = number()
    deadline: Term = number()
    limit: Term = number(1)
    highest: Term = number(1)
    durable_state: Term = number()
    durable_count: Term = number()
    tracked: Term = flag()

    @classmethod
    def reached(cls, partition: SharePartition) -> "Iterator[OneRecord]":
        """Yield the situations in a share-partition that a run reached."""
        lock = partition.now + partition.config.record_lock_duration_ms
        window = partition.window
        for at in range(window.start_offset, window.end_offset + 1):
            known = partition.durable.entries.get(at, (AVAILABLE, 0))
            for member, now in (("a", partition.now), ("b", partition.now), ("b", lock)):
                yield cls(
                    window.records.get(at, rules.UNDELIVERED),
                    member,
                    now,
                    lock,
                    partition.config.delivery_count_limit,
                    partition.highest_limit,
                    *known,
                    at in window.records,
                )


@attrs.frozen
class Transition:
    """A transition of one record: when it may happen, what it does, and how that reads as Python.

    ``rule`` and ``guard`` name the functions of ``spec.record`` that say so. ``enters`` are the
    states that the record may have afterwards.
    """

    name: str
    rule: str
    guard: str
    allows: Callable[[OneRecord], Term]
    effect: Callable[[OneRecord], Record]
    enters: tuple[RecordState, ...]
    assumption: str
    call: str


def _acknowledged(name: str, kind: AcknowledgeType, enters: tuple[RecordState, ...]) -> Transition:
    return Transition(
        name,
        "acknowledge",
        "is_held_by",
        lambda s: rules.is_held_by(s.record, s.member),
        lambda s: rules.acknowledge(s.record, kind, s.limit),
        enters,
        "is_held_by(record, member)",
        f"acknowledge(record, AcknowledgeType.{kind.name}, limit)",
    )


TRANSITIONS = (
    Transition(
        "enter",
        "UNDELIVERED",
        "",
        lambda _s: True,
        lambda _s: rules.UNDELIVERED,
        (AVAILABLE,),
        "",
        "UNDELIVERED",
    ),
    Transition(
        "acquire",
        "acquire",
        "is_acquirable",
        lambda s: rules.is_acquirable(s.record),
        lambda s: rules.acquire(s.record, s.member, s.deadline),
        (ACQUIRED,),
        "is_acquirable(record)",
        "acquire(record, member, deadline)",
    ),
    _acknowledged("accept", AcknowledgeType.ACCEPT, (ACKNOWLEDGED,)),
    _acknowledged("reject", AcknowledgeType.REJECT, (ARCHIVED,)),
    _acknowledged("acknowledge as gap", AcknowledgeType.GAP, (ARCHIVED,)),
    _acknowledged("acknowledge as release", AcknowledgeType.RELEASE, ENDED),
    Transition(
        "renew",
        "renew",
        "is_held_by",
        lambda s: rules.is_held_by(s.record, s.member),
        lambda s: rules.renew(s.record, s.deadline),
        (ACQUIRED,),
        "is_held_by(record, member)",
        "renew(record, deadline)",
    ),
    Transition(
        "release",
        "release",
        "is_held_by",
        lambda s: rules.is_held_by(s.record, s.member),
        lambda s: rules.release(s.record, s.limit),
        ENDED,
        "is_held_by(record, member)",
        "release(record, limit)",
    ),
    Transition(
        "expire",
        "expire",
        "is_lock_over",
        lambda s: rules.is_lock_over(s.record, s.now),
        lambda s: rules.expire(s.record, s.limit),
        ENDED,
        "is_lock_over(record, now)",
        "expire(record, limit)",
    ),
    Transition(
        "vanish",
        "vanish",
        "can_vanish",
        lambda s: rules.can_vanish(s.record),
        lambda s: rules.vanish(s.record),
        (ARCHIVED,),
        "can_vanish(record)",
        "vanish(record)",
    ),
    Transition(
        "commit",
        "commit",
        "",
        lambda s: s.record.pending,
        lambda s: rules.commit(s.record),
        (AVAILABLE, ACKNOWLEDGED, ARCHIVED),
        "record.pending",
        "commit(record)",
    ),
    Transition(
        "roll back",
        "roll_back",
        "",
        lambda s: s.record.pending,
        lambda s: rules.roll_back(s.record, s.now),
        (AVAILABLE, ACQUIRED, ACKNOWLEDGED, ARCHIVED),
        "record.pending",
        "roll_back(record, now)",
    ),
)
"""All that can happen to a record while its leader stays; ``recover`` is what a new leader does."""


def is_sound(situation: OneRecord) -> Term:
    """Whether every invariant holds of the record, under limits that can be."""
    holds = (
        known.holds(situation.record, situation.highest, situation.now)
        for known in RECORD_INVARIANTS
    )
    return conjunction(situation.limit <= situation.highest, *holds)
