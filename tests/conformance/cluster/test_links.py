"""A link carries bytes; it can be cut, slow or reset without another one noticing."""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from threading import Thread

import pytest

from conformance.cluster.links import CLIENT, Links, has_socket, inode_of
from conformance.wire.servers import HOST

LONG_S, SHORT_S = 30.0, 0.3


class Echo:
    """A server that sends back what it gets."""

    def __init__(self) -> None:
        self.server = socket.create_server((HOST, 0))
        self.port: int = self.server.getsockname()[1]
        Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        try:
            while True:
                Thread(target=self._serve, args=(self.server.accept()[0],), daemon=True).start()
        except OSError:
            return

    def _serve(self, opened: socket.socket) -> None:
        try:
            with opened:
                while data := opened.recv(1000):
                    opened.sendall(data)
        except OSError:
            return

    def close(self) -> None:
        with suppress(OSError):  # Closed before.
            self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()


@pytest.fixture
def echo() -> Iterator[Echo]:
    with closing(Echo()) as echo:
        yield echo


@pytest.fixture
def links() -> Iterator[Links]:
    with closing(Links(lambda _inode: CLIENT)) as links:
        yield links


def connected(port: int) -> socket.socket:
    return socket.create_connection((HOST, port), LONG_S)


def answer(port: int) -> bytes:
    with connected(port) as opened:
        return opened.recv(1000)


def said(opened: socket.socket, data: bytes) -> bytes:
    opened.sendall(data)
    return opened.recv(1000)


def test_bytes_pass_both_ways(links: Links, echo: Echo) -> None:
    with connected(links.listen("1", echo.port)) as opened:
        assert said(opened, b"a") == b"a"
        assert said(opened, b"b") == b"b"


def test_a_cut_link_holds_bytes_until_it_is_healed(links: Links, echo: Echo) -> None:
    with (
        connected(links.listen("1", echo.port)) as cut,
        connected(links.listen("2", echo.port)) as whole,
    ):
        assert said(cut, b"a") == b"a"
        links.cut(CLIENT, "1")
        cut.settimeout(SHORT_S)
        with pytest.raises(TimeoutError):
            said(cut, b"b")
        assert said(whole, b"c") == b"c"
        links.heal(CLIENT, "1")
        cut.settimeout(LONG_S)
        assert cut.recv(1000) == b"b"


def test_a_new_connection_over_a_cut_link_waits(links: Links, echo: Echo) -> None:
    port = links.listen("1", echo.port)
    links.cut(CLIENT, "1")
    with connected(port) as opened:
        opened.settimeout(SHORT_S)
        with pytest.raises(TimeoutError):
            said(opened, b"a")
        links.heal_all()
        opened.settimeout(LONG_S)
        assert opened.recv(1000) == b"a"


def test_a_slow_link_takes_its_time(links: Links, echo: Echo) -> None:
    with connected(links.listen("1", echo.port)) as opened:
        assert said(opened, b"a") == b"a"
        links.delay(CLIENT, "1", SHORT_S)
        begun = time.monotonic()
        assert said(opened, b"b") == b"b"
        assert time.monotonic() - begun >= SHORT_S
        links.heal_all()
        assert said(opened, b"c") == b"c"


def test_a_reset_ends_the_connections_of_one_link(links: Links, echo: Echo) -> None:
    with (
        connected(links.listen("1", echo.port)) as first,
        connected(links.listen("2", echo.port)) as second,
    ):
        assert said(first, b"a") == said(second, b"a") == b"a"
        assert links.reset(CLIENT, "1") == 1
        with pytest.raises(ConnectionResetError):
            first.recv(1000)
        assert said(second, b"b") == b"b"


def test_whoever_connects_to_a_node_that_is_down_is_refused(links: Links, echo: Echo) -> None:
    port = links.listen("1", echo.port)
    echo.close()
    with pytest.raises(ConnectionResetError):
        answer(port)


def test_the_source_is_the_node_that_has_the_socket(echo: Echo) -> None:
    nodes = {os.getpid(): "3"}

    def node_of(inode: str) -> str:
        return next((name for pid, name in nodes.items() if has_socket(pid, inode)), CLIENT)

    with closing(Links(node_of)) as links, connected(links.listen("1", echo.port)) as opened:
        assert said(opened, b"a") == b"a"
        assert links.reset(CLIENT, "1") == 0
        assert links.reset("3", "1") == 1


def test_a_socket_is_found_by_both_of_its_ports(echo: Echo) -> None:
    with connected(echo.port) as opened:
        here = opened.getsockname()[1]
        inode = inode_of(here, echo.port)
        assert inode
        assert has_socket(os.getpid(), inode)
        assert not has_socket(os.getppid(), inode)
        assert inode_of(here, here) is None
