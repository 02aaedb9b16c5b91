"""Targets of ``sharespec verify``: cores and brokers, by name, command or address."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import attrs

from conformance.cores.builtin import EngineTarget
from conformance.cores.crabka_core import KNOWN as CRABKA_CORE_KNOWN
from conformance.cores.crabka_core import crabka_core_target
from conformance.cores.kafka import KNOWN, kafka_target
from conformance.cores.kit import CORES
from conformance.cores.process import ProcessTarget
from conformance.kit import AnyKit
from conformance.wire.broker import BrokerTarget
from conformance.wire.connection import Bounds
from conformance.wire.hooks import admin_hooks
from conformance.wire.kit import BROKERS
from conformance.wire.named import NAMES, known_of, named_broker

CORE_NAMES = ("spec", "impl", "kafka", "crabka-core")
SUBJECT_NAMES = (*CORE_NAMES, *NAMES)


@attrs.frozen
class Subject:
    """What to verify: exactly one of ``name``, ``command`` and ``bootstrap`` is set.

    ``silence``: the timeout of an answer in seconds. The other fields are for an address: the
    profile that judges it, the lock duration of sequences in ms (None: the shortest that it
    allows), and how many ms after its end a lock may be released.
    """

    name: str | None = None
    command: str | None = None
    bootstrap: str | None = None
    silence: float = 10.0
    profile: str = "kip"
    lock_ms: int | None = None
    sweep_ms: int = 1000

    @property
    def kit(self) -> AnyKit:
        """Return the kit that drives it."""
        return BROKERS if self.bootstrap or self.name in NAMES else CORES

    @property
    def known(self) -> Path | None:
        """Return the file of its known deviations; None if it has none."""
        cores = {"kafka": KNOWN, "crabka-core": CRABKA_CORE_KNOWN}
        return cores.get(self.name or "") or known_of(self.name or "")


@contextmanager
def opened(subject: Subject) -> Iterator[Any]:
    """Open the target of a subject and close it. Raises TargetError if it does not start."""
    if subject.name in NAMES:
        with named_broker(str(subject.name), subject.silence) as broker:
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
        address = ProcessTarget(subject.command, subject.silence)
    elif subject.name == "kafka":
        address = kafka_target(subject.silence)
    elif subject.name == "crabka-core":
        address = crabka_core_target(subject.silence)
    else:
        address = EngineTarget(str(subject.name))
    with closing(address) as target:
        yield target
