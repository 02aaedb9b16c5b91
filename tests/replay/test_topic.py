"""A topic of a real broker is watched: each divergence is told once, also after a kill."""

import json
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from model.trace_json import line_from_row
from replay.stream_file import read_stream
from replay.stream_source import kafka_package
from tests.recorder.released import Broker, broker
from tests.replay.outside import COMMAND, run
from tests.replay.samples import Row
from tests.replay.streams import DYING, alarms, batches, plan_in, problems
from tests.replay.test_stream import ALARMS, CHECKED

pytestmark = [pytest.mark.broker, pytest.mark.xdist_group("recorder")]

_SECONDS = 600
PLAIN = {"NUMBA_DISABLE_JIT": "1"}
_NOT_THERE = "unresolved dependency"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with broker(tmp_path_factory.mktemp("broker"), None) as running:
        yield running


def produce(address: str, topic: str, values: Sequence[bytes | None]) -> None:
    """Write each value, to one partition after the other: what follows may come before."""
    producer = Producer({"bootstrap.servers": address})
    for nth, value in enumerate(values):
        producer.produce(topic, value, partition=nth % 2)
    assert producer.flush(_SECONDS) == 0


def died(folder: Path, source: str) -> str:
    """Watch a topic up to its first batch, and die; return the package that this took.

    Maven Central may not have that of PySpark's own version yet.
    """
    for package in (kafka_package(), f"{kafka_package().rpartition(':')[0]}:4.2.0"):
        done = run(sys.executable, "-c", DYING, folder, source, package, **PLAIN)
        if done.returncode == -signal.SIGKILL:
            return package
        assert _NOT_THERE in done.stderr, done.stderr
    pytest.skip("Spark's source of topics cannot be fetched from Maven Central")


def given() -> Iterator[list[Row]]:
    """The batches of a stream, without the rows that no line can hold."""
    for batch in batches():
        yield [row for row in batch if row["seq"] is not None]


def test_a_divergence_is_told_once_and_named_by_its_offset(tmp_path: Path, running: Broker) -> None:
    address, name = f"127.0.0.1:{running.port}", tmp_path.name.replace("_", "-")
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic(name, 2)])[name].result(_SECONDS)
    first, second, third = ([line_from_row(row) for row in batch] for batch in given())
    source = f"kafka:{address}/{name}"
    produce(address, name, [b'{"recorder": {}}', *first])
    package = died(tmp_path, source)
    assert not list(tmp_path.glob("states/spark/commits/0"))
    states = ("--state", tmp_path / "states", "--out", tmp_path / "out", "--once", "--json")
    watch = (COMMAND, "watch", source, *states, "--package", package)
    produce(address, name, [*second, b'{"partition": "a", "seq": 1', None])
    done = run(*watch, **PLAIN)
    assert done.returncode == 1, done.stderr
    again, told = map(json.loads, done.stdout.splitlines())
    assert (again["batch"], again["again"], told["batch"]) == (0, True, 1)
    assert {each["source"] for each in told["divergences"]} <= {f"{name}-0", f"{name}-1"}
    produce(address, name, third)
    assert run(*watch, **PLAIN).returncode == 1
    assert alarms(tmp_path) == ALARMS
    cut, none = sorted(text for _, text in problems(tmp_path))
    assert (cut[:7], none) == ("line is", "value is None; allowed: an event as JSON")
    left = read_stream(tmp_path / "states", plan_in(tmp_path).rules)
    assert left.total.checked == CHECKED


def test_what_cannot_be_watched_is_one_line(tmp_path: Path, running: Broker) -> None:
    source = f"kafka:127.0.0.1:{running.port}/t"
    package = "org.apache.spark:no-such-source_2.13:0.0.1"
    watch = (COMMAND, "watch", source, "--state", tmp_path / "states", "--once")
    done = run(*watch, "--package", package, **PLAIN)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("sharespec: Spark did not start on local[*]: ")
    assert "no-such-source_2.13;0.0.1: not found" in line
