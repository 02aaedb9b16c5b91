"""A large share-partition in segments, which are checked side by side.

The kernel goes through it once and hands out its whole state every so many events. The engines then
take each segment from the state before it, and must end in the state after it.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import attrs
import pyarrow as pa

from impl.kernel import KernelDivergence, KernelResult
from model.whole_state import ReplayState
from replay.check import agreed, through_engines, verdict_at
from replay.pieces import PartitionRows
from replay.plan import Plan
from replay.verdict import PartitionVerdict, Verdict, merged


@attrs.frozen
class Segment:
    """Rows of a share-partition from ``first`` to ``end``, exclusive, and where the kernel stood.

    They are in a file of their own. ``divergence`` is the kernel's, of any segment. ``before`` and
    ``after`` are None at the beginning of the share-partition and where the kernel did not come to
    an end. ``all_or_none`` is the plan's.
    """

    partition: str
    number: int
    path: str
    first: int
    end: int
    before: ReplayState | None
    after: ReplayState | None
    divergence: KernelDivergence | None
    all_or_none: bool = False
    is_last: bool = False


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
    divergence = kernel.divergence
    if divergence:
        divergence = attrs.evolve(divergence, row=past + divergence.row)
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
            divergence,
            plan.all_or_none,
        )


def _write(rows: pa.Table, path: Path) -> str:
    """Write rows to a file, whole: a task may run twice, and each run writes the same."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.draft")
    with pa.OSFile(str(draft), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
        writer.write_table(rows)
    return str(draft.replace(path))


def ended(segments: Sequence[Segment]) -> Iterator[Segment]:
    """Yield the segments, each with what the kernel found, and whether it is the last."""
    for segment in segments:
        yield attrs.evolve(
            segment, divergence=segments[-1].divergence, is_last=segment is segments[-1]
        )


def check_segment(segment: Segment, plan: Plan) -> tuple[int, PartitionVerdict]:
    """Take the engines through a segment and return its number and the verdict on it."""
    with pa.memory_map(segment.path) as file:
        table = pa.ipc.open_file(file).read_all()
    rows = PartitionRows(segment.partition, table, table.num_rows, None)
    ends = segment.before, segment.after
    plan = attrs.evolve(plan, all_or_none=segment.all_or_none)
    rows, row, finding = through_engines(rows, plan, plan.against, None, ends)
    if finding or segment.is_last:
        divergence, end = segment.divergence, segment.first + rows.table.num_rows
        if rows.problem and divergence and divergence.row >= end:
            divergence = None
        place = None if row is None else segment.first + row
        place, finding = agreed(divergence, place, finding)
        row = None if place is None else place - segment.first
    return segment.number, verdict_at(rows, row, finding)


def joined(
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
    return attrs.evolve(merged(parts, whole.events, whole.problem), log=whole.log)
