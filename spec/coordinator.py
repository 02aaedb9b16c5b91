"""What is durable of one share-partition, and how a write changes it (KIP-932, KIP-1226).

``spec.share_coordinator`` holds many of these, and ``spec.state_topic`` the records behind them.
"""

from collections.abc import Iterable

import attrs
from immutables import Map

from model.errors import ErrorCode
from model.outcome import Write
from model.profile import Profile
from model.ranges import StateBatch, runs
from model.share_state_requests import WriteState
from model.snapshot import DurableState
from model.state_topic import ShareSnapshot, ShareUpdate
from model.states import TERMINAL_STATES, RecordState
from spec.record import durable_maximum

Entry = tuple[RecordState, int]


@attrs.frozen
class Durable:
    """The durable state of one share-partition. ``entries`` maps an offset to (state, count).

    ``start_offset`` and ``delivery_complete_count`` are -1 when not known. ``snapshot_epoch``
    counts snapshots, and ``updates`` the update records since the last snapshot.
    """

    start_offset: int = -1
    delivery_complete_count: int = -1
    entries: Map[int, Entry] = Map()
    state_epoch: int = 0
    leader_epoch: int = 0
    snapshot_epoch: int = 0
    updates: int = 0


def merge_start(
    current: tuple[int, int], written: tuple[int, int], profile: Profile
) -> tuple[int, int]:
    """Merge two (start offset, delivery complete count): the lexicographic maximum (KIP-1226).

    A start offset of -1 in ``written`` keeps the current one; the count then belongs to that. A
    count of -1, from a writer that does not know it, makes that of this start offset unknown.
    """
    start, count = written
    if start == -1:
        if profile.defect_start_offset_kept_loses_count and current[0] != -1:
            return current
        start = current[0]
    unknown = count == -1 and not profile.defect_unknown_count_keeps_the_former
    if unknown and start == current[0]:
        return start, count
    return max(current, (start, count))


def merge(durable: Durable, request: Write | WriteState | ShareUpdate, profile: Profile) -> Durable:
    """Merge a write into the durable state (KIP-932, WriteShareGroupState).

    Guard: none here; ``share_coordinator.serve`` fences.
    Effect: start offset and delivery complete count as in ``merge_start``, or the count as in
    ``counted``; of two states of one record the ``durable_maximum`` stays; entries below the start
    offset are dropped.
    Delivery count: the larger one.
    Persistence: this is the durable state.
    """
    current = (durable.start_offset, durable.delivery_complete_count)
    written = (request.start_offset, request.delivery_complete_count)
    start, count = merge_start(current, written, profile)
    entries = _raised(durable.entries, request.state_batches, start)
    if start > durable.start_offset:
        rest = entries.mutate()
        for offset in _below(durable, start):
            del rest[offset]
        entries = rest.finish()
    merged = attrs.evolve(
        durable, start_offset=start, delivery_complete_count=count, entries=entries
    )
    return counted(merged, profile)


def counted(durable: Durable, profile: Profile) -> Durable:
    """Return the state with the delivery complete count that its entries have.

    Only where the coordinator counts: elsewhere the count is what leaders wrote. Without a start
    offset there is none.
    """
    if not profile.coordinator_counts_complete or durable.start_offset == -1:
        return durable
    complete = sum(state in TERMINAL_STATES for state, _ in durable.entries.values())
    return attrs.evolve(durable, delivery_complete_count=complete)


def _raised(entries: Map[int, Entry], batches: Iterable[StateBatch], start: int) -> Map[int, Entry]:
    """Return the entries merged with the batches, for offsets from ``start`` on."""
    raised = entries.mutate()
    for batch in batches:
        entry = batch.state, batch.delivery_count
        for offset in range(max(batch.first, start), batch.last + 1):
            known = raised.get(offset)
            raised[offset] = entry if known is None else durable_maximum(*entry, *known)
    return raised.finish()


def explain_read(
    durable: Durable, unknown: Iterable[Write], read: Durable, profile: Profile
) -> Durable:
    """Return what may be durable that comes nearest to what a leader has ``read``.

    ``durable`` is what writes were answered NONE for. Of an ``unknown`` one, whose answer was lost
    or is an error, nobody can say whether it is durable: a request that is sent again may have
    arrived before (KIP-932, Managing durable share-partition state). It is where all of it is in
    what was read; as states only grow (``merge``), no other choice of writes explains more.
    """
    limit = read.start_offset, read.delivery_complete_count
    for write in unknown:
        current = durable.start_offset, durable.delivery_complete_count
        written = write.start_offset, write.delivery_complete_count
        within = merge_start(current, written, profile) <= max(current, limit)
        entries = _raised(Map(), write.state_batches, limit[0]).items()
        if within and all(_has(read, offset, entry) for offset, entry in entries):
            durable = merge(durable, write, profile)
    return durable


def _has(durable: Durable, offset: int, entry: Entry) -> bool:
    """Return whether an entry, written once more, changes nothing."""
    known = durable.entries.get(offset)
    return known is not None and durable_maximum(*entry, *known) == known


def _below(durable: Durable, start: int) -> list[int]:
    if 0 <= start - durable.start_offset <= len(durable.entries):
        return [o for o in range(durable.start_offset, start) if o in durable.entries]
    return [o for o in durable.entries if o < start]


def fence(
    durable: Durable,
    leader_epoch: int | None,
    state_epoch: int | None,
    *,
    newer_may_pass: bool = True,
) -> ErrorCode:
    """Return why a caller with these epochs is refused, or NONE (KIP-932, Error codes).

    An older leader epoch is FENCED_LEADER_EPOCH, then an older state epoch FENCED_STATE_EPOCH; so
    is a newer one of a write, which must be of the state that its leader has read.
    """
    if leader_epoch is not None and leader_epoch < durable.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if state_epoch is None or state_epoch == durable.state_epoch:
        return ErrorCode.NONE
    passes = newer_may_pass and state_epoch > durable.state_epoch
    return ErrorCode.NONE if passes else ErrorCode.FENCED_STATE_EPOCH


def initialize_durable(durable: Durable, start_offset: int, state_epoch: int) -> Durable:
    """Initialize what is durable: a new share-partition, or an altered start offset.

    Guard: none here; the coordinator that serves the request fences by the state epoch.
    Effect: everything in flight is discarded (KIP-932, Managing the SPSO and SPEO). Older leaders
    stay fenced.
    Delivery count: all discarded.
    Persistence: the new start offset; -1 leaves it to the first leader that writes.
    """
    return Durable(
        start_offset,
        -1 if start_offset == -1 else 0,
        state_epoch=state_epoch,
        leader_epoch=durable.leader_epoch,
        snapshot_epoch=durable.snapshot_epoch + 1,
    )


def repeated(durable: Durable, start_offset: int) -> ErrorCode:
    """Answer InitializeShareGroupState in the state epoch that the share-partition has already.

    Guard: INVALID_REQUEST for a start offset beyond the durable one: within a state epoch it never
    goes back, so this is no repetition (KIP-932, Alter share group offsets).
    Effect: none; the request can be repeated to handle failures (KIP-932, group coordinator). Its
    start offset may be lower than the durable one: leaders have written since.
    Delivery count: unchanged.
    Persistence: none.
    """
    return ErrorCode.INVALID_REQUEST if start_offset > durable.start_offset else ErrorCode.NONE


def snapshot_record(before: Durable, after: Durable) -> tuple[ShareSnapshot, Durable]:
    """Return the record that holds all of ``after``, and ``after`` with its counts.

    ``before`` is the state after the last record; the snapshot has the next snapshot epoch.
    """
    after = attrs.evolve(after, snapshot_epoch=before.snapshot_epoch + 1, updates=0)
    return ShareSnapshot(after.snapshot_epoch, durable_state(after)), after


def update_record(
    before: Durable, after: Durable, batches: Iterable[StateBatch]
) -> tuple[ShareUpdate, Durable]:
    """Return the record that holds what a write changed, and ``after`` with its counts.

    ``batches`` are those of the write that led from ``before`` to ``after``. The start offset and
    the delivery complete count are those of ``after``: no update goes back behind an earlier one.
    """
    start, count = after.start_offset, after.delivery_complete_count
    changed = coalesce(sorted(_raised(Map(), batches, start).items()))
    update = ShareUpdate(before.snapshot_epoch, after.leader_epoch, start, count, changed)
    return update, attrs.evolve(after, updates=before.updates + 1)


def replay_record(
    durable: Durable, record: ShareSnapshot | ShareUpdate, profile: Profile
) -> Durable:
    """Return the durable state after one more record of the topic.

    An update that belongs to an earlier snapshot is ignored: the snapshot contains it.
    """
    if isinstance(record, ShareSnapshot):
        read = counted(durable_from(record.state), profile)
        return attrs.evolve(read, snapshot_epoch=record.snapshot_epoch)
    if record.snapshot_epoch < durable.snapshot_epoch:
        return durable
    merged = merge(durable, record, profile)
    return attrs.evolve(merged, leader_epoch=record.leader_epoch, updates=durable.updates + 1)


def durable_from(state: DurableState) -> Durable:
    """Return the state that a read described, offset by offset."""
    entries = Map(
        (offset, (batch.state, batch.delivery_count))
        for batch in state.state_batches
        for offset in range(max(batch.first, state.start_offset), batch.last + 1)
    )
    return Durable(
        state.start_offset,
        state.delivery_complete_count,
        entries,
        state.state_epoch,
        state.leader_epoch,
    )


def durable_state(durable: Durable) -> DurableState:
    """Return the durable state as a read describes it, in ranges."""
    return DurableState(
        durable.start_offset,
        durable.delivery_complete_count,
        coalesce(sorted(durable.entries.items())),
        durable.state_epoch,
        durable.leader_epoch,
    )


def coalesce(entries: Iterable[tuple[int, Entry]]) -> tuple[StateBatch, ...]:
    """Return ascending entries as the fewest state batches."""
    return tuple(StateBatch(first, last, *entry) for first, last, entry in runs(entries))
