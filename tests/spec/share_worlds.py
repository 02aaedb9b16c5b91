"""Small brokers for tests, and short ways to send them requests."""

import attrs
from immutables import Map

from model.errors import ErrorCode
from model.operations import AcknowledgementBatch
from model.outcome import Answer
from model.profile import KIP, Profile
from model.share_messages import (
    Conduct,
    PartitionConduct,
    PartitionRequest,
    ShareAcknowledge,
    ShareFetch,
    ShareResponse,
    TopicPartition,
)
from spec.coordinator import Durable
from spec.log import Log
from spec.share_broker import ShareBroker, lead
from spec.share_request import handle
from tests.spec.worlds import SMALL, states

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
PENDING = Answer(ErrorCode.PENDING)


def broker_of(profile: Profile = KIP, *, records: int = 6, most_sessions: int = 10) -> ShareBroker:
    """A broker that leads two partitions of a topic, none of which is in memory yet."""
    broker = ShareBroker(profile, Map({"t": 3}), most_sessions=most_sessions)
    for at in (P0, P1):
        broker = lead(broker, ("g", at), SMALL, Log(0, records), Durable(0, 0))
    return broker


def asked(at: TopicPartition, *batches: tuple[int, ...]) -> PartitionRequest:
    """What a request says of a partition: batches (first, last, type, ...)."""
    found = (AcknowledgementBatch(first, last, tuple(types)) for first, last, *types in batches)
    return PartitionRequest(at, tuple(found))


def fetching(
    member: str, epoch: int, *parts: PartitionRequest, most: int = 2, group: str = "g"
) -> ShareFetch:
    return ShareFetch(group, member, epoch, parts, max_records=most)


def acked(member: str, epoch: int, *parts: PartitionRequest) -> ShareAcknowledge:
    return ShareAcknowledge("g", member, epoch, parts)


def opened(broker: ShareBroker, member: str = "m", most: int = 2) -> ShareBroker:
    """The broker after the member opened a session with both partitions and fetched."""
    return handle(broker, fetching(member, 0, asked(P0), asked(P1), most=most), broker.now).broker


def sent(
    broker: ShareBroker, request: ShareFetch | ShareAcknowledge, conduct: Conduct | None = None
) -> tuple[ShareBroker, ShareResponse]:
    """The broker after a request which it answers at once, and the answer."""
    handled = handle(broker, request, broker.now, conduct or Conduct())
    assert handled.response is not None
    return handled.broker, handled.response


def lost(at: TopicPartition, code: ErrorCode) -> Conduct:
    """A conduct under which the write of the acknowledgement at a partition fails so."""
    return Conduct(((at, PartitionConduct(acknowledge_answer=Answer(code))),))


def errors(response: ShareResponse) -> dict[TopicPartition, tuple[str, str]]:
    """The errors of each share-partition: of the fetch and of the acknowledgement."""
    return {
        one.topic_partition: (one.error.name, one.acknowledge_error.name)
        for one in response.partitions
    }


def given(response: ShareResponse) -> dict[TopicPartition, list[tuple[int, int, int]]]:
    """What was acquired: (first, last, delivery count)."""
    return {
        one.topic_partition: [attrs.astuple(part) for part in one.acquired]
        for one in response.partitions
    }


def held(broker: ShareBroker, at: TopicPartition) -> str:
    """What is in flight of a share-partition, as ``worlds.states``."""
    return states(broker.partitions["g", at])
