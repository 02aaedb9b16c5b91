"""Theorems that say in the fields of a record what each guard asks and each transition does.

They use no other function of ``spec.record`` than the one they speak of.
"""

from collections.abc import Callable, Iterator

import attrs

from model.states import AcknowledgeType, RecordState
from proofs.theorems.controls import returns
from proofs.theorems.operation_situation import has_held_state, is_complete, same, same_record
from proofs.theorems.record_operations import OneRecord, is_sound
from proofs.theorems.symbolic import conjunction, implies
from proofs.theorems.theorem import Control, Theorem, about, laws
from spec import record as rules
from spec.logic import Term, absent, either, negate
from spec.record import Record

_law = laws("KIP-932, In-flight records; KAFKA-20458")
AVAILABLE, ACQUIRED = RecordState.AVAILABLE, RecordState.ACQUIRED
ACKNOWLEDGED, ARCHIVED = RecordState.ACKNOWLEDGED, RecordState.ARCHIVED
ARCHIVING, IN_PROGRESS = RecordState.ARCHIVING, RecordState.IN_PROGRESS


def _settled(record: Record, *states: RecordState) -> Term:
    """Whether the record is in one of the states and no write is outstanding."""
    matches: Term = record.state == states[0]
    for state in states[1:]:
        matches = matches | (record.state == state)
    return matches & negate(record.pending)


def _owned(s: OneRecord, *states: RecordState) -> Term:
    return _settled(s.record, *states) & same(s.record.owner, s.member)


def _before(time: Term, end: Term) -> Term:
    """Whether there is such a time, and it is before the end."""
    return False if time is None else negate(absent(time)) & (time < end)


GUARDS: dict[str, tuple[str, Callable[[OneRecord], Term], Callable[[OneRecord], Term]]] = {
    "is_terminal": (
        "A delivery is complete if the record is ACKNOWLEDGED or ARCHIVED.",
        lambda s: rules.is_terminal(s.record),
        lambda s: is_complete(s.record),
    ),
    "is_finished": (
        "The start offset may pass what is ACKNOWLEDGED or ARCHIVED and awaits no write.",
        lambda s: rules.is_finished(s.record),
        lambda s: _settled(s.record, ACKNOWLEDGED, ARCHIVED),
    ),
    "is_acquirable": (
        "A record may be acquired if it is AVAILABLE and awaits no write.",
        lambda s: rules.is_acquirable(s.record),
        lambda s: _settled(s.record, AVAILABLE),
    ),
    "is_held": (
        "A lock is on a record that is ACQUIRED or IN_PROGRESS.",
        lambda s: rules.is_held(s.record),
        lambda s: has_held_state(s.record) & negate(s.record.pending),
    ),
    "is_held_by": (
        "A member holds the records under a lock whose owner it is.",
        lambda s: rules.is_held_by(s.record, s.member),
        lambda s: _owned(s, ACQUIRED, IN_PROGRESS),
    ),
    "is_lock_over": (
        "A lock is over at its deadline, and not before.",
        lambda s: rules.is_lock_over(s.record, s.now),
        lambda s: _settled(s.record, ACQUIRED, IN_PROGRESS) & _before(s.record.deadline, s.now + 1),
    ),
    "can_renew": (
        "A member may renew what it holds and has not marked.",
        lambda s: rules.can_renew(s.record, s.member),
        lambda s: _owned(s, ACQUIRED),
    ),
    "can_mark": (
        "A member may mark what it holds by that acquisition, until the longest extension.",
        lambda s: rules.can_mark(s.record, s.member, s.acquisition, s.now, s.extension),
        lambda s: (
            _owned(s, ACQUIRED, IN_PROGRESS)
            & same(s.record.acquisition, s.acquisition)
            & (
                absent(s.record.progress_start)
                | negate(_before(s.record.progress_start, s.now - s.extension + 1))
            )
        ),
    ),
    "can_stay": (
        "A record may stay with a member that leaves while its last sign of progress is fresh.",
        lambda s: rules.can_stay(s.record, s.member, s.now, s.threshold),
        lambda s: (
            _owned(s, IN_PROGRESS)
            & negate(_before(s.record.last_progress, s.now - s.threshold + 1))
            & negate(absent(s.record.last_progress))
        ),
    ),
    "is_dead_letter": (
        "The dead-letter queue takes what is ARCHIVING and awaits no write.",
        lambda s: rules.is_dead_letter(s.record),
        lambda s: _settled(s.record, ARCHIVING),
    ),
    "can_vanish": (
        "What is AVAILABLE may vanish from the log, whether it awaits a write or not.",
        lambda s: rules.can_vanish(s.record),
        lambda s: s.record.state == AVAILABLE,
    ),
    "can_archive_aborted": (
        "Of an aborted transaction what is ACQUIRED is archived.",
        lambda s: rules.can_archive_aborted(s.record),
        lambda s: _settled(s.record, ACQUIRED),
    ),
}
"""What each guard of ``spec.record`` asks: in a sentence, by its function, and in fields."""


def _failed(s: OneRecord) -> Term:
    return either(s.dead_letter_queue, ARCHIVING, ARCHIVED)


def _ended(s: OneRecord) -> Term:
    return either(s.record.delivery_count >= s.limit, _failed(s), AVAILABLE)


def _waiting(s: OneRecord, state: Term) -> Record:
    """Return the record in a new state which its write has yet to make final."""
    return attrs.evolve(
        s.record,
        state=state,
        owner=None,
        deadline=None,
        pending=True,
        former_owner=s.record.owner,
        former_deadline=s.record.deadline,
        exhausted=s.record.delivery_count >= s.limit,
    )


def _final(s: OneRecord, state: Term) -> Record:
    return Record(state, s.record.delivery_count)


def _marked(s: OneRecord) -> Record:
    start = either(absent(s.record.progress_start), s.now, s.record.progress_start)
    stale, oldest = s.now + s.threshold, start + s.extension
    until = either(stale < oldest, stale, oldest)
    return attrs.evolve(
        s.record,
        state=IN_PROGRESS,
        deadline=either(_before(s.record.deadline, until), until, s.record.deadline),
        progress_start=start,
        last_progress=s.now,
    )


def _given_grace(s: OneRecord) -> Record:
    until = s.now + s.grace
    deadline = either(_before(s.record.deadline, until), s.record.deadline, until)
    return attrs.evolve(s.record, deadline=deadline)


def _held_again(s: OneRecord) -> Record:
    record = s.record
    held = Record(
        either(absent(record.progress_start), ACQUIRED, IN_PROGRESS),
        record.delivery_count,
        record.former_owner,
        record.former_deadline,
        acquisition=record.acquisition,
        progress_start=record.progress_start,
        last_progress=record.last_progress,
    )
    return either(absent(record.former_owner), _final(s, record.state), held)  # type: ignore[no-any-return] # of two records


def _rolled_back(s: OneRecord) -> Record:
    record = s.record
    over = _final(s, either(record.exhausted, _failed(s), AVAILABLE))
    lasts = negate(_before(record.former_deadline, s.now + 1))
    again = either(lasts, _held_again(s), over)
    return either(absent(record.former_owner), _final(s, record.state), again)  # type: ignore[no-any-return] # of two records


def _acknowledged(s: OneRecord, kind: AcknowledgeType) -> Record:
    return rules.acknowledge(s.record, kind, s.limit, _failed(s))


Rule = Callable[[OneRecord], Record]
ENDS = {
    AcknowledgeType.ACCEPT: lambda _s: ACKNOWLEDGED,
    AcknowledgeType.REJECT: _failed,
    AcknowledgeType.GAP: lambda _s: ARCHIVED,
    AcknowledgeType.RELEASE: _ended,
}
"""The state that each acknowledge type gives a record."""
EFFECTS: dict[str, tuple[str, str, Rule, Rule]] = {
    "acquire": (
        "acquire",
        "Acquiring gives the record an owner, a deadline and a number, and counts the delivery.",
        lambda s: rules.acquire(s.record, s.member, s.deadline, s.acquisition),
        lambda s: Record(
            ACQUIRED,
            s.record.delivery_count + 1,
            s.member,
            s.deadline,
            acquisition=s.acquisition,
        ),
    ),
    **{
        f"acknowledge by {kind.name}": (
            "acknowledge",
            "Acknowledging gives the state of its type, and keeps what a failed write restores.",
            about(_acknowledged, kind),
            lambda s, end=end: _waiting(s, end(s)),  # type: ignore[misc] # bound here
        )
        for kind, end in ENDS.items()
    },
    "release": (
        "release",
        "Releasing ends the attempt, and keeps what a failed write restores.",
        lambda s: rules.release(s.record, s.limit, _failed(s)),
        lambda s: _waiting(s, _ended(s)),
    ),
    "renew": (
        "renew",
        "Renewing sets the deadline and nothing else.",
        lambda s: rules.renew(s.record, s.deadline),
        lambda s: attrs.evolve(s.record, deadline=s.deadline),
    ),
    "mark": (
        "mark",
        "A mark sets the times of progress and the deadline that follows, never an earlier one.",
        lambda s: rules.mark(s.record, s.now, s.threshold, s.extension),
        _marked,
    ),
    "stay for the grace": (
        "give_grace",
        "The grace ends the lock, unless its own deadline is earlier.",
        lambda s: rules.give_grace(s.record, s.now + s.grace),
        _given_grace,
    ),
    "expire": (
        "expire",
        "An expiry ends the attempt for good.",
        lambda s: rules.expire(s.record, s.limit, _failed(s)),
        lambda s: _final(s, _ended(s)),
    ),
    "finish dead letter": (
        "finish_dead_letter",
        "The end of a dead letter archives the record.",
        lambda s: rules.finish_dead_letter(s.record),
        lambda s: _final(s, ARCHIVED),
    ),
    "vanish": (
        "vanish",
        "A record that vanishes is ARCHIVED; if a write was outstanding, it still is.",
        lambda s: rules.vanish(s.record),
        lambda s: attrs.evolve(_final(s, ARCHIVED), pending=s.record.pending),
    ),
    "archive aborted": (
        "archive_aborted",
        "A record of an aborted transaction is ARCHIVED.",
        lambda s: rules.archive_aborted(s.record),
        lambda s: _final(s, ARCHIVED),
    ),
    "withhold": (
        "withhold",
        "A record of an aborted transaction that nobody acquires is ARCHIVED.",
        lambda s: rules.withhold(s.record),
        lambda s: _final(s, ARCHIVED),
    ),
    "commit": (
        "commit",
        "A write that succeeds makes the state final and forgets what it would have restored.",
        lambda s: rules.commit(s.record),
        lambda s: _final(s, s.record.state),
    ),
    "roll back": (
        "roll_back",
        "A write that fails gives the lock back, unless it is over; a record that vanished stays.",
        lambda s: rules.roll_back(s.record, s.now, _failed(s)),
        _rolled_back,
    ),
    "roll back, timer late": (
        "roll_back",
        "A write that fails gives back what its timer has not ended, unless the record vanished.",
        lambda s: rules.roll_back(s.record, s.now, _failed(s), True),  # noqa: FBT003 - a condition
        _held_again,
    ),
    "recover": (
        "recover",
        "A new leader finds state and count as durable, and nobody at work.",
        lambda s: rules.recover(s.durable_state, s.durable_count),
        lambda s: Record(
            either(s.durable_state == IN_PROGRESS, AVAILABLE, s.durable_state), s.durable_count
        ),
    ),
}
"""What each rule does: the rule, a sentence, the rule run, and the record it must give."""


GUARD_OF = {
    "acquire": "is_acquirable",
    "acknowledge": "is_held_by",
    "release": "is_held_by",
    "renew": "can_renew",
    "mark": "can_mark",
    "give_grace": "can_stay",
    "expire": "is_lock_over",
    "finish_dead_letter": "is_dead_letter",
    "vanish": "can_vanish",
    "archive_aborted": "can_archive_aborted",
    "withhold": "is_acquirable",
}
"""The guard under which each rule is applied; commit and roll_back: a write is outstanding."""


def _may(s: OneRecord, rule: str) -> Term:
    if rule == "recover":
        return is_sound(s)
    guard = GUARDS[GUARD_OF[rule]][2](s) if rule in GUARD_OF else s.record.pending
    return conjunction(is_sound(s), guard)


def _asks(s: OneRecord, name: str) -> Term:
    _sentence, guard, expected = GUARDS[name]
    return guard(s) == expected(s)


def _gives(s: OneRecord, name: str) -> Term:
    _rule, _sentence, run, expected = EFFECTS[name]
    return same_record(run(s), expected(s))


def _guard_theorems() -> Iterator[Theorem]:
    for name, (sentence, _guard, _expected) in GUARDS.items():
        yield Theorem(
            _law("guard_asks_what_it_says", sentence),
            name,
            OneRecord,
            is_sound,
            about(_asks, name),
            Control(f"{name} asks the opposite", f"spec.record:{name}", returns(negate)),
        )


def _effect_theorems() -> Iterator[Theorem]:
    for name, (rule, sentence, _run, _expected) in EFFECTS.items():
        yield Theorem(
            _law("transition_sets_every_field", sentence),
            name,
            OneRecord,
            about(_may, rule),
            about(_gives, name),
            Control(
                f"{rule} leaves an owner and a deadline of its own",
                f"spec.record:{rule}",
                returns(lambda r: attrs.evolve(r, owner=0, deadline=99)),
            ),
        )


def _is_larger(s: OneRecord) -> Term:
    """Whether the survivor of two durable states is one of them, and no other has a higher count.

    Of equal counts the higher state id survives.
    """
    own, durable = (s.record.state, s.record.delivery_count), (s.durable_state, s.durable_count)
    state, count = rules.durable_maximum(*own, *durable)
    first = (own[1] > durable[1]) | ((own[1] == durable[1]) & (own[0] > durable[0]))
    winner = [either(first, mine, yours) for mine, yours in zip(own, durable, strict=True)]
    return conjunction(state == winner[0], count == winner[1])


def _knows_absence(s: OneRecord) -> Term:
    """Whether the guards hold of nothing that a record does not have."""
    new = Record(AVAILABLE, s.record.delivery_count)
    held = Record(ACQUIRED, s.record.delivery_count, s.member, s.deadline)
    marked = attrs.evolve(held, acquisition=s.acquisition)
    lost = Record(ARCHIVED, s.record.delivery_count, pending=True)
    return conjunction(
        negate(rules.is_lock_over(new, s.now)),
        negate(rules.can_stay(held, s.member, s.now, s.threshold)),
        rules.can_mark(marked, s.member, s.acquisition, s.now, s.extension),
        same(rules.mark(marked, s.now, s.threshold, s.extension).progress_start, s.now),
        same_record(rules.roll_back(lost, s.now), _final(s, ARCHIVED)),
        same_record(rules.roll_back(lost, s.now), rules.commit(lost)),
        implies(s.record.delivery_count >= s.limit, rules.release(held, s.limit).state == ARCHIVED),
        implies(s.record.delivery_count >= s.limit, rules.expire(held, s.limit).state == ARCHIVED),
        rules.acknowledge(held, AcknowledgeType.REJECT, s.limit).state == ARCHIVED,
        rules.failed_state(dead_letter_queue=True) == ARCHIVING,
        rules.failed_state(dead_letter_queue=False) == ARCHIVED,
        same_record(rules.UNDELIVERED, Record(AVAILABLE, 0)),
    )


_OTHERS = (
    Theorem(
        _law(
            "durable_maximum_is_the_higher",
            "Of two durable states the higher delivery count survives, then the higher state id.",
            27,
        ),
        "merge",
        OneRecord,
        is_sound,
        _is_larger,
        Control(
            "durable_maximum takes the second always",
            "spec.record:durable_maximum",
            lambda _rule: lambda _state, _count, *other: other,
        ),
    ),
    Theorem(
        _law(
            "rules_know_what_is_absent",
            "A record without lock, progress or former owner is not taken for one that has them.",
        ),
        "any record",
        OneRecord,
        is_sound,
        _knows_absence,
        Control(
            "commit makes it AVAILABLE",
            "spec.record:commit",
            returns(lambda r: attrs.evolve(r, state=AVAILABLE)),
        ),
    ),
)
EFFECT_THEOREMS = (*_guard_theorems(), *_effect_theorems(), *_OTHERS)
