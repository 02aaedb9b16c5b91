"""Targets by name, command or address."""

import sys

import pytest

from conformance.cores.kit import CORES
from conformance.subjects import SUBJECT_NAMES, Subject, opened
from conformance.target import TargetError
from conformance.wire.kit import BROKERS


def test_a_subject_is_a_core_or_a_broker() -> None:
    assert Subject("spec").kit is CORES
    assert Subject(command="x").kit is CORES
    assert Subject("kfake").kit is BROKERS
    assert Subject(bootstrap="h:1").kit is BROKERS
    assert len(set(SUBJECT_NAMES)) == len(SUBJECT_NAMES)


def test_targets_open_and_close() -> None:
    with opened(Subject("impl")) as target:
        assert target.hello().name == "sharespec impl"
    command = f"{sys.executable} -m tests.doubles.miniature"
    with opened(Subject(command=command)) as target:
        assert target.hello().name.startswith("miniature")
    with pytest.raises(TargetError), opened(Subject(bootstrap="nowhere")):
        pass
    with (
        pytest.raises(TargetError, match=r"127\.0\.0\.1:9"),
        opened(Subject(bootstrap="127.0.0.1:9", silence=1)) as target,
    ):
        target.hello()
