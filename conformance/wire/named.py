"""Brokers that the kit can start itself, by name, with their known deviations."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from conformance.target import TargetError
from conformance.wire.target import WireTarget

Starter = Callable[[float, str], AbstractContextManager[WireTarget]]


def _starter(module: str, name: str, *, timed: bool) -> Starter:
    """Return a function that imports the broker's module and starts the broker."""

    def start(seconds: float, version: str) -> AbstractContextManager[WireTarget]:
        try:
            loaded = import_module(f"{__package__}.{module}")
        except ImportError as error:
            raise TargetError(f"it is not installed: {error}") from None
        function: Any = getattr(loaded, name)
        timeout = (seconds,) if timed else ()
        named = {"version": version} if version else {}
        started: AbstractContextManager[WireTarget] = function(*timeout, **named)
        return started

    return start


NAMES: dict[str, Starter] = {
    "librdkafka-mock": _starter("librdkafka_mock", "librdkafka_mock", timed=True),
    "kafka-broker": _starter("kafka_broker", "kafka_broker", timed=False),
    "kfake": _starter("kfake", "kfake_target", timed=True),
    "crabka": _starter("crabka", "crabka_target", timed=True),
}
"""Starts each broker and stops it; given the timeout of an answer in seconds, and the version."""

_TARGETS = Path(__file__).parents[1] / "targets"


def known_of(name: str) -> Path | None:
    """Return the file of a broker's known deviations; None if it does not exist."""
    path = _TARGETS / name / "known.toml"
    return path if path.exists() else None


@contextmanager
def named_broker(name: str, seconds: float, version: str = "") -> Iterator[WireTarget]:
    """Run a broker of ``NAMES``, the newest unless named. TargetError if it does not start."""
    try:
        with NAMES[name](seconds, version) as target:
            yield target
    except TargetError as error:
        raise TargetError(f"{name}: {error}") from None
