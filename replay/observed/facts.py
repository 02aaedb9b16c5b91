"""What a log of requests shows that concerns many share-partitions."""

from enum import StrEnum

import attrs

from replay.observed.observation import Observation


class SessionChange(StrEnum):
    """How a session or a membership changed."""

    OPENED = "opened"
    CLOSED = "closed"
    REFUSED = "refused"
    LEFT = "left"


@attrs.frozen
class SessionEvent:
    """A member opened or closed its share session, or left the group; times as in Observation."""

    group: str
    member: str
    broker: str
    change: SessionChange
    begin: float
    end: float


@attrs.frozen
class SettingEvent:
    """A configuration of a group was altered; ``value`` None: it was deleted."""

    group: str
    name: str
    value: str | None
    begin: float
    end: float


@attrs.frozen
class EpochRun:
    """Requests of one session whose epochs follow each other, by their first and last."""

    group: str
    member: str
    broker: str
    first: int
    last: int
    begin: float
    end: float


@attrs.frozen
class SentRun:
    """Requests of a client of share coordinators whose correlation ids follow each other.

    ``client`` is a digest of its id. ``begin`` and ``end``: when the first and the last of them
    were received (ms). A broker sends to all share coordinators as one client, so that what is
    missing of its ids is in no log.
    """

    client: str
    first: int
    last: int
    begin: float
    end: float


@attrs.frozen
class Gap:
    """A time of which the log of a broker shows not everything, and why.

    Where its clock goes back that is the time that it has twice, ``step`` ms.
    """

    broker: str
    begin: float
    end: float
    reason: str
    step: float = 0


@attrs.frozen
class LogExtent:
    """From when to when a file, or a part of it, has lines of a broker (ms), without silence."""

    broker: str
    first: float
    last: float


@attrs.frozen
class Facts:
    """All of them, of every file. ``nodes`` are the ids of the brokers that the cluster has."""

    sessions: tuple[SessionEvent, ...] = ()
    settings: tuple[SettingEvent, ...] = ()
    runs: tuple[EpochRun, ...] = ()
    gaps: tuple[Gap, ...] = ()
    names: tuple[tuple[str, str], ...] = ()
    named: tuple[Observation, ...] = ()
    nodes: frozenset[int] = frozenset()
    logs: tuple["LogExtent", ...] = ()
    sent: tuple[SentRun, ...] = ()

    def joined(self, other: "Facts") -> "Facts":
        """Return these facts and those."""
        names = [field.name for field in attrs.fields(Facts)]
        pairs = [(getattr(self, name), getattr(other, name)) for name in names]
        return Facts(*(a | b if isinstance(a, frozenset) else a + b for a, b in pairs))
