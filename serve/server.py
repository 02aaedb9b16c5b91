"""Connections: frames in, answers out, in order; limits, and what becomes of rubbish."""

import asyncio
import gc
import logging
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from inspect import isawaitable
from itertools import chain, count

import attrs
from kio.schema.errors import ErrorCode as KafkaError

from conformance.wire.connection import Address
from conformance.wire.messages import MalformedError, UnsupportedError, answered, received
from model.share_messages import FINAL_EPOCH
from serve.apis import API_VERSIONS, APIS, Api, advertised
from serve.asked import Call, Values
from serve.coordination import expel
from serve.limits import Traffic
from serve.node import Cluster, Node, Options
from serve.rare import LATE_METADATA_SECONDS, SLOW_SECONDS, TAKES_EFFECT, Habit
from serve.turns import FEW
from spec import share_broker

LOG = logging.getLogger("sharespec.serve")
_TICK_SECONDS, _FLUSH_SECONDS = 0.02, 0.5
_HEAD = struct.Struct(">hhi")
_SIZE = 4
_RARELY = 100
"""A collection of all that a broker keeps stops it, for little: what it keeps has few cycles."""
_THRESHOLDS, _CHANGING = list[tuple[int, int, int]](), threading.Lock()
"""The threshold of each generation as each broker of this process that serves has found it."""
_LONGEST_LINE = 200
_TURNS = 10
"""Turns of the event loop in which a connection that was accepted comes to its task."""
_FETCH, _HEARTBEAT = "share_fetch", "share_group_heartbeat"
_SLOW = (
    (_HEARTBEAT, Habit.SLOW_HEARTBEAT, SLOW_SECONDS),
    ("metadata", Habit.SLOW_METADATA, LATE_METADATA_SECONDS),
)
_ACKNOWLEDGE = "share_acknowledge"
_SHARE_APIS = (_FETCH, _ACKNOWLEDGE)
_PLACE_BYTES, _MOST_AHEAD = 50, 100
"""Of a request for each share-partition; and how many at most may go before a long one."""
_PIECES, _PIECE_BYTES, _PIECE_SECONDS = 50, 7, 0.002
"""How an answer is sent in pieces: each a packet of its own, and the rest at once."""


@contextmanager
def _collected_rarely() -> Iterator[None]:
    """Collect what brokers keep rarely, as long as one of this process serves."""
    with _CHANGING:
        _THRESHOLDS.append(gc.get_threshold())
        first, second, third = _THRESHOLDS[0]
        gc.set_threshold(first, second, third * _RARELY)
    try:
        yield
    finally:
        with _CHANGING:
            usual = _THRESHOLDS.pop(0)
            if _THRESHOLDS:
                _THRESHOLDS[0] = usual
            else:
                gc.set_threshold(*usual)


@attrs.define
class Server:
    """Brokers, each on a socket. ``speed``: how many times faster acquisition locks end."""

    options: Options = attrs.field(factory=Options)
    speed: float = 1.0
    cluster: Cluster = attrs.field(init=False)
    _traffic: Traffic = attrs.field(init=False)
    _started: float = attrs.field(factory=time.monotonic)
    _numbers: "count[int]" = attrs.field(factory=lambda: count(1))
    _requests: "count[int]" = attrs.field(factory=lambda: count(1))
    _servers: list[asyncio.Server] = attrs.field(factory=list)
    _silent: dict[str, "asyncio.Task[None]"] = attrs.field(factory=dict)
    _ticker: "asyncio.Task[None] | None" = None
    _is_over: bool = False

    def __attrs_post_init__(self) -> None:
        """Hold nothing yet."""
        self._traffic = Traffic(self.options.limits.traffic_bytes)
        self.cluster = Cluster(
            self.options,
            lambda: int(self._elapsed_ms() * self.speed) + self.cluster.rare.skipped_ms,
            lambda: int(self._elapsed_ms()),
            lambda: int(time.time() * 1000),
        )

    def _connections(self) -> list["asyncio.Task[None]"]:
        return [task for node in self.cluster.nodes for task in node.connections]

    def _elapsed_ms(self) -> float:
        return (time.monotonic() - self._started) * 1000

    async def start(self, listen: Address, advertised: Address | None = None) -> list[Address]:
        """Listen, and return the address of each broker; port 0 takes free ones. Raises OSError.

        ``advertised`` is what clients are told of the first broker, in place of where it listens.
        """
        for nth, node in enumerate(self.cluster.nodes):
            accept, own = partial(self._accept, node), _nth(listen, nth)
            try:
                self._servers.append(await asyncio.start_server(accept, own.host, own.port))
            except OSError as error:
                raise OSError(error.errno, error.strerror, str(own)) from None
            taken = self._servers[-1].sockets[0].getsockname()[1]
            told = _nth(advertised or listen, nth)
            node.address = Address(told.host, told.port or taken)
        self._ticker = asyncio.create_task(self._tick())
        return [node.address for node in self.cluster.nodes]

    async def serve_until(self, over: asyncio.Event) -> None:
        """Serve until ``over`` is set; raise what keeps locks from ending, as a full disk does."""
        if self._ticker is None:
            return
        waiting = asyncio.create_task(over.wait())
        with _collected_rarely():
            await asyncio.wait({waiting, self._ticker}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if self._ticker.done():
            self._ticker.result()

    async def stop(self) -> None:
        """Close every connection, and the trace. Raises OSError where that cannot be written."""
        self._is_over = True
        # A connection that comes to a closed server is lost, and stays open.
        for listening in (each for server in self._servers for each in server.sockets):
            asyncio.get_running_loop().remove_reader(listening.fileno())
        for _ in range(_TURNS if self._servers else 0):
            await asyncio.sleep(0)
        for server in self._servers:
            server.close()
        tasks = (*self._connections(), *((self._ticker,) if self._ticker else ()))
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        if self.cluster.trace is not None:
            self.cluster.trace.close()

    async def _tick(self) -> None:
        """Let locks and memberships end when nobody asks anything; sleep until the next is due."""
        cluster = self.cluster
        while True:
            await asyncio.sleep(_TICK_SECONDS)  # What ends about the same time ends at once.
            cluster.earlier.clear()
            for _ in chain(cluster.end_locks(), expel(cluster)):
                await asyncio.sleep(0)  # Requests are served in between.
            if cluster.trace is not None:
                cluster.trace.flush()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._idle_seconds()):
                    await cluster.earlier.wait()

    def _idle_seconds(self) -> float | None:
        """Return for how long nothing is due; None if nothing is at all."""
        cluster, end, silent = self.cluster, self.cluster.locks.next(), self.cluster.silence.next()
        waits = [_FLUSH_SECONDS] if cluster.trace is not None else []
        if end is not None:
            waits.append((end - cluster.clock()) / 1000 / self.speed)
        if silent is not None:
            waits.append((silent - cluster.real_clock()) / 1000)
        return max(0.0, min(waits)) if waits else None

    async def _accept(
        self, node: Node, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        peer = (writer.get_extra_info("peername") or ("?", 0))[:2]
        task = asyncio.current_task()
        if self._is_over:
            self._close(writer)
            return
        count, most = len(self._connections()), self.options.limits.connections
        if count >= most and self._silent:  # Who has asked nothing makes room.
            silent = self._silent.pop(next(iter(self._silent)))
            silent.cancel()
            for each in self.cluster.nodes:
                each.connections.discard(silent)
            count -= 1
        if task is None or count >= most:
            LOG.warning("%s:%s: refused, %d connections are open", *peer, count)
            writer.close()
            return
        node.connections.add(task)
        name = f"c{next(self._numbers)}"
        task.set_name(name)
        self._silent[name] = task
        shared = self._requests, self._silent, self._traffic
        connection = _Connection(node, name, peer[0], *shared, reader, writer)
        try:
            await connection.serve()
        except _ClosedError as closed:
            LOG.warning("%s:%s: closed, %s", *peer, _line(str(closed)))
        except (OSError, asyncio.CancelledError, _CutError):
            pass  # The client is gone, or the server stops, or it was told to cut.
        finally:
            node.connections.discard(task)
            self._silent.pop(name, None)
            self._traffic.end(writer.transport)
            self._end(node, connection.name)
            self._close(writer)

    def _close(self, writer: asyncio.StreamWriter) -> None:
        """Close a connection; at the end nobody waits until its client has read everything."""
        if self._is_over:
            writer.transport.abort()
        else:
            writer.close()

    def _end(self, node: Node, connection: str) -> None:
        """End the share sessions of a connection."""
        for group, share in tuple(node.shares.items()):
            if any(session.connection == connection for session in share.sessions.values()):
                after = share_broker.disconnect(share, connection, self.cluster.clock()).broker
                node.put(group, after)
        if self.cluster.witness is not None:
            self.cluster.witness.ended(connection)


def _nth(first: Address, nth: int) -> Address:
    """Return the address of the nth broker after the first; port 0 is that of each."""
    return Address(first.host, first.port and first.port + nth)


def _size(node: Node, api: Api, asked: Call) -> int:
    """Return how many share-partitions a request works on before it waits for anything."""
    if api.name in _SHARE_APIS:
        named = sum(len(topic.partitions) for topic in asked.body.topics)
        return max(named, len(node.share(asked.body.group_id or "").partitions))
    if api.name == _HEARTBEAT and asked.body.member_epoch == 0:
        topics = map(node.cluster.topics.get, asked.body.subscribed_topic_names or ())
        return sum(len(topic.logs) for topic in topics if topic)
    return 0


def _line(text: str) -> str:
    """Return a text as one short line: a client may have chosen parts of it."""
    return "".join(sign if sign.isprintable() else "?" for sign in text[:_LONGEST_LINE])


class _ClosedError(Exception):
    """Why the broker closes a connection."""


class _CutError(Exception):
    """The broker cuts a connection, as ``rare`` has it."""


@attrs.define
class _Connection:
    """One connection: its requests are answered one after the other."""

    node: Node
    name: str
    host: str
    requests: "count[int]"
    silent: dict[str, "asyncio.Task[None]"]
    traffic: Traffic
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    gone: asyncio.Event = attrs.field(factory=asyncio.Event)

    async def serve(self) -> None:
        """Serve until the client closes; _ClosedError where the broker does."""
        most = self.node.cluster.options.limits.queued_requests
        frames: asyncio.Queue[bytes | None] = asyncio.Queue(most)
        reading = asyncio.create_task(self._read(frames))
        try:
            while (frame := await frames.get()) is not None:
                await self._answer(frame)
                self.traffic.give(self.writer.transport, len(frame))
            await reading
        finally:
            reading.cancel()
            await asyncio.wait({reading})

    async def _read(self, frames: "asyncio.Queue[bytes | None]") -> None:
        """Read requests until there are no more; what came before is answered all the same."""
        wrong: Exception | None = None
        try:
            while True:
                await frames.put(await self._frame())
        except TimeoutError:
            wrong = _ClosedError("no request came, or not all of one")
        except asyncio.IncompleteReadError as rest:
            wrong = _ClosedError("it ended within a request") if rest.expected != 1 else None
        except (OSError, _ClosedError) as error:
            wrong = error
        self.gone.set()
        await frames.put(None)
        if wrong is not None:
            raise wrong

    async def _frame(self) -> bytes:
        limits, first = self.node.cluster.options.limits, self.name in self.silent
        most = limits.request_bytes
        async with asyncio.timeout(limits.stalled_seconds if first else limits.idle_seconds):
            begun = await self.reader.readexactly(1)
        async with asyncio.timeout(limits.stalled_seconds):
            rest = await self.reader.readexactly(_SIZE - 1)
        size = int.from_bytes(begun + rest, "big", signed=True)
        if not _HEAD.size <= size <= most:
            raise _ClosedError(f"a request of {size:,} bytes; at most {most:,} are read")
        self.traffic.take(self.writer.transport, size)
        async with asyncio.timeout(limits.stalled_seconds):
            frame = await self.reader.readexactly(size)
        self.silent.pop(self.name, None)
        return frame

    async def _answer(self, frame: bytes) -> None:
        key, version, correlation = _HEAD.unpack_from(frame)
        api = APIS.get(key)
        if api is None or not api.lowest <= version <= api.highest:
            if key != API_VERSIONS:
                raise _ClosedError(f"API {key} version {version} is not served")
            unsupported = advertised(KafkaError.unsupported_version)
            await self._send(answered(API_VERSIONS, 0, correlation, unsupported))
            return
        many = min(len(frame) // _PLACE_BYTES, _MOST_AHEAD)
        await self.node.cluster.turns.take(many)
        try:
            header, body = received(frame)
        except (MalformedError, UnsupportedError) as error:
            raise _ClosedError(f"no {api.name} request of version {version}: {error}") from None
        client_id = str(getattr(header, "client_id", None) or "")[:_LONGEST_LINE]
        asked = Call(body, version, self.name, client_id, self.host, self.gone)
        number = next(self.requests)
        cut = self._noticed(number, api, asked)
        try:
            values = await self._values(number, api, asked, 0 if many > FEW else None)
            answer = None if values is None else answered(key, version, correlation, values)
        except Exception as error:
            LOG.debug("%s", api.name, exc_info=True)
            text = f"{api.name} version {version}: {type(error).__name__} {error}"
            raise _ClosedError(text) from error
        if self.node.cluster.witness is not None:
            if cut:
                self.node.cluster.witness.cut(number, took_effect=True)
            else:
                self.node.cluster.witness.answered(number, api.name, values or {})
        if cut:
            raise _CutError
        if answer is not None:
            await self._reply(api, answer)

    async def _values(self, number: int, api: Api, asked: Call, size: int | None) -> Values | None:
        """Serve a request, late as ``rare`` has it; if its connection ends first, tell of that.

        ``size`` is 0 where it is its turn already.
        """
        cluster = self.node.cluster
        try:
            if api.name == _ACKNOWLEDGE and (late := cluster.rare.lateness(self.node.id)):
                await asyncio.sleep(late)
            await cluster.turns.take(_size(self.node, api, asked) if size is None else size)
            values = api.handler(self.node, asked)
            return await values if isawaitable(values) else values
        except asyncio.CancelledError:
            if cluster.witness is not None and api.name in _SHARE_APIS:
                cluster.witness.cut(number, took_effect=True)
            raise

    async def _reply(self, api: Api, answer: bytes) -> None:
        """Send an answer, late or in pieces as ``rare`` has it."""
        rare = self.node.cluster.rare
        for name, habit, seconds in _SLOW:
            if api.name == name and rare.takes(habit):
                await asyncio.sleep(seconds)
        pieces = api.name == _FETCH and rare.takes(Habit.PIECES)
        await self._send(answer, _PIECES if pieces else 0)

    def _noticed(self, number: int, api: Api, asked: Call) -> bool:
        """Tell of a request, and return whether its answer is to be cut; _CutError before that."""
        witness, share = self.node.cluster.witness, api.name in _SHARE_APIS
        if witness is not None:
            witness.asked(number, self.node.id, self.name, api.name, asked.body)
        fetches = api.name == "share_fetch" and asked.body.share_session_epoch != FINAL_EPOCH
        acknowledges = share and any(
            part.acknowledgement_batches for topic in asked.body.topics for part in topic.partitions
        )
        habit = self.node.cluster.rare.cut(fetches=fetches, acknowledges=acknowledges)
        if habit is None or habit in TAKES_EFFECT:
            return habit is not None
        if witness is not None:
            witness.cut(number, took_effect=False)
        raise _CutError

    async def _send(self, data: bytes, pieces: int = 0) -> None:
        """Send an answer, begun in small pieces; a client that does not read it is dropped."""
        seconds = self.node.cluster.options.limits.stalled_seconds
        rest = len(data).to_bytes(_SIZE, "big") + data
        for _ in range(pieces):
            self.writer.write(rest[:_PIECE_BYTES])
            rest = rest[_PIECE_BYTES:]
            await asyncio.sleep(_PIECE_SECONDS)
        held = 2 * len(rest)  # With the copy that waits to be sent.
        self.traffic.take(self.writer.transport, held)
        self.writer.write(rest)
        try:
            async with asyncio.timeout(seconds):
                await self.writer.drain()
            self.traffic.give(self.writer.transport, held)
        except TimeoutError:
            self.writer.transport.abort()
            raise _ClosedError(f"the client read nothing for {seconds:g} s") from None
