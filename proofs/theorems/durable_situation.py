"""The situation of a durable state and two writes to it, at one offset."""

from itertools import product
from typing import TYPE_CHECKING, Any

import attrs

from model.outcome import Write
from model.profile import KIP, Profile
from model.ranges import StateBatch
from model.states import RecordState
from proofs.theorems.points import Points
from proofs.theorems.situation import any_offset, flag, number
from proofs.theorems.symbolic import conjunction, implies
from proofs.theorems.theorem import laws
from spec import coordinator
from spec.coordinator import Durable
from spec.logic import Term, negate
from spec.partition import SharePartition

if TYPE_CHECKING:
    from collections.abc import Iterator

law = laws("KIP-932, Managing durable share-partition state")


@attrs.frozen
class TwoWrites:
    """A durable state at one offset, and two writes that may name it.

    A write reports the offsets ``first`` to ``last`` as ``state`` with ``count`` deliveries, at a
    start offset and with a delivery complete count. ``between`` is an offset where the first write
    may be cut in two.
    """

    start: Term = number()
    complete: Term = number()
    offset: Term = any_offset()
    known: Term = flag()
    state: Term = number()
    count: Term = number()
    leader_epoch: Term = number()
    state_epoch: Term = number()
    one_start: Term = number()
    one_complete: Term = number()
    one_first: Term = number()
    one_last: Term = number()
    one_state: Term = number()
    one_count: Term = number()
    two_start: Term = number()
    two_complete: Term = number()
    two_first: Term = number()
    two_last: Term = number()
    two_state: Term = number()
    two_count: Term = number()
    between: Term = number()
    writer_leader_epoch: Term = number()
    writer_state_epoch: Term = number()

    @classmethod
    def reached(cls, state: SharePartition) -> "Iterator[TwoWrites]":
        """Yield the durable state that a run reached, and the writes that it made."""
        durable = state.durable
        epochs = {
            "leader_epoch": durable.leader_epoch,
            "state_epoch": durable.state_epoch,
            "writer_leader_epoch": max(durable.leader_epoch - 1, 0),
            "writer_state_epoch": max(durable.state_epoch - 1, 0),
        }
        writes = [waiting.write for waiting in state.outstanding.values()]
        batches = [(write, batch) for write in writes for batch in write.state_batches]
        for offset in range(max(durable.start_offset, 0), state.window.end_offset):
            known = durable_fields(durable, offset)
            for first, second in product(batches, batches):
                between = max(state.window.start_offset, first[1].first)
                named = _write_fields("one", *first) | _write_fields("two", *second)
                yield cls(**known, **named, **epochs, between=between)


def durable_fields(durable: Durable, offset: int) -> dict[str, Any]:
    """Return the fields of a situation that say what is durable at one offset."""
    state, count = durable.entries.get(offset, (0, 0))
    return {
        "start": max(durable.start_offset, 0),
        "complete": max(durable.delivery_complete_count, 0),
        "offset": offset,
        "known": offset in durable.entries,
        "state": state,
        "count": count,
    }


def _write_fields(name: str, write: Write, batch: StateBatch) -> dict[str, Any]:
    return {
        f"{name}_start": write.start_offset,
        f"{name}_complete": write.delivery_complete_count,
        f"{name}_first": batch.first,
        f"{name}_last": batch.last,
        f"{name}_state": batch.state,
        f"{name}_count": batch.delivery_count,
    }


def durable_of(s: Any) -> Durable:  # noqa: ANN401 - TwoWrites or Recovery
    """Return the durable state of the situation."""
    entries: Any = Points(((s.offset, (s.state, s.count)),) if s.known else ())
    return Durable(s.start, s.complete, entries)


def first_write(s: TwoWrites) -> Write:
    """Return the first write of the situation."""
    batch = StateBatch(s.one_first, s.one_last, s.one_state, s.one_count)
    return Write(0, s.one_start, s.one_complete, (batch,))


def second_write(s: TwoWrites) -> Write:
    """Return the second write of the situation."""
    batch = StateBatch(s.two_first, s.two_last, s.two_state, s.two_count)
    return Write(1, s.two_start, s.two_complete, (batch,))


def is_persisted(state: Term) -> Term:
    """Whether the state is one that is written: neither ACQUIRED nor IN_PROGRESS."""
    return conjunction(state <= RecordState.ARCHIVED, negate(state == RecordState.ACQUIRED))


def are_writes(s: TwoWrites) -> Term:
    """Whether the durable state and both writes can be."""
    return conjunction(
        implies(s.known, s.start <= s.offset),
        s.one_first <= s.one_last,
        s.two_first <= s.two_last,
        *(is_persisted(state) for state in (s.state, s.one_state, s.two_state)),
    )


def merged(durable: Durable, *writes: Write, profile: Profile = KIP) -> Durable:
    """Return the durable state after the writes."""
    for write in writes:
        durable = coordinator.merge(durable, write, profile)
    return durable


def agree(s: Any, state: Durable, other: Durable) -> Term:  # noqa: ANN401 - TwoWrites or Recovery
    """Whether two durable states are the same."""
    return conjunction(
        state.start_offset == other.start_offset,
        state.delivery_complete_count == other.delivery_complete_count,
        entries_agree(s, state, other),
    )


def entries_agree(s: Any, state: Durable, other: Durable) -> Term:  # noqa: ANN401 - as above
    """Whether two durable states have the same of the one offset."""
    first, second = state.entries.get(s.offset), other.entries.get(s.offset)
    if first is None or second is None:
        return first is None and second is None
    return conjunction(first[0] == second[0], first[1] == second[1])


def is_same(entry: tuple[Term, Term], other: tuple[Term, Term]) -> Term:
    """Whether two states of a record, with their delivery counts, are the same."""
    return conjunction(entry[0] == other[0], entry[1] == other[1])
