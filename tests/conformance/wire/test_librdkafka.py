"""librdkafka's mock cluster: found in its wheel, told in one line where it is not, and driven."""

import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError
from pathlib import Path, PurePosixPath
from types import SimpleNamespace

import pytest

from conformance.target import TargetError
from conformance.wire import librdkafka
from conformance.wire.librdkafka import WHEEL, MockCluster, library_path
from tests.conformance.unbuilt import skip_unbuilt


@pytest.fixture(scope="module")
def cluster() -> Iterator[MockCluster]:
    cluster = MockCluster()
    yield cluster
    cluster.close()


def test_a_refusal_is_reported_with_its_reason(cluster: MockCluster) -> None:
    cluster.do("topic_create", "t", 2, 1)
    with pytest.raises(TargetError, match="do topic_create t 2 1: Broker: Topic already exists"):
        cluster.do("topic_create", "t", 2, 1)
    with pytest.raises(TargetError, match="delete_records t 1 5: Broker: Offset out of range"):
        cluster.do("partition_delete_records", "t", 1, 5)
    cluster.do("topic_delete", "t")
    with pytest.raises(TargetError, match="does not do topic_delete t: "):
        cluster.do("topic_delete", "t")


def test_a_second_close_does_nothing() -> None:
    cluster = MockCluster()
    cluster.close()
    cluster.close()


def test_a_missing_wheel_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_name: str) -> None:
        raise PackageNotFoundError

    monkeypatch.setattr(librdkafka, "distribution", missing)
    with pytest.raises(TargetError, match=f"not installed: pip install .*=={WHEEL}"):
        library_path()


@pytest.mark.parametrize(
    ("version", "files", "said"),
    [
        ("2.15.0", ["confluent_kafka.libs/librdkafka-1.so.1"], "is of version 2.15.0: pip install"),
        (WHEEL, ["confluent_kafka/__init__.py"], "without librdkafka"),
        (WHEEL, None, "without librdkafka"),
    ],
)
def test_another_version_of_the_wheel_is_reported(
    monkeypatch: pytest.MonkeyPatch, version: str, files: list[str] | None, said: str
) -> None:
    there = None if files is None else [PurePosixPath(file) for file in files]
    wheel = SimpleNamespace(version=version, files=there)
    monkeypatch.setattr(librdkafka, "distribution", lambda _name: wheel)
    with pytest.raises(TargetError, match=said):
        library_path()


def test_another_wheel_is_one_that_has_share_groups() -> None:
    with pytest.raises(TargetError, match=r"'2\.14\.0' cannot be driven; allowed: 2\.15\.0, "):
        MockCluster("2.14.0")


def test_a_wheel_that_pip_cannot_have_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pip = tmp_path / "pip"
    pip.write_text("#!/bin/sh\necho ERROR: no such wheel >&2\nexit 1\n")
    pip.chmod(0o755)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(pip))
    with pytest.raises(TargetError, match=r"of confluent-kafka 2\.15\.1: ERROR: no such wheel"):
        MockCluster("2.15.1")


@pytest.mark.broker
def test_an_older_cluster_is_run_from_its_own_wheel() -> None:
    try:
        older = MockCluster("2.15.0")
    except TargetError as missing:
        skip_unbuilt(missing)
    assert older.version == "2.15.0"
    older.close()
