"""Targets of ``sharespec verify``: cores, coordinators and brokers, by name, command or address."""

import shlex
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

import attrs

from conformance.build import build
from conformance.coordinators.group_java import GROUP_COORDINATOR
from conformance.coordinators.group_kit import GROUP_COORDINATORS
from conformance.coordinators.group_scene import GroupCapabilities
from conformance.coordinators.share_java import SHARE_COORDINATOR
from conformance.coordinators.share_kit import SHARE_COORDINATORS
from conformance.coordinators.share_scene import ShareCapabilities
from conformance.cores.builtin import EngineTarget
from conformance.cores.java_test import SHARE_PARTITION
from conformance.cores.kafka import kafka_driver
from conformance.cores.kit import CORES
from conformance.cores.process import core_target
from conformance.cores.target import Capabilities
from conformance.java import JavaWriter
from conformance.kit import AnyKit
from conformance.releases import NEWEST
from conformance.target import TargetError
from conformance.wire.broker import BrokerTarget
from conformance.wire.connection import Bounds
from conformance.wire.kafka_broker import kafka_broker
from conformance.wire.kit import BROKERS
from conformance.wire.librdkafka_mock import librdkafka_mock
from conformance.wire.servers import CRABKA, crabka_target, kfake_target

Start = Callable[[float, str], AbstractContextManager[Any]]
"""Starts a target and stops it; given the timeout of an answer in seconds, and the version."""

_TARGETS = Path(__file__).parent / "targets"


@attrs.frozen
class NamedTarget:
    """A target that the kit starts itself; the version that ``start`` is given may be empty.

    ``known``: the file of its known deviations, in ``targets``; empty if it has none.
    ``versioned``: another version than the newest can be verified. ``java`` writes deviations as
    tests; None: nothing does.
    """

    kit: AnyKit
    start: Start
    known: str = ""
    versioned: bool = False
    java: JavaWriter | None = None


def _engine(name: str) -> Start:
    return lambda _seconds, _version: closing(EngineTarget(name))


def _kafka(main: str, kind: type[attrs.AttrsInstance]) -> Start:
    def start(seconds: float, version: str) -> AbstractContextManager[Any]:
        return closing(kafka_driver(main, kind, seconds, version=version or NEWEST))

    return start


def _crabka_core(seconds: float, _version: str) -> AbstractContextManager[Any]:
    program = build(_TARGETS / "crabka", CRABKA) / "target" / "debug" / "core"
    return closing(core_target(shlex.quote(str(program)), seconds))


NAMED = {
    "spec": NamedTarget(CORES, _engine("spec")),
    "impl": NamedTarget(CORES, _engine("impl")),
    "kafka": NamedTarget(
        CORES,
        _kafka("Driver", Capabilities),
        "kafka/known.toml",
        versioned=True,
        java=SHARE_PARTITION,
    ),
    "crabka-core": NamedTarget(CORES, _crabka_core, "crabka/known-core.toml"),
    "kafka-coordinator": NamedTarget(
        SHARE_COORDINATORS,
        _kafka("CoordinatorDriver", ShareCapabilities),
        "kafka/known-share-coordinator.toml",
        versioned=True,
        java=SHARE_COORDINATOR,
    ),
    "kafka-group-coordinator": NamedTarget(
        GROUP_COORDINATORS,
        _kafka("GroupDriver", GroupCapabilities),
        "kafka/known-group-coordinator.toml",
        versioned=True,
        java=GROUP_COORDINATOR,
    ),
    "librdkafka-mock": NamedTarget(
        BROKERS, librdkafka_mock, "librdkafka-mock/known.toml", versioned=True
    ),
    "kafka-broker": NamedTarget(
        BROKERS,
        lambda _seconds, version: kafka_broker(version=version or NEWEST),
        "kafka-broker/known.toml",
        versioned=True,
    ),
    "kfake": NamedTarget(BROKERS, kfake_target, "kfake/known.toml", versioned=True),
    "crabka": NamedTarget(
        BROKERS, lambda seconds, _version: crabka_target(seconds), "crabka/known.toml"
    ),
}
"""Each target that the kit starts, by its name."""

SUBJECT_NAMES = tuple(NAMED)
VERSIONED = tuple(name for name, each in NAMED.items() if each.versioned)
"""Those of which other versions than the newest can be verified."""
IN_JAVA = tuple(name for name, each in NAMED.items() if each.java)
"""Those whose deviations can be written as JUnit tests."""


@attrs.frozen
class TargetChoice:
    """What to verify: exactly one of ``name``, ``command`` and ``bootstrap`` is set.

    ``silence``: the timeout of an answer in seconds. The other fields are for an address: the
    profile that judges it, the lock duration of sequences in ms (None: the shortest that it
    allows), and how many ms after its end a lock may be released. ``offered_within`` is for a core:
    how many fetches may pass over an available record (None: what its profile says). ``version``
    is for those of ``VERSIONED``: another than the newest.
    """

    name: str | None = None
    command: str | None = None
    bootstrap: str | None = None
    silence: float = 10.0
    profile: str = "kafka"
    lock_ms: int | None = None
    sweep_ms: int = 1000
    offered_within: int | None = None
    version: str = ""

    @property
    def command_line(self) -> str:
        """Return the command that verifies it, quoted for a shell; further options may follow."""
        default = TargetChoice()
        words = [self.name] if self.name else []
        options = {"--exec": self.command, "--bootstrap": self.bootstrap}
        words += [word for name, value in options.items() if value for word in (name, value)]
        for name in ("profile", "lock_ms", "sweep_ms", "offered_within", "silence", "version"):
            value = getattr(self, name)
            if value != getattr(default, name):
                words += [f"--{name.replace('_', '-')}", f"{value}"]
        return f"sharespec verify {shlex.join(words)}"

    @property
    def kit(self) -> AnyKit:
        """Return the kit that drives it."""
        kit = BROKERS if self.bootstrap else NAMED[self.name].kit if self.name else CORES
        return attrs.evolve(kit, offered_within=self.offered_within) if kit is CORES else kit

    @property
    def java(self) -> JavaWriter | None:
        """Return what writes its deviations as JUnit tests; None if nothing does."""
        return NAMED[self.name].java if self.name else None

    @property
    def known(self) -> Path | None:
        """Return the file of its known deviations; None if it has none."""
        file = NAMED[self.name].known if self.name else ""
        return _TARGETS / file if file else None


@contextmanager
def opened(subject: TargetChoice) -> Iterator[Any]:
    """Open the target of a subject and close it. Raises TargetError if it does not start."""
    try:
        with _started(subject) as target:
            yield target
    except TargetError as error:
        if not subject.name or subject.kit is not BROKERS:
            raise
        raise TargetError(f"{subject.name}: {error}") from None


def _started(subject: TargetChoice) -> AbstractContextManager[Any]:
    if subject.name is not None:
        return NAMED[subject.name].start(subject.silence, subject.version)
    if subject.command is not None:
        return closing(core_target(subject.command, subject.silence))
    target = BrokerTarget(
        str(subject.bootstrap),
        profile=subject.profile,
        lock_ms=subject.lock_ms,
        bounds=Bounds(seconds=subject.silence),
        can={"sweep_ms": subject.sweep_ms},
    )
    return closing(target)
