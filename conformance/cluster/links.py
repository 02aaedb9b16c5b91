"""Links between the nodes and clients of a cluster on this machine: proxies that can fail alone.

A proxy stands before each listener. Who connects is told by the process that has the other end of
the connection, as /proc/net/tcp names it (Linux); no privilege is needed.
"""

import asyncio
import socket
import struct
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TypeVar

import attrs

from conformance.wire.servers import HOST

CLIENT = "client"
"""The source of what no node has opened."""

T = TypeVar("T")
_CHUNK = 1 << 16
_RESET = struct.pack("ii", 1, 0)
_SECONDS = 10.0


@attrs.define(eq=False)
class _Link:
    """The state of a link: ``whole`` while bytes pass, each chunk ``delay_s`` late."""

    whole: asyncio.Event
    delay_s: float = 0.0
    open: set[asyncio.StreamWriter] = attrs.field(factory=set)


class Links:
    """The links of a cluster by source and target; close it when done.

    ``node_of`` returns the node that has the socket of an inode, or CLIENT. While a link is cut its
    bytes wait, in both directions and in new connections too, as on a network that loses packets.
    """

    def __init__(self, node_of: Callable[[str], str]) -> None:
        """Start a thread for the proxies."""
        self._node_of = node_of
        self._loop = asyncio.new_event_loop()
        self._links: dict[tuple[str, str], _Link] = defaultdict(self._new)
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = Thread(target=self._loop.run_forever, name="links", daemon=True)
        self._thread.start()

    def listen(self, target: str, port: int) -> int:
        """Stand before a port of a node; return the port to connect to."""

        async def begin() -> int:
            async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                task = asyncio.current_task()
                assert task is not None  # noqa: S101 - a server runs it as one
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
                with suppress(asyncio.CancelledError):
                    await self._serve(target, port, reader, writer)

            server = await asyncio.start_server(serve, HOST, 0)
            self._servers.append(server)
            number: int = server.sockets[0].getsockname()[1]
            return number

        return self._run(begin())

    def cut(self, source: str, target: str) -> None:
        """Let nothing pass until ``heal``."""
        self._set(source, target, whole=False)

    def delay(self, source: str, target: str, seconds: float) -> None:
        """Hold each chunk back for so long; 0 ends that."""
        self._set(source, target, delay_s=seconds)

    def heal(self, source: str, target: str) -> None:
        """Let everything pass, what has waited first."""
        self._set(source, target, whole=True)

    def heal_all(self) -> None:
        """Let everything pass on every link, at once."""

        async def heal() -> None:
            for link in self._links.values():
                link.whole.set()
                link.delay_s = 0.0

        self._run(heal())

    def reset(self, source: str, target: str) -> int:
        """Reset the connections of a link; return how many there were."""

        async def reset() -> int:
            writers = tuple(self._links[source, target].open)
            for writer in writers:
                _abort(writer)
            return len(writers) // 2

        return self._run(reset())

    def close(self) -> None:
        """End all connections and the thread."""

        async def end() -> None:
            for server in self._servers:
                server.close()
            for task in tuple(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

        with suppress(TimeoutError):
            self._run(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_SECONDS)
        self._loop.close()

    def _run(self, work: Coroutine[None, None, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_SECONDS)

    def _set(
        self, source: str, target: str, *, whole: bool | None = None, delay_s: float | None = None
    ) -> None:
        """Change a link in the thread of the proxies."""

        async def change() -> None:
            link = self._links[source, target]
            link.delay_s = link.delay_s if delay_s is None else delay_s
            if whole is not None:
                (link.whole.set if whole else link.whole.clear)()

        self._run(change())

    def _new(self) -> _Link:
        whole = asyncio.Event()
        whole.set()
        return _Link(whole)

    async def _serve(
        self, target: str, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Carry one connection until an end of it ends."""
        pair = [writer]
        link = self._links[self._source(writer), target]
        try:
            await link.whole.wait()
            to_reader, to_writer = await asyncio.open_connection(HOST, port)
            pair.append(to_writer)
            link.open.update(pair)
            ways = (_carry(reader, to_writer, link), _carry(to_reader, writer, link))
            tasks = [asyncio.ensure_future(way) for way in ways]
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        except OSError:
            pass  # The node is down: whoever connects is to see that.
        finally:
            for each in pair:
                link.open.discard(each)
                _abort(each)

    def _source(self, writer: asyncio.StreamWriter) -> str:
        here, there = (writer.get_extra_info(name)[1] for name in ("sockname", "peername"))
        inode = inode_of(there, here)
        return self._node_of(inode) if inode else CLIENT


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, link: _Link) -> None:
    """Carry bytes one way until there are no more."""
    with suppress(OSError):
        while data := await reader.read(_CHUNK):
            if link.delay_s:
                await asyncio.sleep(link.delay_s)
            await link.whole.wait()
            writer.write(data)
            await writer.drain()


def _abort(writer: asyncio.StreamWriter) -> None:
    """Reset a connection, in any state."""
    opened = writer.get_extra_info("socket")
    if opened is not None:
        with suppress(OSError):
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()


def inode_of(local: int, remote: int) -> str | None:
    """Return the inode of the socket on a local port that is connected to a remote one."""
    for line in _sockets():
        words = line.split()
        ports = [int(address.rpartition(":")[2], 16) for address in words[1:3]]
        if ports == [local, remote]:
            return words[9]
    return None


def _sockets() -> Iterator[str]:
    for name in ("tcp", "tcp6"):
        with suppress(OSError), Path("/proc/net", name).open(encoding="ascii") as lines:
            next(lines, None)
            yield from lines


def has_socket(pid: int, inode: str) -> bool:
    """Return whether a process has the socket of an inode."""
    with suppress(OSError):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                if str(descriptor.readlink()) == f"socket:[{inode}]":
                    return True
    return False
