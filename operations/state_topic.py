"""The state of each share-partition in __share_group_state, and the rules its records break."""

from collections.abc import Iterator

import attrs

from judge.words import batch_text
from model.checks import MAX_RANGE
from model.profile import KAFKA_4_4
from model.ranges import StateBatch, number_of_offsets
from model.snapshot import DurableState
from model.state_topic import SharePartitionKey, ShareSnapshot, ShareUpdate, StateRecord
from spec.coordinator import Durable
from spec.share_coordinator import HeldState
from spec.state_topic import replay_held

LARGE_OFFSETS = 20_000
"""A record of more offsets is large; the largest window of Kafka is 10 000 records."""

_ALLOWED = 2 * MAX_RANGE


@attrs.define
class OffsetAllowance:
    """How many offsets the large records of a dump may still have together.

    Each costs time and memory, however short the record is, and a dump may have any number.
    """

    left: int = _ALLOWED

    def refusal(self, offsets: int) -> str | None:
        """Return why a record of so many offsets is too much; None, and count them, if not."""
        if offsets > MAX_RANGE:
            return f"more than {MAX_RANGE} offsets have a state"
        if offsets <= LARGE_OFFSETS:
            return None
        if offsets > self.left:
            text = f"records of more than {LARGE_OFFSETS} offsets each"
            return f"{text} have more than {_ALLOWED} offsets together"
        self.left -= offsets
        return None


@attrs.define
class ReadStates:
    """The state of each share-partition after the records so far."""

    held: dict[SharePartitionKey, HeldState] = attrs.field(factory=dict)
    records: int = 0
    _allowance: OffsetAllowance = attrs.field(factory=OffsetAllowance)

    def take(self, record: StateRecord) -> list[str]:
        """Replay a record as Apache Kafka does; return the rules that it breaks, as sentences.

        A record with too many offsets for memory is not replayed.
        """
        self.records += 1
        before = self.held.get(record.key)
        size = offsets_of(record) + (len(before.durable.entries) if before else 0)
        refusal = self._allowance.refusal(size)
        broken = list(broken_rules(before, record, each_offset=refusal is None))
        if refusal:
            return [*broken, f"{refusal}; it is skipped"]
        after = replay_held(before, record, KAFKA_4_4)
        if after is None:
            self.held.pop(record.key, None)
        else:
            self.held[record.key] = after
        return broken


def offsets_of(record: StateRecord) -> int:
    """Return of how many offsets a record has the state."""
    content = _content(record)
    return number_of_offsets(content.state_batches) if content else 0


def broken_rules(
    before: HeldState | None, record: StateRecord, *, each_offset: bool = True
) -> Iterator[str]:
    """Yield the rules that a record breaks; ``before`` is the state of its share-partition.

    It is None before the first record, which must be a snapshot. Without ``each_offset`` those
    rules are left out that go through the offsets one by one.
    """
    value, content = record.value, _content(record)
    if record.key.partition < 0:
        yield f"the partition is {record.key.partition}"
    if value is None or content is None:
        return
    yield from _batch_faults(content.start_offset, content.state_batches)
    if isinstance(value, ShareUpdate):
        if before is None:
            yield "an update comes before any snapshot"
        else:
            yield from _update_faults(before.durable, value)
    elif before is not None:
        yield from _snapshot_faults(before.durable, value, each_offset=each_offset)


def _content(record: StateRecord) -> DurableState | ShareUpdate | None:
    """Return what a record says of the state; None if that was deleted."""
    return record.value.state if isinstance(record.value, ShareSnapshot) else record.value


def _batch_faults(start: int, batches: tuple[StateBatch, ...]) -> Iterator[str]:
    last = -1
    for batch in batches:
        if batch.first < start:
            yield f"{batch_text(batch)} is below the start offset {start}"
        if batch.first <= last:
            yield f"{batch_text(batch)} comes after offset {last}"
        last = batch.last


def _update_faults(before: Durable, update: ShareUpdate) -> Iterator[str]:
    if update.snapshot_epoch != before.snapshot_epoch:
        yield (
            f"the update has snapshot epoch {update.snapshot_epoch}, "
            f"but the latest snapshot has {before.snapshot_epoch}"
        )
    yield from _backward("leader epoch", before.leader_epoch, update.leader_epoch)
    start = update.start_offset
    yield from _lowered(before, before.start_offset if start == -1 else start, update)


def _snapshot_faults(
    before: Durable, snapshot: ShareSnapshot, *, each_offset: bool
) -> Iterator[str]:
    state = snapshot.state
    if snapshot.snapshot_epoch != before.snapshot_epoch + 1:
        yield (
            f"the snapshot epoch is {snapshot.snapshot_epoch} after {before.snapshot_epoch}, "
            "not the next one"
        )
    yield from _backward("state epoch", before.state_epoch, state.state_epoch)
    if state.state_epoch != before.state_epoch:
        if snapshot.snapshot_epoch == before.snapshot_epoch + 1:
            yield from _kept(before, state)
        return
    yield from _backward("leader epoch", before.leader_epoch, state.leader_epoch)
    yield from _lowered(before, state.start_offset, state)
    if each_offset:
        yield from _forgotten(before, snapshot)


def _kept(before: Durable, state: DurableState) -> Iterator[str]:
    """Yield what the first snapshot of a newer state epoch has that an altered offset discards.

    KIP-932, Managing the SPSO and SPEO: all in-flight state and delivery counts. Where snapshots
    between are missing, the records of the newer state epoch may have been written since.
    """
    if state.state_epoch < before.state_epoch:
        return
    rises = f"the state epoch rises from {before.state_epoch} to {state.state_epoch}"
    if state.state_batches:
        yield f"{rises}, and {batch_text(state.state_batches[0])} is kept"
    if state.delivery_complete_count > 0:
        yield f"{rises}, and the delivery complete count is {state.delivery_complete_count}"


def _lowered(before: Durable, start: int, value: ShareUpdate | DurableState) -> Iterator[str]:
    yield from _backward("start offset", before.start_offset, start)
    old, new = before.delivery_complete_count, value.delivery_complete_count
    if start == before.start_offset and new != -1:  # Whoever writes it need not know the count.
        yield from _backward("delivery complete count", old, new)


def _backward(name: str, old: int, new: int) -> Iterator[str]:
    if new < old:
        yield f"the {name} goes back from {old} to {new}"


def _forgotten(before: Durable, snapshot: ShareSnapshot) -> Iterator[str]:
    """Yield the first offset whose state a snapshot of the same state epoch lost or reverted."""
    known = {
        offset: (batch.delivery_count, batch.state)
        for batch in snapshot.state.state_batches
        for offset in range(batch.first, batch.last + 1)
    }
    for offset, (state, count) in sorted(before.entries.items()):
        if offset >= snapshot.state.start_offset and known.get(offset, (-1, 0)) < (count, state):
            yield f"offset {offset}, {state.name}({count}), is forgotten or goes back"
            return
