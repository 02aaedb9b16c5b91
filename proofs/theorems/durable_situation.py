"""The situation of a durable state: what it has of two offsets, two writes to it, and epochs."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import attrs

from model.outcome import Write
from model.profile import KIP, Profile
from model.ranges import StateBatch
from model.states import RecordState
from proofs.theorems.points import Points
from proofs.theorems.situation import any_like, any_offset, flag, number
from proofs.theorems.symbolic import conjunction, implies, is_same
from spec import coordinator
from spec.coordinator import Durable
from spec.logic import Term, negate
from spec.partition import SharePartition

Entry = tuple[Term, Term]
"""The state and the delivery count of a record."""
BATCH = StateBatch(0, 0, RecordState.AVAILABLE, 0)


@attrs.frozen
class StateWrites:
    """What is durable at two offsets, and two writes of one state batch each.

    A write reports the offsets ``first`` to ``last`` as ``state`` with ``count`` deliveries, at a
    start offset and with a delivery complete count; -1 is one that it does not know. A snapshot is
    ``due`` after so many updates; ``former_epoch`` is of one before. ``another`` is any number.
    """

    start: Term = number(-1)
    complete: Term = number(-1)
    offset: Term = any_offset()
    known: Term = flag()
    state: Term = number()
    count: Term = number()
    other: Term = any_offset()
    other_known: Term = flag()
    other_state: Term = number()
    other_count: Term = number()
    one_start: Term = number(-1)
    one_complete: Term = number(-1)
    one: StateBatch = any_like(BATCH)
    two_start: Term = number(-1)
    two_complete: Term = number(-1)
    two: StateBatch = any_like(BATCH)
    leader_epoch: Term = number()
    state_epoch: Term = number()
    snapshot_epoch: Term = number()
    former_epoch: Term = number()
    updates: Term = number()
    due: Term = number(1)
    another: Term = number()

    @classmethod
    def reached(cls, state: SharePartition) -> Iterator["StateWrites"]:
        """Yield writes, made or not, to the durable state that a run reached, by any leader."""
        durable = state.durable
        writes = [waiting.write for waiting in state.outstanding.values()]
        batches = [(write, batch) for write in writes for batch in write.state_batches]
        start = max(durable.start_offset, 0)
        for offset in range(start, state.window.end_offset):
            known, count = durable.entries.get(offset, (0, 0))
            here = cls(
                start, max(durable.delivery_complete_count, 0),
                offset, offset in durable.entries, known, count, state.window.end_offset + 1,
                one_start=start, one_complete=0, two_start=start, two_complete=0,
                one=StateBatch(offset, offset, RecordState.ACKNOWLEDGED, count + 1),
                two=StateBatch(offset, offset, RecordState.ARCHIVED, count),
                leader_epoch=durable.leader_epoch, state_epoch=durable.state_epoch,
                snapshot_epoch=durable.snapshot_epoch + 1, due=5, another=start,
            )  # fmt: skip
            for one, two in product(batches, batches):
                named = _fields("one", *one) | _fields("two", *two)
                yield attrs.evolve(here, **named, another=max(start, one[1].first))
            following, following_count = durable.entries.get(offset + 1, (0, 0))
            both = attrs.evolve(
                here, other=offset + 1, other_known=offset + 1 in durable.entries,
                other_state=following, other_count=following_count,
            )  # fmt: skip
            yield both
            yield attrs.evolve(both, one_start=-1)
            yield attrs.evolve(both, updates=5)
            apart = attrs.evolve(here.two, first=offset + 1, last=offset + 1)
            yield attrs.evolve(both, two=apart)


def _fields(name: str, write: Write, batch: StateBatch) -> dict[str, Any]:
    start, complete = write.start_offset, write.delivery_complete_count
    return {f"{name}_start": start, f"{name}_complete": complete, name: batch}


def durable_of(s: StateWrites) -> Durable:
    """Return the durable state of the situation."""
    entries: Any = Points(tuple((offset, entry) for offset, entry in entries_of(s) if entry))
    epochs = s.state_epoch, s.leader_epoch, s.snapshot_epoch
    return Durable(s.start, s.complete, entries, *epochs, s.updates)


def entries_of(s: StateWrites) -> tuple[tuple[Term, Entry | None], ...]:
    """Return both offsets, each with what is durable of it."""
    first = (s.state, s.count) if s.known else None
    second = (s.other_state, s.other_count) if s.other_known else None
    return (s.offset, first), (s.other, second)


def first_write(s: StateWrites) -> Write:
    """Return the first write of the situation."""
    return Write(0, s.one_start, s.one_complete, (s.one,))


def second_write(s: StateWrites) -> Write:
    """Return the second write of the situation."""
    return Write(1, s.two_start, s.two_complete, (s.two,))


def is_persisted(state: Term) -> Term:
    """Whether the state is one that is written: neither ACQUIRED nor IN_PROGRESS."""
    return conjunction(state <= RecordState.ARCHIVED, negate(state == RecordState.ACQUIRED))


def are_writes(s: StateWrites) -> Term:
    """Whether the durable state and both writes can be."""
    states = s.state, s.other_state, s.one.state, s.two.state
    return conjunction(
        s.offset < s.other,
        implies(s.known, s.start <= s.offset),
        implies(s.other_known, s.start <= s.other),
        s.one.first <= s.one.last,
        s.two.first <= s.two.last,
        *(is_persisted(state) for state in states),
    )


def are_started(s: StateWrites) -> Term:
    """Whether all start offsets and counts are known, and nothing of the second offset is."""
    numbers = s.start, s.complete, s.one_start, s.one_complete, s.two_start, s.two_complete
    nothing = negate(s.other_known), s.one.last < s.other, s.two.last < s.other
    return conjunction(are_writes(s), *nothing, *(number >= 0 for number in numbers))


def merged(durable: Durable, *writes: Write, profile: Profile = KIP) -> Durable:
    """Return the durable state after the writes."""
    for write in writes:
        durable = coordinator.merge(durable, write, profile)
    return durable


def agree(s: StateWrites, state: Durable, other: Durable) -> Term:
    """Whether two durable states have the same numbers, and the same of the first offset."""
    return conjunction(
        state.start_offset == other.start_offset,
        state.delivery_complete_count == other.delivery_complete_count,
        is_same(state.entries.get(s.offset), other.entries.get(s.offset)),
    )


def wins(entry: Entry, other: Entry) -> Term:
    """Whether the share coordinator prefers the first of two entries, which are not the same."""
    return (entry[1] > other[1]) | ((entry[1] == other[1]) & (entry[0] > other[0]))
