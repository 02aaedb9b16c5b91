"""A share-partition checked piece by piece: each begins where the kernel stood after the last.

The kernel hands out its whole state after a piece. The engines take the piece from the state before
it and must end in the state after it; so by induction they answer as over the whole.
"""

from collections.abc import Callable, Iterator, Sequence

import attrs

from impl.kernel import KernelResult
from replay.check import operations_in, through_kernel, unchecked, with_engines
from replay.lag_file import LagRows
from replay.load import PartitionRows
from replay.pieces import Pieces, begun, joined, with_last
from replay.plan import Plan
from replay.state_file import Carried
from replay.verdict import PartitionVerdict, Problem, Verdict

Check = Callable[[PartitionRows, KernelResult], PartitionVerdict]
"""Gives the verdict on rows that the kernel has gone through."""


@attrs.frozen
class Piece:
    """A piece that was checked; ``left`` is where the next goes on, None if none does.

    ``kernel`` is None if the kernel had nothing to go through.
    """

    rows: PartitionRows
    kernel: KernelResult | None
    verdict: PartitionVerdict
    left: Carried | None


def checked(
    pieces: Pieces, plan: Plan, start: Carried | None, check: Check, every: int | None = None
) -> Iterator[Piece]:
    """Yield each piece up to the first that does not conform.

    ``start`` is where an earlier replay left the share-partition; ``every`` asks the kernel for its
    state after so many events. A piece that ends where no leader is known is joined with the next:
    the state then is not whole.
    """
    left, held = start, None
    operations: frozenset[str] = frozenset()
    for piece, is_last in with_last(pieces.rows()):
        held = joined(held, piece) if held else piece
        rows = begun(held, left, pieces.unfinished)
        if verdict := unchecked(rows):
            yield Piece(rows, None, verdict, None)
            return
        rows, kernel = through_kernel(rows, plan, every or rows.table.num_rows)
        if not (is_last or _stopped(rows, kernel) or kernel.states[-1][1].state.ready):
            continue
        verdict = _after(check(rows, kernel), operations)
        operations |= operations_in(rows.table)
        left = left_by(rows, kernel, verdict, pieces.unfinished)
        yield Piece(rows, kernel, verdict, left)
        if left is None or verdict.verdict is not Verdict.CONFORMS:
            return
        held = None


def _after(verdict: PartitionVerdict, operations: frozenset[str]) -> PartitionVerdict:
    """Return a verdict whose divergence comes after these operations, too."""
    divergence = verdict.divergence
    if divergence is None:
        return verdict
    earlier = tuple(sorted(operations.union(divergence.operations_before)))
    return attrs.evolve(verdict, divergence=attrs.evolve(divergence, operations_before=earlier))


def in_place(plan: Plan, lag_file: LagRows) -> Check:
    """Return a check that takes the engines through a piece here and now."""

    def check(rows: PartitionRows, kernel: KernelResult) -> PartitionVerdict:
        after = None
        if not _stopped(rows, kernel) and kernel.states[-1][1].state.ready:
            after = kernel.states[-1][1]
        return with_engines(rows, plan, lag_file, kernel, after)

    return check


def left_by(
    rows: PartitionRows,
    kernel: KernelResult,
    verdict: PartitionVerdict,
    unfinished: frozenset[str],
) -> Carried | None:
    """Return where the kernel left a share-partition; None if it did not come to the end."""
    if _stopped(rows, kernel):
        return None
    last = rows.table.num_rows - 1
    epoch, instance = (rows.table.column(n)[last].as_py() for n in ("leader_epoch", "instance"))
    state, is_open = kernel.states[-1][1], rows.place(last)[0] in unfinished
    return Carried(rows.partition, state, verdict.log, epoch, instance, is_open)


def merged(
    verdicts: Sequence[PartitionVerdict], events: int, bad: Problem | None = None
) -> PartitionVerdict:
    """Return the verdict on a share-partition with so many rows from those on its pieces.

    Gaps may be among the rows, and are no events. ``bad`` is a line of it that could not be read,
    in whatever piece.
    """
    last, gaps = verdicts[-1], sum(each.gaps for each in verdicts)
    unread = bad and last.verdict is Verdict.CONFORMS
    return attrs.evolve(
        last,
        verdict=Verdict.UNREADABLE if unread else last.verdict,
        problem=bad or last.problem,
        events=max(events - gaps, sum(each.events for each in verdicts)),
        checked=sum(each.checked for each in verdicts),
        gaps=gaps,
        lost=sum(each.lost for each in verdicts),
        latest_ms=max((v.latest_ms for v in verdicts if v.latest_ms is not None), default=None),
    )


def _stopped(rows: PartitionRows, kernel: KernelResult) -> bool:
    return bool(kernel.divergence or kernel.unreadable or rows.problem)
