"""What ``sharespec verify`` may be pointed at: cores and brokers, by name, command or address."""

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

__all__ = ["CORE_NAMES", "SUBJECT_NAMES", "Subject", "opened"]

CORE_NAMES = ("spec", "impl", "kafka", "crabka-core")
SUBJECT_NAMES = (*CORE_NAMES, *NAMES)


@attrs.frozen
class Subject:
    """What to verify: one of ``name``, ``command`` and ``bootstrap`` is given.

    ``silence``: how many seconds an answer may take. The rest is for an address: the profile that
    it is judged by, and in ms the lock duration to run with (None: the shortest there may be) and
    how late a lock may end that is over.
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
        """The file of what is known of it; None if there is none."""
        cores = {"kafka": KNOWN, "crabka-core": CRABKA_CORE_KNOWN}
        return cores.get(self.name or "") or known_of(self.name or "")


@contextmanager
def opened(subject: Subject) -> Iterator[Any]:
    """Have the target of a subject, and let it go. Raises TargetError if it cannot be had."""
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
