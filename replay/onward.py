"""A piece of a share-partition, also beyond a divergence: the recorded state is adopted.

A stretch is what lies between two divergences. In each the specification and the implementation are
compared as in a whole replay, from the state in which the stretch begins.
"""

import sys
from collections.abc import Sequence

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from impl.kernel import KernelDivergence, KernelResult, replay_partition
from judge.adopt import Candidate, candidates, complete, forgotten
from judge.engine import engines_for
from judge.finding import Finding, FindingKind
from judge.words import many
from model.guards import Difference
from model.operations import Checkpoint
from model.trace_arrow import SCHEMA, table_from_rows
from model.whole_state import ReplayState
from replay.check import (
    agreed,
    divergence_at,
    operations_in,
    through_engines,
    through_kernel,
    through_spec,
    verdict_on,
    when_ready,
    with_engines,
)
from replay.pieces import PartitionRows
from replay.plan import Plan
from replay.result_schema import LAG, Lag, lag_row, lag_table
from replay.state_file import Carried
from replay.tables import BEGINNINGS, events_of
from replay.verdict import PartitionVerdict, merged

_TRIED = 200
"""How many events tell which of several states is that of the recording."""

_AWAITED = 20_000
"""How many events the next state that is recorded may be away, to confirm that of the rules."""

_MOST_REPEATS = 500
"""How often one wrong delivery complete count is passed over before a share-partition stops."""

_UNTOLD = "no state after it explains what follows"
_TO_COME = "the next checkpoint or leader is still to come"

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


@attrs.frozen
class Course:
    """What is known of a share-partition so far.

    ``standing`` is by how much its recorded delivery complete count is wrong. ``lost`` says why
    the state is not known, while the next one that is told is looked for, and ``sought`` how many
    events were passed over meanwhile. ``room`` is how many rows were there behind the last row that
    diverged. ``left`` is where the next piece goes on, None if nowhere. The kernel hands out states
    after ``every`` so many rows; None: nothing follows.
    """

    divergences: tuple[Finding, ...] = ()
    operations: frozenset[str] = frozenset()
    passed_over: int = 0
    repeats: int = 0
    standing: int = 0
    stopped: str = ""
    lost: str = ""
    sought: int = 0
    room: int = sys.maxsize
    left: ReplayState | None = None
    every: int | None = None

    @property
    def needs_more(self) -> bool:
        """Return whether the rows after a divergence were too few to tell what was adopted."""
        return self.room < _AWAITED and not self.stopped


def begun_course(carried: Carried | None) -> Course:
    """Return the course of a share-partition that an earlier replay has left."""
    if carried is None or carried.divergence is None:
        return Course()
    lost = "" if carried.state and carried.state.state.ready else _TO_COME
    return Course((carried.divergence, *carried.more), lost=lost)


def found_again(rows: PartitionRows, course: Course) -> tuple[PartitionRows, Course]:
    """Return the rows from the next whole state on, where the state is not known.

    What lies before it cannot be checked. A leader tells its own in a checkpoint, and the next
    leader begins with what was durable.
    """
    if not course.lost or rows.start is None or rows.start.state is None:
        return rows, course
    following = _first(pc.is_in(rows.table.column("op"), pa.array(BEGINNINGS)))
    passed = rows.table.num_rows if following is None else following
    course = attrs.evolve(course, sought=course.sought + passed)
    if following is not None:
        over = course.passed_over + course.sought
        course = attrs.evolve(course, lost="", sought=0, passed_over=over)
    seqs, table = rows.table.column("seq"), rows.table.slice(passed)
    seq = seqs[passed - 1].as_py() + 1 if passed else rows.start.state.seq
    return _from(attrs.evolve(rows, table=table), attrs.evolve(rows.start.state, seq=seq)), course


def check_onward(
    rows: PartitionRows, kernel: KernelResult, plan: Plan, lag: Lag, course: Course
) -> tuple[PartitionVerdict, Course]:
    """Return the verdict on a piece of a share-partition, with the divergences after the first.

    The kernel has gone through it.
    """
    rest = rows
    parts: list[PartitionVerdict] = []
    while True:
        plan = attrs.evolve(plan, invariants_every=0) if course.divergences else plan
        stretch = _stretch(rest, kernel, plan, lag)
        course = _noted(course, stretch, parts)
        if stretch.finding is None or stretch.row is None:
            if kernel.states and not stretch.rows.problem:
                course = attrs.evolve(course, left=kernel.states[-1][1])
            break
        rest, course = _follow(course, stretch, plan, lag)
        if course.stopped or not rest.table.num_rows:
            if rest.start and not course.stopped and not stretch.rows.problem:
                course = attrs.evolve(course, left=rest.start.state)
            break
        rest, kernel = through_kernel(rest, plan, course.every)
    return _verdict(rows, course, parts, stretch), course


def _stretch(rows: PartitionRows, kernel: KernelResult, plan: Plan, lag: Lag) -> _Stretch:
    if kernel.divergence:
        return _diverging(rows, plan, kernel.divergence, lag)
    rows, row, finding = with_engines(rows, plan, lag, kernel)
    return _Stretch(rows, row, finding, None)


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
        read, bad, finding = through_spec(head, plan, when_ready(before))
        if finding or read.problem:
            bad, finding = agreed(divergence, bad, finding)
            return _Stretch(attrs.evolve(rows, problem=read.problem), bad, finding, None)
    here = attrs.evolve(rows, table=rows.table.slice(row, 1), problem=None)
    here = _from(here, before)
    read, bad, finding = through_engines(here, plan, plan.against)
    if read.problem:
        return _Stretch(attrs.evolve(rows, problem=read.problem), None, None, None)
    _, finding = agreed(divergence, None if bad is None else row, finding)
    return _Stretch(rows, row, finding, before)


def _from(rows: PartitionRows, state: ReplayState | None) -> PartitionRows:
    """Return rows that begin in a state."""
    if state is None:
        return attrs.evolve(rows, start=None)
    start = rows.start or Carried(rows.partition, state)
    return attrs.evolve(rows, start=attrs.evolve(start, state=state))


def _noted(course: Course, stretch: _Stretch, parts: list[PartitionVerdict]) -> Course:
    """Note a stretch, and its divergence unless it is one that is known."""
    rows, row, finding = stretch.rows, stretch.row, stretch.finding
    checked = rows.table.num_rows if row is None else row + 1
    parts.append(verdict_on(rows, checked, None))
    if finding is None and course.every is None:
        return course
    operations = course.operations | operations_in(rows.table.column("op")[:checked])
    after = attrs.evolve(course, operations=operations)
    if finding is None or row is None:
        return after
    after = attrs.evolve(after, room=rows.table.num_rows - checked)
    if course.standing and _excess(finding) == course.standing and not finding.changed:
        return attrs.evolve(after, repeats=course.repeats + 1)
    if finding.kind is FindingKind.DISAGREEMENT:
        finding = attrs.evolve(finding, seq=rows.table.column("seq")[row].as_py())
    told = divergence_at(rows, row, finding, course.operations)
    return attrs.evolve(after, divergences=(*course.divergences, told))


def _excess(finding: Finding) -> int | None:
    """Return by how much a delivery complete count is wrong, if that is what is wrong."""
    if finding.name not in _COUNTS:
        return None
    recorded, expected = (int(text.split()[-1]) for text in (finding.recorded, finding.expected))
    return recorded - expected


def _follow(
    course: Course, stretch: _Stretch, plan: Plan, lag: Lag
) -> tuple[PartitionRows, Course]:
    """Return the rows after a divergence in the state that is adopted, or from the next told on."""
    rows, row, finding = stretch.rows, stretch.row or 0, stretch.finding
    rest = attrs.evolve(rows, table=rows.table.slice(row + 1))
    if finding and (why := _ends(course, finding, plan)):
        return rest, attrs.evolve(course, stopped=why)
    (event,) = events_of(rows.table.slice(row, 1))
    states, untold = candidates(event, stretch.before, plan.rules)
    if plan.state_folder:  # How much follows is not known, so that nothing can be confirmed.
        states = states[:1] if isinstance(event.operation, Checkpoint) else []
    chosen = _chosen(states, rest, plan)
    if chosen is None:
        state = forgotten(stretch.before, event.seq + 1, plan.rules)
        lost = _TO_COME if plan.state_folder else untold or _UNTOLD
        return found_again(_from(rest, state), attrs.evolve(course, lost=lost))
    adopted = chosen.state.state
    standing = event.after.delivery_complete_count - complete(adopted)
    course = attrs.evolve(course, standing=standing)
    if lag.wanted:
        behind = adopted.log.end_offset - adopted.start_offset - complete(adopted)
        lag.add(table_from_rows([lag_row(event, adopted, behind)], LAG))
    return _from(rest, chosen.state), course


def _ends(course: Course, finding: Finding, plan: Plan) -> str:
    """Return why nothing behind a divergence is checked; empty if what follows can be."""
    if finding.kind in (FindingKind.INVARIANT, FindingKind.DISAGREEMENT):
        return f"{finding.name} is no fault of the recording alone"
    if len(course.divergences) >= plan.max_divergences:
        return f"it diverged {many(len(course.divergences), 'time')}"
    return "its delivery complete count stays wrong" if course.repeats > _MOST_REPEATS else ""


def _chosen(states: Sequence[Candidate], rest: PartitionRows, plan: Plan) -> Candidate | None:
    """Return the state from which the recording goes on longest, the first of several.

    One that is not the recorded one is used only where the next recorded one confirms it.
    """
    after = rest.table.column("after").slice(0, _AWAITED)
    confirmed = _first(pc.is_valid(pc.struct_field(after, "records")))
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


def _first(wanted: pa.ChunkedArray) -> int | None:
    """Return the first row that is wanted."""
    row = pc.index(wanted, True).as_py()
    return None if row < 0 else row


def _reach(state: ReplayState, rows: PartitionRows, plan: Plan) -> int:
    """Return how many rows conform from a state on."""
    return replay_partition(rows.table.select(SCHEMA.names), plan.rules, state).events


def _verdict(
    rows: PartitionRows, course: Course, parts: Sequence[PartitionVerdict], last: _Stretch
) -> PartitionVerdict:
    """Return the verdict on all stretches of a piece together, with all divergences so far."""
    if not course.divergences:
        return merged(parts, rows.events)
    first, *more = course.divergences
    whole = verdict_on(attrs.evolve(rows, problem=last.rows.problem), 0, first)
    verdict = merged([*parts, whole], whole.events)
    return attrs.evolve(verdict, more=tuple(more), repeats=course.repeats)


def reason_of(course: Course, missed: int) -> str:
    """Return why so many events of a share-partition were not checked."""
    reasons, after = [], missed - course.passed_over
    if course.passed_over:
        over = f"{course.passed_over:,} events up to the next checkpoint or leader"
        reasons.append(f"{over} are not checked")
    if after > 0 and (why := course.stopped or course.lost):
        reasons.append(f"{after:,} events after the last are not checked: {why}")
    return "; ".join(reasons)
