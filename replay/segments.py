"""A large share-partition in segments, which are checked side by side.

The kernel goes through it once and hands out its whole state every so many events. The engines then
take each segment from the state before it, and must end in the state after it.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import attrs
import pyarrow as pa

from impl.kernel import KernelDivergence, KernelResult
from model.whole_state import ReplayState
from replay.check import (
    agreed,
    divergence_at,
    through_engines,
    through_kernel,
    unchecked,
    verdict_on,
    with_engines,
)
from replay.lag_file import LagFile, LagRows, lag_table
from replay.load import BucketTask, OrderedTask, PartitionRows, loaded
from replay.onward import check_onward, goes_on
from replay.pieces import Pieces, long_ones
from replay.piecewise import Check, checked, in_place, left_by, merged
from replay.plan import Plan
from replay.state_file import Carried
from replay.survey import PartitionRun
from replay.verdict import PartitionVerdict, Verdict


@attrs.frozen
class Segment:
    """Rows of a share-partition from ``first`` to ``end``, exclusive, and where the kernel stood.

    ``source`` is where they are: among those of a task on a file of the user, or in a file of their
    own. ``divergence`` is the kernel's, of any segment. ``before`` and ``after`` are None at the
    beginning of the share-partition and where the kernel did not come to an end.
    """

    partition: str
    number: int
    source: OrderedTask | str
    first: int
    end: int
    before: ReplayState | None
    after: ReplayState | None
    divergence: KernelDivergence | None
    is_last: bool = False


@attrs.frozen
class Segmented:
    """A share-partition in segments, and the verdict on it if all of them conform.

    Without segments it has been checked. ``left`` is where a later replay goes on if it conforms.
    """

    verdict: PartitionVerdict
    segments: tuple[Segment, ...]
    left: Carried | None = None


@attrs.frozen
class SegmentVerdict:
    """The verdict on one segment of a share-partition."""

    partition: str
    number: int
    verdict: PartitionVerdict


def run_task(
    task: BucketTask | OrderedTask, plan: Plan, large: Mapping[str, int]
) -> Iterator[PartitionVerdict | Segmented]:
    """Yield the verdict on each share-partition of a task, and those that are large in segments.

    ``large`` says after how many events a share-partition is cut.
    """
    lag_file = LagFile(plan.lag_folder, task.number, plan.labels)
    unfinished = task.unfinished if isinstance(task, BucketTask) else frozenset()
    # Without the kernel nobody can say where a piece ends.
    most = plan.piece_events if "impl" in plan.against else None
    rest, long = long_ones(task, most, frozenset(large))
    for rows in loaded(rest):
        if plan.state_folder:
            yield check_and_keep(rows, plan, lag_file, unfinished)
        else:
            yield check_onward(rows, plan, lag_file)
    for pieces in long:
        yield cut_up(pieces, plan, lag_file, large.get(pieces.partition), task)
    lag_file.close()


def check_and_keep(
    rows: PartitionRows, plan: Plan, lag_file: LagRows, unfinished: frozenset[str]
) -> PartitionVerdict | Segmented:
    """Return the verdict on a share-partition in one piece, with where the kernel left it."""
    if verdict := unchecked(rows):
        return verdict
    rows, kernel = through_kernel(rows, plan, rows.table.num_rows)
    verdict = with_engines(rows, plan, lag_file, kernel)
    return Segmented(verdict, (), left_by(rows, kernel, verdict, unfinished))


def cut_up(
    pieces: Pieces, plan: Plan, lag_file: LagRows, every: int | None, task: BucketTask | OrderedTask
) -> Segmented:
    """Check a share-partition piece by piece, or take the kernel alone through it.

    The second with ``every``: then the result has segments of so many events to check.
    """
    if not goes_on(plan, pieces.events or 0):
        plan = attrs.evolve(plan, max_divergences=1)
    check = only_kernel(plan, lag_file) if every else in_place(plan, lag_file)
    verdicts: list[PartitionVerdict] = []
    segments: list[Segment] = []
    left = task.carried.get(pieces.partition)
    for piece in checked(pieces, plan, left, check, every):
        if piece.kernel and every and not piece.verdict.divergence:
            segments += _segments(piece.rows, piece.kernel, task, segments)
        verdicts.append(piece.verdict)
        left = piece.left
    verdict = merged(verdicts, pieces.events or 0, pieces.bad)
    kept = left if plan.state_folder and verdict.problem is None else None
    return Segmented(verdict, tuple(_ended(segments)), kept)


def only_kernel(plan: Plan, lag_file: LagRows) -> Check:
    """Return a check by the kernel alone, after which the engines take the segments.

    Rows that diverge are checked whole where that goes on behind the divergence.
    """

    def check(rows: PartitionRows, kernel: KernelResult) -> PartitionVerdict:
        if kernel.divergence and goes_on(plan, rows.events):
            return check_onward(rows, plan, lag_file)
        if lag_file.wanted:
            lag_file.write(lag_table(rows.partition, rows.table, kernel))
        return verdict_on(rows, rows.table.num_rows, None)

    return check


def _segments(
    rows: PartitionRows,
    kernel: KernelResult,
    task: BucketTask | OrderedTask,
    earlier: Sequence[Segment],
) -> Iterator[Segment]:
    """Yield the segments of a piece, which follow the earlier ones."""
    total, past = rows.table.num_rows, earlier[-1].end if earlier else 0
    start = rows.start.state if rows.start else None
    states: list[tuple[int, ReplayState | None]] = [(0, start)]
    states += [(row, state) for row, state in kernel.states if row < total]
    ends = {row: state for row, state in kernel.states if state.state.ready}
    bounds = [*(row for row, _ in states[1:]), total]
    divergence = kernel.divergence
    if divergence:
        divergence = attrs.evolve(divergence, row=past + divergence.row)
    for number, ((first, before), end) in enumerate(zip(states, bounds, strict=True), len(earlier)):
        yield Segment(
            rows.partition,
            number,
            _source(rows, task, number, first, end),
            past + first,
            past + end,
            before,
            ends.get(end),
            divergence,
        )


def _ended(segments: Sequence[Segment]) -> Iterator[Segment]:
    """Yield the segments, each with what the kernel found, and whether it is the last."""
    for segment in segments:
        yield attrs.evolve(
            segment, divergence=segments[-1].divergence, is_last=segment is segments[-1]
        )


def _source(
    rows: PartitionRows, task: BucketTask | OrderedTask, number: int, first: int, end: int
) -> OrderedTask | str:
    """Return where a worker reads the rows; gathered ones are not by themselves anywhere yet."""
    if isinstance(task, OrderedTask) and rows.first_row is not None:
        run = PartitionRun(rows.partition, rows.first_row + first, end - first)
        return attrs.evolve(task, runs=(run,), carried={})
    if not isinstance(task, BucketTask):
        raise TypeError(task)
    parts = Path(task.parts[0].path)
    # A task may run twice, and each run writes the same.
    name = f"segment-{task.number}-{sorted(task.chosen).index(rows.partition)}-{number}.arrow"
    draft = parts.with_name(f"{name}.draft")
    with pa.OSFile(str(draft), "wb") as file, pa.ipc.new_file(file, rows.table.schema) as writer:
        writer.write_table(rows.table.slice(first, end - first))
    return str(draft.replace(parts.with_name(name)))


def check_segment(segment: Segment, plan: Plan) -> SegmentVerdict:
    """Take the engines through a segment and return the verdict on it."""
    rows = _rows(segment)
    ends = segment.before, segment.after
    rows, row, finding = through_engines(rows, plan, plan.against, None, ends)
    if finding or segment.is_last:
        divergence, end = segment.divergence, segment.first + rows.table.num_rows
        if rows.problem and divergence and divergence.row >= end:
            divergence = None
        place = None if row is None else segment.first + row
        place, finding = agreed(divergence, place, finding)
        row = None if place is None else place - segment.first
    checked = rows.table.num_rows if row is None else row + 1
    divergence_ = divergence_at(rows, row or 0, finding) if finding else None
    verdict = verdict_on(rows, checked, divergence_)
    return SegmentVerdict(segment.partition, segment.number, verdict)


def _rows(segment: Segment) -> PartitionRows:
    if isinstance(segment.source, OrderedTask):
        (rows,) = loaded(segment.source)
        return rows
    with pa.memory_map(segment.source) as file:
        table = pa.ipc.open_file(file).read_all()
    return PartitionRows(segment.partition, table, table.num_rows, None)


def joined(segmented: Segmented, verdicts: Sequence[SegmentVerdict]) -> PartitionVerdict | None:
    """Return the verdict on a share-partition from those on its segments.

    None if one before the first that does not conform is missing.
    """
    if not segmented.segments:
        return segmented.verdict
    result = attrs.evolve(segmented.verdict, checked=0, gaps=0, lost=0, latest_ms=None)
    parts = {each.number: each.verdict for each in verdicts}
    for number in range(len(segmented.segments)):
        part = parts.get(number)
        if part is None:
            return None
        latest = [ms for ms in (result.latest_ms, part.latest_ms) if ms is not None]
        result = attrs.evolve(
            result,
            checked=result.checked + part.checked,
            gaps=result.gaps + part.gaps,
            lost=result.lost + part.lost,
            latest_ms=max(latest, default=None),
        )
        if part.verdict is not Verdict.CONFORMS:
            return attrs.evolve(
                result,
                verdict=part.verdict,
                divergence=part.divergence,
                problem=part.problem or result.problem,
            )
    return result
