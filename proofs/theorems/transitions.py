"""Every transition of one record, by the rules of ``spec.record``.

Each rule stands here beside its guard. That an operation applies the rule under this guard, and to
no other record, is what ``operation_theorems`` and ``write_theorems`` prove of acknowledgements,
releases, expiries, dead letters, aborted records and writes. Of enter, acquire, vanish and mark
nothing proves it.
"""

from collections.abc import Callable, Iterator

import attrs

from model.states import AcknowledgeType, RecordState
from proofs.theorems.situation import any_record, flag, number, situation_at
from proofs.theorems.symbolic import conjunction
from spec import record as rules
from spec.invariants import RECORD_INVARIANTS
from spec.logic import Term, either
from spec.partition import SharePartition
from spec.record import Record

AVAILABLE, ACQUIRED = RecordState.AVAILABLE, RecordState.ACQUIRED
ACKNOWLEDGED, ARCHIVED = RecordState.ACKNOWLEDGED, RecordState.ARCHIVED
ARCHIVING, IN_PROGRESS = RecordState.ARCHIVING, RecordState.IN_PROGRESS
ENDED = (AVAILABLE, ARCHIVING, ARCHIVED)
FAILED = "failed_state(dead_letter_queue)"


@attrs.frozen
class OneRecord:
    """A record, and the arguments of its transitions.

    ``limit`` is the delivery count limit in force; ``highest`` the highest that ever was.
    ``durable_state`` and ``durable_count`` are what the share coordinator has of the record: one
    that was never written is AVAILABLE there, with delivery count 0. ``marks``: records may be
    marked in progress, so that an acquisition has a number; ``later`` is a time after ``now``.
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
    acquisition: Term = number()
    marks: Term = flag()
    threshold: Term = number()
    extension: Term = number()
    grace: Term = number()
    dead_letter_queue: Term = flag()
    later: Term = number()

    @classmethod
    def reached(cls, partition: SharePartition) -> "Iterator[OneRecord]":
        """Yield the situations in a share-partition that a run reached."""
        window, new = partition.window, partition.next_acquisition
        lock = partition.now + partition.config.record_lock_duration_ms
        for at in range(window.start_offset, window.end_offset + 1):
            state, count = partition.durable.entries.get(at, (AVAILABLE, 0))
            acquisition = window.records.get(at, rules.UNDELIVERED).acquisition
            named = new if acquisition is None else acquisition
            here = situation_at(
                cls, partition, at, member="a", acquisition=named, later=lock,
                durable_state=state, durable_count=count,
            )  # fmt: skip
            yield here
            yield attrs.evolve(here, member="b")
            yield attrs.evolve(here, member="b", now=lock, acquisition=new)


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


def _failed(s: OneRecord) -> Term:
    return rules.failed_state(s.dead_letter_queue)


def _acquired(s: OneRecord) -> Record:
    numbered = rules.acquire(s.record, s.member, s.deadline, s.acquisition)
    return either(s.marks, numbered, rules.acquire(s.record, s.member, s.deadline))  # type: ignore[no-any-return] # of two records


def _acknowledged(name: str, kind: AcknowledgeType, enters: tuple[RecordState, ...]) -> Transition:
    return Transition(
        name,
        "acknowledge",
        "is_held_by",
        lambda s: rules.is_held_by(s.record, s.member),
        lambda s: rules.acknowledge(s.record, kind, s.limit, _failed(s)),
        enters,
        "is_held_by(record, member)",
        f"acknowledge(record, AcknowledgeType.{kind.name}, limit, {FAILED})",
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
        _acquired,
        (ACQUIRED,),
        "is_acquirable(record)",
        "acquire(record, member, deadline, acquisition if marks else None)",
    ),
    _acknowledged("accept", AcknowledgeType.ACCEPT, (ACKNOWLEDGED,)),
    _acknowledged("reject", AcknowledgeType.REJECT, (ARCHIVING, ARCHIVED)),
    _acknowledged("acknowledge as gap", AcknowledgeType.GAP, (ARCHIVED,)),
    _acknowledged("acknowledge as release", AcknowledgeType.RELEASE, ENDED),
    Transition(
        "renew",
        "renew",
        "can_renew",
        lambda s: rules.can_renew(s.record, s.member),
        lambda s: rules.renew(s.record, s.deadline),
        (ACQUIRED,),
        "can_renew(record, member)",
        "renew(record, deadline)",
    ),
    Transition(
        "mark",
        "mark",
        "can_mark",
        lambda s: rules.can_mark(s.record, s.member, s.acquisition, s.now, s.extension),
        lambda s: rules.mark(s.record, s.now, s.threshold, s.extension),
        (IN_PROGRESS,),
        "can_mark(record, member, acquisition, now, extension)",
        "mark(record, now, threshold, extension)",
    ),
    Transition(
        "stay for the grace",
        "give_grace",
        "can_stay",
        lambda s: rules.can_stay(s.record, s.member, s.now, s.threshold),
        lambda s: rules.give_grace(s.record, s.now + s.grace),
        (IN_PROGRESS,),
        "can_stay(record, member, now, threshold)",
        "give_grace(record, now + grace)",
    ),
    Transition(
        "release",
        "release",
        "is_held_by",
        lambda s: rules.is_held_by(s.record, s.member),
        lambda s: rules.release(s.record, s.limit, _failed(s)),
        ENDED,
        "is_held_by(record, member)",
        f"release(record, limit, {FAILED})",
    ),
    Transition(
        "expire",
        "expire",
        "is_lock_over",
        lambda s: rules.is_lock_over(s.record, s.now),
        lambda s: rules.expire(s.record, s.limit, _failed(s)),
        ENDED,
        "is_lock_over(record, now)",
        f"expire(record, limit, {FAILED})",
    ),
    Transition(
        "finish dead letter",
        "finish_dead_letter",
        "is_dead_letter",
        lambda s: rules.is_dead_letter(s.record),
        lambda s: rules.finish_dead_letter(s.record),
        (ARCHIVED,),
        "is_dead_letter(record)",
        "finish_dead_letter(record)",
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
        "archive aborted",
        "archive_aborted",
        "can_archive_aborted",
        lambda s: rules.can_archive_aborted(s.record),
        lambda s: rules.archive_aborted(s.record),
        (ARCHIVED,),
        "can_archive_aborted(record)",
        "archive_aborted(record)",
    ),
    Transition(
        "commit",
        "commit",
        "",
        lambda s: s.record.pending,
        lambda s: rules.commit(s.record),
        (AVAILABLE, ACKNOWLEDGED, ARCHIVING, ARCHIVED),
        "record.pending",
        "commit(record)",
    ),
    Transition(
        "roll back",
        "roll_back",
        "",
        lambda s: s.record.pending,
        lambda s: rules.roll_back(s.record, s.now, _failed(s)),
        tuple(RecordState),
        "record.pending",
        f"roll_back(record, now, {FAILED})",
    ),
)
"""Every transition of a record under one leader; a new leader does ``recover``."""


def is_sound(situation: OneRecord) -> Term:
    """Whether every invariant holds for the record, under possible limits."""
    holds = (
        known.holds(situation.record, situation.highest, situation.now)
        for known in RECORD_INVARIANTS
    )
    return conjunction(situation.limit <= situation.highest, *holds)
