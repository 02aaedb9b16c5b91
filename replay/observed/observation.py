"""What one request shows of one share-partition, or of the log under it."""

from enum import StrEnum

import attrs

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
