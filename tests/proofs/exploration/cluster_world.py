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

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import permutations

import attrs
from immutables import Map

from judge.invariants import broken_names
from judge.share_broker_invariants import BROKER_INVARIANTS
from judge.share_group_invariants import GROUP_INVARIANTS
from model.errors import ErrorCode
from model.outcome import Write
from model.profile import Profile
from model.share_messages import ShareResponse
from model.share_state_requests import DeleteState, InitializeState
from model.states import TERMINAL_STATES, RecordState
from spec import coordinator, group_lifecycle, share_cluster
from spec.coordinator import Durable, merge
from spec.log import Log
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
from tests.proofs.exploration.one_broker import (
    ACCEPT,
    AT,
    BROKERS,
    FORGOTTEN,
    KEY,
    MEMBER,
    PLAIN,
    REJECT,
    RELEASE,
    TOPIC,
    Bounds,
    Done,
    OneBroker,
    alone,
    arrived,
    arrived_together,
    at_broker,
    small,
    unanswered,
)

_TOPICS = frozenset({AT.topic_id})
_JOINED = Map({MEMBER: _TOPICS})
_INITIALIZED = PartitionMetadata(initialized=frozenset({AT}))
_GROUP = Coordinators(Map({AT.topic_id: 1}), ShareGroup(1, _JOINED, _INITIALIZED))
TWO_RECORDS = Bounds(1, 2, 2, (ACCEPT, RELEASE, REJECT), dead_letters=True)
ALTERED_OR_DELETED = attrs.evolve(TWO_RECORDS, records=1, operations=3, deletes=True)


@attrs.frozen(cache_hash=True)
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


def begin(profile: Profile, bounds: Bounds = PLAIN) -> ClusterWorld:
    """Return the world in which broker 1 leads in epoch 1 and has read nothing."""
    alone.cache_clear()
    _broken_of.cache_clear()
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
        if broken := _broken_of(broker):
            return f"broker {number}: {broken[0]}"
    if world.bounds.operations and (names := broken_names(GROUP_INVARIANTS, _coordinators(world))):
        return names[0]
    if state_key(KEY) not in world.cluster.coordinator.held:
        return None
    return _forgotten(world) or _believes_otherwise(world)


@cache
def _broken_of(broker: ShareBroker) -> list[str]:
    return broken_names(BROKER_INVARIANTS, broker)


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
    cluster, bounds = world.cluster, world.bounds
    latest = max(cluster.leader_epochs.values())
    assigned = not bounds.operations or AT in assignable(world.group)
    leaders = {number: _alone(world, number) for number, _at in cluster.leader_epochs}
    for number in BROKERS:
        if latest < bounds.last_epoch and cluster.leader_epochs.get((number, AT)) != latest:
            elected = _elected(cluster, bounds, number, latest + 1)
            yield f"broker {number} is elected", _with(world, small(elected, bounds))
        if (leader := leaders.get(number)) is not None:
            done = leader.does(at_broker, number, latest, bounds.kinds, assigned=assigned)
            yield from _told(world, number, done)
    sent = sorted(cluster.sent, key=repr)
    for one in sent:
        yield from _told(world, one.broker, leaders[one.broker].does(arrived, one))
    if bounds.retries:
        yield from _retried(world, leaders, sent)
    elif bounds.operations:
        yield from _of_the_group(world)
    elif not any(broker.sessions for broker in cluster.brokers.values()):
        request = InitializeState(state_key(KEY), 2, bounds.records)
        reply = serve(cluster.coordinator, request, 0)
        after = attrs.evolve(cluster, coordinator=reply.coordinator)
        yield "altered", _with(world, small(after, bounds))


def _retried(
    world: ClusterWorld, leaders: Mapping[int, OneBroker], sent: Sequence[SentWrite]
) -> Iterator[tuple[str, ClusterWorld]]:
    """Yield what happens where answers are lost, and where two writes stand in one request."""
    forgotten = any(one.id == FORGOTTEN for one in sent)
    for one in sent:
        done = leaders[one.broker].does(unanswered, one, forgotten=forgotten)
        yield from _told(world, one.broker, done)
    for one, other in permutations(sent, 2):
        if one.broker == other.broker:
            done = leaders[one.broker].does(arrived_together, one, other)
            yield from _told(world, one.broker, done)


def _alone(world: ClusterWorld, number: int) -> OneBroker:
    cluster = world.cluster
    mine = frozenset(sent for sent in cluster.sent if sent.broker == number)
    lone = ShareCluster(
        cluster.coordinator,
        Map({number: cluster.brokers[number]}),
        Map({(number, AT): cluster.leader_epochs[number, AT]}),
        mine,
    )
    return alone(lone, world.bounds)


def _told(
    world: ClusterWorld, number: int, done: Iterable[Done]
) -> Iterator[tuple[str, ClusterWorld]]:
    """Yield the worlds after what a broker does."""
    cluster = world.cluster
    others = frozenset(sent for sent in cluster.sent if sent.broker != number)
    for name, parts in done:
        there = world
        for after, handled, sent in parts:
            whole = attrs.evolve(
                cluster,
                coordinator=after.coordinator,
                brokers=cluster.brokers.set(number, after.brokers[number]),
                sent=others | after.sent,
            )
            if handled is None:
                there = _with(there, whole)
            else:
                there = _answered(there, whole, number, handled, sent)
        yield name, there


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
    return _with(attrs.evolve(world, fault=fault, fenced=fenced), small(cluster, world.bounds))


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
    return _with(told, after)


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


def _with(world: ClusterWorld, cluster: ShareCluster) -> ClusterWorld:
    """Return the world with the cluster after a step."""
    doubtful = frozenset(sent for sent in world.doubtful if _is_unknown(cluster, sent))
    return attrs.evolve(world, cluster=cluster, doubtful=doubtful)


def _is_unknown(cluster: ShareCluster, sent: SentWrite) -> bool:
    """Return whether a write may be durable now, and its broker would not know."""
    held, write = cluster.coordinator.held.get(sent.request.key), sent.request
    if held is None or (write.leader_epoch, write.state_epoch) != _epochs_of(held):
        return False
    partition = cluster.brokers[sent.broker].partitions[KEY]
    return merge(partition.durable, write, partition.profile) != partition.durable


def _epochs_of(held: HeldState) -> tuple[int, int]:
    return held.leader_fence, held.durable.state_epoch
