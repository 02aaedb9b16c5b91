"""Brokers that lead a partition one after the other, and the share coordinator between them.

A broker reads the state of a share-partition with its leader epoch, and sends its writes with it
and the state epoch that it read (KIP-932, Using the share coordinator). A leader that has not heard
of its successor goes on until the share coordinator fences it.
"""

from collections.abc import Sequence
from uuid import UUID

import attrs
from immutables import Map

from model.config import SharePartitionConfig
from model.errors import ErrorCode, InvalidValueError
from model.operations import CompleteWrite, Operation
from model.outcome import Answer, Choice
from model.share_messages import Conduct, PartitionConduct, ShareRequest, TopicPartition
from model.share_state_requests import ReadState, WriteState
from model.snapshot import DurableState
from model.state_topic import SharePartitionKey
from spec import share_broker, share_request
from spec.coordinator import Durable
from spec.log import Log
from spec.share_broker import Handled, PartitionKey, ShareBroker
from spec.share_coordinator import ShareCoordinator, serve, serve_writes

_PENDING = Answer(ErrorCode.PENDING)
_FREE = Conduct()


@attrs.frozen
class SentWrite:
    """A write on its way to the share coordinator: of which broker, and its number there."""

    broker: int
    key: PartitionKey
    id: int
    request: WriteState


@attrs.frozen
class ShareCluster:
    """Brokers by their id, and the share coordinator of their groups.

    ``leader_epochs`` has the leader epoch in which a broker believes that it leads a partition.
    ``sent`` are writes that have not been answered, and may arrive.
    """

    coordinator: ShareCoordinator
    brokers: Map[int, ShareBroker] = Map()
    leader_epochs: Map[tuple[int, TopicPartition], int] = Map()
    sent: frozenset[SentWrite] = frozenset()


def elect(  # noqa: PLR0913 - what a leader begins with
    cluster: ShareCluster,
    broker_id: int,
    key: PartitionKey,
    *,
    epoch: int,
    config: SharePartitionConfig,
    log: Log,
) -> ShareCluster:
    """Have a broker lead a partition in a leader epoch; the former leader does not hear of it.

    Guard: the leader epoch is later than every one before, or InvalidValueError.
    Effect: as ``share_broker.lead``; the broker knows nothing of the state before it reads it.
    Records: as they were last durable.
    Persistence: none; the first read makes the leader epoch durable.
    """
    epochs, topic_partition = cluster.leader_epochs, key[1]
    latest = max((e for (_, led), e in epochs.items() if led == topic_partition), default=-1)
    if epoch <= latest:
        raise InvalidValueError("epoch", epoch, f"more than {latest}, of an earlier leader")
    broker = share_broker.lead(cluster.brokers[broker_id], key, config, log, Durable())
    epochs = epochs.set((broker_id, topic_partition), epoch)
    brokers = cluster.brokers.set(broker_id, broker)
    return attrs.evolve(cluster, brokers=brokers, leader_epochs=epochs)


def handle(
    cluster: ShareCluster,
    broker_id: int,
    request: ShareRequest,
    now: int,
    conduct: Conduct = _FREE,
) -> tuple[ShareCluster, Handled]:
    """Serve a request at one broker, as ``share_request.handle``.

    Guard, Records: as there. The share coordinator fences reads of a leader that is not the latest.
    Effect: as there; share-partitions that were not in memory are read from the coordinator.
    Persistence: the reads; the writes are sent, and none is answered yet.
    """
    cluster = advance(cluster, broker_id, now)
    broker = cluster.brokers[broker_id]
    conduct = _pending(broker, conduct)
    for key in _read_by(broker, request):
        epoch = cluster.leader_epochs[broker_id, key[1]]
        reply = serve(cluster.coordinator, ReadState(state_key(key), epoch), now)
        cluster = attrs.evolve(cluster, coordinator=reply.coordinator)
        read = reply.state and attrs.evolve(reply.state, leader_epoch=epoch)
        chosen = attrs.evolve(conduct.of(key[1]), read=read or reply.status)
        conduct = _with(conduct, key[1], chosen)
    handled = share_request.handle(broker, request, now, conduct)
    return _replaced(cluster, broker_id, handled.broker), handled


def advance(cluster: ShareCluster, broker_id: int, now: int) -> ShareCluster:
    """Move the clock of one broker, as ``share_broker.advance``; the writes are sent."""
    broker = cluster.brokers[broker_id]
    answers = {key: (_PENDING,) * len(p.window.held) for key, p in broker.partitions.items()}
    return _replaced(cluster, broker_id, share_broker.advance(broker, now, answers))


def operate(
    cluster: ShareCluster, broker_id: int, key: PartitionKey, operation: Operation
) -> ShareCluster:
    """Have a broker apply an operation to a share-partition; the writes are sent."""
    how = Choice(), (_PENDING,)
    broker, _ = share_broker.apply_to(cluster.brokers[broker_id], key, operation, how)
    return _replaced(cluster, broker_id, broker)


def arrive(cluster: ShareCluster, sent: SentWrite, now: int) -> tuple[ShareCluster, Handled]:
    """Let a write arrive at the share coordinator, and its answer at the broker.

    Guard, Effect, Records, Persistence: as ``receive`` and then ``answer``.
    """
    cluster, (status,) = receive(cluster, (sent,), now)
    return answer(cluster, sent, status)


def receive(
    cluster: ShareCluster, writes: Sequence[SentWrite], now: int
) -> tuple[ShareCluster, tuple[ErrorCode, ...]]:
    """Let a request arrive at the share coordinator, and return the answer to each of its writes.

    Guard: the writes are on their way. The share coordinator fences an older leader epoch and
    another state epoch (``share_coordinator.serve_writes``).
    Effect: none at the broker. Where the answer is lost the request is sent again: its writes are
    on their way until they are answered, and may arrive any number of times.
    Records: unchanged.
    Persistence: each write, as written, if its own answer is NONE; once more it changes nothing.
    """
    for sent in writes:
        _check_sent(cluster, sent)
    requests = (sent.request for sent in writes)
    coordinator, statuses = serve_writes(cluster.coordinator, requests, now)
    return attrs.evolve(cluster, coordinator=coordinator), statuses


def answer(
    cluster: ShareCluster, sent: SentWrite, status: ErrorCode
) -> tuple[ShareCluster, Handled]:
    """Let the answer to a write arrive at its broker.

    Guard: the write is on its way. The answer counts in the leader epoch of the write, while it is
    outstanding: one to a share-partition that was in memory before the present one changes nothing.
    Effect: as ``share_broker.complete_write``.
    Records: committed or rolled back.
    Persistence: none; where the answer is an error the write may be durable (``give_up``).
    """
    _check_sent(cluster, sent)
    return _completed(attrs.evolve(cluster, sent=cluster.sent - {sent}), sent, status)


def give_up(cluster: ShareCluster, sent: SentWrite) -> tuple[ShareCluster, Handled]:
    """Have a broker stop sending a write of which every answer was lost.

    Guard: the write is on its way.
    Effect: who waits for it gets COORDINATOR_NOT_AVAILABLE, which says nothing of what is durable
    (``coordinator.explain_read``). A request that was sent may still arrive.
    Records: rolled back.
    Persistence: none.
    """
    _check_sent(cluster, sent)
    return _completed(cluster, sent, ErrorCode.COORDINATOR_NOT_AVAILABLE)


def _check_sent(cluster: ShareCluster, sent: SentWrite) -> None:
    if sent not in cluster.sent:
        raise InvalidValueError("sent", sent, "a write that is on its way")


def _completed(
    cluster: ShareCluster, sent: SentWrite, status: ErrorCode
) -> tuple[ShareCluster, Handled]:
    """Return the cluster after a broker has the answer to a write, if it still waits for it."""
    broker = cluster.brokers[sent.broker]
    same = cluster.leader_epochs[sent.broker, sent.key[1]] == sent.request.leader_epoch
    if not same or sent.id not in broker.partitions[sent.key].outstanding:
        return cluster, Handled(broker, Map())
    handled = share_broker.complete_write(broker, sent.key, CompleteWrite(sent.id, status))
    return _replaced(cluster, sent.broker, handled.broker), handled


def state_key(key: PartitionKey) -> SharePartitionKey:
    """Return the name of a share-partition at the share coordinator."""
    return SharePartitionKey(key[0], UUID(key[1].topic_id), key[1].partition)


def _read_by(broker: ShareBroker, request: ShareRequest) -> list[PartitionKey]:
    """Return the share-partitions that a request reads: those it loads whatever the answer is.

    These are in memory afterwards, and were not, or were unvalidated.
    """
    anything = PartitionConduct(read=DurableState(0, 0))
    plain = Conduct(tuple((topic_partition, anything) for _, topic_partition in broker.partitions))
    after = share_request.handle(broker, request, broker.now, plain).broker
    validated = broker.unvalidated - after.unvalidated
    return [
        key
        for key, partition in after.partitions.items()
        if partition.ready and (key in validated or not broker.partitions[key].ready)
    ]


def _pending(broker: ShareBroker, conduct: Conduct) -> Conduct:
    """Return the conduct in which no write is answered yet."""
    for topic_partition in {topic_partition for _, topic_partition in broker.partitions}:
        chosen = conduct.of(topic_partition)
        chosen = attrs.evolve(chosen, acknowledge_answer=_PENDING, release_answer=_PENDING)
        conduct = _with(conduct, topic_partition, chosen)
    return conduct


def _with(conduct: Conduct, topic_partition: TopicPartition, chosen: PartitionConduct) -> Conduct:
    """Return the conduct with this one at a share-partition; the last that is given holds."""
    return attrs.evolve(conduct, partitions=(*conduct.partitions, (topic_partition, chosen)))


def _replaced(cluster: ShareCluster, broker_id: int, after: ShareBroker) -> ShareCluster:
    """Return the cluster with a broker after a step, and with the writes that the step sent."""
    before, sent = cluster.brokers[broker_id], set(cluster.sent)
    for key, partition in after.partitions.items():
        epochs = partition.durable.state_epoch, cluster.leader_epochs[broker_id, key[1]]
        for id_ in set(partition.outstanding) - set(before.partitions[key].outstanding):
            write = partition.outstanding[id_].write
            numbers = write.start_offset, write.delivery_complete_count
            request = WriteState(state_key(key), *epochs, *numbers, write.state_batches)
            sent.add(SentWrite(broker_id, key, id_, request))
    brokers = cluster.brokers.set(broker_id, after)
    return attrs.evolve(cluster, brokers=brokers, sent=frozenset(sent))
