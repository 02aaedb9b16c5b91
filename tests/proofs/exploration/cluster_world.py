"""Every state of two brokers that lead one share-partition in turn, and of its share coordinator.

A broker goes on as a leader until it hears of its successor or is fenced. Its member fetches,
acknowledges, and ends its session; locks expire. Writes arrive at any later time, also those of
which the broker has forgotten that it made them. The start offset is altered once, to the end of
the log, while there is no session. With operations of the group coordinator it is altered, or
deleted and initialized again, only by them, effect by effect, with crashes between any two; the
member joins and leaves, and has sessions only while it is in the group. So that the world is
finite, leader epochs have an end, sessions always expect epoch 1, and times are kept by whether a
lock is over. With retries an answer may be lost, so that a write arrives again, at any time; two
writes of a broker may stand in one request; and a broker may give up, and the next session begin
while a write is on its way, so that two windows of one leader epoch have written. In the plain
world there is one record, which is delivered once and accepted. In
others there are two, which are released, rejected to a dead-letter queue and marked in progress as
well.
"""

from collections.abc import Iterator
from itertools import permutations
from uuid import UUID

import attrs
from immutables import Map

from judge.invariants import broken_names
from judge.share_broker_invariants import BROKER_INVARIANTS
from judge.share_group_invariants import GROUP_INVARIANTS
from model.config import AutoOffsetReset, SharePartitionConfig
from model.errors import ErrorCode
from model.operations import (
    AcknowledgementBatch,
    FinishDeadLetter,
    MarkInProgress,
    ProgressBatch,
)
from model.outcome import Write
from model.profile import Profile
from model.ranges import OffsetRange
from model.share_messages import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    PartitionRequest,
    ShareAcknowledge,
    ShareFetch,
    ShareRequest,
    ShareResponse,
    TopicPartition,
)
from model.share_state_requests import DeleteState, InitializeState
from model.states import TERMINAL_STATES, AcknowledgeType, RecordState
from spec import coordinator, group_lifecycle, share_broker, share_cluster
from spec.coordinator import Durable, merge
from spec.log import Log
from spec.record import is_dead_letter
from spec.share_broker import Handled, ShareBroker
from spec.share_cluster import SentWrite, ShareCluster, state_key
from spec.share_coordinator import HeldState, ShareCoordinator, serve
from spec.share_group import (
    CallDelete,
    CallInitialize,
    Coordinators,
    Effect,
    PartitionMetadata,
    ShareGroup,
    assignable,
    perform,
)
from tests.proofs.exploration.session_world import small_broker

TOPIC = UUID(int=7)
AT = TopicPartition(str(TOPIC), 0)
KEY = GROUP, _ = ("g", AT)
MEMBER, BROKERS = "m", (1, 2)
LOCK_MS = 1
FORGOTTEN = -1
"""The number of a write that its broker has forgotten."""
ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT


@attrs.frozen
class Bounds:
    """How large a world is. ``last_epoch`` is that of its last leader.

    ``operations`` is how many of the group coordinator may begin; ``deletes``: also that it
    deletes the share-partition. ``retries``: answers may be lost.
    """

    last_epoch: int = 2
    records: int = 1
    deliveries: int = 1
    kinds: tuple[AcknowledgeType, ...] = (ACCEPT,)
    dead_letters: bool = False
    operations: int = 0
    deletes: bool = False
    retries: bool = False

    @property
    def config(self) -> SharePartitionConfig:
        """The configuration of the share-partition; a mark keeps a lock for as long as it was."""
        return SharePartitionConfig(
            self.deliveries,
            self.records,
            LOCK_MS,
            AutoOffsetReset.EARLIEST,
            dead_letter_queue=self.dead_letters,
            in_progress_staleness_threshold_ms=LOCK_MS,
            in_progress_max_lock_extension_ms=LOCK_MS,
            in_progress_rebalance_grace_ms=0,
        )


_TOPICS = frozenset({AT.topic_id})
_JOINED = Map({MEMBER: _TOPICS})
_INITIALIZED = PartitionMetadata(initialized=frozenset({AT}))
_GROUP = Coordinators(Map({AT.topic_id: 1}), ShareGroup(1, _JOINED, _INITIALIZED))
TWO_RECORDS = Bounds(1, 2, 2, (ACCEPT, RELEASE, REJECT), dead_letters=True)
ALTERED_OR_DELETED = attrs.evolve(TWO_RECORDS, records=1, operations=3, deletes=True)


@attrs.frozen
class ClusterWorld:
    """The brokers with their share coordinator, and what has been answered so far.

    ``accepted`` are the (state epoch, offset) whose acceptance was answered NONE; ``fenced`` the
    (broker, leader epoch) that were answered FENCED_LEADER_EPOCH by the state that is held.
    ``work`` is what the operation of the group coordinator has yet to do, and ``begun`` how many
    have begun. ``doubtful`` are durable writes for whose answer no broker waited. ``fault`` says
    what was wrong with the step that led here.
    """

    cluster: ShareCluster
    bounds: Bounds
    group: Coordinators = _GROUP
    work: tuple[Effect, ...] = ()
    begun: int = 0
    accepted: frozenset[tuple[int, int]] = frozenset()
    fenced: frozenset[tuple[int, int]] = frozenset()
    doubtful: frozenset[SentWrite] = frozenset()
    fault: str | None = None


def begin(profile: Profile, bounds: Bounds = Bounds()) -> ClusterWorld:
    """Return the world in which broker 1 leads in epoch 1 and has read nothing."""
    states = ShareCoordinator(profile, Map({TOPIC: 1}))
    states = serve(states, InitializeState(state_key(KEY), 1, 0), 0).coordinator
    brokers = Map({n: ShareBroker(profile, Map({AT.topic_id: 1})) for n in BROKERS})
    return ClusterWorld(_elected(ShareCluster(states, brokers), bounds, 1, 1), bounds)


def _elected(cluster: ShareCluster, bounds: Bounds, broker: int, epoch: int) -> ShareCluster:
    log = Log(0, bounds.records)
    return share_cluster.elect(cluster, broker, KEY, epoch=epoch, config=bounds.config, log=log)


def check(world: ClusterWorld) -> str | None:
    """Return what is wrong with the world, or with the step that led to it."""
    if world.fault is not None:
        return world.fault
    for number, broker in world.cluster.brokers.items():
        broken = broken_names(BROKER_INVARIANTS, broker)
        if broken:
            return f"broker {number}: {broken[0]}"
    if world.bounds.operations and (names := broken_names(GROUP_INVARIANTS, _coordinators(world))):
        return names[0]
    if state_key(KEY) not in world.cluster.coordinator.held:
        return None
    return _forgotten(world) or _believes_otherwise(world)


def _forgotten(world: ClusterWorld) -> str | None:
    """Whether a record that was accepted is not done for the next leader.

    Where answers are lost it may be archived (decision 180).
    """
    done = TERMINAL_STATES if world.bounds.retries else {RecordState.ACKNOWLEDGED}
    durable = world.cluster.coordinator.held[state_key(KEY)].durable
    for state_epoch, offset in sorted(world.accepted):
        entry = durable.entries.get(offset)
        over = offset < durable.start_offset or (entry is not None and entry[0] in done)
        if state_epoch == durable.state_epoch and not over:
            return f"offset {offset} was accepted, and is not done"
    return None


def _believes_otherwise(world: ClusterWorld) -> str | None:
    """Whether the latest leader takes something else for durable than what is.

    It may not know that the start offset was altered while there is no session; once there is one
    it has validated its state epoch (KIP-932, Using the share coordinator). Nor does it know which
    of its writes without an answer are durable.
    """
    held = world.cluster.coordinator.held[state_key(KEY)]
    for (number, _at), epoch in world.cluster.leader_epochs.items():
        broker = world.cluster.brokers[number]
        partition = broker.partitions[KEY]
        if not partition.ready or epoch != held.leader_fence:
            continue
        same_epoch = partition.durable.state_epoch == held.durable.state_epoch
        if not same_epoch and broker.sessions:
            return f"broker {number} serves a session what altering discarded"
        unknown = _unknown(world, number, epoch)
        known = coordinator.explain_read(partition.durable, unknown, held.durable, broker.profile)
        if same_epoch and _content(known) != _content(held.durable):
            return f"broker {number} takes something else for durable than what is"
    return None


def _unknown(world: ClusterWorld, number: int, epoch: int) -> list[Write]:
    """Return the writes of a leader that may be durable though it was not told."""
    if not world.bounds.retries:
        return []
    sent = sorted(world.cluster.sent | world.doubtful, key=repr)
    asked = (one.request for one in sent if one.broker == number)
    return [
        Write(0, r.start_offset, r.delivery_complete_count, r.state_batches)
        for r in asked
        if r.leader_epoch == epoch
    ]


def _content(durable: Durable) -> tuple[int, int, dict[int, tuple[RecordState, int]]]:
    return durable.start_offset, durable.delivery_complete_count, dict(durable.entries)


def steps(world: ClusterWorld) -> Iterator[tuple[str, ClusterWorld]]:
    """Yield everything that can happen next, with its name."""
    cluster = world.cluster
    latest = max(cluster.leader_epochs.values())
    for number in BROKERS:
        epoch = cluster.leader_epochs.get((number, AT))
        if latest < world.bounds.last_epoch and epoch != latest:
            elected = _elected(cluster, world.bounds, number, latest + 1)
            yield f"broker {number} is elected", _small(world, elected)
        if epoch is not None:
            yield from _at_broker(world, number, latest)
    for sent in sorted(cluster.sent, key=repr):
        after, handled = share_cluster.arrive(cluster, sent, 0)
        name = f"a write of leader {sent.request.leader_epoch} arrives"
        yield name, _answered(world, after, sent.broker, handled, sent)
    if world.bounds.retries:
        yield from _retried(world)
    elif world.bounds.operations:
        yield from _of_the_group(world)
    elif not any(broker.sessions for broker in cluster.brokers.values()):
        request = InitializeState(state_key(KEY), 2, world.bounds.records)
        reply = serve(cluster.coordinator, request, 0)
        yield "altered", _small(world, attrs.evolve(cluster, coordinator=reply.coordinator))


def _retried(world: ClusterWorld) -> Iterator[tuple[str, ClusterWorld]]:
    """Yield what happens where answers are lost, and where two writes stand in one request."""
    cluster = world.cluster
    forgotten = any(sent.id == FORGOTTEN for sent in cluster.sent)
    for sent in sorted(cluster.sent, key=repr):
        lost, _ = share_cluster.receive(cluster, [sent], 0)
        yield "an answer is lost", _small(world, lost)
        if not forgotten and sent.id in cluster.brokers[sent.broker].partitions[KEY].outstanding:
            after, handled = share_cluster.give_up(cluster, sent)
            yield "a broker gives up", _answered(world, after, sent.broker, handled, sent)
    for two in permutations(sorted(cluster.sent, key=repr), 2):
        if two[0].broker == two[1].broker:
            after, statuses = share_cluster.receive(cluster, two, 0)
            there = world
            for sent, status in zip(two, statuses, strict=True):
                after, handled = share_cluster.answer(after, sent, status)
                there = _answered(there, after, sent.broker, handled, sent)
            yield "two writes arrive together", there


def _coordinators(world: ClusterWorld) -> Coordinators:
    """Return what is durable of the group and of its share-partition."""
    held = world.cluster.coordinator.held.get(state_key(KEY))
    states = Map({} if held is None else {AT: held.durable})
    return attrs.evolve(world.group, states=states)


def _of_the_group(world: ClusterWorld) -> Iterator[tuple[str, ClusterWorld]]:
    if world.work:
        effect, *rest = world.work
        yield type(effect).__name__, _performed(attrs.evolve(world, work=tuple(rest)), effect)
        yield "the group coordinator crashes", attrs.evolve(world, work=())
    elif world.begun < world.bounds.operations:
        there = _coordinators(world)
        plans = {
            "joins": group_lifecycle.subscribe(there, MEMBER, _TOPICS),
            "altered": group_lifecycle.alter_offsets(there, {AT: world.bounds.records}),
        }
        if world.bounds.deletes:
            plans["deleted"] = group_lifecycle.delete_offsets(there, _TOPICS)
        for name, plan in plans.items():
            if effects := plan.effects:
                yield name, attrs.evolve(world, work=effects, begun=world.begun + 1)
        if not any(broker.sessions for broker in world.cluster.brokers.values()):
            for effect in group_lifecycle.leave(world.group, MEMBER).effects:
                yield "leaves", _performed(attrs.evolve(world, begun=world.begun + 1), effect)


def _performed(world: ClusterWorld, effect: Effect) -> ClusterWorld:
    """Return the world after an effect of the group coordinator; a call goes where writes go."""
    if not isinstance(effect, CallInitialize | CallDelete):
        return attrs.evolve(world, group=perform(world.group, effect)[1])
    request: InitializeState | DeleteState = DeleteState(state_key(KEY))
    if isinstance(effect, CallInitialize):
        request = InitializeState(state_key(KEY), effect.state_epoch, effect.start_offset)
    reply = serve(world.cluster.coordinator, request, 0)
    held = reply.coordinator.held.get(state_key(KEY))
    begins = Durable() if held is None else held.durable
    altered = not isinstance(effect, CallInitialize) or (
        begins.start_offset == effect.start_offset and not begins.entries
    )
    fault = None if altered else "an altered start offset has no effect"
    cluster = attrs.evolve(world.cluster, coordinator=reply.coordinator)
    fenced = frozenset[tuple[int, int]]() if held is None else world.fenced
    return _small(attrs.evolve(world, fault=fault, fenced=fenced), cluster)


def _at_broker(world: ClusterWorld, number: int, latest: int) -> Iterator[tuple[str, ClusterWorld]]:
    cluster = world.cluster
    broker = cluster.brokers[number]
    if cluster.leader_epochs[number, AT] < latest and AT not in broker.elsewhere:
        resigned = share_broker.resign(broker, AT).broker
        after = attrs.evolve(cluster, brokers=cluster.brokers.set(number, resigned))
        yield f"broker {number} hears of its successor", _small(world, after)
    if broker.partitions[KEY].window.held:
        expired = share_cluster.advance(cluster, number, LOCK_MS)
        yield f"locks expire at broker {number}", _small(world, expired)
    for name, operation in _own(broker):
        after = share_cluster.operate(cluster, number, KEY, operation)
        yield f"{name} at broker {number}", _small(world, after)
    assigned = not world.bounds.operations or AT in assignable(world.group)
    for name, request in _requests(broker, world.bounds.kinds, assigned=assigned):
        after, handled = share_cluster.handle(cluster, number, request, 0)
        yield f"{name} at broker {number}", _answered(world, after, number, handled)


def _own(broker: ShareBroker) -> Iterator[tuple[str, FinishDeadLetter | MarkInProgress]]:
    """Yield what the broker does without a request, and what a mark of its member does."""
    partition = broker.partitions[KEY]
    for offset, record in sorted(partition.window.records.items()):
        if is_dead_letter(record):
            yield f"dead letter {offset} is taken", FinishDeadLetter((OffsetRange(offset, offset),))
        if record.state is RecordState.ACQUIRED and broker.profile.in_progress:
            token = partition.durable.leader_epoch, record.acquisition
            marks = (ProgressBatch(offset, offset, *token),)
            yield f"marks {offset}", MarkInProgress(MEMBER, marks)


def _requests(
    broker: ShareBroker, kinds: tuple[AcknowledgeType, ...], *, assigned: bool
) -> Iterator[tuple[str, ShareRequest]]:
    part = PartitionRequest(AT)
    if assigned:
        yield "opens", ShareFetch(GROUP, MEMBER, INITIAL_EPOCH, (part,), max_records=1)
    if (GROUP, MEMBER) not in broker.sessions:
        return
    yield "closes", ShareFetch(GROUP, MEMBER, FINAL_EPOCH)
    for offset in sorted(broker.partitions[KEY].window.held):
        for kind in kinds:
            batch = AcknowledgementBatch(offset, offset, (kind,))
            asked = PartitionRequest(AT, (batch,))
            name = f"{kind.name.lower()}s {offset}"
            yield name, ShareAcknowledge(GROUP, MEMBER, 1, (asked,))


def _answered(
    world: ClusterWorld,
    after: ShareCluster,
    number: int,
    handled: Handled,
    sent: SentWrite | None = None,
) -> ClusterWorld:
    """Return the world after a step that answered something, and what was wrong with it."""
    epoch = after.leader_epochs[number, AT]
    held = after.coordinator.held.get(state_key(KEY))
    fault, fenced, accepted = None, world.fenced, world.accepted
    arrived = () if sent is None else (attrs.evolve(sent, id=0),)
    doubtful = world.doubtful.union(arrived)
    for response in handled.responses.values():
        acquired, errors = _parts(response)
        if acquired and (number, epoch) in fenced:
            fault = f"broker {number} acquires although it was fenced"
        if ErrorCode.NOT_LEADER_OR_FOLLOWER in errors and held and epoch < held.leader_fence:
            fenced |= {(number, epoch)}
        if sent is not None and errors == {ErrorCode.NONE}:
            accepted |= {
                (sent.request.state_epoch, offset)
                for batch in sent.request.state_batches
                if batch.state is RecordState.ACKNOWLEDGED
                for offset in range(batch.first, batch.last + 1)
            }
    told = attrs.evolve(world, fault=fault, fenced=fenced, accepted=accepted, doubtful=doubtful)
    return _small(told, after)


def _parts(response: ShareResponse) -> tuple[list[int], set[ErrorCode]]:
    """Return the offsets that a response gives, and its errors."""
    acquired = [
        offset
        for part in response.partitions
        for given in part.acquired
        for offset in range(given.first, given.last + 1)
    ]
    errors = {
        error for part in response.partitions for error in (part.error, part.acknowledge_error)
    }
    return acquired, errors


def _small(world: ClusterWorld, cluster: ShareCluster) -> ClusterWorld:
    """Return the world with clocks at 0 and numbers as low as they can be."""
    held = {
        key: attrs.evolve(held, durable=attrs.evolve(held.durable, snapshot_epoch=0, updates=0))
        for key, held in cluster.coordinator.held.items()
    }
    states = attrs.evolve(cluster.coordinator, held=Map(held))
    sent, brokers = set(), {}
    for number, broker in cluster.brokers.items():
        mine = [one for one in cluster.sent if one.broker == number]
        partition = broker.partitions.get(KEY)
        known = set() if partition is None else set(partition.outstanding)
        ids = {id_: rank for rank, id_ in enumerate(sorted(known | {one.id for one in mine}))}
        if world.bounds.retries:  # Nobody waits for the others: those that say the same are one.
            ids |= {one.id: FORGOTTEN for one in mine if one.id not in known}
        sent |= {attrs.evolve(one, id=ids[one.id]) for one in mine}
        brokers[number] = small_broker(broker, ids)
    after = attrs.evolve(cluster, coordinator=states, brokers=Map(brokers), sent=frozenset(sent))
    doubtful = frozenset(sent for sent in world.doubtful if _is_unknown(after, sent))
    return attrs.evolve(world, cluster=after, doubtful=doubtful)


def _is_unknown(cluster: ShareCluster, sent: SentWrite) -> bool:
    """Return whether a write may be durable now, and its broker would not know."""
    held, write = cluster.coordinator.held.get(sent.request.key), sent.request
    if held is None or (write.leader_epoch, write.state_epoch) != _epochs_of(held):
        return False
    partition = cluster.brokers[sent.broker].partitions[KEY]
    return merge(partition.durable, write, partition.profile) != partition.durable


def _epochs_of(held: HeldState) -> tuple[int, int]:
    return held.leader_fence, held.durable.state_epoch
