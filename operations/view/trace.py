"""The drawing of a share-partition of a trace, small or large.

A small one is walked through by the specification. Of a large one the compiled implementation
checks all events, the drawing is of what was recorded, and the specification takes only the events
around one, from the state that the implementation hands out before them.
"""

from collections.abc import Iterator

import attrs
import pyarrow.compute as pc

from judge.follower import rules_shown
from judge.weighing import Evidence, too_little
from model.profile import Profile
from model.trace import TraceEvent
from model.trace_json import line_from_row
from model.whole_state import ReplayState
from operations.explain import ExplainError
from operations.frames import EMPTY, Frame, frames
from operations.view.columns import Columns
from operations.view.drawing import (
    EVENTS_AFTER,
    MAX_COLUMNS,
    MAX_EVENTS,
    MAX_PIECES,
    UNKNOWN,
    Columnist,
    Divergence,
    Drawing,
    Kinds,
    Near,
    Numbers,
    counted_states,
    counts_of,
    divergence_of,
    drawing_of,
    known_of,
)
from replay.pieces import PartitionRows
from replay.report import Label, unlabelled
from replay.tables import (
    BEGINNINGS,
    BEGINS_LATE,
    BadRowError,
    believed_in,
    events_of,
    gaps_in,
    row_of,
)
from replay.verdict import Problem, Verdict

LARGE_EVENTS = 20_000
"""From how many events on a share-partition is drawn as recorded."""

MAX_ROW = 4_000
"""How many characters of a row are shown."""

_AS_RECORDED = (
    "Drawn as it was recorded. The implementation checked all events, the specification those that "
    "are shown one by one; only of these the reported lag is known."
)

_STATES = 64
"""How many states the implementation hands out of a large share-partition, about."""


@attrs.frozen
class Drawn:
    """A drawing, and the verdict on its share-partition, of whose events so many were checked."""

    drawing: Drawing
    verdict: Verdict
    events: int
    checked: int


def drawn_rows(
    rows: PartitionRows,
    profile: Profile,
    around: int | None = None,
    large: int = LARGE_EVENTS,
    label: Label = unlabelled,
) -> Drawn:
    """Return the drawing of the events of a share-partition. Raises ExplainError.

    ``label`` tells what is known of a divergence.
    """
    if not rows.table.num_rows:
        raise ExplainError(f"{rows.partition}: {rows.problem.message if rows.problem else 'empty'}")
    if rows.table.column("op")[0].as_py() not in BEGINNINGS:
        raise ExplainError(f"{rows.partition}: {BEGINS_LATE}")
    try:
        if rows.table.num_rows > large:
            drawing, checked = _large(rows, profile, around)
        else:
            rules = rules_shown(lambda: events_of(rows.table), profile)
            drawing = drawing_of(rows.partition, frames(events_of(rows.table), rules), around)
            checked = _checked(drawing)
    except BadRowError as error:
        problem = Problem(*rows.place(error.bad.row), error.bad.message)
        raise ExplainError(f"{problem.source}:{problem.line}: {problem.message}") from None
    drawing.row = lambda number: _row_text(rows, number)
    drawing.timed = bool(pc.any(rows.table.column("timed")).as_py())
    if wrong := drawing.divergence:
        operations = rows.table.column("op").slice(0, wrong.event + 1).unique().to_pylist()
        known = label(attrs.evolve(wrong.finding, operations_before=tuple(operations)))
        drawing.divergence = attrs.evolve(wrong, known=known)
    if rows.problem:
        drawing.notes.append(f"Behind the last event: {rows.problem.message}")
    events = max(0, checked - gaps_in(rows.table))
    return Drawn(drawing, _verdict(drawing, rows, checked, events), rows.events, events)


def _verdict(drawing: Drawing, rows: PartitionRows, checked: int, events: int) -> Verdict:
    """Return the verdict, of so many rows that were checked, of which so many are events."""
    if drawing.divergence:
        return Verdict.DIVERGES
    if rows.problem or checked < drawing.events:
        return Verdict.UNREADABLE
    light = too_little(Evidence.EVENTS, events, rows.events, believed_in(rows.table))
    return Verdict.UNKNOWN if light else Verdict.CONFORMS


def _checked(drawing: Drawing) -> int:
    if drawing.divergence:
        return drawing.divergence.event + 1
    return drawing.events if not drawing.notes else 0


def _row_text(rows: PartitionRows, number: int) -> str:
    text = line_from_row(row_of(rows.table, number)).decode().rstrip()
    return text if len(text) <= MAX_ROW else f"{text[:MAX_ROW]}…"


def _large(rows: PartitionRows, profile: Profile, around: int | None) -> tuple[Drawing, int]:
    from impl.kernel import replay_partition  # noqa: PLC0415 - small traces need no Numba
    from model.trace_arrow import SCHEMA  # noqa: PLC0415 - beside its use

    total = rows.table.num_rows
    every = max(MAX_EVENTS, total // _STATES)
    kernel = replay_partition(rows.table.select(SCHEMA.names), profile, None, every)
    if kernel.divergence and (strict := profile.all_or_none):
        other = replay_partition(rows.table.select(SCHEMA.names), strict, None, every)
        profile, kernel = (profile, kernel) if other.divergence else (strict, other)
    checked = kernel.events + (kernel.divergence is not None)
    kinds = Kinds()

    def known(number: int, frame: Frame) -> tuple[int | None, None, Numbers]:
        if number >= kernel.events:
            return None, None, counts_of(frame.state.records)
        return int(kernel.lag[number]), None, counted_states(kernel.counts[number].tolist())

    columns = Columns(MAX_COLUMNS, MAX_PIECES)
    columnist = Columnist(kinds, known, checked=checked)
    for frame in _recorded(events_of(rows.table)):
        columns.add(columnist.column(frame))
    focus = _focus(rows, around, kernel.events if kernel.divergence else total - 1)
    earlier = [state for state in kernel.states if state[0] <= max(0, focus - MAX_EVENTS // 2)]
    begin, state = earlier[-1] if earlier else (0, None)
    near, wrong = _near(rows, profile, kinds, (begin, state, focus))
    notes = [_AS_RECORDED]
    if kernel.unreadable:
        notes.append(f"From event {kernel.events} on nothing is checked: {kernel.unreadable}")
    if any(column.flags & UNKNOWN for column in columns.all()):
        notes.append("Where the trace has no records, only the offsets are drawn.")
    drawing = Drawing(
        rows.partition,
        total,
        columns.all(),
        list(near.events),
        near.base,
        list(kinds.known),
        list(kinds.members),
        focus,
        wrong,
        notes,
    )
    return drawing, checked


def _focus(rows: PartitionRows, around: int | None, otherwise: int) -> int:
    if around is None:
        return otherwise
    behind = (rows.table.column("seq").to_numpy() >= around).nonzero()[0]
    return int(behind[0]) if len(behind) else rows.table.num_rows - 1


def _near(
    rows: PartitionRows, profile: Profile, kinds: Kinds, place: tuple[int, ReplayState | None, int]
) -> tuple[Near, Divergence | None]:
    """Walk the specification through the events around the focus, from a state before them."""
    begin, state, focus = place
    near, wrong = Near(int(rows.table.column("seq")[focus].as_py())), None
    table = rows.table.slice(begin, focus - begin + EVENTS_AFTER + 2)
    columnist = Columnist(kinds, known_of, begin)
    for frame in frames(events_of(table), profile, state):
        if begin and not near.events and not near.base:
            near.base = [(r.first, r.last, kinds.number(r)) for r in frame.before.records or ()]
        column = columnist.column(frame)
        near.add(column, frame)
        wrong = wrong or divergence_of(frame, column.first)
    return near, wrong


def _recorded(events: Iterator[TraceEvent]) -> Iterator[Frame]:
    """Yield frames of what was recorded alone."""
    before = EMPTY
    for event in events:
        yield Frame(event, before, event.after)
        before = event.after
