"""A share-partition beyond its first divergence: the recorded state is adopted.

A stretch is what lies between two divergences. In each the specification and the implementation are
compared as in a whole replay, from the state in which the stretch begins.
"""

from collections.abc import Iterator, Sequence

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from impl.kernel import KernelDivergence, KernelResult, replay_partition
from judge.adopt import Candidate, candidates, complete, forgotten
from judge.engine import engines_for
from judge.finding import Finding, FindingKind
from judge.follower import Follower
from model.errors import InvalidValueError
from model.guards import Difference
from model.trace import TraceEvent
from model.trace_arrow import SCHEMA
from model.whole_state import ReplayState, WholeState
from replay.check import (
    agreed,
    divergence_at,
    operations_in,
    through_engines,
    through_kernel,
    verdict_on,
    with_engines,
)
from replay.pieces import PartitionRows
from replay.plan import Plan
from replay.result_schema import Lag, lag_row, lag_table, table_of_lag
from replay.state_file import Carried
from replay.tables import BEGINNINGS, BadRowError, events_of, gaps_in
from replay.verdict import PartitionVerdict, merged

_TRIED = 200
"""How many events tell which of several states is that of the recording."""

_AWAITED = 20_000
"""How many events the next state that is recorded may be away, to confirm that of the rules."""

_MOST_REPEATS = 500
"""How often one wrong delivery complete count is passed over before a share-partition stops."""

_COUNTS = (Difference.DELIVERY_COMPLETE_COUNT.name, Difference.WRITTEN_DELIVERY_COMPLETE_COUNT.name)


@attrs.frozen
class _Stretch:
    """Rows up to the first divergence, and the state before that row; None if none diverges.

    ``closed`` are the rows that were read; without a ``before`` nothing can follow.
    """

    rows: PartitionRows
    row: int | None
    finding: Finding | None
    before: ReplayState | None


@attrs.define
class _Course:
    """What is known of a share-partition so far.

    ``standing`` is by how much its recorded delivery complete count is wrong.
    """

    divergences: list[Finding] = attrs.field(factory=list)
    parts: list[PartitionVerdict] = attrs.field(factory=list)
    operations: frozenset[str] = frozenset()
    passed_over: int = 0
    repeats: int = 0
    standing: int = 0
    stopped: str = ""


def check_onward(
    rows: PartitionRows, kernel: KernelResult | None, plan: Plan, lag: Lag
) -> PartitionVerdict:
    """Return the verdict on a share-partition in one piece, with the divergences after the first.

    The kernel has gone through it, if it had to.
    """
    course, rest = _Course(), rows
    while True:
        stretch = _stretch(rest, kernel, plan, lag)
        _note(course, stretch)
        if stretch.finding is None or stretch.row is None:
            break
        following = _follow(course, stretch, plan, lag)
        if following is None:
            break
        rest = following
        if kernel:
            rest, kernel = through_kernel(rest, plan)
        plan = attrs.evolve(plan, invariants_every=0)
    return _verdict(rows, course, stretch)


def _stretch(rows: PartitionRows, kernel: KernelResult | None, plan: Plan, lag: Lag) -> _Stretch:
    if kernel and kernel.divergence:
        return _diverging(rows, plan, kernel.divergence, lag)
    rows, row, finding = with_engines(rows, plan, lag, kernel)
    before = _before(rows, row, plan) if kernel is None and row is not None else None
    return _Stretch(rows, row, finding, before)


def _diverging(rows: PartitionRows, plan: Plan, divergence: KernelDivergence, lag: Lag) -> _Stretch:
    """Take the engines to where the kernel diverges: they must stand there as it does.

    There they must diverge as it does.
    """
    row = divergence.row
    head = attrs.evolve(rows, table=rows.table.slice(0, row), problem=None)
    before = rows.start.state if rows.start else None
    if row:
        _, kernel = through_kernel(head, plan, row)
        if lag.wanted:
            lag.add(lag_table(rows.partition, head.table, kernel))
        before = kernel.states[-1][1]
    if row and "spec" in plan.against:
        ends = rows.start.state if rows.start else None, _whole_end(before)
        read, bad, finding = through_engines(head, plan, plan.against, None, ends)
        if finding or read.problem:
            bad, finding = agreed(divergence, bad, finding)
            return _Stretch(attrs.evolve(rows, problem=read.problem), bad, finding, None)
    here = attrs.evolve(rows, table=rows.table.slice(row, 1), problem=None)
    here = _from(here, before)
    read, bad, finding = through_engines(here, plan, plan.against)
    if read.problem:
        return _Stretch(attrs.evolve(rows, problem=read.problem), None, None, None)
    bad, finding = agreed(attrs.evolve(divergence, row=0), bad, finding)
    return _Stretch(rows, row, finding, before)


def _whole_end(state: ReplayState | None) -> ReplayState | None:
    """Return a state in which an engine must end: one that is whole, as a leader is known."""
    return state if state and state.state.ready else None


def _from(rows: PartitionRows, state: ReplayState | None) -> PartitionRows:
    """Return rows that begin in a state."""
    start = None if state is None else Carried(rows.partition, state)
    return attrs.evolve(rows, start=start)


def _before(rows: PartitionRows, row: int, plan: Plan) -> ReplayState | None:
    """Return where the specification stands before a row."""
    start = rows.start.state if rows.start else None
    if not row:
        return start
    (engine,) = engines_for(("spec",), plan.rules, start.state if start else None).values()
    follower = Follower("spec", engine)
    if start:
        follower.resume(start)
    seq = 0
    for event in events_of(rows.table.slice(0, row)):
        follower.step(event)
        seq = event.seq + 1
    return follower.standing(engine.whole(), seq)


def _note(course: _Course, stretch: _Stretch) -> None:
    """Note a stretch, and its divergence unless it is one that is known."""
    rows, row, finding = stretch.rows, stretch.row, stretch.finding
    checked = rows.table.num_rows if row is None else row + 1
    course.parts.append(verdict_on(rows, checked, None))
    if finding is None or row is None:
        return
    if course.standing and _excess(finding) == course.standing and not finding.changed:
        course.repeats += 1
        course.operations |= operations_in(rows.table.slice(0, row + 1))
        return
    if finding.kind is FindingKind.DISAGREEMENT:
        finding = attrs.evolve(finding, seq=rows.table.column("seq")[row].as_py())
    course.divergences.append(divergence_at(rows, row, finding, course.operations))
    course.operations |= operations_in(rows.table.slice(0, row + 1))


def _excess(finding: Finding) -> int | None:
    """Return by how much a delivery complete count is wrong, if that is what is wrong."""
    if finding.name not in _COUNTS:
        return None
    recorded, expected = (int(text.split()[-1]) for text in (finding.recorded, finding.expected))
    return recorded - expected


def _follow(course: _Course, stretch: _Stretch, plan: Plan, lag: Lag) -> PartitionRows | None:
    """Return the rows after a divergence in the state that is adopted; None if it ends there."""
    rows, row, finding = stretch.rows, stretch.row, stretch.finding
    if row is None or finding is None:
        return None
    left = rows.table.num_rows - row - 1
    if finding.kind in (FindingKind.INVARIANT, FindingKind.DISAGREEMENT):
        course.stopped = f"{finding.name} is no fault of the recording alone"
    elif len(course.divergences) >= plan.max_divergences:
        course.stopped = f"it diverged {len(course.divergences)} times"
    elif course.repeats > _MOST_REPEATS:
        course.stopped = "its delivery complete count stays wrong"
    if course.stopped or not left:
        return None
    (event,) = events_of(rows.table.slice(row, 1))
    rest = attrs.evolve(rows, table=rows.table.slice(row + 1))
    states, untold = candidates(event, stretch.before, plan.rules)
    chosen = _chosen(states, rest, plan)
    if chosen is None:
        return _next_told(course, stretch, rest, untold, plan)
    course.standing = _standing(event, chosen.state.state)
    if lag.wanted:
        adopted = chosen.state.state
        behind = adopted.log.end_offset - adopted.start_offset - complete(adopted)
        lag.add(table_of_lag([lag_row(event, adopted, behind)]))
    return _from(rest, chosen.state)


def _standing(event: TraceEvent, adopted: WholeState) -> int:
    return event.after.delivery_complete_count - complete(adopted)


def _chosen(states: Sequence[Candidate], rest: PartitionRows, plan: Plan) -> Candidate | None:
    """Return the state from which the recording goes on longest, the first of several.

    One that is not the recorded one is used only where the next recorded one confirms it.
    """
    confirmed = _first_told(rest.table.slice(0, _AWAITED))
    table = rest.table.slice(0, max(_TRIED, 1 + (confirmed or 0)))
    best, reach = None, -1
    for each in states:
        if not _is_whole(each.state, plan):
            continue
        length = _reach(each.state, attrs.evolve(rest, table=table), plan)
        is_usable = each.adopted or (confirmed is not None and length > confirmed)
        if is_usable and length > reach:
            best, reach = each, length
    return best


def _is_whole(state: ReplayState, plan: Plan) -> bool:
    """Return whether each engine can be in a state, and shows it as it is."""
    engines = engines_for(plan.against, plan.rules, state.state).values()
    return all(engine.whole() == state.state for engine in engines)


def _first_told(table: pa.Table) -> int | None:
    """Return the first row that tells the records in flight after it."""
    tells = pc.is_valid(pc.struct_field(table.column("after"), "records"))
    return _first(tells)


def _first(wanted: pa.ChunkedArray) -> int | None:
    """Return the first row that is wanted."""
    row = pc.index(wanted, True).as_py()
    return None if row < 0 else row


def _reach(state: ReplayState, rows: PartitionRows, plan: Plan) -> int:
    """Return how many rows conform from a state on."""
    if "impl" in plan.against:
        return replay_partition(rows.table.select(SCHEMA.names), plan.rules, state).events
    (engine,) = engines_for(("spec",), plan.rules, state.state).values()
    follower = Follower("spec", engine)
    follower.resume(state)
    conform = 0
    try:
        for event in events_of(rows.table):
            if follower.step(event):
                break
            conform += 1
    except (BadRowError, InvalidValueError):
        pass
    return conform


def _next_told(
    course: _Course, stretch: _Stretch, rest: PartitionRows, untold: str, plan: Plan
) -> PartitionRows | None:
    """Return the rows from the next whole state on: what lies before it cannot be checked.

    A leader tells its own in a checkpoint, and the next leader begins with what was durable.
    """
    following = _first(pc.is_in(rest.table.column("op"), pa.array(BEGINNINGS)))
    if following is None:
        course.stopped = untold or "no state after it explains what follows"
        return None
    course.passed_over += following - gaps_in(rest.table.slice(0, following))
    seq = rest.table.column("seq")[following].as_py()
    rest = attrs.evolve(rest, table=rest.table.slice(following))
    state = forgotten(stretch.before, seq, plan.rules)
    return _from(rest, state)


def _verdict(rows: PartitionRows, course: _Course, last: _Stretch) -> PartitionVerdict:
    """Return the verdict on all stretches together."""
    first = course.divergences[0] if course.divergences else None
    whole = verdict_on(attrs.evolve(rows, problem=last.rows.problem), 0, first)
    return attrs.evolve(
        merged([*course.parts, whole], whole.events),
        more=tuple(course.divergences[1:]),
        repeats=course.repeats,
        reason="; ".join(_reasons(course, whole.events)),
    )


def _reasons(course: _Course, events: int) -> Iterator[str]:
    missed = events - sum(part.checked for part in course.parts)
    if course.passed_over:
        yield f"{course.passed_over:,} events up to the next checkpoint or leader are not checked"
    if missed > course.passed_over and course.stopped:
        missed -= course.passed_over
        yield f"{missed:,} events after the last are not checked: {course.stopped}"
