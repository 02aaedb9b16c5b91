"""A small world around the share coordinator, for a search through all of it (KIP-932).

One share-partition, two leaders and two state epochs. Requests that were sent may arrive late, in
any order and again; the coordinator may crash, prune its topic, and take a snapshot, at any time.
"""

from collections.abc import Iterator
from uuid import UUID

import attrs
from immutables import Map

from model.errors import ErrorCode
from model.profile import Profile
from model.ranges import StateBatch
from model.share_state_requests import (
    DeleteState,
    InitializeState,
    ReadState,
    StateRequest,
    WriteState,
)
from model.state_topic import SharePartitionKey
from model.states import RecordState
from spec import state_topic
from spec.coordinator import Durable
from spec.record import is_terminal, recover
from spec.share_coordinator import ShareCoordinator, serve
from spec.state_topic import StateTopicPartition, append, prune
from spec.state_topic import recover as recover_topic

KEY = SharePartitionKey("group", UUID(int=1), 0)
OFFSETS = 2
LEADERS = (1, 2)
"""The leader epochs of the two leaders: the second one was elected later."""


@attrs.frozen
class Leader:
    """What a leader knows: the state epoch that it read, and how many offsets are accepted."""

    state_epoch: int | None = None
    done: int = 0


@attrs.frozen
class CoordinatorWorld:
    """A state of the world.

    ``sent`` are requests that may arrive any number of times; ``answered`` the (state epoch,
    offset) whose acceptance was answered; ``newest_reader`` the latest leader that read the
    state; ``deleted`` whether the share-partition was. ``broken`` says what should not have
    happened.
    """

    coordinator: ShareCoordinator
    topic: StateTopicPartition
    most_records: int
    leaders: tuple[Leader, ...] = (Leader(), Leader())
    sent: frozenset[StateRequest] = frozenset()
    answered: frozenset[tuple[int, int]] = frozenset()
    newest_reader: int = 0
    deleted: bool = False
    broken: str | None = None


def begin(profile: Profile, most_records: int, *, deletes: bool = False) -> CoordinatorWorld:
    """Return the world with a share-partition just initialized.

    It ends when the topic has had ``most_records``. With ``deletes``, the share-partition may be
    deleted, and is initialized again in the same state epoch or the next.
    """
    coordinator = ShareCoordinator(profile, Map({KEY.topic_id: 1}), updates_per_snapshot=1)
    first = InitializeState(KEY, 1, 0)
    reply = serve(coordinator, first, 0)
    sent: set[StateRequest] = {first, InitializeState(KEY, 2, 0)}
    if deletes:
        sent.add(DeleteState(KEY))
    topic = append(StateTopicPartition(), reply.record)
    return CoordinatorWorld(reply.coordinator, topic, most_records, sent=frozenset(sent))


def successors(world: CoordinatorWorld) -> Iterator[tuple[str, CoordinatorWorld]]:
    """Yield all that can happen next, each with what it leads to."""
    if world.topic.first_offset + len(world.topic.records) >= world.most_records:
        return
    for number in range(len(LEADERS)):
        yield f"leader {LEADERS[number]} reads", _read(world, number)
        leader = world.leaders[number]
        if leader.state_epoch is not None and leader.done < OFFSETS:
            acceptance = _acceptance(LEADERS[number], leader)
            if acceptance not in world.sent:
                sent = world.sent | {acceptance}
                name = f"leader {LEADERS[number]} accepts offset {leader.done}"
                yield name, attrs.evolve(world, sent=sent)
    for request in sorted(world.sent, key=repr):
        yield f"arrives: {_name(request)}", _arrive(world, request)
    crashed = recover_topic(world.topic, world.coordinator)
    yield "crash", attrs.evolve(world, coordinator=crashed)
    pruned = prune(world.topic, state_topic.redundant_below(world.topic))
    yield "prune", attrs.evolve(world, topic=pruned)


def wrong(world: CoordinatorWorld) -> str | None:
    """Return what is wrong with the world, if anything."""
    if world.broken is not None:
        return world.broken
    recovered = recover_topic(world.topic, world.coordinator).held.get(KEY)
    held = world.coordinator.held.get(KEY)
    if (recovered and recovered.durable) != (held and held.durable):
        return "replaying the topic is not the state in memory"
    if held is not None:
        if held.leader_fence < held.durable.leader_epoch:
            return "the durable leader epoch is ahead of the fence"
        if held.durable.updates > world.coordinator.updates_per_snapshot:
            return "there are more updates than may follow a snapshot"
        for epoch, offset in sorted(world.answered):
            if epoch == held.durable.state_epoch and not _is_over(held.durable, offset):
                return f"offset {offset} was accepted, and would be delivered again"
    return None


def _read(world: CoordinatorWorld, number: int) -> CoordinatorWorld:
    epoch = LEADERS[number]
    reply = serve(world.coordinator, ReadState(KEY, epoch), 0)
    after = attrs.evolve(
        world, coordinator=reply.coordinator, topic=append(world.topic, reply.record)
    )
    if reply.state is None:
        return after
    broken = None
    if epoch < world.newest_reader:
        broken = f"leader {epoch} reads although leader {world.newest_reader} has"
    durable = world.coordinator.held[KEY].durable
    done = next((o for o in range(OFFSETS) if not _is_over(durable, o)), OFFSETS)
    leaders = _replaced(world.leaders, number, Leader(reply.state.state_epoch, done))
    newest = max(epoch, world.newest_reader)
    return attrs.evolve(after, leaders=leaders, newest_reader=newest, broken=broken)


def _acceptance(epoch: int, leader: Leader) -> WriteState:
    offset = leader.done
    batch = StateBatch(offset, offset, RecordState.ACKNOWLEDGED, 1)
    return WriteState(KEY, leader.state_epoch or 0, epoch, offset, 1, (batch,))


def _arrive(world: CoordinatorWorld, request: StateRequest) -> CoordinatorWorld:
    reply = serve(world.coordinator, request, 0)
    world = attrs.evolve(
        world, coordinator=reply.coordinator, topic=append(world.topic, reply.record)
    )
    if isinstance(request, DeleteState):
        return _deleted(world)
    if not isinstance(request, WriteState) or reply.status is not ErrorCode.NONE:
        return world
    number = LEADERS.index(request.leader_epoch)
    leader = world.leaders[number]
    if leader == Leader(request.state_epoch, request.start_offset):
        answered = world.answered | {(request.state_epoch, request.start_offset)}
        leaders = _replaced(world.leaders, number, attrs.evolve(leader, done=leader.done + 1))
        world = attrs.evolve(world, answered=answered, leaders=leaders)
    if request.leader_epoch < world.newest_reader:
        name = f"leader {request.leader_epoch} writes although leader {world.newest_reader} reads"
        return attrs.evolve(world, broken=name)
    return world


def _deleted(world: CoordinatorWorld) -> CoordinatorWorld:
    """Return the world after a deletion: only the first one is meant, later ones are late."""
    world = attrs.evolve(world, newest_reader=0)
    return world if world.deleted else attrs.evolve(world, deleted=True, answered=frozenset())


def _replaced(leaders: tuple[Leader, ...], number: int, leader: Leader) -> tuple[Leader, ...]:
    return (*leaders[:number], leader, *leaders[number + 1 :])


def _is_over(durable: Durable, offset: int) -> bool:
    """Whether a new leader would never deliver the offset."""
    entry = durable.entries.get(offset)
    return offset < durable.start_offset or (entry is not None and is_terminal(recover(*entry)))


def _name(request: StateRequest) -> str:
    match request:
        case InitializeState():
            return f"initialize in state epoch {request.state_epoch}"
        case WriteState():
            return f"leader {request.leader_epoch} accepts offset {request.start_offset}"
        case _:
            return "delete"
