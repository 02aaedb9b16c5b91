"""Theorems about the durable state: merge, records, epochs and recovery (KIP-932, KIP-1226)."""

from typing import Any

import attrs

from model.outcome import Write
from model.profile import KAFKA_4_4, KIP, Profile
from model.states import RecordState
from proofs.theorems.any_partition import AnyPartition
from proofs.theorems.controls import adds, becomes, called_with, wrong
from proofs.theorems.durable_situation import (
    Entry,
    StateWrites,
    agree,
    are_started,
    are_writes,
    durable_of,
    first_write,
    merged,
    second_write,
    wins,
)
from proofs.theorems.record_operations import CHANGES, Transition, is_sound
from proofs.theorems.symbolic import conjunction, implies, is_between, is_same
from proofs.theorems.theorem import Claim, Control, Subject
from spec import coordinator
from spec import record as rules
from spec.coordinator import Durable
from spec.lag import share_partition_lag
from spec.logic import Term, negate
from spec.record import UNDELIVERED, Record

SOURCE = "KIP-932, Managing durable share-partition state"
_durable = Subject(SOURCE, StateWrites, are_started)


JOIN, MERGE = "spec.record:durable_maximum", "spec.coordinator:merge_start"
UPDATE = "spec.coordinator:update_record"
FIRST_WINS = wrong(JOIN, "takes the first", becomes(lambda state, count, *_other: (state, count)))
LAST_WINS = wrong(MERGE, "takes what comes last", becomes(lambda _now, given, _profile: given))
EMPTY = wrong(UPDATE, "forgets the batches", called_with(lambda now, then, _: (now, then, ())))
MERGES_ALL = wrong("spec.coordinator:replay_record", "merges all", becomes(coordinator.merge))


def _entries(s: StateWrites) -> tuple[Entry, Entry, Entry]:
    """Return any three states of a record."""
    one, two = s.one, s.two
    return (s.state, s.count), (one.state, one.delivery_count), (two.state, two.delivery_count)


def _join(entry: Entry, other: Entry) -> Entry:
    return rules.durable_maximum(*entry, *other)


@_durable.theorem(27, of="merge", control=FIRST_WINS)
def merge_of_two_states_is_a_join(s: StateWrites) -> Term:
    """The merge of a record's states is idempotent, commutative, associative; it loses neither."""
    one, two, three = _entries(s)
    joined = _join(one, two)
    return conjunction(
        is_same(_join(one, one), one),
        is_same(joined, _join(two, one)),
        is_same(_join(joined, three), _join(one, _join(two, three))),
        is_same(joined, two) | wins(joined, two),
    )


def _name(s: StateWrites, *, one: bool, two: bool) -> Term:
    """Whether each write names one offset: this one, or one after it.

    A batch is its parts, as ``write_merges_its_batches`` shows.
    """
    named = ((s.one.first, s.one.last, one), (s.two.first, s.two.last, two))
    places = (first == s.offset if here else first > s.offset for first, _last, here in named)
    return conjunction(*places, *(first == last for first, last, _here in named))


def _both_name_it(s: StateWrites) -> Term:
    return _name(s, one=True, two=True)


@_durable.theorem(
    27,
    28,
    of={
        "two writes of a record": (True, True),
        "two writes, one of a record": (True, False),
        "two writes of other records": (False, False),
    },
    where=lambda s, one, two: _name(s, one=one, two=two),
    control=LAST_WINS,
)
def writes_commute(s: StateWrites, *_named: bool) -> Term:
    """Two writes have the same effect in either order."""
    durable, one, two = durable_of(s), first_write(s), second_write(s)
    return agree(s, merged(durable, one, two), merged(durable, two, one))


@_durable.theorem(
    28,
    of={f"write ({profile.name})": (profile,) for profile in (KIP, KAFKA_4_4)},
    control=LAST_WINS,
)
def write_without_start_keeps_it(s: StateWrites, profile: Profile) -> Term:
    """A write whose start offset is -1 keeps the durable one."""
    after = merged(durable_of(s), _without_start(s), profile=profile)
    lost = profile.defect_start_offset_kept_loses_count
    expected = s.complete if lost else max(s.complete, s.one_complete)
    return conjunction(after.start_offset == s.start, after.delivery_complete_count == expected)


def _without_start(s: StateWrites) -> Write:
    return attrs.evolve(first_write(s), start_offset=-1)


def _in_order(s: StateWrites) -> Term:
    """Whether the second write is the later one of a publisher that only goes on."""
    one, two, three = _entries(s)
    return conjunction(
        _both_name_it(s),
        s.two_start <= s.offset,
        s.start <= s.one_start,
        s.one_start <= s.two_start,
        implies(s.start == s.one_start, s.complete <= s.one_complete),
        implies(s.one_start == s.two_start, s.one_complete <= s.two_complete),
        is_same(one, two) | wins(two, one),
        is_same(two, three) | wins(three, two),
    )


@_durable.theorem(29, of="write", where=_in_order, control=FIRST_WINS)
def newest_write_wins(s: StateWrites) -> Term:
    """If a publisher's writes only go on, retries and reordering change nothing."""
    durable, one, two = durable_of(s), first_write(s), second_write(s)
    newest = merged(durable, one, two)
    return conjunction(
        newest.start_offset == s.two_start,
        newest.delivery_complete_count == s.two_complete,
        is_same(newest.entries[s.offset], (s.two.state, s.two.delivery_count)),
        agree(s, newest, merged(durable, two, one)),
        agree(s, newest, merged(durable, one, two, one, two)),
    )


_UPDATES = {
    "write": (KIP, first_write),
    "write without start (kip)": (KIP, _without_start),
    "write without start (kafka_4_4)": (KAFKA_4_4, _without_start),
}


@_durable.theorem(26, 28, of=_UPDATES, control=EMPTY)
def update_replays_to_its_write(s: StateWrites, profile: Profile, form: Claim) -> Term:
    """Replaying the update of a write gives what the write left; it lowers no start or count."""
    before, write = durable_of(s), form(s)
    after = merged(before, write, profile=profile)
    update, _held = coordinator.update_record(before, after, write.state_batches)
    counts = update.delivery_complete_count >= before.delivery_complete_count
    return conjunction(
        agree(s, coordinator.replay_record(before, update, profile), after),
        update.start_offset >= before.start_offset,
        implies(update.start_offset == before.start_offset, counts),
        update.snapshot_epoch == before.snapshot_epoch,
    )


@_durable.theorem(
    26, of="update", where=lambda s: s.former_epoch < s.snapshot_epoch, control=MERGES_ALL
)
def update_of_an_earlier_snapshot_is_passed_over(s: StateWrites) -> Term:
    """An update of before the latest snapshot changes nothing."""
    durable = durable_of(s)
    earlier = attrs.evolve(durable, snapshot_epoch=s.former_epoch)
    late, _ = coordinator.update_record(earlier, merged(earlier, first_write(s)), ())
    return coordinator.replay_record(durable, late, KIP) is durable


_record = Subject(SOURCE, AnyPartition, is_sound, lambda s: s.record.delivery_count > 1)
_recovery = Subject(SOURCE, StateWrites, are_writes)
ARCHIVING = RecordState.ARCHIVING
WRITES = frozenset({"acknowledge", "release", "expire", "finish_dead_letter"})
FINAL = frozenset({"commit", "expire", "finish dead letter"})
"""The transitions after which a record may be durable as the leader has it."""


def _gives_back(transition: Transition) -> Control:
    change = adds(-2, "delivery_count")
    return wrong(f"spec.record:{transition.rule}", "gives two deliveries back", change)


def _is_behind(record: Record, state: Term, count: Term) -> Term:
    """Whether what is durable is behind the record, as far as the leader knows."""
    waits = rules.is_held(record) | record.pending
    ended = negate(record.state == ARCHIVING) | (state <= ARCHIVING)
    level = negate(waits) & (record.delivery_count == count) & ended
    return (record.delivery_count > count) | level


def _publishes(s: AnyPartition, transition: Transition) -> Term:
    behind = _is_behind(s.record, s.state, s.count)
    return conjunction(transition.happens(s), behind)


@_record.theorem(29, of=[*CHANGES], where=_publishes, control=_gives_back)
def durable_state_stays_behind(s: AnyPartition, transition: Transition) -> Term:
    """What is durable of a record never has more deliveries than its leader counts."""
    after = transition.after(s)
    if after is None:
        return True
    behind = _is_behind(after, s.state, s.count)
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
def every_write_is_newer(s: AnyPartition, transition: Transition) -> Term:
    """What a leader writes of a record wins over what is durable of it."""
    after = transition.after(s)
    if after is None:
        return True
    return wins((after.state, after.delivery_count), (s.state, s.count))


def _is_moving(s: StateWrites) -> Term:
    """Whether the first write reports a change by which the leader's start offset moves.

    It moves from the start offset of the first write to that of the second. The record is as the
    first write says, also if that does not name it.
    """
    named = is_between(s.one.first, s.offset, s.one.last)
    record, durable = (s.one.state, s.one.delivery_count), (s.state, s.count)
    same = conjunction(s.known, is_same(durable, record))
    newer = implies(s.known, wins(record, durable))
    passed = conjunction(s.one_start <= s.offset, s.offset < s.two_start)
    below = conjunction(s.offset < s.one_start, s.start <= s.offset)
    return conjunction(
        negate(s.other_known),
        s.one.last < s.other,
        s.start >= 0,
        s.complete >= 0,
        s.start <= s.one_start,
        s.one_start <= s.two_start,
        s.two_start - s.one_start <= s.one_complete,
        implies(s.start == s.one_start, s.complete <= s.one_complete),
        implies(named, conjunction(s.one_start <= s.offset, newer)),
        implies(passed, conjunction(_is_final(s.one.state), named | same)),
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


@_durable.theorem(
    69, of="a write without an answer", where=lambda s: _name(s, one=True, two=False),
    control=wrong(
        "spec.coordinator:explain_read", "takes it for lost", becomes(lambda now, *_of: now)),
)  # fmt: skip
def what_was_read_tells_whether_a_write_is_durable(s: StateWrites) -> Term:
    """A write without an answer is taken for durable where what was read has it, and else not."""
    durable, write = durable_of(s), first_write(s)
    both = (durable, merged(durable, write))
    told = (coordinator.explain_read(durable, (write,), read, KIP) for read in both)
    return conjunction(*(agree(s, *pair) for pair in zip(told, both, strict=True)))


@_durable.theorem(
    69, of="a write without an answer", where=_both_name_it,
    control=wrong("spec.coordinator:explain_read", "takes all that was read for durable", becomes(
        lambda _now, _unknown, read, _profile: read)),
)  # fmt: skip
def nothing_is_durable_that_was_not_written(s: StateWrites) -> Term:
    """Whatever was read, what may be durable is as before, or has the write without an answer."""
    durable, write = durable_of(s), first_write(s)
    read = merged(durable, second_write(s))
    told = coordinator.explain_read(durable, (write,), read, KIP)
    return agree(s, told, durable) | agree(s, told, merged(durable, write))


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
