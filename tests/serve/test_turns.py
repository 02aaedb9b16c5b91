"""Work on many share-partitions keeps nobody waiting who asks little: counted, not timed."""

import asyncio
from unittest import mock

import pytest

from conformance.wire.codec import message
from conformance.wire.messages import Message, encoded, request
from model.share_messages import PartitionRequest, ShareFetch, TopicPartition
from serve.coordination import Beat, heartbeat
from serve.node import Options
from serve.running import EARLIEST
from serve.server import Server
from serve.topics import create_topic
from serve.turns import FEW, Turns
from spec.share_request import complete
from tests.conformance.wire.serving import framed

GROUPS = 30


def fetches(server: Server) -> list[Message]:
    """Return the first fetch of each group, of more share-partitions than cost little."""
    create_topic(server.cluster, "t", FEW + 1)
    topic = str(server.cluster.topics["t"].id)
    parts = tuple(PartitionRequest(TopicPartition(topic, nth)) for nth in range(FEW + 1))
    names = [f"g{nth}" for nth in range(GROUPS)]
    for name in names:
        heartbeat(server.cluster, Beat(name, "m", 0, frozenset({"t"})))
    return [message(ShareFetch(name, "m", 0, parts, max_wait_ms=0)) for name in names]


async def worked_before_an_answer() -> int:
    """Return how many of the fetches were completed when who asks little at once has an answer."""
    server = Server(Options(group=EARLIEST))
    with mock.patch("serve.share_api.complete", wraps=complete) as worked:
        asked = [*fetches(server), request("api_versions", 0)]
        [address] = await server.start("127.0.0.1", 0)
        connections = [await asyncio.open_connection(*address) for _ in asked]
        for (_, writer), each in zip(connections, asked, strict=True):
            writer.write(framed(encoded(each, 1)))
        await connections[-1][0].readexactly(4)
        before: int = worked.call_count
        for reader, _ in connections[:-1]:
            await reader.readexactly(4)
        for _, writer in connections:
            writer.close()
            await writer.wait_closed()
        assert worked.call_count == GROUPS
        await server.stop()
    return before


def test_who_asks_little_waits_for_two_large_fetches_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert asyncio.run(worked_before_an_answer()) <= 2

    async def at_once(_turns: Turns, _size: int) -> None: ...

    monkeypatch.setattr(Turns, "take", at_once)
    assert asyncio.run(worked_before_an_answer()) > GROUPS / 2


def test_the_smallest_is_next_and_who_is_gone_takes_no_turn() -> None:
    async def run() -> list[int]:
        turns, order = Turns(), list[int]()

        async def work(size: int) -> None:
            await turns.take(size)
            order.append(size)

        tasks = [asyncio.create_task(work(size)) for size in (300, 200, FEW, 100)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        await asyncio.wait(tasks)
        await work(50)
        return order

    assert asyncio.run(run()) == [FEW, 100, 300, 50]


def test_a_large_piece_of_work_is_passed_by_as_many_as_it_has_share_partitions() -> None:
    async def run() -> int:
        turns = Turns()
        await turns.take(FEW + 1)
        large = asyncio.create_task(turns.take(3 * FEW))
        for passed in range(1000):
            if large.done():
                return passed
            await turns.take(FEW + 1)
        return 1000

    assert 1 < asyncio.run(run()) <= 3 * FEW
