"""Work on many share-partitions keeps nobody waiting who asks little: counted, not timed."""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from unittest import mock

import pytest

from conformance.wire.codec import message
from conformance.wire.messages import Message, encoded, request
from model.configuration import effective_config
from model.share_messages import PartitionRequest, ShareAcknowledge, ShareFetch, TopicPartition
from serve import share_api
from serve.coordination import Beat, heartbeat
from serve.node import LOOPBACK, Options
from serve.running import EARLIEST
from serve.server import Server
from serve.topics import create_topic
from serve.turns import FEW, Turns
from tests.conformance.wire.serving import framed

GROUPS = 30


PARTITIONS, WORK = FEW + 1, ("receive", "complete")


def started() -> tuple[Server, tuple[PartitionRequest, ...]]:
    """Return a server with groups of more share-partitions than cost little, each fetched."""
    server = Server(Options(group=EARLIEST))
    create_topic(server.cluster, "t", PARTITIONS)
    topic = str(server.cluster.topics["t"].id)
    for nth in range(GROUPS):
        heartbeat(server.cluster, Beat(f"g{nth}", "m", 0, frozenset({"t"})))
    places = (TopicPartition(topic, nth) for nth in range(PARTITIONS))
    return server, tuple(map(PartitionRequest, places))


async def worked_before_an_answer(*, acknowledges: bool) -> int:
    """Return how often share-partitions are worked on before who asks little has an answer.

    It asks at the same time as a member of each group does.
    """
    server, parts = started()
    [at] = await server.start(LOOPBACK)
    members = [await asyncio.open_connection(at.host, at.port) for _ in range(GROUPS)]
    reader, writer = await asyncio.open_connection(at.host, at.port)

    async def ask(asked: Callable[[str], Message], probe: Message) -> int:
        with ExitStack() as stack:
            wrapped = {name: getattr(share_api, name) for name in WORK}
            calls = [
                stack.enter_context(mock.patch.object(share_api, name, wraps=work))
                for name, work in wrapped.items()
            ]
            for nth, (_, member) in enumerate(members):
                member.write(framed(encoded(asked(f"g{nth}"), 1)))
            writer.write(framed(encoded(probe, 1)))
            await answer(reader)
            before: int = sum(each.call_count for each in calls)
            for each, _ in members:
                await answer(each)
            assert sum(each.call_count for each in calls) == 2 * GROUPS
        return before

    probe = request("api_versions", 0)
    before = await ask(lambda name: message(ShareFetch(name, "m", 0, parts, max_wait_ms=0)), probe)
    if acknowledges:
        before = await ask(lambda name: message(ShareAcknowledge(name, "m", 1, parts)), probe)
    for each in (writer, *(member for _, member in members)):
        each.close()
        await each.wait_closed()
    await server.stop()
    return before


async def answer(reader: asyncio.StreamReader) -> None:
    await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))


@pytest.mark.parametrize("acknowledges", [False, True])
def test_who_asks_little_waits_for_few_large_requests(
    monkeypatch: pytest.MonkeyPatch, *, acknowledges: bool
) -> None:
    assert asyncio.run(worked_before_an_answer(acknowledges=acknowledges)) <= 4

    async def at_once(_turns: Turns, _size: int) -> None: ...

    monkeypatch.setattr(Turns, "take", at_once)
    assert asyncio.run(worked_before_an_answer(acknowledges=acknowledges)) > GROUPS / 2


def test_the_share_partitions_of_a_group_are_configured_once() -> None:
    with mock.patch("serve.topics.effective_config", wraps=effective_config) as computed:
        started()
    assert computed.call_count == GROUPS


def test_a_fetch_takes_a_turn_to_begin_one_to_look_and_one_to_fetch() -> None:
    async def taken() -> list[int]:
        server, parts = started()
        [at] = await server.start(LOOPBACK)
        reader, writer = await asyncio.open_connection(at.host, at.port)
        with mock.patch.object(Turns, "take", autospec=True, side_effect=Turns.take) as take:
            fetch = message(ShareFetch("g0", "m", 0, parts, max_wait_ms=0))
            writer.write(framed(encoded(fetch, 1)))
            await answer(reader)
        writer.close()
        await writer.wait_closed()
        await server.stop()
        return [call.args[1] for call in take.call_args_list]

    assert [size for size in asyncio.run(taken()) if size > FEW] == [PARTITIONS] * 3


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
