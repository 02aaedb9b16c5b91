"""Targets by name, command or address."""

import shlex
import sys

import pytest

from conformance.cores.kit import CORES
from conformance.subjects import SUBJECT_NAMES, TargetChoice, opened
from conformance.target import TargetError
from conformance.wire.kit import BROKERS
from serve.running import serving


def test_a_subject_is_a_core_or_a_broker() -> None:
    assert TargetChoice("spec").kit == CORES
    assert TargetChoice(command="x").kit == CORES
    assert TargetChoice("kfake").kit == BROKERS
    assert TargetChoice(bootstrap="h:1").kit == BROKERS
    assert len(set(SUBJECT_NAMES)) == len(SUBJECT_NAMES)


def test_targets_open_and_close() -> None:
    with opened(TargetChoice("impl")) as target:
        assert target.hello().name == "sharespec impl"
    command = f"{sys.executable} -m tests.doubles.small_core"
    with opened(TargetChoice(command=command)) as target:
        assert target.hello().name.startswith("small core")
    with pytest.raises(TargetError), opened(TargetChoice(bootstrap="nowhere")):
        pass
    with (
        pytest.raises(TargetError, match=r"127\.0\.0\.1:9"),
        opened(TargetChoice(bootstrap="127.0.0.1:9", silence=1)) as target,
    ):
        target.hello()


def test_an_address_is_judged_by_the_rules_of_kafka_and_the_built_in_cores_by_the_kips() -> None:
    with (
        serving() as broker,
        opened(TargetChoice("spec")) as core,
        opened(TargetChoice(bootstrap=broker.address)) as target,
    ):
        assert (target.hello().profile, core.hello().profile) == ("kafka", "kip")


def test_a_broker_that_does_not_start_is_named() -> None:
    said = "^kfake: kfake 'main' is no pseudo-version"
    with pytest.raises(TargetError, match=said), opened(TargetChoice("kfake", version="main")):
        pass


def test_the_command_that_verifies_a_subject_is_quoted_for_a_shell() -> None:
    assert TargetChoice("kafka").command_line == "sharespec verify kafka"
    driver = TargetChoice(command="node 'my driver.js'; x", silence=2.5, offered_within=3)
    assert driver.command_line.startswith("sharespec verify --exec ")
    assert shlex.split(driver.command_line)[2:] == [
        *("--exec", "node 'my driver.js'; x"),
        *("--offered-within", "3", "--silence", "2.5"),
    ]
    broker = TargetChoice(bootstrap="h:1", profile="kip", lock_ms=200, sweep_ms=5)
    assert broker.command_line == (
        "sharespec verify --bootstrap h:1 --profile kip --lock-ms 200 --sweep-ms 5"
    )
