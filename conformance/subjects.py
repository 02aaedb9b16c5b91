"""Targets of ``sharespec verify``: cores, coordinators and brokers, by name, command or address."""

import shlex
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import attrs

from conformance.coordinators.named import COORDINATORS, coordinator_target
from conformance.cores.builtin import EngineTarget
from conformance.cores.crabka_core import KNOWN as CRABKA_CORE_KNOWN
from conformance.cores.crabka_core import crabka_core_target
from conformance.cores.kafka import KNOWN, kafka_target
from conformance.cores.kit import CORES
from conformance.cores.process import core_target
from conformance.kit import AnyKit
from conformance.releases import NEWEST
from conformance.wire.broker import BrokerTarget
from conformance.wire.connection import Bounds
from conformance.wire.hooks import admin_hooks
from conformance.wire.kit import BROKERS
from conformance.wire.named import NAMES, known_of, named_broker

CORE_NAMES = ("spec", "impl", "kafka", "crabka-core")
SUBJECT_NAMES = (*CORE_NAMES, *COORDINATORS, *NAMES)
VERSIONED = ("kafka", *COORDINATORS, "kafka-broker", "librdkafka-mock", "kfake")
"""Those of which other versions than the newest can be verified."""


@attrs.frozen
class Subject:
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
    profile: str = "kip"
    lock_ms: int | None = None
    sweep_ms: int = 1000
    offered_within: int | None = None
    version: str = ""

    @property
    def command_line(self) -> str:
        """Return the command that verifies it, quoted for a shell; further options may follow."""
        default = Subject()
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
        if self.bootstrap or self.name in NAMES:
            return BROKERS
        if self.name in COORDINATORS:
            return COORDINATORS[self.name].kit
        return attrs.evolve(CORES, offered_within=self.offered_within)

    @property
    def known(self) -> Path | None:
        """Return the file of its known deviations; None if it has none."""
        files = {name: coordinator.known for name, coordinator in COORDINATORS.items()}
        files |= {"kafka": KNOWN, "crabka-core": CRABKA_CORE_KNOWN}
        return files.get(self.name or "") or known_of(self.name or "")


@contextmanager
def opened(subject: Subject) -> Iterator[Any]:
    """Open the target of a subject and close it. Raises TargetError if it does not start."""
    if subject.name in NAMES:
        with named_broker(str(subject.name), subject.silence, subject.version) as broker:
            yield broker
        return
    if subject.bootstrap is not None:
        address: Any = BrokerTarget(
            subject.bootstrap,
            partial(admin_hooks, sweep_ms=subject.sweep_ms),
            profile=subject.profile,
            lock_ms=subject.lock_ms,
            bounds=Bounds(seconds=subject.silence),
        )
    elif subject.command is not None:
        address = core_target(subject.command, subject.silence)
    elif subject.name == "kafka":
        address = kafka_target(subject.silence, version=subject.version or NEWEST)
    elif subject.name in COORDINATORS:
        address = coordinator_target(subject.name, subject.silence, subject.version or NEWEST)
    elif subject.name == "crabka-core":
        address = crabka_core_target(subject.silence)
    else:
        address = EngineTarget(str(subject.name))
    with closing(address) as target:
        yield target
