"""The requests of commands, which name offsets and epochs by what is most plausible."""

import base64
from itertools import starmap
from operator import itemgetter

import attrs

from conformance.cores.acknowledgements import Shape, misshapen
from conformance.wire import asks
from conformance.wire.judge import Judge
from conformance.wire.target import GroupTopic, WireCapabilities
from model.operations import AcknowledgementBatch
from model.share_messages import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    PartitionRequest,
    ShareAcknowledge,
    ShareFetch,
    ShareRequest,
    TopicPartition,
)
from model.states import AcknowledgeType

ABSENT_TOPIC = "00000000-0000-0000-0000-00000000beef"
ABSENT_PARTITION = 99
QUICK_MS = 50
"""How long a fetch waits (ms), unless records are known to be available."""
_RENEW, _ACCEPT_FIRST = AcknowledgeType.RENEW, AcknowledgementBatch(0, 0, (AcknowledgeType.ACCEPT,))


def member_id(member: str) -> str:
    """Return the id of a member as it goes over the wire: 16 bytes in base64, as Kafka's are."""
    return base64.urlsafe_b64encode(member.encode().rjust(16, b"\0")).decode().rstrip("=")


@attrs.frozen
class Requests:
    """What the requests of commands depend on: the group and topic, and what the judge knows."""

    place: GroupTopic
    can: WireCapabilities
    judge: Judge

    def held(self, partition: int, member: str) -> list[int]:
        """Return the offsets that a member most plausibly holds, ascending."""
        window, id_ = self.judge.partition(partition).window, member_id(member)
        return sorted(o for o in window.held if window.records[o].owner == id_)

    def of(self, ask: asks.WireFetch | asks.WireAcknowledge) -> ShareRequest:
        """Return the request of a command."""
        fetches = isinstance(ask, asks.WireFetch)
        none = INITIAL_EPOCH if fetches else INITIAL_EPOCH + 1
        epoch = self.epoch(ask.member, ask.epoch, none)
        opens = epoch == INITIAL_EPOCH
        batches: dict[TopicPartition, tuple[AcknowledgementBatch, ...]] = {}
        if isinstance(ask, asks.WireFetch):
            added = ask.partitions or (range(self.place.partitions) if opens else ())
            batches |= {self.topic_partition(partition): () for partition in added}
        if not (fetches and opens and ask.epoch is asks.Epoch.NEXT):
            batches |= {
                self.topic_partition(p.partition): self._batches(p) for p in ask.acknowledged
            }
        if ask.stranger is not asks.Stranger.NONE:
            accepts = () if fetches and not any(batches.values()) else (_ACCEPT_FIRST,)
            batches[self._strange(ask.stranger)] = accepts
        partitions = tuple(starmap(PartitionRequest, batches.items()))
        renews = any(_RENEW in batch.types for part in partitions for batch in part.batches)
        names = self.place.group, member_id(ask.member), epoch, partitions
        renewing = renews and not ask.unsaid
        if isinstance(ask, asks.WireFetch):
            return self._fetch(ask, ShareFetch(*names), renewing=renewing)
        version = self.can.acknowledge_versions[1]
        return ShareAcknowledge(*names, is_renew_ack=renewing, version=version)

    def _fetch(self, ask: asks.WireFetch, plain: ShareFetch, *, renewing: bool) -> ShareFetch:
        forgotten = dict.fromkeys(self.topic_partition(partition) for partition in ask.forgotten)
        request = attrs.evolve(
            plain,
            forgotten=tuple(forgotten),
            batch_size=ask.batch_size,
            max_bytes=ask.max_bytes,
            max_records=ask.max_records,
            max_wait_ms=QUICK_MS,
            acquire_mode=ask.mode,
            version=self.can.fetch_versions[1],
        )
        if not renewing:
            return request
        nothing = attrs.evolve(request, max_records=0, max_bytes=0, min_bytes=0, max_wait_ms=0)
        return attrs.evolve(nothing, is_renew_ack=True)

    def topic_partition(self, partition: int) -> TopicPartition:
        """Return a partition of the topic, counted round."""
        return TopicPartition(self.place.topic_id, partition % self.place.partitions)

    def _strange(self, stranger: asks.Stranger) -> TopicPartition:
        if stranger is asks.Stranger.TOPIC:
            return TopicPartition(ABSENT_TOPIC, 0)
        return TopicPartition(self.place.topic_id, ABSENT_PARTITION)

    def epoch(self, member: str, wanted: asks.Epoch, without: int) -> int:
        """Return a session epoch, or ``without`` as that which a member without a session sends."""
        sessions = self.judge.beliefs[0].broker.sessions
        session = sessions.get((self.place.group, member_id(member)))
        expected = without if session is None else session.epoch
        match wanted:
            case asks.Epoch.OPEN:
                return INITIAL_EPOCH
            case asks.Epoch.CLOSE:
                return FINAL_EPOCH
            case asks.Epoch.AGAIN:
                return expected - 1 if expected > 1 else expected + 1
            case asks.Epoch.SKIP:
                return expected + 1
        return expected

    def _batches(self, asked: asks.Acknowledged) -> tuple[AcknowledgementBatch, ...]:
        """Return batches that ascend and do not overlap, except those that are malformed."""
        batches: list[AcknowledgementBatch] = []
        partition = asked.partition % self.place.partitions
        placed = ((self._first(partition, batch), batch) for batch in asked.batches)
        for first, batch in sorted(placed, key=itemgetter(0)):
            if batch.shape is not Shape.WELL_FORMED or all(b.last < first for b in batches):
                batches.append(self._batch(partition, first, batch))
        return tuple(batches)

    def _first(self, partition: int, batch: asks.AskBatch) -> int:
        held = self.held(partition, batch.whose) if batch.whose else []
        if held:
            return held[batch.nth % len(held)]
        return max(0, self.judge.partition(partition).window.start_offset + batch.nth)

    def _batch(self, partition: int, first: int, batch: asks.AskBatch) -> AcknowledgementBatch:
        last = first + batch.length - 1
        if batch.whose:
            held = self.held(partition, batch.whose) or range(first, last + 1)
            last = next(o for o in range(first, last + 1) if o == last or o + 1 not in held)
        types = batch.types if len(batch.types) == 1 else batch.types[: last - first + 1]
        types = types if len(types) in (1, last - first + 1) else types[:1]
        return misshapen(AcknowledgementBatch(first, last, types), batch.shape)
