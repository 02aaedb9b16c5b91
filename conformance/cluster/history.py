"""The history of a cluster: what its leaders, members and coordinator did, in one order.

``kafka.server.share.History`` writes it, a JSON object a line. Times in ms of the run's clock,
offsets and ranges inclusive.
"""

import json
from collections.abc import Iterable, Iterator

import attrs
import cattrs

from model.errors import InvalidValueError


@attrs.frozen
class Happening:
    """What can happen; its classes are in ``EVENTS``."""


@attrs.frozen
class GroupSettings(Happening):
    """The settings that were drawn for a run."""

    delivery_count_limit: int
    partition_max_record_locks: int
    record_lock_duration_ms: int
    updates_per_snapshot: int
    isolation_level: str = "read_uncommitted"
    dead_letter_queue: bool = False
    auto_offset_reset: str = "earliest"


@attrs.frozen
class GroupAltered(Happening):
    """The settings of the group that can be altered, as they are from here on."""

    delivery_count_limit: int
    partition_max_record_locks: int
    record_lock_duration_ms: int
    isolation_level: str


@attrs.frozen
class MemberJoined(Happening):
    """A node has begun a session of a member."""

    member: str
    node: int


@attrs.frozen
class MemberLeft(Happening):
    """A node learns that a member has left it, and how; what it holds is released.

    ``sessions`` are those that are left there.
    """

    member: str
    node: int
    how: str
    sessions: int


@attrs.frozen
class InjectedFault(Happening):
    """A fault that was done to the cluster; ``number`` is its place among those of the run.

    ``kind`` is what faults are counted by.
    ``paused_ms`` is how long it stops a node, whose timers are late by as much; ``for_ms`` how long
    it lasts, if it does.
    """

    number: int
    text: str
    paused_ms: int = 0
    kind: str = ""
    for_ms: int = 0


@attrs.frozen
class RecordsDeleted(Happening):
    """Records were deleted from the log: it begins at ``log_start_offset`` now."""

    partition: int
    log_start_offset: int


@attrs.frozen
class RecordsCompacted(Happening):
    """Compaction took records from the log; ranges [first, last]."""

    partition: int
    ranges: tuple[tuple[int, int], ...]


@attrs.frozen
class RecordsEndedUntold(Happening):
    """The state topic has records as finished of whose end no history tells.

    A node that was killed takes along what it has not yet recorded. Ranges: [first, last, state].
    """

    partition: int
    ranges: tuple[tuple[int, int, int], ...]


@attrs.frozen
class RecordsAborted(Happening):
    """The transaction of records was aborted; ranges [first, last]."""

    partition: int
    ranges: tuple[tuple[int, int], ...]


@attrs.frozen
class LettersGiven(Happening):
    """A leader gives records to the dead-letter queue (KIP-1191), the last one included."""

    id: int
    partition: int
    node: int
    first_offset: int
    last_offset: int


@attrs.frozen
class LettersAnswered(Happening):
    """The dead-letter queue is done with what it was given; ``error`` as it is told."""

    id: int
    error: str


@attrs.frozen
class LetterAppended(Happening):
    """The topic of dead letters has a record."""

    partition: int
    offset: int


@attrs.frozen
class FaultsOver(Happening):
    """No fault is done from here on."""


@attrs.frozen
class LeaderAcquired(Happening):
    """A leader gave records to a member; ranges [first, last, delivery count].

    ``leader_epoch`` is that of the object which gave them, also where the node has a newer one;
    ``isolation_level`` that of the group when the fetch came, empty if the settings tell it.
    """

    partition: int
    node: int
    leader_epoch: int
    member: str
    ranges: tuple[tuple[int, int, int], ...]
    isolation_level: str = ""


@attrs.frozen
class LeaderResigned(Happening):
    """A node learned that it no longer leads; it did so in ``leader_epoch``."""

    partition: int
    node: int
    leader_epoch: int


@attrs.frozen
class LeaderAsked(Happening):
    """A member acknowledges; batches [first, last, type], types as on the wire.

    ``start_offset`` is that of the leader before. ``leader_epoch`` is -1 where the node had no
    share-partition.
    """

    id: int
    partition: int
    node: int
    leader_epoch: int
    start_offset: int
    member: str
    batches: tuple[tuple[int, int, int], ...]


@attrs.frozen
class LeaderAnswered(Happening):
    """The leader answered an acknowledgement."""

    id: int
    error: str


@attrs.frozen
class RecordsReceived(Happening):
    """An answer with records has reached a consumer; ranges [first, last]."""

    member: str
    partition: int
    ranges: tuple[tuple[int, int], ...]


@attrs.frozen
class RecordsPolled(Happening):
    """A poll has returned records of a partition; -1 and none: polls have returned nothing for 2 s.

    ``error`` is what the last of them has thrown, if it has.
    """

    member: str
    partition: int
    offsets: tuple[int, ...]
    error: str = ""


@attrs.frozen
class ApplicationSaid(Happening):
    """An application acknowledges what a poll returned; batches [first, last, type]."""

    member: str
    partition: int
    batches: tuple[tuple[int, int, int], ...]


@attrs.frozen
class ApplicationTold(Happening):
    """A consumer tells its application what came of acknowledgements."""

    member: str
    partition: int
    offsets: tuple[int, ...]
    error: str


@attrs.frozen
class LeaderWrites(Happening):
    """A leader hands a write to its persister; batches [first, last, state, delivery count]."""

    id: int
    partition: int
    node: int
    leader_epoch: int
    start_offset: int
    batches: tuple[tuple[int, int, int, int], ...]


@attrs.frozen
class WriteAnswered(Happening):
    """The persister answered a write."""

    id: int
    error: str


@attrs.frozen
class LeaderReads(Happening):
    """A leader asks its persister for the state to begin with."""

    id: int
    partition: int
    node: int
    leader_epoch: int


@attrs.frozen
class ReadAnswered(Happening):
    """The persister answered a read."""

    id: int
    error: str


@attrs.frozen
class StateCommitted(Happening):
    """A record of the state topic is committed: a snapshot, or an update of one."""

    partition: int
    kind: str
    leader_epoch: int
    start_offset: int
    batches: tuple[tuple[int, int, int, int], ...]


@attrs.frozen
class StateBegun(Happening):
    """The state of a share-partition is initialized, or deleted: then its state epoch is -1.

    A start offset of -1 leaves it to the leader where the group begins.
    """

    partition: int
    state_epoch: int
    start_offset: int


@attrs.frozen
class AdministratorAsked(Happening):
    """An administrator alters start offsets, each a partition and its offset, or deletes all."""

    id: int
    deletes: bool
    offsets: tuple[tuple[int, int], ...]


@attrs.frozen
class AdministratorAnswered(Happening):
    """What an administrator is answered."""

    id: int
    error: str


@attrs.frozen
class LeaderAtRest(Happening):
    """The window of a leader at the end; ``end_offset`` as Kafka has it."""

    partition: int
    log_end_offset: int
    leader_epoch: int
    start_offset: int
    end_offset: int
    delivery_complete_count: int


@attrs.frozen
class LagReported(Happening):
    """What the share coordinator tells of a share-partition at the end, for its lag (KIP-1226)."""

    partition: int
    log_end_offset: int
    start_offset: int
    delivery_complete_count: int


EVENTS: dict[str, type[Happening]] = {
    "settings": GroupSettings,
    "altered": GroupAltered,
    "joined": MemberJoined,
    "left": MemberLeft,
    "fault": InjectedFault,
    "deleted": RecordsDeleted,
    "compacted": RecordsCompacted,
    "untold": RecordsEndedUntold,
    "aborted": RecordsAborted,
    "buries": LettersGiven,
    "buried": LettersAnswered,
    "letter": LetterAppended,
    "quiet": FaultsOver,
    "acquired": LeaderAcquired,
    "resigned": LeaderResigned,
    "acknowledges": LeaderAsked,
    "acknowledged": LeaderAnswered,
    "received": RecordsReceived,
    "polled": RecordsPolled,
    "said": ApplicationSaid,
    "told": ApplicationTold,
    "writes": LeaderWrites,
    "written": WriteAnswered,
    "reads": LeaderReads,
    "read": ReadAnswered,
    "durable": StateCommitted,
    "begins": StateBegun,
    "administers": AdministratorAsked,
    "administered": AdministratorAnswered,
    "rest": LeaderAtRest,
    "reported": LagReported,
}
"""What can happen, by the name of its events."""
KINDS = frozenset(kind.__name__ for kind in EVENTS.values()) - {RecordsEndedUntold.__name__}
"""What can happen where all is told, as in a simulation, as the classes are named."""
_MALFORMED = (ValueError, KeyError, TypeError, AttributeError, cattrs.BaseValidationError)


@attrs.frozen
class ClusterEvent:
    """What happened, when, in which run, and its line."""

    run: str
    ms: int
    what: Happening
    line: str


def read_history(lines: Iterable[str]) -> Iterator[ClusterEvent]:
    """Read a history. Raises InvalidValueError that names the line and what is allowed."""
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            kind = EVENTS[row.pop("event")]
            yield ClusterEvent(
                row.pop("run"), row.pop("ms"), cattrs.structure(row, kind), line.strip()
            )
        except _MALFORMED as wrong:
            where = f"line {number} of the history"
            raise InvalidValueError(where, line.strip(), ", ".join(EVENTS)) from wrong


def history_line(run: str, ms: int, what: Happening) -> str:
    """Return the line of a history that ``read_history`` reads."""
    event = next(name for name, kind in EVENTS.items() if isinstance(what, kind))
    return json.dumps({"run": run, "ms": ms, "event": event, **cattrs.unstructure(what)})
