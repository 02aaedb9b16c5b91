"""One share-partition as a picture: columns of its whole trace, and each event around one."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs

from judge.finding import Finding
from judge.words import answer_text, operation_text, printable, write_text
from model import operations as ops
from model.operation_table import operation_row
from model.ranges import RecordRange
from model.snapshot import SharePartitionSnapshot
from model.states import HELD_STATES, RecordState
from operations.changes import changes
from operations.frames import Frame, lag_after, reported_lag_after
from operations.view.columns import NOTHING, Column, Columns, Piece, applied, halved
from operations.view.rules import BrokenRule, broken_rule

LEADER, DIVERGES, UNCHECKED, GAP, UNKNOWN = 1, 2, 4, 8, 16
"""Flags of a column: a new leader or a reset, the event that diverges, not checked, events are
missing before it, the records were not recorded."""

MAX_COLUMNS, MAX_PIECES = 2_000, 40_000
"""How many columns and changes the whole trace is drawn with."""

MAX_EVENTS, MAX_EVENT_PIECES, EVENTS_AFTER = 2_000, 40_000, 200
"""How many events are shown one by one, with how many changes, and how many behind the focus."""

MAX_KINDS, MAX_MEMBERS, MAX_NAME, MAX_TEXT = 4_000, 1_000, 120, 600
"""How many different states and members are told apart, and how long names and texts are."""

VALUES = (
    *("lag", "reported", "available", "held", "acknowledged", "archived"),
    *("pending", "median", "high", "most", "log_start"),
)
"""The numbers of a column, in order: lags, records of the window by state, outstanding writes,
delivery counts of those that were delivered (median, 95th percentile, maximum), log start."""

Numbers = tuple[int | None, ...]
Known = Callable[[int, Frame], tuple[int | None, int | None, Numbers]]
"""Returns of an event, by its number, the leader's and the reported lag after it, and how many
records are available, held, acknowledged and archived."""


@attrs.frozen
class EventText:
    """An event in words; ``written`` are the offsets that its writes report, flat pairs."""

    name: str
    operation: str
    answer: str
    writes: tuple[str, ...]
    written: tuple[int, ...]


@attrs.frozen
class Divergence:
    """The first event that diverges, by its number, the rule that it breaks, and what is known."""

    event: int
    rule: BrokenRule
    finding: Finding
    known: str = ""


@attrs.define
class Drawing:
    """What is drawn of a share-partition; ``base`` are the kinds before the first of ``detail``."""

    name: str
    events: int
    overview: list[Column]
    detail: list[tuple[Column, EventText]]
    base: list[Piece]
    kinds: list[tuple[int, int, int, int]]
    members: list[str]
    focus: int
    divergence: Divergence | None
    notes: list[str]
    row: Callable[[int], str] | None = None
    timed: bool = False

    def smaller(self) -> None:
        """Draw with half the columns and half the events around the focus."""
        if len(self.overview) > 1:
            self.overview = halved(self.overview)
        keep = max(1, len(self.detail) // 2)
        begin = next((i for i, (c, _) in enumerate(self.detail) if c.last >= self.focus), 0)
        begin = min(max(0, begin - keep + keep // 8), max(0, len(self.detail) - keep))
        for column, _ in self.detail[:begin]:
            self.base = applied(self.base, column.pieces)
        self.detail = self.detail[begin : begin + keep]


class Kinds:
    """The states that records have, numbered: state, delivery count, member, pending."""

    def __init__(self) -> None:
        """Start without any."""
        self.known: dict[tuple[int, int, int, int], int] = {}
        self.members: dict[str, int] = {}

    def number(self, record: RecordRange | None) -> int:
        """Return the number of a record's kind; of too many, without member and count."""
        if record is None:
            return NOTHING
        kind = (record.state, record.delivery_count, self._member(record.owner), record.pending)
        if kind not in self.known and len(self.known) >= MAX_KINDS:
            kind = (record.state, 1, NOTHING, record.pending)
        return self.known.setdefault(
            (int(kind[0]), kind[1], kind[2], int(kind[3])), len(self.known)
        )

    def _member(self, name: str | None) -> int:
        if name is None:
            return NOTHING
        shown = printable(name, MAX_NAME)
        if shown not in self.members and len(self.members) >= MAX_MEMBERS:
            shown = "another member"
        return self.members.setdefault(shown, len(self.members))


class Columnist:
    """Turns frames into columns."""

    def __init__(
        self, kinds: Kinds, known: Known, first: int = 0, checked: int | None = None
    ) -> None:
        """Count events from ``first``; those from ``checked`` on were not checked."""
        self._kinds, self._known = kinds, known
        self._event, self._checked = first, checked
        self._log_start: int | None = None

    def column(self, frame: Frame) -> Column:
        """Return the column of one event."""
        event, state, number = frame.event, frame.state, self._event
        self._event += 1
        changed = changes(_told(frame.before), _told(state))
        if isinstance(event.operation, ops.Gap) and state.records is None:
            state = frame.before  # Nothing is known of offsets; 0 would stretch the picture.
        pieces = [(c.first, c.last, self._kinds.number(c.after)) for c in changed]
        return Column(
            number,
            number,
            event.seq,
            event.time_ms,
            state.start_offset,
            state.end_offset,
            state.start_offset,
            state.start_offset,
            self._flags(frame, number),
            self._values(frame, number),
            pieces,
        )

    def _flags(self, frame: Frame, number: int) -> int:
        operation, checked = frame.event.operation, frame.is_checked
        if self._checked is not None:
            checked = number < self._checked
        return (
            LEADER * isinstance(operation, ops.Initialize | ops.ResetOffset)
            + DIVERGES * (frame.finding is not None)
            + UNCHECKED * (not checked)
            + GAP * isinstance(operation, ops.Gap)
            + UNKNOWN * (frame.state.records is None)
        )

    def _values(self, frame: Frame, number: int) -> tuple[int | None, ...]:
        operation = frame.event.operation
        if isinstance(operation, ops.Initialize | ops.AdvanceLogStart | ops.Checkpoint):
            self._log_start = operation.log_start_offset
        elif frame.partition is not None and frame.partition.ready:
            self._log_start = frame.partition.log.start_offset
        pending = None if frame.partition is None else len(frame.partition.outstanding)
        lag, reported, counts = self._known(number, frame)
        return (lag, reported, *counts, pending, *_deliveries(frame.state.records), self._log_start)


def _told(state: SharePartitionSnapshot) -> SharePartitionSnapshot:
    """Return a state with no records where they were not recorded."""
    return state if state.records is not None else attrs.evolve(state, records=())


def known_of(_number: int, frame: Frame) -> tuple[int | None, int | None, Numbers]:
    """Return the lags by the specification, and the records as drawn."""
    return lag_after(frame), reported_lag_after(frame), counts_of(frame.state.records)


def drawing_of(name: str, frames: Iterable[Frame], around: int | None = None) -> Drawing:
    """Return the drawing of a share-partition, whose events are walked through once.

    ``around`` is the seq of the event around which each event is shown; None: the one that
    diverges, or else the last.
    """
    kinds = Kinds()
    columnist = Columnist(kinds, known_of)
    columns, near = Columns(MAX_COLUMNS, MAX_PIECES), Near(around)
    divergence, notes, count = None, [], 0
    for frame in frames:
        count += 1
        column = columnist.column(frame)
        columns.add(column)
        near.add(column, frame)
        if frame.finding:
            divergence = divergence_of(frame, column.first)
        if frame.problem:
            notes.append(f"From seq {column.seq} on nothing is checked: {frame.problem}")
    return Drawing(
        name,
        count,
        columns.all(),
        list(near.events),
        near.base,
        list(kinds.known),
        list(kinds.members),
        near.focus,
        divergence,
        notes,
    )


class Near:
    """The events around one, and the kinds of offsets before the first of them."""

    def __init__(self, around: int | None) -> None:
        """Look for the event with this seq; None: the first that diverges, or else the last."""
        self.events: deque[tuple[Column, EventText]] = deque()
        self.base: list[Piece] = []
        self.focus = 0
        self._around, self._behind, self._pieces = around, -1, 0
        self._has_ended = False

    def add(self, column: Column, frame: Frame) -> None:
        """Add an event, unless the focus lies far behind it and there is no room."""
        if self._behind >= 0 and self._is_full(1, len(column.pieces)):
            enough = self._behind >= EVENTS_AFTER or self.events[0][0].first >= self.focus
            self._has_ended = self._has_ended or enough
        if self._has_ended:
            return
        if self._behind >= 0:
            self._behind += 1
        elif self._is_focus(column, frame):
            self._behind = 0
        if self._behind <= 0:
            self.focus = column.first
        self.events.append((column, event_text(frame)))
        self._pieces += len(column.pieces)
        while len(self.events) > 1 and self._is_full(0, 0):
            old, _text = self.events.popleft()
            self._pieces -= len(old.pieces)
            self.base = applied(self.base, old.pieces)

    def _is_full(self, events: int, pieces: int) -> bool:
        more = len(self.events) + events > MAX_EVENTS
        return more or self._pieces + pieces > MAX_EVENT_PIECES

    def _is_focus(self, column: Column, frame: Frame) -> bool:
        if self._around is None:
            return frame.finding is not None
        return column.seq >= self._around


def event_text(frame: Frame) -> EventText:
    """Return an event in words, as it was recorded."""
    outcome = frame.event.outcome
    written = (
        (batch.first, batch.last) for write in outcome.writes for batch in write.state_batches
    )
    pairs = [end for pair in written for end in pair]
    return EventText(
        operation_row(frame.event.operation).name,
        _text(operation_text(frame.event.operation)),
        _text(answer_text(outcome)),
        tuple(_text(write_text(write)) for write in outcome.writes[:MAX_WRITES]),
        tuple(pairs[:MAX_WRITTEN]),
    )


MAX_WRITES, MAX_WRITTEN = 8, 400
"""How many writes of one event are shown, and how many ends of ranges in them."""


def divergence_of(frame: Frame, number: int) -> Divergence | None:
    """Return the divergence of a frame that has a finding."""
    finding = frame.finding
    if finding is None:
        return None
    rule = broken_rule(finding.name, finding.sentence, frame.event.operation)
    return Divergence(number, rule, finding)


def _text(text: str) -> str:
    return printable(text, MAX_TEXT)


def counts_of(records: Sequence[RecordRange] | None) -> Numbers:
    """Return how many records are available, held, acknowledged and archived."""
    if records is None:
        return (None,) * len(_SHOWN)
    counts = dict.fromkeys(RecordState, 0)
    for record in records:
        counts[record.state] += record.last - record.first + 1
    return counted_states([counts[state] for state in sorted(RecordState)])


def counted_states(counts: Sequence[int]) -> Numbers:
    """Return the same from how many records each state has, by its id."""
    return tuple(sum(int(counts[state]) for state in states) for states in _SHOWN)


_SHOWN = (
    (RecordState.AVAILABLE,),
    tuple(HELD_STATES),
    (RecordState.ACKNOWLEDGED,),
    (RecordState.ARCHIVED, RecordState.ARCHIVING),
)


def _deliveries(records: Sequence[RecordRange] | None) -> tuple[int | None, ...]:
    """Return the median, the 95th percentile and the maximum of the delivery counts."""
    counts: dict[int, int] = {}
    for record in records or ():
        if record.delivery_count:
            width = record.last - record.first + 1
            counts[record.delivery_count] = counts.get(record.delivery_count, 0) + width
    total = sum(counts.values())
    if not total:
        return (None, None, None)
    return tuple(_percentile(counts, total, part) for part in (50, 95, 100))


def _percentile(counts: dict[int, int], total: int, part: int) -> int:
    passed, wanted = 0, -(-total * part // 100)
    for value, number in sorted(counts.items()):
        passed += number
        if passed >= wanted:
            return value
    return 0


def as_json(drawing: Drawing, row_bytes: int) -> dict[str, Any]:
    """Return a drawing for the page; rows of events, nearest to the focus first, in so many bytes.

    The whole trace is left out where all of its events are there one by one.
    """
    whole = len(drawing.detail) == drawing.events
    detail = [column for column, _text in drawing.detail]
    rows = _rows(drawing, row_bytes)
    return {
        "name": printable(drawing.name, MAX_NAME),
        "events": drawing.events,
        "focus": drawing.focus,
        "notes": [printable(note, MAX_TEXT) for note in drawing.notes],
        "kinds": drawing.kinds,
        "members": drawing.members,
        "timed": drawing.timed,
        "divergence": drawing.divergence and _divergence_json(drawing.divergence),
        "overview": None if whole else _level(drawing.overview, []),
        "detail": _level(detail, drawing.base),
        "texts": [
            [text.name, text.operation, text.answer, text.writes, text.written]
            for _column, text in drawing.detail
        ],
        "rows": rows,
    }


def _divergence_json(wrong: Divergence) -> dict[str, Any]:
    finding = wrong.finding
    names = "recorded", "expected", "before", "after", "recorded_after"
    texts = {name: _text(getattr(finding, name)) for name in names}
    if finding.after == finding.before:  # The event itself was refused.
        texts["after"] = ""
    numbers = {"event": wrong.event, "seq": finding.seq, "offset": finding.offset}
    rule = {"rule": attrs.asdict(wrong.rule), "kind": finding.kind.value, "known": wrong.known}
    return {**numbers, **rule, **texts}


def _level(columns: list[Column], base: list[Piece]) -> dict[str, Any]:
    fields = {
        "last": [c.last for c in columns],
        "seq": [c.seq for c in columns],
        "ms": [c.time_ms for c in columns],
        "start": [c.start_offset for c in columns],
        "end": [c.end_offset for c in columns],
        "lowest": [c.lowest for c in columns],
        "highest": [c.highest for c in columns],
        "flags": [c.flags for c in columns],
        "pieces": [[number for piece in c.pieces for number in piece] for c in columns],
    }
    values = {name: [c.values[i] for c in columns] for i, name in enumerate(VALUES)}
    flat = [number for piece in base for number in piece]
    return {"first": columns[0].first if columns else 0, "base": flat, **fields, **values}


def _rows(drawing: Drawing, limit: int) -> dict[int, str]:
    rows: dict[int, str] = {}
    numbers = [column.first for column, _text in drawing.detail]
    for number in sorted(numbers, key=lambda n: abs(n - drawing.focus)):
        text = "" if drawing.row is None else drawing.row(number)
        limit -= len(text) * 2
        if limit < 0 or not text:
            break
        rows[number] = text
    return rows
