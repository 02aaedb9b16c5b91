"""Connections to one broker, which may be silent, cut off, or send garbage or too much.

After any error the connection is closed, so that a late response is not taken for the answer to
another request.
"""

import asyncio
import os
import re
import socket
import time
from types import SimpleNamespace

import attrs

from conformance.target import TargetError
from conformance.wire.login import exchange
from conformance.wire.messages import MalformedError, Message, encoded, request, response
from conformance.wire.security import Login, Security
from conformance.wire.target import UnansweredError

MOST_PORT = 65_535
_HEADER = 4


@attrs.frozen
class Address:
    """Where a broker listens."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return HOST:PORT, with an IPv6 address in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str, least: int = 1) -> "Address":
        """Parse HOST:PORT, with this port at least. Raises TargetError if it is malformed."""
        host, colon, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        whole = port.isascii() and port.isdecimal() and len(port) <= len(str(MOST_PORT))
        if not colon or not host or not whole or not least <= int(port) <= MOST_PORT:
            allowed = f"HOST:PORT, with a port from {least} to {MOST_PORT}"
            raise TargetError(f"{text[:80]!r} is not the address of a broker; allowed: {allowed}")
        return cls(host, int(port))


@attrs.frozen
class Bounds:
    """Limits for a broker: seconds for an answer, its bytes, connections, and requests.

    ``surplus_bytes``: how many bytes may follow a response in its frame; clients ignore them.
    """

    seconds: float = 10.0
    frame_bytes: int = 8 << 20
    connections: int = 100
    requests: int = 10_000_000
    surplus_bytes: int = 0


@attrs.frozen
class Replied:
    """A response, and the times in ms between which the broker served the request."""

    body: SimpleNamespace
    sent_ms: float
    received_ms: float


def monotonic_ms() -> float:
    """Return the monotonic time."""
    return time.monotonic() * 1000


class Wire:
    """Named connections to one address, each opened on first use.

    Every method but ``close`` and ``disconnect`` may raise TargetError.
    """

    def __init__(
        self, address: Address, bounds: Bounds | None = None, security: Security | None = None
    ) -> None:
        """Connect to nothing yet."""
        self.address = address
        self._security = security or Security()
        self._bounds = bounds or Bounds()
        self._loop = asyncio.Runner()
        self._open: dict[str, _BrokerConnection] = {}
        self._requests = 0

    def ask(self, connection: str, message: Message, wait_ms: float = 0) -> Replied:
        """Send a request over the named connection; the answer may be ``wait_ms`` late."""
        self._requests += 1
        if self._requests > self._bounds.requests:
            raise TargetError(f"more than {self._bounds.requests:,} requests were needed")
        seconds = self._bounds.seconds + wait_ms / 1000
        try:
            return self._loop.run(self._ask(connection, message, seconds))
        except BaseException:
            self.disconnect(connection)
            raise

    def disconnect(self, connection: str) -> None:
        """Close the named connection, if it exists. Never raises."""
        if opened := self._open.pop(connection, None):
            self._loop.run(opened.close())

    def close(self) -> None:
        """Close all connections. Never raises; no request can follow."""
        for name in tuple(self._open):
            self.disconnect(name)
        self._loop.close()

    async def _ask(self, name: str, message: Message, seconds: float) -> Replied:
        api = type(message).__name__.removesuffix("Request")
        try:
            async with asyncio.timeout(seconds):
                if name not in self._open:
                    self._open[name] = await self._connect()
                return await self._open[name].ask(message, self._bounds)
        except TimeoutError:
            raise TargetError(f"{self.address} did not answer {api} in {seconds:g} s") from None
        except MalformedError as error:
            raise TargetError(f"{self.address} answered {api} with rubbish: {error}") from None
        except asyncio.IncompleteReadError:
            text = f"{self.address} closed the connection instead of answering {api}"
            raise UnansweredError(text) from None
        except OSError as error:
            raise TargetError(f"{self.address} is gone, at {api}: {_reason(error)}") from None

    async def _connect(self) -> "_BrokerConnection":
        if len(self._open) >= self._bounds.connections:
            raise TargetError(f"more than {self._bounds.connections} connections were needed")
        try:
            streams = await asyncio.open_connection(
                self.address.host, self.address.port, ssl=self._security.tls
            )
        except (OSError, UnicodeError) as error:
            raise TargetError(f"{self.address} cannot be reached: {_reason(error)}") from None
        connection = _BrokerConnection(*streams)
        if self._security.login:
            try:
                await _log_in(connection, self._security.login, self._bounds)
            except BaseException:
                await connection.close()
                raise
        return connection


def _reason(error: Exception) -> str:
    """Return why a connection failed, in the words of the system and without its numbers."""
    if isinstance(error, socket.gaierror):
        return error.strerror or str(error)
    # Of several addresses asyncio tells each in one text, in words of its own after the number.
    numbers = dict.fromkeys(re.findall(r"\[Errno (\d+)\]", str(error)))
    return ", ".join(os.strerror(int(number)) for number in numbers) or str(error)


class _BrokerConnection:
    """One connection, with one request in flight at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer, self._asked = reader, writer, 0

    async def ask(self, message: Message, bounds: Bounds) -> Replied:
        """Send a request and return its response."""
        self._asked += 1
        frame = encoded(message, self._asked)
        sent = monotonic_ms()
        self._writer.write(len(frame).to_bytes(_HEADER, "big") + frame)
        await self._writer.drain()
        size = int.from_bytes(await self._reader.readexactly(_HEADER), "big", signed=True)
        if not 0 <= size <= bounds.frame_bytes:
            most = f"at most {bounds.frame_bytes:,} are read"
            raise MalformedError(f"a frame of {size:,} bytes; {most}")
        answer = await self._reader.readexactly(size)
        received = monotonic_ms()
        correlation, body = response(message, answer, bounds.surplus_bytes)
        if correlation != self._asked:
            raise MalformedError(f"correlation id {correlation}, not {self._asked}")
        return Replied(body, sent, received)

    async def close(self) -> None:
        """Close it in any state."""
        self._writer.close()
        try:
            async with asyncio.timeout(1):
                await self._writer.wait_closed()
        except (OSError, TimeoutError):
            self._writer.transport.abort()


async def _log_in(connection: _BrokerConnection, login: Login, bounds: Bounds) -> None:
    """Authenticate a new connection. Raises TargetError if the broker refuses."""
    asked = request("sasl_handshake", 1, mechanism=login.mechanism)
    shaken = (await connection.ask(asked, bounds)).body
    if shaken.error_code:
        offered = ", ".join(shaken.mechanisms[:10])
        raise TargetError(f"the broker does not offer {login.mechanism}; it offers {offered}")
    messages = exchange(login)
    sent: bytes | None = next(messages)
    while sent is not None:
        body = (await connection.ask(request("sasl_authenticate", 2, auth_bytes=sent), bounds)).body
        if body.error_code:
            raise TargetError(f"the broker refuses user {login.user!r}: {body.error_message}")
        try:
            sent = messages.send(body.auth_bytes)
        except StopIteration:
            sent = None
