"""A broker in a thread of this process, for the tests of applications and for the kit."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import attrs

from conformance.wire.records import batch_of
from model.errors import InvalidValueError
from model.profile import profile_named
from serve.batches import produced_batch
from serve.coordination import update_all
from serve.group_api import reported
from serve.node import LOOPBACK, Cluster, Options
from serve.server import Server
from serve.settings import group_values, value_of
from serve.topics import create_topic, produce

RESET = "share.auto.offset.reset"
EARLIEST = {RESET: "earliest"}
GROUP_PREFIX, BROKER_PREFIX = "share.", "group.share."
_SECONDS = 30.0

_T = TypeVar("_T")


@attrs.frozen
class ServedBroker:
    """A broker at an address for ``bootstrap.servers``; any thread but its own may call it."""

    address: str
    cluster: Cluster
    _loop: asyncio.AbstractEventLoop

    def do(self, what: Callable[[Cluster], _T]) -> _T:
        """Run a function in the broker's thread, between two requests."""

        async def run() -> _T:
            return what(self.cluster)

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(_SECONDS)

    def topic(self, name: str, partitions: int = 1) -> None:
        """Create a topic. Raises serve.batches.RefusedError, as where it exists."""

        def create(cluster: Cluster) -> None:
            create_topic(cluster, name, partitions)
            update_all(cluster, (name,))

        self.do(create)

    def produce(self, topic: str, *values: bytes, partition: int = 0) -> int:
        """Append one batch with these values, and return the offset of the first.

        The topic is created where there is none. Raises serve.batches.RefusedError, and
        InvalidValueError for a partition that there is not.
        """

        def append(cluster: Cluster) -> int:
            known, batch = cluster.topics[topic], batch_of(values)
            if not 0 <= partition < len(known.logs):
                raise InvalidValueError("partition", partition, f"0 to {len(known.logs) - 1}")
            return produce(cluster, known, partition, produced_batch(batch, cluster.options.limits))

        if topic not in self.cluster.topics:
            self.topic(topic, max(partition + 1, self.cluster.options.partitions))
        return self.do(append)

    def lag(self, group: str, topic: str, partition: int = 0) -> int | None:
        """Return how many records the group has not finished; None before it acknowledged any."""
        return self.do(lambda cluster: reported(cluster, group, topic, partition)[1])

    def pass_time(self, seconds: float) -> None:
        """Let acquisition locks, and nothing else, be so much older."""
        self.do(lambda cluster: cluster.skip(int(seconds * 1000)))


def options_of(config: Mapping[str, str], profile: str, partitions: int, brokers: int) -> Options:
    """Return how brokers are served: ``share.NAME`` of groups, ``group.share.NAME`` of brokers.

    Raises InvalidValueError for a setting that there is not, or a value that is not allowed.
    """
    own = (name for name in config if name.startswith(BROKER_PREFIX))
    broker = {name: value_of(config[name]) for name in own}
    group = {name: text for name, text in config.items() if name not in broker}
    rules = profile_named(profile)
    group_values(broker, group, rules)
    return Options(rules, partitions=partitions, broker=broker, group=group, brokers=brokers)


@contextmanager
def serving(
    config: Mapping[str, str] | None = None,
    *,
    partitions: int = 1,
    brokers: int = 1,
    speed: float = 1.0,
    trace: Path | None = None,
) -> Iterator[ServedBroker]:
    """Serve share groups on free ports of 127.0.0.1 until the block ends.

    ``config`` as ``sharespec serve --config`` has it; unless it says otherwise, groups begin with
    the first record of a topic, not with those produced after they have joined. ``partitions`` is
    how many a topic has that does not say; ``speed``, how many times faster than time acquisition
    locks end; ``trace``, a file for what `sharespec replay` judges. Raises InvalidValueError for a
    setting that is not allowed, OSError where it cannot listen.
    """
    server = Server(options_of(EARLIEST | dict(config or {}), "kafka", partitions, brokers), speed)
    if trace is not None:
        server.cluster.start_trace(trace)
    with in_thread(server) as broker:
        yield broker


@contextmanager
def in_thread(server: Server) -> Iterator[ServedBroker]:
    """Run a server on free ports of 127.0.0.1 until the block ends. Raises OSError."""
    started, failed = threading.Event(), list[OSError]()
    running = list[tuple[ServedBroker, asyncio.Event]]()

    async def run() -> None:
        over = asyncio.Event()
        try:
            bootstrap = ",".join(map(str, await server.start(LOOPBACK)))
            broker = ServedBroker(bootstrap, server.cluster, asyncio.get_running_loop())
            running.append((broker, over))
            started.set()
            await server.serve_until(over)
        except OSError as error:
            failed.append(error)
        finally:
            started.set()
            await server.stop()

    thread = threading.Thread(target=lambda: asyncio.run(run()), name="broker")
    thread.start()
    started.wait()
    try:
        if running:
            yield running[0][0]
    finally:
        for broker, over in running:
            with suppress(RuntimeError):  # It has ended, as where its trace found no room.
                broker._loop.call_soon_threadsafe(over.set)  # noqa: SLF001 - of this module
        thread.join()
    if failed:
        raise failed[0]
