"""A run of a cluster as a table: time goes down, with a lane for each node and for the record."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from conformance.cluster.history import (
    AdministratorAnswered,
    ApplicationSaid,
    ApplicationTold,
    ClusterEvent,
    FaultsOver,
    Happening,
    InjectedFault,
    LeaderAcquired,
    LeaderAnswered,
    LeaderAsked,
    LeaderReads,
    LeaderResigned,
    LeaderWrites,
    LetterAppended,
    LettersGiven,
    MemberLeft,
    ReadAnswered,
    RecordsAborted,
    RecordsCompacted,
    RecordsDeleted,
    RecordsPolled,
    RecordsReceived,
    StateBegun,
    StateCommitted,
    WriteAnswered,
)
from conformance.cluster.run_state import NONE
from judge.finding import Finding
from model.states import AcknowledgeType, RecordState
from report.document import Grid, Toned, Words

MAX_ROWS = 60
"""How many moments a picture shows."""

_FAULTS, _CLIENTS = "faults", "clients"
_ONGOING, _WRONG = "│", "✗"
_ANSWERS = (LeaderAnswered, WriteAnswered)
_TONES: Mapping[int, str] = {
    AcknowledgeType.ACCEPT: "ACK",
    AcknowledgeType.REJECT: "ARC",
    AcknowledgeType.RELEASE: "AVL",
}


_WORDS: Mapping[type[Happening], tuple[str, str]] = {
    LeaderAcquired: (
        "acquired by {0.member} at node {0.node}, epoch {0.leader_epoch}, count {1}",
        "ACQ",
    ),
    LeaderAsked: ("{0.member} acknowledges to node {0.node}: {1}", ""),
    LeaderWrites: ("node {0.node} writes {1}, epoch {0.leader_epoch}", ""),
    StateCommitted: ("{0.kind} of epoch {0.leader_epoch} is durable: {1}", ""),
    RecordsReceived: ("reaches {0.member}", ""),
    RecordsPolled: ("a poll of {0.member} returns it", ""),
    ApplicationSaid: ("the application of {0.member}: {1}", ""),
    ApplicationTold: ("the application of {0.member} is told {0.error}", ""),
    RecordsDeleted: ("deleted", "ARC"),
    RecordsCompacted: ("taken by compaction", "ARC"),
    RecordsAborted: ("its transaction is aborted", "ARC"),
    LettersGiven: ("node {0.node} gives it to the dead-letter queue", "DLQ"),
    LetterAppended: ("in the topic of dead letters", "DLQ"),
}
"""What an event says of a record, given it and what its range has besides, and the state's tone."""


def _said(what: Happening, row: Sequence[int]) -> str:
    """Return what the range of a record has besides, in words."""
    if isinstance(what, LeaderAsked | ApplicationSaid):
        return AcknowledgeType(row[0]).name
    if isinstance(what, LeaderWrites | StateCommitted):
        return f"{RecordState(row[0]).name} ({row[1]})"
    return str(*row)


@attrs.define
class _Moment:
    """What happens in a ms, by its lane, and the tone of the record then."""

    texts: dict[str, list[str]] = attrs.field(factory=lambda: defaultdict(list))
    tone: str = ""


def run_picture(
    events: Iterable[ClusterEvent], finding: Finding, done: Iterable[tuple[int, str]] = ()
) -> Grid:
    """Return a row for each moment up to a finding that has to do with its record.

    ``done`` is what clients did, if it is known: when, and what. Of too many moments those are left
    out in which only clients do something, and then the first.
    """
    history = list(events)
    if finding.engine == "cluster":
        history = history[: finding.seq + 1]
    at = finding.place.partition.rpartition(":")[2]
    lanes = _Lanes(int(at) if at.isdigit() else -1, finding.offset)
    for event in history:
        lanes.add(event)
    for ms, text in done:
        if history and ms <= history[-1].ms:
            lanes.moments[ms].texts[_CLIENTS].append(text)
    if history:
        moment = lanes.moments[history[-1].ms]
        wrong = f"{_WRONG} {finding.name}: {finding.recorded}; expected {finding.expected}"
        moment.texts[lanes.record].append(wrong)
        moment.tone = "differs"
    return lanes.grid(history[0].ms if history else 0)


class _Lanes:
    """The moments of a run as they are read, with what goes on over several of them."""

    def __init__(self, partition: int, offset: int | None) -> None:
        self.moments: dict[int, _Moment] = defaultdict(_Moment)
        self.record = f"record {offset} of {partition}"
        self._partition, self._offset = partition, offset
        self._nodes: set[int] = set()
        self._spans: list[tuple[int, int]] = []
        self._leads: list[tuple[int, int, int]] = []
        self._asked: dict[int, Happening] = {}

    def add(self, event: ClusterEvent) -> None:
        """Add what happened, if it is shown."""
        what, ms = event.what, event.ms
        if hasattr(what, "node"):
            self._nodes.add(what.node)
        for lane, text, tone in self._shown(what, ms):
            self.moments[ms].texts[lane].append(text)
            self.moments[ms].tone = tone or self.moments[ms].tone

    def _shown(self, what: Happening, ms: int) -> Iterator[tuple[str, str, str]]:
        match what:
            case InjectedFault():
                self._spans.append((ms, ms + what.for_ms))
                yield _FAULTS, what.text, ""
            case FaultsOver():
                yield _FAULTS, "no fault from here on", ""
            case MemberLeft():
                yield _CLIENTS, f"{what.member} {what.how} at node {what.node}", ""
            case LeaderReads() if what.partition == self._partition:
                self._asked[what.id] = what
                self._leads.append((ms, what.node, what.leader_epoch))
                yield _lane(what.node), f"leads, epoch {what.leader_epoch}: reads the state", ""
            case ReadAnswered() if isinstance(read := self._asked.get(what.id), LeaderReads):
                others = self._nodes - {read.node} if what.error == NONE else ()
                self._leads += [(ms, node, -1) for node in others]
                yield _lane(read.node), f"epoch {read.leader_epoch}: state {what.error}", ""
            case LeaderResigned() if what.partition == self._partition:
                self._leads.append((ms, what.node, -1))
                yield _lane(what.node), "leads no longer", ""
            case WriteAnswered() if isinstance(
                write := self._asked.get(what.id), LeaderWrites
            ) and (what.error != NONE and not self._row_of(write) is not None):
                text = f"a write of epoch {write.leader_epoch} is answered {what.error}"
                yield _lane(write.node), text, ""
            case _:
                for text, tone in self._life(what):
                    yield self.record, text, tone
                yield from self._of_group(what)

    def _of_group(self, what: Happening) -> Iterator[tuple[str, str, str]]:
        if isinstance(what, AdministratorAnswered) and what.error == NONE:
            yield _CLIENTS, "an administrator is answered NONE", ""
        elif isinstance(what, StateBegun) and what.partition == self._partition:
            begins = f"its state begins, epoch {what.state_epoch}, start offset {what.start_offset}"
            yield self.record, "its state is deleted" if what.state_epoch < 0 else begins, ""

    def _life(self, what: Happening) -> Iterator[tuple[str, str]]:
        """Yield what happens to the record, in words, and the tone of its state."""
        asked = self._asked.get(what.id) if isinstance(what, _ANSWERS) else None
        if isinstance(asked, LeaderWrites | LeaderAsked):
            row, error = self._row_of(asked), getattr(what, "error", NONE)
            if row is not None and isinstance(asked, LeaderAsked):
                tone = _TONES.get(row[0], "") if error == NONE else ""
                yield f"{asked.member} is answered {error}", tone
            elif row is not None:
                yield f"write of epoch {asked.leader_epoch} is answered {error}", ""
        elif type(what) in _WORDS:
            if isinstance(what, LeaderWrites | LeaderAsked):
                self._asked[what.id] = what
            row = self._row_of(what)
            if row is not None:
                words, tone = _WORDS[type(what)]
                yield words.format(what, _said(what, row)), tone

    def _row_of(self, what: Happening) -> tuple[int, ...] | None:
        """Return what an event says of the record besides its offset, None if it is of others."""
        ranges: Any
        if isinstance(what, RecordsDeleted):
            ranges = [(0, what.log_start_offset - 1)]
        elif isinstance(what, LettersGiven):
            ranges = [(what.first_offset, what.last_offset)]
        elif isinstance(what, LetterAppended):
            ranges = [(what.offset, what.offset)]
        else:
            ranges = getattr(what, "ranges", None) or getattr(what, "batches", ())
            ranges = ranges or [(offset, offset) for offset in getattr(what, "offsets", ())]
        mine = (r for r in ranges if self._offset is not None and r[0] <= self._offset <= r[1])
        row = next(mine, None) if getattr(what, "partition", -1) == self._partition else None
        return None if row is None else tuple(row[2:])

    def grid(self, start_ms: int) -> Grid:
        """Return the moments, as far as they are shown."""
        times = sorted(self.moments)
        few = [ms for ms in times if self.moments[ms].texts.keys() - {_CLIENTS}]
        shown = (times if len(times) <= MAX_ROWS else few)[-MAX_ROWS:]
        nodes = sorted(self._nodes)
        columns = ("s", _FAULTS, *map(_lane, nodes), _CLIENTS, self.record)
        rows = tuple(self._row(ms, start_ms, nodes) for ms in shown)
        left = len(times) - len(shown)
        caption = "Time goes down, in seconds; │ a leadership or fault that lasts, ✗ what is wrong."
        caption += f" {left:,} other moments are left out." if left else ""
        return Grid(columns, rows, ("s",), kind="picture run", caption=caption, most=MAX_ROWS)

    def _row(self, ms: int, start_ms: int, nodes: Sequence[int]) -> tuple[Words, ...]:
        moment = self.moments[ms]
        texts = {lane: "; ".join(_counted(each)) for lane, each in moment.texts.items()}
        leading = {node: epoch for at, node, epoch in sorted(self._leads) if at <= ms}
        lasting = {_lane(node): "leads" for node in nodes if leading.get(node, -1) >= 0}
        if any(first <= ms <= last for first, last in self._spans):
            lasting[_FAULTS] = "fault"
        spans = (
            Toned(texts.get(lane, _ONGOING if lane in lasting else ""), lasting.get(lane, ""))
            for lane in (_FAULTS, *map(_lane, nodes))
        )
        life = Toned(texts.get(self.record, ""), moment.tone)
        return f"{(ms - start_ms) / 1000:.3f}", *spans, texts.get(_CLIENTS, ""), life


def _lane(node: int) -> str:
    return f"node {node}"


def _counted(texts: Iterable[str]) -> Iterator[str]:
    for text, times in Counter(texts).items():
        yield f"{times} × {text}" if times > 1 else text
