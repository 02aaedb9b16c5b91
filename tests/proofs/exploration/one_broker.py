"""What one broker does in a world of brokers, which knows of itself and the share coordinator."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cache
from typing import TypeAlias
from uuid import UUID

import attrs
from immutables import Map

from model.config import AutoOffsetReset, SharePartitionConfig
from model.operations import AcknowledgementBatch, FinishDeadLetter, MarkInProgress, ProgressBatch
from model.ranges import OffsetRange
from model.share_messages import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    PartitionRequest,
    ShareAcknowledge,
    ShareFetch,
    ShareRequest,
    TopicPartition,
)
from model.states import AcknowledgeType, RecordState
from spec import share_broker, share_cluster
from spec.record import is_dead_letter
from spec.share_broker import Handled, ShareBroker
from spec.share_cluster import SentWrite, ShareCluster
from tests.proofs.exploration.session_world import small_broker

TOPIC = UUID(int=7)
AT = TopicPartition(str(TOPIC), 0)
KEY = GROUP, _ = ("g", AT)
MEMBER, BROKERS = "m", (1, 2)
LOCK_MS = 1
FORGOTTEN = -1
"""The number of a write that its broker has forgotten."""
ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT

_Told: TypeAlias = tuple[ShareCluster, Handled | None, SentWrite | None]
"""What is after a part of a step, what was answered, and the write that arrived, if any."""
Done: TypeAlias = tuple[str, Sequence[_Told]]
"""A step of one broker: its name and its parts."""
Rule: TypeAlias = Callable[..., Iterator[Done]]


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


PLAIN = Bounds()


@attrs.frozen(eq=False)
class OneBroker:
    """A broker with its share coordinator, as it is in many worlds, and what it was found to do."""

    cluster: ShareCluster
    bounds: Bounds
    _known: dict[Hashable, list[Done]] = attrs.Factory(dict)

    def does(self, rule: Rule, *what: Hashable, **how: bool) -> list[Done]:
        """Return the steps of a rule."""
        asked = rule, what, *how.values()
        if asked not in self._known:
            self._known[asked] = [
                (
                    name,
                    [(small(after, self.bounds), handled, sent) for after, handled, sent in parts],
                )
                for name, parts in rule(self.cluster, *what, **how)
            ]
        return self._known[asked]


alone = cache(OneBroker)
"""A search begins without those of an earlier one, whose rules were perhaps others."""


def arrived(cluster: ShareCluster, sent: SentWrite) -> Iterator[Done]:
    """Yield the arrival of a write, which is answered."""
    after, handled = share_cluster.arrive(cluster, sent, 0)
    yield f"a write of leader {sent.request.leader_epoch} arrives", [(after, handled, sent)]


def unanswered(cluster: ShareCluster, sent: SentWrite, *, forgotten: bool) -> Iterator[Done]:
    """Yield what happens where an answer is lost."""
    yield "an answer is lost", [(share_cluster.receive(cluster, [sent], 0)[0], None, None)]
    if not forgotten and sent.id in cluster.brokers[sent.broker].partitions[KEY].outstanding:
        after, handled = share_cluster.give_up(cluster, sent)
        yield "a broker gives up", [(after, handled, sent)]


def arrived_together(cluster: ShareCluster, *two: SentWrite) -> Iterator[Done]:
    """Yield the arrival of writes in one request, whose answers come one by one."""
    after, statuses = share_cluster.receive(cluster, two, 0)
    parts: list[_Told] = []
    for sent, status in zip(two, statuses, strict=True):
        after, handled = share_cluster.answer(after, sent, status)
        parts.append((after, handled, sent))
    yield "two writes arrive together", parts


def at_broker(
    cluster: ShareCluster,
    number: int,
    latest: int,
    kinds: tuple[AcknowledgeType, ...],
    *,
    assigned: bool,
) -> Iterator[Done]:
    """Yield what a broker does; ``latest`` is the leader epoch of the latest leader."""
    broker = cluster.brokers[number]
    if cluster.leader_epochs[number, AT] < latest and AT not in broker.elsewhere:
        resigned = share_broker.resign(broker, AT).broker
        after = attrs.evolve(cluster, brokers=cluster.brokers.set(number, resigned))
        yield f"broker {number} hears of its successor", [(after, None, None)]
    if broker.partitions[KEY].window.held:
        expired = share_cluster.advance(cluster, number, LOCK_MS)
        yield f"locks expire at broker {number}", [(expired, None, None)]
    for name, operation in _own(broker):
        after = share_cluster.operate(cluster, number, KEY, operation)
        yield f"{name} at broker {number}", [(after, None, None)]
    for name, request in _requests(broker, kinds, assigned=assigned):
        after, handled = share_cluster.handle(cluster, number, request, 0)
        yield f"{name} at broker {number}", [(after, handled, None)]


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


def small(cluster: ShareCluster, bounds: Bounds) -> ShareCluster:
    """Return the cluster with clocks at 0 and numbers as low as they can be."""
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
        if bounds.retries:  # Nobody waits for the others: those that say the same are one.
            ids |= {one.id: FORGOTTEN for one in mine if one.id not in known}
        sent |= {attrs.evolve(one, id=ids[one.id]) for one in mine}
        brokers[number] = small_broker(broker, ids)
    return attrs.evolve(cluster, coordinator=states, brokers=Map(brokers), sent=frozenset(sent))
