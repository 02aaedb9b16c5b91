"""The history of a cluster of brokers, from what its nodes recorded and its members saw.

Acquisitions, acknowledgements and writes are those of the recorders' traces; what became durable
those of the state topic; what a member was told is what its own callback said. Times are of one
clock, in ms since the epoch, as all run on one machine.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import attrs

from clients.events import GAP, RELEASE, RENEW
from clients.work import MemberAcknowledged, MemberPolled, MemberTold, WorkEvent
from conformance.cluster.history import (
    Happening,
    LeaderAcquired,
    LeaderAnswered,
    LeaderAsked,
    LeaderReads,
    LeaderWrites,
    ReadAnswered,
    RecordsEndedUntold,
    StateCommitted,
    WriteAnswered,
    history_line,
)
from conformance.cluster.run_state import READ_COMMITTED, offsets_of
from model.state_topic import ShareSnapshot, StateRecord
from model.states import TERMINAL_STATES

LATE_MS = 500
"""How much earlier than the row that grants it a lock may have begun, as ``--profile kafka``."""

SKEW_MS = 50
"""How far the recorder's clock, which counts from its start, may be from the state topic's."""

_NONE, _PENDING = "NONE", "PENDING"
_AS_SENT = {"NOT_LEADER_OR_FOLLOWER": "FENCED_LEADER_EPOCH"}
"""What a coordinator answered, by what Kafka's share-partition leader makes of it."""

_FIRST, _COMMITTED, _ROW, _CLIENT = range(4)

Row = Mapping[str, Any]
Timed = tuple[int, int, Happening]
"""The time, the rank among events of one ms, and what happened."""


@attrs.frozen
class NodeRow:
    """A row of a trace, and the node that recorded it."""

    node: int
    row: Row


@attrs.define
class _Asks:
    """Which acknowledgement a leader was asked for a record, to find what its member was told.

    ``gaps`` are offsets that a client acknowledged as none, of which its application knows nothing.
    ``level`` is the isolation level that binds the leader whose rows are read, by its own word.
    """

    number: int = 0
    level: str = ""
    gaps: set[tuple[int, int]] = attrs.field(factory=set)
    acquired: dict[tuple[int, int, int], list[tuple[int, str, int]]] = attrs.field(
        factory=lambda: defaultdict(list)
    )
    asked: dict[tuple[str, int, int, int], list[tuple[int, int, int]]] = attrs.field(
        factory=lambda: defaultdict(list)
    )

    def next(self) -> int:
        """Return a number that no other event has."""
        self.number += 1
        return self.number


@attrs.frozen
class MadeHistory:
    """The lines of a history.

    Of ``told`` offsets members heard that they are acknowledged; so many have no acknowledgement in
    a trace.
    """

    lines: tuple[str, ...]
    told: int
    unmatched: int


def made_history(  # noqa: PLR0913, PLR0917 - what a history is made of
    run: str,
    rows: Iterable[NodeRow],
    work: Sequence[WorkEvent],
    committed: Iterable[tuple[int, StateRecord]],
    others: Iterable[tuple[int, Happening]],
    killed: Collection[int] = (),
) -> MadeHistory:
    """Return the history of a run in the order of its clock.

    ``committed`` are the records of the group in the state topic with their times, ``others`` what
    neither traces nor members tell, such as faults. The traces of ``killed`` nodes may be cut.
    """
    asks = _Asks()
    timed: list[Timed] = [(ms, _FIRST, what) for ms, what in others]
    durable = [(ms, what) for ms, record in committed for what in _committed(record)]
    timed += [(ms, _COMMITTED, what) for ms, what in durable]
    ordered = _as_delivered(rows)
    timed += _untold(ordered, durable, killed)
    for _instance, some in groupby(ordered, key=lambda each: _place(each)[:-1]):
        timed += _instance_events(list(some), asks)
    told = list(_told(work, asks))
    timed += [(ms, _CLIENT, LeaderAnswered(id_, error)) for ms, id_, error in told if id_]
    timed.sort(key=lambda each: each[:2])
    # A refusal promises nothing, and of most a leader has no row that asks.
    promised = [bool(id_) for _ms, id_, error in told if error == _NONE]
    lines = tuple(history_line(run, ms, what) for ms, _rank, what in timed)
    return MadeHistory(lines, len(promised), promised.count(False))


def _as_delivered(rows: Iterable[NodeRow]) -> list[NodeRow]:
    """Return rows in order, with acquisitions without the aborted records that were withheld."""
    withheld: dict[tuple[str, int, int], set[int]] = defaultdict(set)
    delivered = []
    for each in sorted(rows, key=_place, reverse=True):
        row, here = each.row, withheld[_place(each)[:-1]]
        if row["op"] == "archive_aborted":
            here |= {offset for offset, *_ in offsets_of(row["ranges"])}
        elif here and row["op"] == "acquire" and (acquired := row["result"].get("acquired")):
            given = [[o, o, count] for o, count in offsets_of(acquired) if o not in here]
            here.clear()  # Others of them were given before, at another isolation level.
            row = {**row, "result": {**row["result"], "acquired": given}}
        delivered.append(attrs.evolve(each, row=row))
    return delivered[::-1]


def _untold(
    rows: Iterable[NodeRow], durable: Iterable[tuple[int, StateCommitted]], killed: Collection[int]
) -> Iterator[Timed]:
    """Yield the records that killed nodes finished without a row that writes so."""
    leaders: dict[tuple[int, int], int] = {}
    written: set[tuple[int, int, int, int]] = set()
    for each in rows:
        place = _partition(each.row), each.row["leader_epoch"]
        leaders[place] = each.node
        for write in each.row["writes"] if each.node in killed else ():
            written |= {(*place, row[0], row[1]) for row in offsets_of(write["state_batches"])}
    for ms, what in durable:
        place = what.partition, what.leader_epoch
        if leaders.get(place) in killed:
            states = (row[:2] for row in offsets_of(what.batches))
            new = [each for each in states if each[1] in _ENDS and (*place, *each) not in written]
            if new:
                untold = tuple((offset, offset, state) for offset, state in new)
                yield ms, _COMMITTED, RecordsEndedUntold(what.partition, untold)


_ENDS = frozenset(state.value for state in TERMINAL_STATES)


def _place(each: NodeRow) -> tuple[str, int, int, int]:
    row = each.row
    return row["partition"], row["leader_epoch"], row["instance"], row["seq"]


def _partition(row: Row) -> int:
    return int(row["partition"].rsplit(":", 1)[1])


def _committed(record: StateRecord) -> Iterator[StateCommitted]:
    value = record.value
    if value is None:
        return
    is_snapshot = isinstance(value, ShareSnapshot)
    state = value.state if isinstance(value, ShareSnapshot) else value
    batches = tuple((b.first, b.last, b.state.value, b.delivery_count) for b in state.state_batches)
    yield StateCommitted(
        record.key.partition,
        "snapshot" if is_snapshot else "update",
        state.leader_epoch,
        state.start_offset,
        batches,
    )


def _instance_events(rows: Sequence[NodeRow], asks: _Asks) -> Iterator[Timed]:
    """Yield what an object of a leader did, in its order."""
    ms, start = 0, 0
    held: dict[int, str] = {}
    writes: dict[int, int] = {}
    asks.level = ""
    for each in rows:
        ms = max(ms, each.row["time_ms"])
        # What a leader says it filtered it must have. That it need not, the settings alone tell:
        # it may be slow to learn of them, or wrong.
        if config := each.row.get("config"):
            asks.level = READ_COMMITTED if config["isolation_level"] == READ_COMMITTED else ""
        yield from ((ms, _ROW, what) for what in _row_events(each, ms, start, held, asks))
        yield from _write_events(each, ms, writes, asks)
        start = each.row["after"]["start_offset"]


def _row_events(
    each: NodeRow, ms: int, start: int, held: dict[int, str], asks: _Asks
) -> Iterator[Happening]:
    """Yield what a row tells of members; ``held`` has who was given what last."""
    row, partition, epoch = each.row, _partition(each.row), each.row["leader_epoch"]
    status = row["result"]["status"]
    match row["op"]:
        case "initialize":
            id_ = asks.next()
            yield LeaderReads(id_, partition, each.node, epoch)
            yield ReadAnswered(id_, _AS_SENT.get(status, status))
        case "acquire" if acquired := row["result"].get("acquired"):
            ranges = tuple((first, last, count) for first, last, count in acquired)
            for offset, count in offsets_of(ranges):
                held[offset] = row["member"]
                asks.acquired[partition, offset, count].append((ms, row["member"], epoch))
            yield LeaderAcquired(partition, each.node, epoch, row["member"], ranges, asks.level)
        case "acknowledge" if status in {_NONE, _PENDING}:
            for offset, kind in _types(row["batches"]):
                yield _asked(each, asks, start, offset, kind)
                if kind == GAP:
                    asks.gaps.add((partition, offset))
                asks.asked[row["member"], epoch, partition, offset].append((ms, kind, asks.number))
        case "release":
            # Who leaves lets go of all that it holds, and is told nothing.
            for offset in [o for o, member in held.items() if member == row["member"]]:
                yield _asked(each, asks, start, offset, RELEASE)
        case _:
            pass


def _asked(each: NodeRow, asks: _Asks, start: int, offset: int, kind: int) -> LeaderAsked:
    row = each.row
    epoch, member = row["leader_epoch"], row["member"]
    batches = ((offset, offset, kind),)
    return LeaderAsked(asks.next(), _partition(row), each.node, epoch, start, member, batches)


def _types(batches: Iterable[Sequence[Any]]) -> Iterator[tuple[int, int]]:
    """Yield each offset of acknowledgement batches with its type."""
    for first, last, types in batches:
        for offset in range(first, last + 1):
            yield offset, types[0] if len(types) == 1 else types[offset - first]


def _write_events(each: NodeRow, ms: int, writes: dict[int, int], asks: _Asks) -> Iterator[Timed]:
    """Yield writes as they are made, and as they are answered."""
    row = each.row
    for write in row["writes"]:
        id_ = writes[write["id"]] = asks.next()
        batches = tuple((a, b, state, count) for a, b, state, count in write["state_batches"])
        epoch, start = row["leader_epoch"], write["start_offset"]
        made = LeaderWrites(id_, _partition(row), each.node, epoch, start, batches)
        yield ms - SKEW_MS, _FIRST, made
        if write["status"] != _PENDING:
            yield _written(ms, id_, write["status"])
    if row["op"] == "complete_write" and row["id"] in writes:
        yield _written(ms, writes[row["id"]], row["result"]["status"])


def _written(ms: int, id_: int, status: str) -> Timed:
    """Return the answer to a write; what it promises is durable by then on any clock."""
    answered = WriteAnswered(id_, _AS_SENT.get(status, status))
    return ms + (SKEW_MS if status == _NONE else 0), _ROW, answered


def _told(work: Iterable[WorkEvent], asks: _Asks) -> Iterator[tuple[int, int, str]]:
    """Yield when a member was told what of which acknowledgement; number 0: of none in a trace."""
    given: dict[tuple[str, int, int], list[MemberAcknowledged]] = defaultdict(list)
    for event in sorted(work, key=lambda event: event.ms):
        if isinstance(event, MemberAcknowledged):
            given[event.member, event.partition, event.offset].append(event)
        elif isinstance(event, MemberTold):
            for offset in event.offsets:
                some = given.pop((event.member, event.partition, offset), [])
                id_ = _ask_of(some[-1], event.ms, asks) if some else 0
                if some or (event.partition, offset) not in asks.gaps:
                    yield event.ms, id_, _NONE if event.error is None else event.error


def _ask_of(given: MemberAcknowledged, told_ms: int, asks: _Asks) -> int:
    """Return the number of the acknowledgement that a leader was asked by a call; 0 for none.

    The leader is the one that gave the record to the member before: no other takes its answer.
    """
    acquired = asks.acquired.get((given.partition, given.offset, given.count), [])
    before = [each for each in acquired if each[0] <= given.ms]
    if not before:
        return 0
    _ms, member, epoch = before[-1]
    for ms, kind, id_ in reversed(asks.asked[member, epoch, given.partition, given.offset]):
        if kind == given.type and ms <= told_ms:
            return id_
    return 0


@attrs.frozen
class StarvedMember:
    """A member whose last polls returned nothing while leaders went on giving it records.

    ``renewed``: it had renewed some of the last that it got.
    """

    member: str
    polls: int
    fetches: int
    records: int
    renewed: bool

    def __str__(self) -> str:
        """Return what is wrong in words."""
        given = f"{self.records:,} records in {self.fetches:,} fetches"
        return (
            f"{self.member}: its last {self.polls:,} polls returned nothing; it was given {given}"
        )


_FETCHES, _POLLS = 3, 10
"""As many fetches, and more, may be under way or in a buffer; as many polls take 5 s."""


def starved_members(
    rows: Iterable[NodeRow], work: Iterable[WorkEvent], readable: Collection[tuple[int, int]]
) -> tuple[StarvedMember, ...]:
    """Return the members to which ``readable`` records are given in vain, at the end of the work.

    Whom a leader knows by which id is told by what its last poll returned.
    """
    given = []
    for each in _as_delivered(rows):
        acquired = each.row["result"].get("acquired", ()) if each.row["op"] == "acquire" else ()
        partition, some = _partition(each.row), offsets_of(acquired)
        if counts := {offset: n for offset, n in some if (partition, offset) in readable}:
            given.append(_Given(each.row["time_ms"], each.row["member"], partition, counts))
    polls: dict[str, list[MemberPolled]] = defaultdict(list)
    renewals: dict[str, int] = {}
    for event in work:
        if isinstance(event, MemberPolled):
            polls[event.member].append(event)
        elif isinstance(event, MemberAcknowledged) and event.type == RENEW:
            renewals[event.member] = event.ms
    found = (
        _starved(name, some, given, renewals.get(name, 0)) for name, some in sorted(polls.items())
    )
    return tuple(member for member in found if member is not None)


@attrs.frozen
class _Given:
    """What a leader gave to a member, by the id that it knows it by: offsets and their counts."""

    ms: int
    id: str
    partition: int
    counts: Mapping[int, int]


def _starved(
    name: str, polls: Sequence[MemberPolled], given: Sequence[_Given], renewed_ms: int
) -> StarvedMember | None:
    last = next((n for n in range(len(polls) - 1, -1, -1) if polls[n].records), None)
    if last is None or len(polls) - last <= _POLLS:
        return None
    record, seen_ms = polls[last].records[-1], polls[last].ms
    here = [g for g in given if g.partition == record.place[1] and g.ms <= seen_ms]
    by = [g for g in here if g.counts.get(record.offset) == record.count]
    ids = [g.id for g in sorted(by, key=lambda g: g.ms)]
    later = [g for g in given if ids and g.id == ids[-1] and g.ms > seen_ms]
    if len(later) <= _FETCHES:
        return None
    records = sum(len(g.counts) for g in later)
    renewed = renewed_ms >= seen_ms
    return StarvedMember(name, len(polls) - 1 - last, len(later), records, renewed)
