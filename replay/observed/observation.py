"""What requests show: one of one share-partition, or of the log under it; all of them of many."""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import TypeVar

import attrs

K = TypeVar("K")
T = TypeVar("T")
Ranges = tuple[tuple[int, ...], ...]


class Kind(StrEnum):
    """What was observed: the last three are records of a dump of the state topic.

    The four before them concern a log, and so every group that reads it.
    """

    ACQUIRE = "acquire"
    ACKNOWLEDGE = "acknowledge"
    WRITE = "write"
    READ = "read"
    INITIALIZE = "initialize"
    DELETE = "delete"
    SUMMARY = "summary"
    APPENDED = "appended"
    LOG_START = "log_start"
    LOG_END = "log_end"
    DELETED_RECORDS = "deleted_records"
    SNAPSHOT = "snapshot"
    UPDATE = "update"
    TOMBSTONE = "tombstone"


OF_LOG = frozenset({Kind.APPENDED, Kind.LOG_START, Kind.LOG_END, Kind.DELETED_RECORDS})
OF_TOPIC = frozenset({Kind.SNAPSHOT, Kind.UPDATE, Kind.TOMBSTONE})


@attrs.frozen(eq=False)
class Observation:
    """One request and its answer, as far as they concern one share-partition.

    ``begin`` and ``end``: when the request was received and answered, in ms on the clock of
    ``broker``; it may have been received as much as ``late`` ms earlier, by a stall that the log
    shows. ``topic`` is an id, or a name where ``named``. ``status`` is an error code of Kafka;
    None if the answer does not name the share-partition. ``ranges`` are (first, last, delivery
    count) of an acquire, (first, last, acknowledge type), or (first, last, state, delivery count).
    ``epoch`` is the session epoch. ``offset`` is that of an observation of a log, and of an
    acquire how many records the member asked for at most. ``exact``: the maximum is strict
    (record_limit), what was appended is part of no transaction, a log start is the leader's, or
    the acknowledgement may renew; in a dump it is the snapshot epoch. ``malformed``: the batches of
    an acknowledgement are not as the protocol has them. Without ``timed`` (a dump of the state
    topic) the line counts the records instead of a clock.
    """

    kind: Kind
    topic: str
    partition: int
    source: str
    line: int
    begin: float
    end: float
    group: str = ""
    broker: str = ""
    named: bool = False
    member: str = ""
    status: int | None = 0
    epoch: int | None = None
    lock_ms: int | None = None
    leader_epoch: int | None = None
    state_epoch: int | None = None
    start_offset: int | None = None
    complete_count: int | None = None
    offset: int | None = None
    exact: bool = False
    malformed: bool = False
    timed: bool = True
    late: float = 0
    ranges: Ranges = ()

    @property
    def earliest(self) -> float:
        """When it was received at the earliest, as far as the log shows stalls (ms)."""
        return self.begin - self.late

    @property
    def log(self) -> str:
        """The partition of a topic, by which observations are brought together."""
        return f"{self.topic}:{self.partition}"

    @property
    def place(self) -> str:
        """Where it was read."""
        return f"{self.source}:{self.line}"


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
    """Requests of a client whose correlation ids follow each other.

    ``client`` is a digest of its id. ``begin`` and ``end``: when the first and the last of them
    were received (ms). A broker sends to all share coordinators as one client, so that what is
    missing of its ids is in no log. ``to_coordinator``: whether this log has such a request of it;
    another log may have those alone by which it looks for a coordinator.
    """

    client: str
    first: int
    last: int
    begin: float
    end: float
    to_coordinator: bool = True


@attrs.frozen
class Lapse:
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
class NamedTopic:
    """The id of a topic, and its name."""

    topic: str
    name: str


@attrs.frozen(order=True)
class ListedBroker:
    """A broker of the cluster, by its id."""

    node: int


Fact = (
    SessionEvent | SettingEvent | EpochRun | SentRun | Lapse | LogExtent | NamedTopic | ListedBroker
)


Facts = Sequence[Fact | Observation]
"""What requests show besides share-partitions: facts, and observations of logs by their names."""


def of_kind(kind: type[T], facts: Facts) -> list[T]:
    """Return those of a kind."""
    return [each for each in facts if isinstance(each, kind)]


def grouped(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Return items by what they have in common, each in the order of its first."""
    groups: dict[K, list[T]] = {}
    for each in items:
        groups.setdefault(key(each), []).append(each)
    return groups
