"""A broker of Apache Kafka whose log start offset moves into a gap that compaction has left."""

from collections.abc import Iterator
from uuid import UUID

import pytest

from conformance.wire.admin import Resource
from model.share_messages import ShareAcknowledge
from tests.kafka.compacted import CLEANING, compact, created, kafka_client, produce
from tests.serve.served import Client, acquired, part

pytestmark = [pytest.mark.slow, pytest.mark.broker]

COMPACTED = {
    "cleanup.policy": "compact,delete",
    "segment.ms": "200",
    "min.cleanable.dirty.ratio": "0.0",
    "max.compaction.lag.ms": "100",
}
GROUP = {
    "share.auto.offset.reset": "earliest",
    "share.record.lock.duration.ms": "15000",
    "share.partition.max.record.locks": "100",
}
HOLDER, WORKER = "A" * 22, "B" * 22


@pytest.fixture
def client() -> Iterator[Client]:
    with kafka_client(CLEANING) as client:
        yield client


@pytest.mark.parametrize(("accepts_one", "given"), [(True, 0), (False, 50)])
def test_nothing_is_delivered_where_states_below_the_gap_are_kept_one_by_one(
    client: Client, *, accepts_one: bool, given: int
) -> None:
    topic = created(client, COMPACTED)
    compact(client, "abc" + 8 * "k", {*range(3, 10)})
    client.admin.configure(Resource.GROUP, "g", GROUP)
    for member in HOLDER, WORKER:
        client.admin.join("g", member, "t", str(topic), 1)
    epoch, held = fetched(client, topic, 0, HOLDER)
    assert held == [(0, 2, 1)]
    working, taken = fetched(client, topic, 0, WORKER)
    assert taken[0][0] == 10
    if accepts_one:
        client.acknowledge(epoch, part(topic, (1, 1, 1)), member=HOLDER)
    client.admin.delete_records("t", 0, 5)
    assert client.admin.start_offset("t", 0) == 5
    client.share(ShareAcknowledge("g", HOLDER, -1, ()))
    produce(client, 300)
    working, before = finished(client, topic, working, taken)
    assert before > 300
    produce(client, 50)
    assert finished(client, topic, working, [])[1] == given


def fetched(
    client: Client, topic: UUID, epoch: int, member: str
) -> tuple[int, list[tuple[int, int, int]]]:
    """Fetch three records; return the next session epoch and what was acquired."""
    for number in range(epoch, epoch + 20):
        answer = client.fetch(number, part(topic), member=member, max_records=3, max_wait_ms=500)
        if taken := acquired(answer):
            return number + 1, taken
    raise AssertionError(f"{member} is given nothing")


def finished(
    client: Client, topic: UUID, epoch: int, held: list[tuple[int, int, int]]
) -> tuple[int, int]:
    """Accept all that is given until nothing is for 6 s; return the next epoch and how many."""
    given = idle = 0
    while idle < 12:
        accepted = part(topic, *((first, last, 1) for first, last, _ in held))
        answer = client.fetch(epoch, accepted, member=WORKER, max_records=50, max_wait_ms=500)
        epoch, held = epoch + 1, acquired(answer)
        idle = 0 if held else idle + 1
        given += sum(last - first + 1 for first, last, _ in held)
    return epoch, given
