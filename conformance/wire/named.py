"""Brokers that the kit can start itself, by name, with their known deviations."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from conformance.target import TargetError
from conformance.wire.target import WireTarget

Starter = Callable[[float], AbstractContextManager[WireTarget]]


def _starter(module: str, name: str, *, timed: bool) -> Starter:
    """Return a function that imports the broker's module and starts the broker."""

    def start(seconds: float) -> AbstractContextManager[WireTarget]:
        try:
            loaded = import_module(f"{__package__}.{module}")
        except ImportError as error:
            raise TargetError(f"it is not installed: {error}") from None
        function: Any = getattr(loaded, name)
        started: AbstractContextManager[WireTarget] = function(seconds) if timed else function()
        return started

    return start


NAMES: dict[str, Starter] = {
    "librdkafka-mock": _starter("librdkafka_mock", "librdkafka_mock", timed=True),
    "kafka-broker": _starter("kafka_broker", "kafka_broker", timed=False),
    "kfake": _starter("kfake", "kfake_target", timed=True),
    "crabka": _starter("crabka", "crabka_target", timed=True),
}
"""Starts each broker and stops it; the argument is the timeout of an answer in seconds."""

_TARGETS = Path(__file__).parents[1] / "targets"


def known_of(name: str) -> Path | None:
    """Return the file of a broker's known deviations; None if it does not exist."""
    path = _TARGETS / name / "known.toml"
    return path if path.exists() else None


@contextmanager
def named_broker(name: str, seconds: float) -> Iterator[WireTarget]:
    """Run a broker of ``NAMES``. Raises TargetError if it does not start."""
    try:
        with NAMES[name](seconds) as target:
            yield target
    except TargetError as error:
        raise TargetError(f"{name}: {error}") from None
