"""The share coordinator: the state of many share-partitions, and the five requests (KIP-932).

Each request returns an answer and the record that it appends to the state topic. Replaying those
records gives what is held in memory; ``spec.state_topic`` holds the records.
"""

from collections.abc import Iterable, Iterator
from typing import assert_never
from uuid import UUID

import attrs
from immutables import Map

from model.errors import ErrorCode
from model.guards import CoordinatorGuard, Guard
from model.profile import Profile
from model.share_state_requests import (
    DeleteState,
    InitializeState,
    ReadState,
    ReadStateSummary,
    StateRequest,
    WriteState,
)
from model.snapshot import DurableState
from model.state_topic import SharePartitionKey, ShareSnapshot, ShareUpdate, StateRecord
from spec import coordinator as single
from spec.coordinator import Durable
from spec.kafka import absent_state_error
from spec.partition import require

NONE, UNKNOWN = ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@attrs.frozen
class HeldState:
    """What the coordinator holds of one share-partition.

    Leaders of an epoch before ``leader_fence`` are fenced: it is the durable leader epoch, or a
    later one where the profile keeps it in memory only. Times are in ms: when the latest
    snapshot's state was first written whole, and when it was written.
    """

    durable: Durable
    leader_fence: int
    created_ms: int
    written_ms: int


@attrs.frozen
class ShareCoordinator:
    """One shard of the coordinator. ``topics`` says how many partitions each topic has.

    ``updates_per_snapshot`` is share.coordinator.snapshot.update.records.per.snapshot.
    """

    profile: Profile
    topics: Map[UUID, int] = Map()
    held: Map[SharePartitionKey, HeldState] = Map()
    updates_per_snapshot: int = 500


@attrs.frozen
class Reply:
    """The coordinator after a request, the answer, and the record that was appended, if any.

    ``state`` is what a read answers; a summary answers all of it but the batches, ReadState all
    but the leader epoch and the delivery complete count.
    """

    coordinator: ShareCoordinator
    status: ErrorCode
    record: StateRecord | None = None
    state: DurableState | None = None


def serve(
    coordinator: ShareCoordinator,
    request: StateRequest,
    now: int,
    *,
    snapshot: bool | None = None,
) -> Reply:
    """Serve a request at a time in ms.

    ``snapshot`` chooses the record of a read or a write: a snapshot may come at any time. None:
    an update, until a snapshot is due. IllegalChoiceError for an update when one is due.

    Guard: ``_refusal``, of each request; what is refused changes nothing.
    """
    if (status := _refusal(coordinator, request)) is not NONE:
        return Reply(coordinator, status)
    match request:
        case InitializeState():
            return initialize_state(coordinator, request, now)
        case ReadState():
            return read_state(coordinator, request, now, snapshot=snapshot)
        case WriteState():
            return write_state(coordinator, request, now, snapshot=snapshot)
        case ReadStateSummary():
            return read_state_summary(coordinator, request)
        case DeleteState():
            return delete_state(coordinator, request)
        case _:
            assert_never(request)


def serve_writes(
    coordinator: ShareCoordinator, writes: Iterable[WriteState], now: int
) -> tuple[ShareCoordinator, tuple[ErrorCode, ...]]:
    """Serve the writes of one request, in its order (KIP-932, WriteShareGroupState).

    Guard: ``_refusal``, of each write. A broker that leads again may send writes of one
    share-partition in several leader epochs, some of which are fenced.
    Effect, Delivery count, Persistence: of each write, as ``write_state``. Each has its own answer:
    NONE to one says nothing of another.
    """
    statuses: list[ErrorCode] = []
    for write in writes:
        reply = serve(coordinator, write, now)
        coordinator = reply.coordinator
        statuses.append(reply.status)
    return coordinator, tuple(statuses)


def initialize_state(coordinator: ShareCoordinator, request: InitializeState, now: int) -> Reply:
    """Serve InitializeShareGroupState (KIP-932): a new share-partition, or an altered start offset.

    Guard: ``_refusal``, which ``serve`` asks; in the same state epoch as ``coordinator.repeated``.
    Effect: what was in flight is discarded; older leaders stay fenced. Repeated in the same state
    epoch it changes nothing, so that it can be retried.
    Delivery count: all discarded.
    Persistence: a snapshot of the next snapshot epoch, 0 for what is new.
    """
    key, held = request.key, coordinator.held.get(request.key)
    before = held.durable if held else Durable(snapshot_epoch=-1)
    known = held is not None and request.state_epoch == before.state_epoch
    if known and not coordinator.profile.defect_repeated_initialize_discards_state:
        return Reply(coordinator, single.repeated(before, request.start_offset))
    after = single.initialize_durable(before, request.start_offset, request.state_epoch)
    if coordinator.profile.defect_initialize_forgets_leader_epoch:
        after = attrs.evolve(after, leader_epoch=0)
    fence = held.leader_fence if held else 0
    value = ShareSnapshot(after.snapshot_epoch, single.durable_state(after), now, now)
    return _hold(coordinator, key, HeldState(after, fence, now, now), value)


def read_state(
    coordinator: ShareCoordinator, request: ReadState, now: int, *, snapshot: bool | None = None
) -> Reply:
    """Serve ReadShareGroupState (KIP-932): a leader takes over.

    Guard: ``_refusal``, which ``serve`` asks for all requests.
    Effect: leaders before this one are fenced.
    Delivery count: unchanged.
    Persistence: the leader epoch, if it is new, in an update or a snapshot.
    """
    held, epoch = coordinator.held[request.key], request.leader_epoch
    state = single.durable_state(held.durable)
    if epoch == held.leader_fence:
        return Reply(coordinator, NONE, state=state)
    after = attrs.evolve(held.durable, leader_epoch=epoch)
    fenced = attrs.evolve(held, leader_fence=epoch)
    reply = _log(coordinator, request, fenced, after, now, chosen=snapshot)
    return attrs.evolve(reply, state=state)


def write_state(
    coordinator: ShareCoordinator, request: WriteState, now: int, *, snapshot: bool | None = None
) -> Reply:
    """Serve WriteShareGroupState (KIP-932, KIP-1226).

    Guard: ``_refusal``, which ``serve`` asks for all requests.
    Effect, Delivery count: as in ``spec.coordinator.merge``; epochs stay as they were.
    Persistence: an update, or a snapshot: as chosen, and on time.
    """
    held = coordinator.held[request.key]
    after = single.merge(held.durable, request, coordinator.profile)
    return _log(coordinator, request, held, after, now, chosen=snapshot)


def read_state_summary(coordinator: ShareCoordinator, request: ReadStateSummary) -> Reply:
    """Serve ReadShareGroupStateSummary (KIP-932, KIP-1226), from which lag is computed.

    Guard: ``_refusal``, which ``serve`` asks for all requests.
    Effect: none. Without state the answer has a start offset and a count of -1.
    Delivery count: unchanged.
    Persistence: none.
    """
    held = coordinator.held.get(request.key)
    state = single.durable_state(held.durable if held else Durable())
    return Reply(coordinator, NONE, state=attrs.evolve(state, state_batches=()))


def delete_state(coordinator: ShareCoordinator, request: DeleteState) -> Reply:
    """Serve DeleteShareGroupState (KIP-932): the share-partition leaves the group.

    Guard: ``_refusal``, which ``serve`` asks for all requests.
    Effect: all state is forgotten, epochs too. Without state nothing changes: it can be retried.
    Delivery count: all discarded.
    Persistence: a tombstone.
    """
    if request.key not in coordinator.held:
        return Reply(coordinator, NONE)
    return _forget(coordinator, request.key)


def snapshot_again(coordinator: ShareCoordinator, key: SharePartitionKey, now: int) -> Reply:
    """Write the state of an idle share-partition again, so that older records can be pruned.

    Guard: the share-partition is held.
    Effect: none but the snapshot epoch. KIP-932: idle ones get a snapshot periodically.
    Delivery count: unchanged.
    Persistence: a snapshot of the next epoch.
    """
    require(key in coordinator.held, Guard.PARTITION_IS_INITIALIZED, str(key))
    held = coordinator.held[key]
    value, after = single.snapshot_record(held.durable, held.durable)
    stamped = attrs.evolve(value, create_timestamp=held.created_ms, write_timestamp=now)
    return _hold(coordinator, key, attrs.evolve(held, durable=after, written_ms=now), stamped)


def due_for_snapshot(
    coordinator: ShareCoordinator, now: int, interval_ms: int
) -> Iterator[SharePartitionKey]:
    """Yield the share-partitions whose latest snapshot is as old as the interval, in ms."""
    return (key for key, held in coordinator.held.items() if now - held.written_ms >= interval_ms)


def forget_topic(
    coordinator: ShareCoordinator, topic_id: UUID
) -> tuple[ShareCoordinator, tuple[StateRecord, ...]]:
    """Delete the state and the tombstone of every share-partition of a topic that was deleted.

    Kafka: ShareCoordinatorShard.maybeCleanupShareState.
    """
    gone = [key for key in coordinator.held if key.topic_id == topic_id]
    for key in gone:
        coordinator = _forget(coordinator, key).coordinator
    return coordinator, tuple(StateRecord(key, None) for key in gone)


def _refusal(coordinator: ShareCoordinator, request: StateRequest) -> ErrorCode:
    """Return why a request is refused, in Kafka's order (ShareCoordinatorShard), or NONE.

    INVALID_REQUEST for a negative partition or epoch; ReadState and WriteState need state; an epoch
    may be fenced (``coordinator.fence``); UNKNOWN_TOPIC_OR_PARTITION.
    """
    profile, key = coordinator.profile, request.key
    leader_epoch, state_epoch = _epochs(request, profile)
    numbers = key.partition, leader_epoch, state_epoch
    held, is_write = coordinator.held.get(key), isinstance(request, WriteState)
    if any(number is not None and number < 0 for number in numbers):
        return ErrorCode.INVALID_REQUEST
    if held is None and (is_write or isinstance(request, ReadState)):
        return absent_state_error(profile)
    if held is not None:
        known = attrs.evolve(held.durable, leader_epoch=held.leader_fence)
        newer = not is_write or profile.defect_newer_state_epoch_is_accepted
        status = single.fence(known, leader_epoch, state_epoch, newer_may_pass=newer)
        if status is not NONE:
            return status
    return UNKNOWN if key.partition >= coordinator.topics.get(key.topic_id, 0) else NONE


def _epochs(request: StateRequest, profile: Profile) -> tuple[int | None, int | None]:
    """Return the leader epoch and the state epoch of a request that are compared.

    The group coordinator, which leads nothing, asks for a summary with the leader epoch -1.
    """
    match request:
        case InitializeState():
            return None, request.state_epoch
        case WriteState():
            return request.leader_epoch, request.state_epoch
        case ReadState():
            return request.leader_epoch, None
        case ReadStateSummary(leader_epoch=epoch):
            leads = profile.summary_compares_the_leader_epoch and epoch != -1
            return epoch if leads else None, None
        case DeleteState():
            return None, None
        case _:
            assert_never(request)


def _log(  # noqa: PLR0913 - what a record is made of
    coordinator: ShareCoordinator,
    request: ReadState | WriteState,
    held: HeldState,
    after: Durable,
    now: int,
    *,
    chosen: bool | None,
) -> Reply:
    before = held.durable
    due = before.updates >= coordinator.updates_per_snapshot
    detail = f"{before.updates} updates since the last snapshot"
    require(chosen is not False or not due, CoordinatorGuard.SNAPSHOT_ON_TIME, detail)
    if chosen or due:
        snapshot, after = single.snapshot_record(before, after)
        snapshot = attrs.evolve(snapshot, create_timestamp=now, write_timestamp=now)
        fresh = HeldState(after, held.leader_fence, now, now)
        return _hold(coordinator, request.key, fresh, snapshot)
    batches = request.state_batches if isinstance(request, WriteState) else ()
    update, after = single.update_record(before, after, batches)
    return _hold(coordinator, request.key, attrs.evolve(held, durable=after), update)


def _hold(
    coordinator: ShareCoordinator,
    key: SharePartitionKey,
    held: HeldState,
    value: ShareSnapshot | ShareUpdate,
) -> Reply:
    after = attrs.evolve(coordinator, held=coordinator.held.set(key, held))
    return Reply(after, NONE, StateRecord(key, value))


def _forget(coordinator: ShareCoordinator, key: SharePartitionKey) -> Reply:
    after = attrs.evolve(coordinator, held=coordinator.held.delete(key))
    return Reply(after, NONE, StateRecord(key, None))
