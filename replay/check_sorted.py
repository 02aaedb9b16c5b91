"""The whole check of share-partitions whose rows are sorted: of files, addresses, tables, streams.

A long share-partition is checked piece by piece: each begins where the kernel stood after the last.
The kernel hands out its whole state after a piece. The engines take the piece from the state before
it and must end in the state after it; so by induction they answer as over the whole.

One that would keep a worker busy alone is checked in segments, side by side: the kernel goes
through it once and hands out its state every so many events. To the engines each is a piece.
"""

import hashlib
import itertools
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

import attrs
import pyarrow as pa

from impl.kernel import KernelResult
from model.whole_state import ReplayState
from replay.check import (
    agreed,
    end_of,
    is_stopped,
    operations_in,
    standing_of,
    tells_no_log,
    through_kernel,
    through_spec,
    unchecked,
    verdict_at,
    verdict_on,
)
from replay.onward import Course, begun_course, check_onward, found_again, reason_of
from replay.pieces import (
    PartitionRows,
    begun,
    each_once,
    joined,
    partitions,
    with_last,
    without_bad_rows,
)
from replay.plan import CheckedPartition, InputFacts, Plan, is_sampled
from replay.result_schema import Lag, lag_file, lag_table
from replay.state_file import Carried, of_each_kind
from replay.tasks import CheckTask, each_partition
from replay.verdict import (
    NOT_SAMPLED,
    LogKnowledge,
    PartitionVerdict,
    Problem,
    Verdict,
    merged,
    not_checked,
)
from report.scratch import whole_file


@attrs.frozen
class Segment:
    """Rows of a share-partition from ``first`` to ``end``, exclusive, and where the kernel stood.

    They are in a file of their own. ``before`` and ``after`` are None at the beginning of the
    share-partition and where the kernel did not come to an end. ``plan`` is by the rules that the
    leader was found to follow.
    """

    partition: str
    number: int
    path: str
    first: int
    end: int
    before: ReplayState | None
    after: ReplayState | None
    plan: Plan


def check_task(task: CheckTask, plan: Plan) -> Iterator[CheckedPartition]:
    """Check the share-partitions of a task, and write the lag after each event if it is wanted.

    What cannot be read is unreadable, and nothing else.
    """
    lag = lag_file(plan.lag_folder, task.number, plan.labels) if plan.lag_folder else None

    def check(tables: Iterable[pa.Table]) -> Iterator[tuple[str, CheckedPartition]]:
        for each in check_sorted(tables, plan, task.facts, lag=lag is not None):
            if isinstance(each, CheckedPartition):
                yield each.verdict.partition, each
            elif write:
                write(each)

    def unread(name: str, events: int, problem: Problem) -> CheckedPartition:
        return CheckedPartition(not_checked(name, events, "", problem))

    with lag or nullcontext() as write:
        yield from each_partition(task, plan.piece_events, check, unread)


def check_sorted(
    tables: Iterable[pa.Table], plan: Plan, facts: InputFacts | None = None, *, lag: bool = False
) -> Iterator[CheckedPartition | pa.Table]:
    """Check share-partitions that come one after another, each in order.

    The tables have the columns of a trace and where each row was read. With ``lag`` the lag after
    each event is yielded too, in tables, before the share-partition.
    """
    facts = facts or InputFacts()
    for name, pieces in partitions(tables, plan.piece_events):
        if name in facts.unusable:
            continue
        if is_sampled(name, plan.sample):
            yield from _check_one(name, pieces, plan, facts, Lag(lag))
        else:
            events = sum(piece.events for piece in pieces)
            yield CheckedPartition(not_checked(name, events, NOT_SAMPLED, facts.bad.get(name)))


def _check_one(
    name: str, pieces: Iterator[PartitionRows], plan: Plan, facts: InputFacts, lag: Lag
) -> Iterator[CheckedPartition | pa.Table]:
    """Check a share-partition as far as it can be, and read the rest."""
    read: list[int] = []
    beside: list[int] = []
    ahead: list[PartitionRows] = []

    def counted() -> Iterator[PartitionRows]:
        for piece in pieces:
            once = each_once(piece)
            read.append(piece.events)
            beside.append(piece.events - once.events)
            ahead[:] = [once]
            yield once

    rows = counted()
    verdicts: list[PartitionVerdict] = []
    course, last = Course(), CheckedPartition(not_checked(name, 0, "", None))
    checked = _check_pieces(rows, plan, facts, lag, facts.carried.get(name))
    for last, course in checked:  # noqa: B007 - read behind the loop
        yield from lag.taken()
        verdicts.append(last.verdict)
    is_whole = last.verdict.verdict is Verdict.CONFORMS
    unread, log = _behind(last.verdict, rows if is_whole else itertools.chain(ahead, rows))
    events = max(sum(read), facts.events.get(name, 0)) - sum(beside)
    verdict = merged(verdicts, events, facts.bad.get(name) or unread)
    reason = verdict.reason or reason_of(course, events - verdict.checked)
    verdict = attrs.evolve(verdict, log=log, reason=reason)
    yield attrs.evolve(last, verdict=verdict, left=last.left if plan.state_folder else None)


def _behind(
    last: PartitionVerdict, pieces: Iterable[PartitionRows]
) -> tuple[Problem | None, LogKnowledge]:
    """Return the first problem, and what is told of the log, also by pieces that are not checked.

    ``last`` is the verdict on the last piece that is.
    """
    unread, log = last.problem, last.log
    for piece in map(without_bad_rows, pieces):
        if unread is None and tells_no_log(piece):
            log = LogKnowledge.NOTHING
        unread = unread or piece.problem
    return unread, log


def _check_pieces(
    pieces: Iterable[PartitionRows], plan: Plan, facts: InputFacts, lag: Lag, left: Carried | None
) -> Iterator[tuple[CheckedPartition, Course]]:
    """Yield what came of each piece up to the first behind which nothing can be checked.

    ``left`` is where the next goes on, ``segments`` are those so far.

    A piece that ends where no leader is known is joined with the next: the state then is not whole.
    So is one that ends too soon after a divergence.
    """
    held, course = None, begun_course(left)
    segments: list[Segment] = []
    for piece, is_last in with_last(pieces):
        held = joined(held, piece) if held else piece
        rows = begun(held, left, facts.unfinished, facts.pauses)
        if verdict := unchecked(rows):
            yield CheckedPartition(verdict, None, tuple(segments)), course
            return
        read, (rows, after) = rows, found_again(rows, course)
        every, is_kept = facts.large.get(rows.partition), bool(plan.state_folder) or not is_last
        states = every or (rows.table.num_rows if is_kept else None)
        plan, rows, kernel = _through_kernel(rows, plan, states)
        is_done = after.lost or is_stopped(rows, kernel) or end_of(rows, kernel)
        if not (is_last or is_done):
            continue
        if every and not (kernel.divergence or after.divergences):
            if lag.wanted:
                lag.add(lag_table(rows.partition, rows.table, kernel))
            verdict = verdict_on(rows, rows.table.num_rows, None)
            segments += segments_of(rows, kernel, facts.folder, segments, plan)
            told = after.operations | operations_in(rows.table.column("op"))
            after = attrs.evolve(after, operations=told)
        else:
            after = attrs.evolve(after, every=states, room=sys.maxsize, left=None)
            verdict, after = check_onward(rows, kernel, plan, lag, after)
            if after.needs_more and not (is_last or plan.state_folder):
                lag.taken()
                continue
        course = after
        state = course.left if course.divergences else standing_of(rows, kernel)
        left = _left(read, state, verdict, facts.unfinished) if state else None
        yield CheckedPartition(verdict, left, tuple(segments)), course
        if left is None:
            return
        held = None


def _through_kernel(
    rows: PartitionRows, plan: Plan, every: int | None
) -> tuple[Plan, PartitionRows, KernelResult]:
    """Take the kernel through a piece; if it diverges, also as if a refused request renews nothing.

    Of the two a share-partition does one throughout: the plan has which.
    """
    cut, kernel = through_kernel(rows, plan, every)
    if kernel.divergence and plan.rules.all_or_none:
        strict = attrs.evolve(plan, all_or_none=True)
        again, other = through_kernel(rows, strict, every)
        if other.divergence is None:
            return strict, again, other
    return plan, cut, kernel


def _left(
    rows: PartitionRows, state: ReplayState, verdict: PartitionVerdict, unfinished: frozenset[str]
) -> Carried:
    """Return where rows leave a share-partition whose state behind them is this."""
    last = rows.table.num_rows - 1
    epoch, instance = (rows.table.column(n)[last].as_py() for n in ("leader_epoch", "instance"))
    is_open = rows.place(last)[0] in unfinished
    first, *more = of_each_kind(verdict.divergences) or (None,)
    log = verdict.log
    return Carried(rows.partition, state, log, epoch, instance, is_open, first, tuple(more))


def segments_of(
    rows: PartitionRows, kernel: KernelResult, folder: str, earlier: Sequence[Segment], plan: Plan
) -> Iterator[Segment]:
    """Yield the segments of a piece, which follow the earlier ones; a folder gets their rows."""
    total, past = rows.table.num_rows, earlier[-1].end if earlier else 0
    start = rows.start.state if rows.start else None
    states: list[tuple[int, ReplayState | None]] = [(0, start)]
    states += [(row, state) for row, state in kernel.states if row < total]
    ends = {row: state for row, state in kernel.states if state.state.ready}
    bounds = [*(row for row, _ in states[1:]), total]
    name = hashlib.sha256(rows.partition.encode()).hexdigest()
    for number, ((first, before), end) in enumerate(zip(states, bounds, strict=True), len(earlier)):
        yield Segment(
            rows.partition,
            number,
            _write(rows.table.slice(first, end - first), Path(folder) / f"{name}-{number}.arrow"),
            past + first,
            past + end,
            before,
            ends.get(end),
            plan,
        )


def _write(rows: pa.Table, path: Path) -> str:
    """Write rows to a file, whole: a task may run twice, and each run writes the same."""
    with (
        whole_file(path) as draft,
        pa.OSFile(str(draft), "wb") as file,
        pa.ipc.new_file(file, rows.schema) as writer,
    ):
        writer.write_table(rows)
    return str(path)


def check_segment(segment: Segment) -> tuple[int, PartitionVerdict]:
    """Take the engines through a segment and return its number and the verdict on it."""
    with pa.memory_map(segment.path) as file:
        table = pa.ipc.open_file(file).read_all()
    start = Carried(segment.partition, segment.before) if segment.before else None
    rows = PartitionRows(segment.partition, table, table.num_rows, None, start)
    rows, row, finding = through_spec(rows, segment.plan, segment.after)
    if finding and row is not None:
        _, finding = agreed(None, segment.first + row, finding)
    return segment.number, verdict_at(rows, row, finding)


def joined_segments(
    whole: PartitionVerdict, segments: int, verdicts: Mapping[int, PartitionVerdict]
) -> PartitionVerdict | None:
    """Return the verdict on a share-partition from those on its segments, by their numbers.

    ``whole`` is that if all of them conform. None if one before the first that does not is missing.
    """
    parts: list[PartitionVerdict] = []
    for number in range(segments):
        if number not in verdicts:
            return None
        parts.append(verdicts[number])
        if parts[-1].verdict is not Verdict.CONFORMS:
            break
    else:
        if whole.divergence:  # Behind the segments; what is before it was counted with it.
            return whole
    return attrs.evolve(merged(parts, whole.events, whole.problem), log=whole.log)
