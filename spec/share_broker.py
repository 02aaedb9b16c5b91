"""A broker that leads share-partitions and keeps share sessions, as one immutable value."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import attrs
from immutables import Map

from model.config import SharePartitionConfig
from model.errors import ErrorCode, InvalidValueError
from model.operations import (
    Acknowledge,
    AdvanceTime,
    CompleteWrite,
    Initialize,
    MemberLeaves,
    Operation,
    Produce,
)
from model.outcome import Answer, Choice, Outcome
from model.profile import Profile
from model.share_messages import Conduct, ShareResponse, TopicPartition
from model.snapshot import DurableState
from spec.coordinator import Durable, durable_state
from spec.kafka import absent_state_error
from spec.log import Log
from spec.partition import SharePartition
from spec.produce import produce
from spec.share_session import SessionKey, Sessions
from spec.step import Step, apply
from spec.window import Window

NONE = ErrorCode.NONE
_FREE, _ANY = Choice(), Conduct()
NOBODY = -1
"""The sequence number of an operation for whose answer no request waits."""

PartitionKey: TypeAlias = tuple[str, TopicPartition]
"""The group and the partition."""

FENCING = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)
"""Answers to a write after which the broker no longer has the share-partition in memory.

The write of an expiry does not count (Kafka: releaseAcquisitionLockOnTimeout)."""

_CLIENT_ERRORS = {
    ErrorCode.FENCED_LEADER_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_STATE_EPOCH: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR: ErrorCode.COORDINATOR_NOT_AVAILABLE,
}
"""The error that a client gets for one of the share coordinator, where they differ."""


@attrs.frozen
class WaitingResponse:
    """A response that waits for the writes of the acknowledgements at ``awaited``."""

    group: str
    response: ShareResponse
    awaited: frozenset[TopicPartition]


@attrs.frozen
class Applied:
    """An operation that was applied to a share-partition, its outcome, and what it left."""

    key: PartitionKey
    operation: Operation
    outcome: Outcome
    partition: SharePartition


@attrs.frozen
class ShareBroker:
    """The part of a broker that serves share groups; ``now`` in ms.

    ``topics`` gives the number of partitions of each existing topic; ``elsewhere`` are partitions
    that another broker leads. ``partitions`` are those whose state a share coordinator holds; they
    are ``ready`` while the broker has them in memory. ``unvalidated`` are those in memory since the
    last session of their group, whose start offset may have been altered. ``fenced`` are those of
    which a later leader has read the state. ``waiting`` and ``finished`` are responses by the
    number of their request. ``journal`` is what was applied since it was emptied, in order; None
    where nobody keeps it.
    """

    profile: Profile
    topics: Map[str, int] = Map()
    elsewhere: frozenset[TopicPartition] = frozenset()
    partitions: Map[PartitionKey, SharePartition] = Map()
    unvalidated: frozenset[PartitionKey] = frozenset()
    fenced: frozenset[PartitionKey] = frozenset()
    sessions: Sessions = Map()
    most_sessions: int = 2000
    now: int = 0
    waiting: Map[int, WaitingResponse] = Map()
    finished: Map[int, ShareResponse] = Map()
    next_seq: int = 0
    journal: tuple[Applied, ...] | None = None


@attrs.frozen
class Handled:
    """The broker after an input, and the responses that it now gives.

    ``seq`` is the number of the request, if there was one.
    """

    broker: ShareBroker
    responses: Map[int, ShareResponse]
    seq: int = NOBODY

    @property
    def response(self) -> ShareResponse | None:
        """The response to this request; None if it waits for a write."""
        return self.responses.get(self.seq)


def lead(
    broker: ShareBroker,
    key: PartitionKey,
    config: SharePartitionConfig,
    log: Log,
    state: Durable,
) -> ShareBroker:
    """Have the broker lead a partition of which a share coordinator has the group's state.

    Guard: none.
    Effect: the share-partition is not in memory until the first fetch. It leads in a new leader
    epoch, which nobody has fenced; calls that wait for a write of an earlier one get
    NOT_LEADER_OR_FOLLOWER.
    Records: as they were last durable.
    Persistence: none.
    """
    if key in broker.partitions:
        broker = _drop(broker, key, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    partition = SharePartition(broker.profile, config, log=log, durable=state)
    return attrs.evolve(
        broker,
        elsewhere=broker.elsewhere - {key[1]},
        fenced=broker.fenced - {key},
        partitions=broker.partitions.set(key, partition),
    )


def append(broker: ShareBroker, topic_partition: TopicPartition, operation: Produce) -> ShareBroker:
    """Append batches to the log of a partition, for every group, as ``produce.produce``."""
    for key in broker.partitions:
        if key[1] == topic_partition:
            broker = append_to(broker, key, operation)
    return broker


def append_to(broker: ShareBroker, key: PartitionKey, operation: Produce) -> ShareBroker:
    """Append batches to the log as one group has it, as ``produce.produce``."""
    return _noted(broker, key, operation, produce(broker.partitions[key], operation))


def locate(broker: ShareBroker, topic_partition: TopicPartition) -> ErrorCode:
    """Return what is wrong with a partition in the metadata of the cluster, or NONE."""
    if topic_partition.topic_id not in broker.topics:
        return ErrorCode.UNKNOWN_TOPIC_ID
    if topic_partition.partition >= broker.topics[topic_partition.topic_id]:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return NONE


def load(
    broker: ShareBroker,
    key: PartitionKey,
    reset_offset: int | None,
    read: DurableState | ErrorCode | None = None,
) -> tuple[ErrorCode, ShareBroker]:
    """Load a share-partition into memory for a fetch (Kafka: getOrCreateSharePartition).

    Guard: NOT_LEADER_OR_FOLLOWER if the broker does not lead it; the share coordinator's error
    (``_not_read``) if it has no state, as the share-partition is not part of the group (KIP-932,
    ReadShareGroupState), or if a later leader has fenced this one, until it leads anew or the state
    that knew of that leader is deleted, so that the share coordinator lets this one read.
    Effect: if it was not in memory, as ``initialize``, from the state that is ``read``. What is in
    memory since the last session is read too: in another state epoch it is initialized again, and
    calls that wait for a write get NOT_LEADER_OR_FOLLOWER (KIP-932, Using the share coordinator:
    "when the set of share sessions transitions from 0 to 1").
    Records: as they were last durable, or as they were.
    Persistence: none.
    """
    if key[1] in broker.elsewhere:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER, broker
    partition = broker.partitions.get(key)
    if partition is None:
        return _not_read(broker, key, absent_state_error(broker.profile))
    if partition.ready and key not in broker.unvalidated:
        return NONE, broker
    if read is None:
        fenced = key in broker.fenced
        read = ErrorCode.FENCED_LEADER_EPOCH if fenced else durable_state(partition.durable)
    if isinstance(read, ErrorCode):
        return _not_read(broker, key, read)
    broker = attrs.evolve(broker, fenced=broker.fenced - {key})
    if partition.ready and read.state_epoch == partition.durable.state_epoch:
        return NONE, attrs.evolve(broker, unvalidated=broker.unvalidated - {key})
    if partition.ready:
        broker = _drop(broker, key, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    log = partition.log
    extent = log.start_offset, log.end_offset
    ends = log.stable_offset, log.known
    operation = Initialize(partition.config, *extent, read, broker.now, reset_offset, *ends)
    broker, outcome = apply_to(broker, key, operation)
    return outcome.status, broker


def _not_read(
    broker: ShareBroker, key: PartitionKey, status: ErrorCode
) -> tuple[ErrorCode, ShareBroker]:
    """Return what a client is told; what was in memory stays there only until it can be read.

    INVALID_REQUEST is the share coordinator's answer where it has no state, under ``kafka``.
    """
    absent = status is ErrorCode.INVALID_REQUEST
    told = ErrorCode.UNKNOWN_SERVER_ERROR if absent else _CLIENT_ERRORS.get(status, status)
    if key in broker.unvalidated and (absent or told in FENCING):
        broker = _drop(broker, key, told)
    return told, _note_fenced(broker, key, status)


def apply_to(
    broker: ShareBroker,
    key: PartitionKey,
    operation: Operation,
    choice_and_answers: tuple[Choice, Sequence[Answer]] = (_FREE, ()),
    seq: int = NOBODY,
) -> tuple[ShareBroker, Outcome]:
    """Apply an operation to one share-partition, and answer whoever waited for it.

    ``choice_and_answers`` are what the broker chooses, and how the share coordinator answers the
    writes.
    """
    step = apply(broker.partitions[key], operation, *choice_and_answers, seq)
    broker, status = _answered(broker, key, operation, step)
    if step.outcome.completed or isinstance(operation, Acknowledge | MemberLeaves):
        broker = _drop(broker, key, status) if status in FENCING else broker
        broker = _note_fenced(broker, key, step.outcome.status)
    return broker, attrs.evolve(step.outcome, status=status)


def _answered(
    broker: ShareBroker, key: PartitionKey, operation: Operation, step: Step
) -> tuple[ShareBroker, ErrorCode]:
    """Return the broker after an operation, its waiting calls answered, and what clients get."""
    broker = _noted(broker, key, operation, step)
    status = _CLIENT_ERRORS.get(step.outcome.status, step.outcome.status)
    for completion in step.outcome.completed:
        broker = _answer(broker, completion.seq, key[1], status)
    return broker, status


def _note_fenced(broker: ShareBroker, key: PartitionKey, status: ErrorCode) -> ShareBroker:
    if status is not ErrorCode.FENCED_LEADER_EPOCH:
        return broker
    return attrs.evolve(broker, fenced=broker.fenced | {key})


def _noted(broker: ShareBroker, key: PartitionKey, operation: Operation, step: Step) -> ShareBroker:
    """Return the broker after an operation at a share-partition; the journal has it, if kept."""
    broker = attrs.evolve(broker, partitions=broker.partitions.set(key, step.partition))
    if broker.journal is None:
        return broker
    applied = Applied(key, operation, step.outcome, step.partition)
    return attrs.evolve(broker, journal=(*broker.journal, applied))


def _drop(broker: ShareBroker, key: PartitionKey, status: ErrorCode) -> ShareBroker:
    """Drop a share-partition from memory; calls that wait for a write there get ``status``."""
    for write in broker.partitions[key].outstanding:
        operation = CompleteWrite(write, status)
        step = apply(broker.partitions[key], operation)
        broker, _ = _answered(broker, key, operation, step)
    gone = attrs.evolve(broker.partitions[key], window=Window(0, 0), ready=False)
    unvalidated, partitions = broker.unvalidated - {key}, broker.partitions.set(key, gone)
    return attrs.evolve(broker, partitions=partitions, unvalidated=unvalidated)


def _answer(
    broker: ShareBroker, seq: int, topic_partition: TopicPartition, status: ErrorCode
) -> ShareBroker:
    waiting = broker.waiting.get(seq)
    if waiting is None:
        return broker
    parts = (
        attrs.evolve(part, acknowledge_error=status)
        if part.topic_partition == topic_partition
        else part
        for part in waiting.response.partitions
    )
    response = attrs.evolve(waiting.response, partitions=tuple(parts))
    awaited = waiting.awaited - {topic_partition}
    return settle(broker, seq, WaitingResponse(waiting.group, response, awaited))


def settle(broker: ShareBroker, seq: int, waiting: WaitingResponse) -> ShareBroker:
    """Finish a response, or keep it waiting while a write is outstanding."""
    if waiting.awaited:
        return attrs.evolve(broker, waiting=broker.waiting.set(seq, waiting))
    others = broker.waiting.delete(seq) if seq in broker.waiting else broker.waiting
    finished = broker.finished.set(seq, waiting.response)
    return attrs.evolve(broker, waiting=others, finished=finished)


def collect(broker: ShareBroker, seq: int = NOBODY) -> Handled:
    """Return the responses that are finished, and the broker without them."""
    return Handled(attrs.evolve(broker, finished=Map()), broker.finished, seq)


def advance(
    broker: ShareBroker, now: int, answers: Mapping[PartitionKey, Sequence[Answer]] = Map()
) -> ShareBroker:
    """Move the clock to ``now`` and let acquisition locks expire.

    Guard: time does not go back.
    Effect, Records: as ``advance_time`` in every share-partition in memory.
    Persistence: one write for each share-partition where a lock is over; ``answers`` answers it.
    """
    if now < broker.now:
        raise InvalidValueError("now", now, f"at least {broker.now}, which it was")
    broker = attrs.evolve(broker, now=now)
    for key, partition in broker.partitions.items():
        if partition.ready and partition.now < now:
            step = AdvanceTime(now - partition.now)
            broker, _ = apply_to(broker, key, step, (_FREE, answers.get(key, ())))
    return broker


def complete_write(broker: ShareBroker, key: PartitionKey, operation: CompleteWrite) -> Handled:
    """Take the share coordinator's answer to a write (KIP-932, WriteShareGroupState).

    Guard, Records, Persistence: as ``writes.complete_write``.
    Effect: a response that waited for nothing else is given. After an answer that fences the leader
    the share-partition is no longer in memory.
    """
    broker, _ = apply_to(broker, key, operation)
    return collect(_drop_if_idle(broker, key[0]))


def end_session(broker: ShareBroker, key: SessionKey, conduct: Conduct) -> ShareBroker:
    """End a session: the member or its connection closes it (Kafka: releaseSession).

    Guard: there is such a session.
    Effect: the session is forgotten. After the last session of a group its share-partitions are no
    longer in memory, except while a write is outstanding: the next session reads each again, and so
    finds an altered start offset (``load``).
    Records: released in the share-partitions of the session, as ``release_member``.
    Persistence: one write for each share-partition; nobody waits for it.
    """
    group, member = key
    session = broker.sessions[key]
    broker = attrs.evolve(broker, sessions=broker.sessions.delete(key))
    for part in session.partitions:
        place = group, part.topic_partition
        if place in broker.partitions and broker.partitions[place].ready:
            chosen = conduct.of(part.topic_partition)
            how = chosen.release, (chosen.release_answer,)
            broker, _ = apply_to(broker, place, MemberLeaves(member), how)
    return _drop_if_idle(broker, group)


def disconnect(broker: ShareBroker, connection: str, now: int, conduct: Conduct = _ANY) -> Handled:
    """End the sessions of a connection that has closed, each as ``end_session``."""
    broker = advance(broker, now)
    for key, session in broker.sessions.items():
        if session.connection == connection:
            broker = end_session(broker, key, conduct)
    return collect(broker)


def resign(broker: ShareBroker, topic_partition: TopicPartition) -> Handled:
    """Stop leading a partition, for every group (Kafka: onBecomingFollower).

    Guard: none.
    Effect: its share-partitions are no longer in memory; sessions keep them and get
    NOT_LEADER_OR_FOLLOWER, as does every call that waits for a write.
    Records: for the next leader they are as they were last durable.
    Persistence: none.
    """
    broker = attrs.evolve(broker, elsewhere=broker.elsewhere | {topic_partition})
    for key in _in_memory(broker):
        if key[1] == topic_partition:
            broker = _drop(broker, key, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    return collect(broker)


def _drop_if_idle(broker: ShareBroker, group: str) -> ShareBroker:
    """Drop what a group without a session has in memory; what waits for a write is unvalidated."""
    if any(key[0] == group for key in broker.sessions):
        return broker
    for key in _in_memory(broker):
        if key[0] == group and broker.partitions[key].outstanding:
            broker = attrs.evolve(broker, unvalidated=broker.unvalidated | {key})
        elif key[0] == group:
            broker = _drop(broker, key, NONE)
    return broker


def _in_memory(broker: ShareBroker) -> Iterable[PartitionKey]:
    return [key for key, partition in broker.partitions.items() if partition.ready]
