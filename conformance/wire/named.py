"""Brokers that the kit can start by itself, by name; and what is known of each."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from conformance.target import TargetError
from conformance.wire.target import WireTarget

__all__ = ["NAMES", "known_of", "named_broker"]

Starter = Callable[[float], AbstractContextManager[WireTarget]]


def _starter(module: str, name: str, *, timed: bool) -> Starter:
    """Return what starts a broker; its module is read only then, with what it needs."""

    def start(seconds: float) -> AbstractContextManager[WireTarget]:
        try:
            loaded = import_module("conformance.wire." + module)
        except ImportError as error:
            raise TargetError(f"it is not installed: {error}") from None
        found: Any = getattr(loaded, name)
        started: AbstractContextManager[WireTarget] = found(seconds) if timed else found()
        return started

    return start


NAMES: dict[str, Starter] = {
    "librdkafka-mock": _starter("librdkafka_mock", "librdkafka_mock", timed=True),
    "kafka-broker": _starter("kafka_broker", "kafka_broker", timed=False),
    "kfake": _starter("kfake", "kfake_target", timed=True),
    "crabka": _starter("crabka", "crabka_target", timed=True),
}
"""What starts each broker and ends it; it is given how many seconds an answer may take."""

_TARGETS = Path(__file__).parents[1] / "targets"


def known_of(name: str) -> Path | None:
    """Return the file of what is known of a broker; None if nothing is."""
    path = _TARGETS / name / "known.toml"
    return path if path.exists() else None


@contextmanager
def named_broker(name: str, seconds: float) -> Iterator[WireTarget]:
    """Run a broker of ``NAMES``. Raises TargetError if it cannot be had."""
    try:
        with NAMES[name](seconds) as target:
            yield target
    except TargetError as error:
        raise TargetError(f"{name}: {error}") from None
