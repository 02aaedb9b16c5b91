"""What is known of a run of a cluster, as its history is read, and what is wrong in it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs

from conformance.cluster.history import (
    AdministratorAsked,
    GroupSettings,
    LeaderAsked,
    LeaderAtRest,
    LeaderReads,
    LeaderWrites,
    LettersGiven,
    StateCommitted,
)
from conformance.known import CLUSTER
from judge.finding import Finding, FindingKind, FindingPlace
from model.rules import RULES, RuleKind

NONE, FENCED = "NONE", "FENCED_LEADER_EPOCH"
FENCES = (FENCED, "FENCED_STATE_EPOCH")
READ_COMMITTED, READ_UNCOMMITTED = "read_committed", "read_uncommitted"
LATEST = "latest"

RecordKey = tuple[int, int]
"""A partition and an offset."""
MemberKey = tuple[str, int, int]
"""A member, a partition and an offset."""


@attrs.define
class RecordHolder:
    """To whom a leader epoch gave a record last, when, until when, and with which count.

    The leader asked for the state to begin with, and had it, at the times ``began``, with the line
    of the answer; ``end`` says how it knows that the delivery is over, as far as is known.
    """

    member: str
    ms: int
    lock_ends_ms: int
    count: int
    line: str
    began: tuple[int, int, str]
    end: str = ""
    is_renewed: bool = False
    is_over: bool = False

    def holds(self, ms: int) -> bool:
        """Return whether the lock lasts; of one that was renewed that is not known."""
        return not self.is_over and not self.is_renewed and ms < self.lock_ends_ms


@attrs.frozen
class ToldOutcome:
    """What is known of a record: done, or available with a delivery count."""

    leader_epoch: int
    count: int
    line: str


@attrs.frozen
class GroupLife:
    """Since when a state is made anew, or deleted: then its state epoch is -1; and its line.

    ``is_anew`` says that it took the place of another, ``is_same_epoch`` that the state epoch is
    that of the one before, ``was_deleted`` that this was deleted, and ``ended_ms`` when one was
    deleted last.
    """

    ms: int
    state_epoch: int
    start_offset: int
    line: str
    is_anew: bool = False
    is_same_epoch: bool = False
    ended_ms: int = -1
    was_deleted: bool = False


@attrs.define
class RunState:
    """What is known of a run so far: ``seq`` to ``partition`` are of the event that is judged.

    Of leaders: ``holders`` are by (partition, offset, leader epoch); ``counted`` has since when a
    delivery count is durable, and ``emptied`` when a node last had no session left; ``asked`` has
    acknowledgements, each with the counts of what its member held, ``unheard`` those of members
    that may hear of no answer, and ``fenced`` when a node's write or read of a partition was fenced
    last, with its line; ``attempts`` the highest delivery count of each record, and when it had
    that first; ``stable`` those that were acquired while the group read what is committed, as
    ``reads_committed`` says that it did at some time; ``aborted`` those of aborted transactions;
    ``compacted`` those that compaction took, ``cut_short`` those of batches of which it took some
    while a release of them was being written; ``saved`` those whose end is durable; ``limits`` the
    delivery limits that there were, each with the time of its end; ``ended`` those that a member
    accepted or rejected, whatever the answer; ``began``, by (partition, node, leader epoch), when a
    leader last asked for the state to begin with, when it had it, and the line; ``resigned``, by
    (partition, node), the last leader epoch in which a node led, as it learned, when, and the line;
    ``started`` the start offset of the first durable state of a partition that has one; ``left``,
    by (member, node), how a member left, and the line. ``stopped`` are partitions whose leader did
    not come to rest, ``gave`` has when a leader gave out records of a partition last, ``cut`` those
    whose log began within a batch that was aborted; ``spoilt`` has what makes the state of a
    partition wrong, whatever follows from it; ``doubled`` are those of which a leader epoch had two
    objects.

    Of the group: ``lives`` has when the state of a partition was made anew last; ``altered`` to
    which start offset an administrator altered it last, if that is certain; ``outdone`` what else
    has made the state of a partition than an administrator and leaders that had it; ``epochs``, by
    (partition, node, leader epoch), in which state epoch a leader had its state, and ``starts``
    with which start offset it wrote last since a deletion; ``outlived`` the writes on a state that
    was made anew since their leader had it, with the line of what it had; ``wishes`` what an
    administrator asked, and when, ``unsure`` what of it may come true, and ``done_ms`` when the
    last was answered.

    Of dead letters: ``wanted`` are records that a member accepted, or told are none, whatever the
    answer; ``accepted`` those that it was told it had accepted, at or above the start offset;
    ``letters`` those in the topic; ``given_up`` those that the queue was given and could not
    produce; ``failed`` says of which ones a write failed, and whether it was fenced.

    Of consumers: ``waiting`` has what a consumer received and no poll returned, since when, and
    the line: less what it acknowledges as no record; ``polled`` when polls returned something
    last; ``succeeded`` are the requests of acknowledgements that were answered without an
    error, and ``answered`` has how often those of a record were, less how often the application
    was told so; ``said`` when an application acknowledged what it was not told of yet, the line,
    and the type; ``seen`` when a consumer did something last; ``threw`` what its last poll threw;
    ``renews`` are those that renewed something when they acknowledged last.
    """

    name: str
    seq: int = 0
    ms: int = 0
    line: str = ""
    partition: int = -1
    settings: GroupSettings | None = None
    holders: dict[tuple[int, int, int], RecordHolder] = attrs.field(factory=dict)
    finished: dict[RecordKey, ToldOutcome] = attrs.field(factory=dict)
    released: dict[RecordKey, ToldOutcome] = attrs.field(factory=dict)
    counted: dict[RecordKey, tuple[int, ToldOutcome]] = attrs.field(factory=dict)
    emptied: dict[int, int] = attrs.field(factory=dict)
    tells_sessions: bool = False
    asked: dict[int, tuple[LeaderAsked, dict[int, int]]] = attrs.field(factory=dict)
    unheard: dict[int, LeaderAsked] = attrs.field(factory=dict)
    fenced: dict[tuple[int, int, str], tuple[int, str]] = attrs.field(factory=dict)
    reads: dict[int, tuple[LeaderReads, int]] = attrs.field(factory=dict)
    writes: dict[int, tuple[LeaderWrites, list[StateCommitted]]] = attrs.field(factory=dict)
    attempts: dict[RecordKey, tuple[int, int]] = attrs.field(factory=dict)
    stable: set[RecordKey] = attrs.field(factory=set)
    reads_committed: bool = False
    aborted: set[RecordKey] = attrs.field(factory=set)
    compacted: set[RecordKey] = attrs.field(factory=set)
    saved: set[RecordKey] = attrs.field(factory=set)
    cut_short: set[RecordKey] = attrs.field(factory=set)
    limits: list[tuple[int, int]] = attrs.field(factory=list)
    ended: set[RecordKey] = attrs.field(factory=set)
    log_starts: dict[int, int] = attrs.field(factory=dict)
    stopped: set[int] = attrs.field(factory=set)
    gave: dict[int, int] = attrs.field(factory=dict)
    spoilt: dict[int, str] = attrs.field(factory=dict)
    doubled: set[int] = attrs.field(factory=set)
    cut: set[int] = attrs.field(factory=set)
    began: dict[tuple[int, int, int], tuple[int, int, str]] = attrs.field(factory=dict)
    resigned: dict[tuple[int, int], tuple[int, int, str]] = attrs.field(factory=dict)
    started: dict[int, int] = attrs.field(factory=dict)
    left: dict[tuple[str, int], tuple[str, str]] = attrs.field(factory=dict)

    lives: dict[int, GroupLife] = attrs.field(factory=dict)
    altered: dict[int, GroupLife] = attrs.field(factory=dict)
    outdone: dict[int, str] = attrs.field(factory=dict)
    epochs: dict[tuple[int, int, int], int] = attrs.field(factory=dict)
    starts: dict[tuple[int, int, int], int] = attrs.field(factory=dict)
    outlived: dict[int, str] = attrs.field(factory=dict)
    wishes: dict[int, tuple[AdministratorAsked, int]] = attrs.field(factory=dict)
    unsure: list[AdministratorAsked] = attrs.field(factory=list)
    done_ms: int = -1

    given: dict[int, LettersGiven] = attrs.field(factory=dict)
    wanted: set[RecordKey] = attrs.field(factory=set)
    accepted: set[RecordKey] = attrs.field(factory=set)
    letters: set[RecordKey] = attrs.field(factory=set)
    given_up: set[RecordKey] = attrs.field(factory=set)
    failed: dict[RecordKey, str] = attrs.field(factory=dict)

    waiting: dict[MemberKey, tuple[int, str]] = attrs.field(factory=dict)
    polled: dict[str, int] = attrs.field(factory=dict)
    succeeded: set[int] = attrs.field(factory=set)
    answered: Counter[MemberKey] = attrs.field(factory=Counter)
    said: dict[MemberKey, tuple[int, str, int]] = attrs.field(factory=dict)
    seen: dict[str, int] = attrs.field(factory=dict)
    threw: dict[str, str] = attrs.field(factory=dict)
    renews: set[str] = attrs.field(factory=set)

    @property
    def buries(self) -> bool:
        """Return whether the group has a topic of dead letters."""
        return self.settings is not None and self.settings.dead_letter_queue

    @property
    def begins_late(self) -> bool:
        """Return whether the group begins at latest."""
        return self.settings is not None and self.settings.auto_offset_reset == LATEST

    def forget(self, partition: int) -> None:
        """Forget what held of records of a partition, but not what its log lacks."""
        records: tuple[dict[RecordKey, Any] | set[RecordKey], ...] = (
            self.finished,
            self.released,
            self.counted,
            self.attempts,
            self.stable,
            self.saved,
            self.cut_short,
            self.ended,
        )
        for known in records:
            for key in [each for each in known if each[0] == partition]:
                known.pop(key) if isinstance(known, dict) else known.discard(key)
        self.ended |= {key for key in self.compacted if key[0] == partition}
        self.holders = {key: had for key, had in self.holders.items() if key[0] != partition}
        self.asked = {id_: had for id_, had in self.asked.items() if had[0].partition != partition}
        self.spoilt.pop(partition, None)
        self.outdone.pop(partition, None)
        self.starts = {place: at for place, at in self.starts.items() if place[0] != partition}
        self.started.pop(partition, None)

    def unknown_epochs(self, partition: int) -> tuple[int, ...]:
        """Return the leader epochs that records may have, whoever writes: 0 once state is anew."""
        life = self.lives.get(partition)
        return (0,) if life is not None and life.is_anew else ()

    def of_life(self, partition: int) -> str:
        """Return what is wrong with the state of a partition in this life of the group, if so."""
        life = self.lives.get(partition)
        is_deleted = life is not None and life.state_epoch < 0
        return "its state is deleted" if is_deleted else self.outdone.get(partition, "")

    def spoils(self, partition: int) -> str:
        """Return what makes the state of a partition wrong, if anything does."""
        return self.of_life(partition) or self.spoilt.get(partition, "")

    def passed(self, what: LeaderAtRest) -> range:
        """Return the offsets that a leader has passed in the end, of those that the group is owed.

        One that begins at latest is owed none before the first that a member had.
        """
        first = self.log_starts.get(what.partition, 0)
        if what.partition in self.lives:
            first = max(first, self.lives[what.partition].start_offset)
        end = min(what.start_offset, what.log_end_offset)
        if self.begins_late:
            had = (offset for partition, offset in self.attempts if partition == what.partition)
            first = max(first, min(had, default=end))
        return range(first, end)

    def begun_anew(self, key: RecordKey) -> str:
        """Return that a record of such a group lies before what became durable first, if so.

        Any does where nothing became durable under several leaders; and where one had two objects,
        of which the first may write after the second began.
        """
        partition, offset = key
        leaders = sum(place[0] == partition for place in self.began)
        written = self.started.get(partition)
        lies_before = leaders > 1 if written is None else offset < written
        anew = self.begins_late and (lies_before or partition in self.spoilt.keys() | self.doubled)
        return "a leader began anew at latest" if anew else ""

    def found(
        self, name: str, offset: int, recorded: str, expected: str, *evidence: str, cause: str = ""
    ) -> Finding:
        """Return what is wrong by the event that is judged: the rule, and what shows it."""
        at = f"{self.name}:{self.partition}"
        return Finding(
            seq=self.seq,
            engine=CLUSTER,
            kind=FindingKind.INVARIANT,
            name=name,
            sentence=RULES[RuleKind.CLUSTER][name].sentence,
            recorded=recorded,
            expected=expected,
            before="",
            after="",
            offset=offset,
            place=FindingPlace(partition=at, event=self.line),
            evidence=evidence,
            cause=(name, cause) if cause else (name,),
        )


def offsets_of(ranges: Iterable[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    """Yield each offset of ranges [first, last, ...], with what else its range has."""
    for first, last, *rest in ranges:
        for offset in range(first, last + 1):
            yield offset, *rest


def keys_of(partition: int, ranges: Iterable[Sequence[int]]) -> set[RecordKey]:
    """Return the records of ranges of a partition."""
    return {(partition, offset) for offset, *_ in offsets_of(ranges)}
