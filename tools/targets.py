"""What has releases that are measured: classes of Apache Kafka, brokers and clients, by name."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import attrs

from clients.kit import AT_ONCE, CLIENTS
from clients.subjects import OLDEST_KAFKA, VERSIONS, Drivers, driver_of
from clients.subjects import known_of as known_of_client
from conformance.kit import AnyKit
from conformance.known import KnownDeviation, read_known
from conformance.releases import RELEASES
from conformance.subjects import NAMED, TargetChoice, opened

CLIENT = "verify-client "
"""What the name of a client begins with: Apache Kafka's class and its client have one name."""

_SILENCE_SECONDS = 90.0


@attrs.frozen
class MeasuredTarget:
    """A target that is measured: ``opened`` opens a release of it, and raises TargetError.

    ``releases`` are those that can be driven, the oldest first; of kfake, which has none, nothing.
    """

    name: str
    kit: AnyKit
    known: tuple[KnownDeviation, ...]
    releases: tuple[str, ...]
    opened: Callable[[str], AbstractContextManager[Any]]


def target_of(name: str) -> MeasuredTarget:
    """Return the target of a name: that of ``sharespec verify``, or ``verify-client`` and it."""
    if name.startswith(CLIENT):
        client = name.removeprefix(CLIENT)
        known = _read(known_of_client(client), CLIENTS)
        kit = attrs.evolve(CLIENTS, at_once=AT_ONCE)  # As verify-client plays.
        return MeasuredTarget(name, kit, known, VERSIONS[client], partial(_client, client))
    subject = TargetChoice(name, silence=_SILENCE_SECONDS)
    known = _read(subject.known, subject.kit)
    return MeasuredTarget(
        name,
        subject.kit,
        known,
        _RELEASES.get(name, ()),
        lambda version: opened(attrs.evolve(subject, version=version)),
    )


def _read(path: Path | None, kit: AnyKit) -> tuple[KnownDeviation, ...]:
    return () if path is None else read_known(path, kit.read)


_RELEASES = {
    **{name: RELEASES for name, each in NAMED.items() if each.known.startswith("kafka/")},
    "kafka-broker": RELEASES[RELEASES.index(OLDEST_KAFKA) :],
}
WITH_RELEASES = (*_RELEASES, *(f"{CLIENT}{name}" for name in ("kafka", "librdkafka", "franz-go")))
"""The names of those whose known deviations are played on their releases."""


@contextmanager
def _client(name: str, version: str) -> Iterator[Any]:
    drivers = Drivers(driver_of(name, None, _SILENCE_SECONDS, version))
    try:
        yield drivers.start
    finally:
        drivers.end()
