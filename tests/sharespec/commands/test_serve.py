import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conformance.wire.messages import request
from tests.serve.served import clients_of, part
from tests.sharespec.running import runner

EARLIEST = "share.auto.offset.reset=earliest"
TOLD = f"a group gets what is produced after it began; all with --config {EARLIEST}\n".encode()


@contextmanager
def started(*options: str) -> Iterator[tuple["subprocess.Popen[bytes]", str]]:
    """Start a server of its own, give it with its address, and kill it if it goes on."""
    with subprocess.Popen(
        [sys.executable, "-m", "sharespec", "serve", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as server:
        assert server.stdout is not None
        try:
            yield server, server.stdout.readline().decode().strip()
        finally:
            server.kill()


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_it_says_where_it_listens_and_ends_when_told(number: int, tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    options = ["--listen", "127.0.0.1:0", "--topic", "t:3", "--trace", str(trace)]
    with started(*options) as (server, address), clients_of(address) as (client,):
        (topic,) = client.send(request("metadata", 1, topics=None)).topics
        assert (topic.name, len(topic.partitions)) == ("t", 3)
        server.send_signal(number)
        assert server.wait(300) == 0
        assert server.communicate()[1] == TOLD
    assert trace.read_bytes() == b""


def test_several_brokers_say_each_where_it_listens() -> None:
    with started("--listen", "127.0.0.1:0", "--brokers", "3", "--config", EARLIEST) as (
        server,
        addresses,
    ):
        with clients_of(addresses) as clients:
            for client in clients:
                told = client.send(request("metadata", 1, topics=None)).brokers
                assert [f"{each.host}:{each.port}" for each in told] == addresses.split(",")
        server.send_signal(signal.SIGINT)
        assert server.wait(300) == 0
        assert server.communicate()[1] == b""


def test_clients_are_told_what_is_advertised() -> None:
    told = "localhost:19092,localhost:19093"
    options = ["--listen", "127.0.0.1:0", "--brokers", "2", "--advertise", "localhost:19092"]
    with started(*options) as (_server, addresses):
        assert addresses == told


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_a_trace_that_cannot_be_written_ends_it_with_one_line() -> None:
    options = ["--listen", "127.0.0.1:0", "--trace", "/dev/full", "--config", EARLIEST]
    with started(*options) as (server, address), clients_of(address) as (client,):
        client.fetch(0, part(client.join()))
        assert server.wait(300) == 2
        assert server.communicate()[1] == b"sharespec: No space left on device\n"


def test_it_warns_of_an_address_that_others_reach() -> None:
    result = runner("serve")("--listen", "192.0.2.1:1")
    assert result.exit_code == 2
    assert "warning: who reaches" in result.output
    assert "sharespec: 192.0.2.1:1: " in result.output
