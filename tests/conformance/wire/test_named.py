"""Brokers by name: each is there, or one clear line says why not."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import pytest

from conformance.target import TargetError
from conformance.wire.named import NAMES, known_of, named_broker
from conformance.wire.target import WireTarget
from tests.doubles.spec_broker import SpecBroker


@contextmanager
def running(*_seconds: float, **_version: str) -> Iterator[WireTarget]:
    yield SpecBroker()


def test_a_broker_is_run_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, function in (("kfake", "kfake_target"), ("kafka_broker", "kafka_broker")):
        module = ModuleType(f"conformance.wire.{name}")
        setattr(module, function, running)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        with named_broker(name.replace("_", "-"), 5) as target:
            assert target.hello().profile == "kip"


def test_a_missing_package_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        for module in ("librdkafka_mock", "kafka_broker", "kfake", "crabka"):
            monkeypatch.setitem(sys.modules, f"conformance.wire.{module}", None)
        said = f"{name}: it is not installed"
        with pytest.raises(TargetError, match=said), named_broker(name, 5):
            pass


def test_a_broker_without_a_file_has_no_known_deviations() -> None:
    assert known_of("no-such-broker") is None
