"""Rows of one share-partition against the specification and the implementation."""

from collections.abc import Iterator, Sequence

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from impl.cache import is_compiled, is_interpreted, note_compiled
from impl.kernel import KernelDivergence, KernelResult, replay_partition
from judge.engine import Engine, engines_for
from judge.finding import Finding, FindingKind, FindingPlace
from judge.follower import DISAGREEMENT, Observer, follow
from model.config import SharePartitionConfig
from model.errors import InvalidValueError
from model.operations import Initialize
from model.outcome import Outcome
from model.snapshot import DurableState, SharePartitionSnapshot
from model.trace import TraceEvent
from model.trace_arrow import SCHEMA, table_from_rows
from model.trace_codec import row_from_event
from model.trace_json import line_from_row
from model.whole_state import ReplayState
from replay.pieces import PartitionRows
from replay.plan import Plan
from replay.result_schema import Lag, lag_table
from replay.state_file import diverged_before
from replay.tables import (
    BEGINNINGS,
    BEGINS_LATE,
    BadRow,
    BadRowError,
    believed_in,
    events_of,
    gaps_in,
    lateness_ms,
    latest,
    leave_out_log,
    row_of,
)
from replay.verdict import LogKnowledge, PartitionVerdict, Problem, Verdict

MAX_RECORDS = 1000
"""How many ranges of records a divergence carries of each state."""

MAX_EVENT_TEXT = 4000
"""How much of an event's JSON a divergence carries, in characters."""

_CHECKED = ("op", "due_ms", "time_ms", "lost")
"""The columns that tell what was not checked, and how late timers were."""

Window = tuple[int, int, int]
"""Start offset, end offset and lag after an event."""


def compile_ahead(plan: Plan) -> None:
    """Compile what the plan needs, so that the workers of this machine find it in the cache."""
    start = Initialize(SharePartitionConfig(), 0, 0, DurableState(0, 0))
    event = TraceEvent("-", 0, 0, start, Outcome(), SharePartitionSnapshot(0, 0, 0, ()))
    replay_partition(table_from_rows([row_from_event(event)]), plan.rules)
    note_compiled()


def compile_part(plan: Plan, part: int) -> bool:
    """Compile a part of what the plan needs and return True, unless the cache should have it."""
    if is_interpreted():
        return False
    if is_compiled():
        if part == 0:
            compile_ahead(plan)  # To have it here, which takes long enough.
        return False
    from impl import ahead  # noqa: PLC0415 - it needs Numba, and may have nothing to do

    ahead.compile_part(part)
    return True


def with_engines(
    rows: PartitionRows, plan: Plan, lag: Lag, kernel: KernelResult
) -> tuple[PartitionRows, int | None, Finding | None]:
    """Replay rows through which the kernel has gone without a divergence.

    Return what ``verdict_at`` takes.
    """
    row, finding = None, None
    if "spec" in plan.against:
        rows, row, finding = through_spec(rows, plan, end_of(rows, kernel), kernel)
        row, finding = agreed(None, row, finding)
    if lag.wanted:
        lag.add(lag_table(rows.partition, rows.table, kernel))
    return rows, row, finding


def is_stopped(rows: PartitionRows, kernel: KernelResult) -> bool:
    """Return whether the kernel, or who read the rows, did not come to their end."""
    return bool(kernel.divergence or kernel.unreadable or rows.problem)


def standing_of(rows: PartitionRows, kernel: KernelResult) -> ReplayState | None:
    """Return where the kernel stands behind the rows, if it came there and was asked for it."""
    if is_stopped(rows, kernel) or not kernel.states:
        return None
    return kernel.states[-1][1]


def end_of(rows: PartitionRows, kernel: KernelResult) -> ReplayState | None:
    """Return the state in which engines must end: the kernel's, whole, as a leader is known."""
    return when_ready(standing_of(rows, kernel))


def when_ready(state: ReplayState | None) -> ReplayState | None:
    """Return a state that is whole, as a leader is known; None for any other."""
    return state if state and state.state.ready else None


def unchecked(rows: PartitionRows) -> PartitionVerdict | None:
    """Return the verdict on rows of which nothing can be checked; None if something can."""
    if rows.start and rows.start.divergence and rows.start.state is None:
        return diverged_before(rows.start, rows.events)
    if not rows.table.num_rows:
        return verdict_on(rows, 0, None)
    if rows.start or rows.table.column("op")[0].as_py() in BEGINNINGS:
        return None
    return PartitionVerdict(
        rows.partition,
        Verdict.UNREADABLE if rows.problem else Verdict.UNKNOWN,
        rows.events,
        0,
        BEGINS_LATE,
        problem=rows.problem,
    )


def through_kernel(
    rows: PartitionRows, plan: Plan, every: int | None = None
) -> tuple[PartitionRows, KernelResult]:
    """Replay the columns; return the rows before the first that holds no event.

    ``every`` asks for the states after so many events.
    """
    start, part = rows.start.state if rows.start else None, rows.untouched
    if part and part.fits and (start, every) == (None, None):
        kernel = part.whole.replay(part.first, rows.table.num_rows, plan.rules)
    else:
        kernel = replay_partition(rows.table.select(SCHEMA.names), plan.rules, start, every)
    if kernel.unreadable:
        row = kernel.events
        rows = _cut(rows, BadRow(row, _reason(rows.table.slice(row, 1)) or kernel.unreadable))
    return rows, kernel


def _reason(row: pa.Table) -> str | None:
    """Return why a row holds no event; None if it does and its place in the trace is wrong."""
    try:
        list(events_of(row))
    except BadRowError as error:
        return error.bad.message
    return None


def through_spec(
    rows: PartitionRows, plan: Plan, after: ReplayState | None, kernel: KernelResult | None = None
) -> tuple[PartitionRows, int | None, Finding | None]:
    """Replay the events one by one; return the row of the first that is wrong, and what is.

    The specification does so, and the kernel has done it for the implementation. Up to an event
    that is wrong the implementation does it, too, to give its own answer there. ``after`` is where
    the kernel stood behind the events, if the engines must end there. With what the ``kernel`` has
    of each event windows and lags are compared; of a segment nobody has it.
    """
    windows: list[Window] = []

    def note(_event: TraceEvent, engine: Engine, state: SharePartitionSnapshot) -> None:
        windows.append((state.start_offset, state.end_offset, engine.lag()))

    rows, row, finding = through_engines(rows, plan, ("spec",), after, note if kernel else None)
    if finding and row is not None:
        head = attrs.evolve(rows, table=rows.table.slice(0, row + 1))
        is_end = row + 1 == rows.table.num_rows
        _, row, finding = through_engines(head, plan, plan.against, after if is_end else None)
    elif kernel:
        row, finding = _windows_differ(windows, kernel)
    return rows, row, finding


def through_engines(
    rows: PartitionRows,
    plan: Plan,
    against: tuple[str, ...],
    after: ReplayState | None = None,
    observe: Observer | None = None,
) -> tuple[PartitionRows, int | None, Finding | None]:
    """Replay the events one by one with these engines; return as ``through_spec`` does."""
    before = rows.start.state if rows.start else None
    engines = engines_for(against, plan.rules, before.state if before else None)
    finding, row = None, 0

    def events() -> Iterator[TraceEvent]:
        nonlocal row
        for row, event in enumerate(rows.events_in_order()):  # noqa: B007 - read behind the loop
            yield event

    try:
        every = plan.invariants_every
        finding = follow(events(), engines, every, observe, before=before, after=after)
    except BadRowError as error:
        rows = _cut(rows, error.bad)
    except InvalidValueError as error:
        rows = _cut(rows, BadRow(row, str(error)))
    return rows, row if finding else None, finding


def agreed(
    divergence: KernelDivergence | None, row: int | None, finding: Finding | None
) -> tuple[int | None, Finding | None]:
    """Return a finding and its row, or that it is not the divergence of the kernel."""
    if finding and finding.kind is FindingKind.INVARIANT:
        same = divergence is None or (row is not None and divergence.row >= row)
    elif finding and finding.kind is FindingKind.DISAGREEMENT:
        same = True
    else:
        same = (divergence and (divergence.row, divergence.kind.name)) == (
            finding and (row, finding.name)
        )
    if same:
        return row, finding
    rows_found = [row, divergence.row if divergence else None]
    place = min(r for r in rows_found if r is not None)
    return place, _kernel_disagreement(place, divergence, row, finding)


def _kernel_disagreement(
    place: int, divergence: KernelDivergence | None, row: int | None, finding: Finding | None
) -> Finding:
    of_kernel = (
        f"{divergence.kind.name} at event {divergence.row}" if divergence else "no divergence"
    )
    of_engines = f"{finding.name} at event {row}" if finding else "no divergence"
    answers = f"kernel: {of_kernel} — but — event by event: {of_engines}"
    if finding is None:
        return _disagreement(place, "the other engines", answers)
    kept = {name: getattr(finding, name) for name in ("recorded", "before", "after", "offset")}
    return attrs.evolve(_disagreement(place, finding.engine, answers), **kept)


def _disagreement(place: int, engines: str, answers: str) -> Finding:
    sentence = "the columnar kernel and the replay event by event give different answers"
    kind, engine = FindingKind.DISAGREEMENT, f"impl kernel, {engines}"
    return Finding(place, engine, kind, DISAGREEMENT, sentence, "", answers, "", "")


def _windows_differ(
    windows: Sequence[Window], kernel: KernelResult
) -> tuple[int | None, Finding | None]:
    """Return the first event after which the kernel has another window or another lag."""
    count = min(len(windows), kernel.events)
    ours = np.array(windows[:count], np.int64).reshape(count, 3)
    columns = (kernel.start_offsets, kernel.end_offsets, kernel.lag)
    theirs = np.column_stack([np.asarray(each)[:count] for each in columns])
    differs = np.flatnonzero((ours != theirs).any(axis=1))
    if not differs.size:
        return None, None
    row = int(differs[0])
    texts = [f"[{start}, {end}), lag {lag}" for start, end, lag in (theirs[row], ours[row])]
    return row, _disagreement(row, "spec", f"kernel: {texts[0]} — but — spec: {texts[1]}")


def _cut(rows: PartitionRows, bad: BadRow) -> PartitionRows:
    """Return the rows before a bad one, which becomes the problem."""
    problem = Problem(*rows.place(bad.row), bad.message, rows.partition)
    return attrs.evolve(rows, table=rows.table.slice(0, bad.row), problem=problem)


def verdict_at(rows: PartitionRows, row: int | None, finding: Finding | None) -> PartitionVerdict:
    """Return the verdict on rows up to the first that is wrong, if one is."""
    checked = rows.table.num_rows if row is None else row + 1
    return verdict_on(rows, checked, divergence_at(rows, row or 0, finding) if finding else None)


def verdict_on(rows: PartitionRows, checked: int, divergence: Finding | None) -> PartitionVerdict:
    """Return the verdict on rows of which so many were checked; gaps are none of its events."""
    verdict = Verdict.CONFORMS
    if divergence:
        verdict = Verdict.DIVERGES
    elif rows.problem:
        verdict = Verdict.UNREADABLE
    gaps, lost, believed, latest_ms = _missing(rows, checked)
    return PartitionVerdict(
        rows.partition,
        verdict,
        rows.events,
        checked - gaps,
        divergence=divergence,
        problem=rows.problem,
        log=_log_knowledge(rows),
        gaps=gaps,
        lost=lost,
        latest_ms=latest_ms,
        believed=believed,
    )


def _missing(rows: PartitionRows, checked: int) -> tuple[int, int, int, int | None]:
    """Return where events are missing among those that were checked, and how late timers were.

    The first is the number of gaps, the others are the events that are missing there, and those
    that follow a gap.
    """
    start, part = rows.start, rows.untouched
    is_after_gap = bool(start and start.state and not start.state.state.ready)
    if part and part.is_in_sequence and checked == rows.table.num_rows and not is_after_gap:
        return 0, 0, 0, part.latest_ms
    told = rows.table.select(_CHECKED).slice(0, checked)
    late = latest(lateness_ms(told))
    number = gaps_in(told)
    if not (number or is_after_gap):
        return 0, 0, 0, late
    lost = pc.sum(told.column("lost").filter(pc.equal(told.column("op"), "gap"))).as_py() or 0
    return number, lost, believed_in(told, is_after_gap=is_after_gap), late


def tells_no_log(rows: PartitionRows) -> bool:
    """Return whether the trace leaves out the log from some row on."""
    part = rows.untouched
    return part.tells_no_log if part else bool(leave_out_log(rows.table).any())


def _log_knowledge(rows: PartitionRows) -> LogKnowledge:
    """Return what the trace tells of the log, without which no read can be checked against it."""
    if tells_no_log(rows):
        return LogKnowledge.NOTHING
    if rows.start:
        return rows.start.log
    first, end = (rows.table.column(f"log_{name}_offset") for name in ("start", "end"))
    if rows.table.num_rows and first[0].as_py() != end[0].as_py():
        return LogKnowledge.FROM_FIRST_EVENT
    return LogKnowledge.ALL


def divergence_at(
    rows: PartitionRows, row: int, finding: Finding, earlier: frozenset[str] = frozenset()
) -> Finding:
    """Return a finding with the place and the text of its row, after ``earlier`` operations."""
    operations = earlier | operations_in(rows.table.column("op")[: row + 1])
    event = line_from_row(row_of(rows.table, row)).decode().rstrip()
    return attrs.evolve(
        finding,
        place=FindingPlace(rows.partition, *rows.place(row), event[:MAX_EVENT_TEXT]),
        state_before=_bounded(finding.state_before),
        state_expected=_bounded(finding.state_expected),
        state_recorded=_bounded(finding.state_recorded),
        operations_before=tuple(sorted(operations)),
    )


def operations_in(column: pa.ChunkedArray) -> frozenset[str]:
    """Return the names of the operations in a column of them."""
    return frozenset(column.unique().to_pylist())


def _bounded(state: SharePartitionSnapshot | None) -> SharePartitionSnapshot | None:
    """Return a state with the first of its records."""
    if state is None or state.records is None:
        return state
    return attrs.evolve(state, records=state.records[:MAX_RECORDS])
