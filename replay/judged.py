"""A batch of a stream, share-partition by share-partition, as workers judge it."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from replay.arrivals import ARRIVED, Arrival, Patience, Waiting, arrival, without
from replay.check_sorted import check_sorted
from replay.facts import CheckedPartition, InputFacts
from replay.gather import STORED
from replay.pieces import runs_of
from replay.plan import Plan, is_sampled
from replay.state_file import Carried, state_of_text, text_of_state
from replay.verdict import PartitionVerdict, Problem, Verdict

MAX_PROBLEMS = 20
"""How many problems of a share-partition are described in a batch; all are counted."""

_NONE = ARRIVED.empty_table()


@attrs.frozen
class Counts:
    """What became of events; ``gaps`` are places where some are missing, and checking went on.

    ``late`` were checked before or follow a later leader, ``twice`` are the same as another,
    ``passed`` lie behind a divergence or what is missing, or are not in the sample. ``unreadable``
    are lines and rows that hold no event.
    """

    checked: int = 0
    late: int = 0
    twice: int = 0
    passed: int = 0
    unreadable: int = 0
    gaps: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        """Return the sum of both."""
        return Counts(*(getattr(self, name) + getattr(other, name) for name in NUMBERS))


NUMBERS = tuple(field.name for field in attrs.fields(Counts))


@attrs.frozen
class Before:
    """Where the batch before left a share-partition, and how long it has waited."""

    carried: Carried | None = None
    waiting: Waiting = attrs.field(factory=Waiting)


@attrs.frozen
class Judged:
    """What a batch brought of a share-partition; ``left`` is None where it stays as it was."""

    partition: str
    counts: Counts
    left: Carried | None = None
    waiting: Waiting = attrs.field(factory=Waiting)
    held: pa.Table = _NONE
    problems: tuple[Problem, ...] = ()


JUDGED = pa.schema(
    [
        *((name, pa.int64()) for name in NUMBERS),
        ("partition", pa.string()),
        ("left", pa.string()),
        ("batches", pa.int64()),
        ("stopped", pa.string()),
        ("held", pa.binary()),
        ("problems", pa.string()),
    ]
)
"""The columns in which workers hand over what they judged."""


def judge(name: str, rows: pa.Table, before: Before, plan: Plan, patience: Patience) -> Judged:
    """Check what came of a share-partition, with what waited, as far as nothing is missing."""
    total, carried = rows.num_rows, before.carried
    if (carried and carried.divergence) or not is_sampled(name, plan.sample):
        return Judged(name, Counts(passed=total))
    came = arrival(rows, carried, before.waiting, patience)
    came, verdict, left = _checked(name, came, carried, plan)
    lost = came.late + came.twice + came.passed + came.ready.num_rows + came.held.num_rows
    counts = Counts(0, came.late, came.twice, came.passed, total - lost)
    waiting, held, problems = came.waiting, came.held, came.problems
    if verdict:
        passed = counts.passed + verdict.events - verdict.checked
        counts = attrs.evolve(counts, checked=verdict.checked, passed=passed, gaps=verdict.gaps)
        if verdict.verdict is Verdict.UNKNOWN:
            waiting = Waiting(0, verdict.reason)
            problems = (*problems, Problem(*_place(came.ready), verdict.reason, name))
        if verdict.verdict is not Verdict.CONFORMS:
            counts = attrs.evolve(counts, passed=counts.passed + held.num_rows)
            waiting, held = (waiting if waiting.stopped else Waiting()), _NONE
    return Judged(name, counts, left, waiting, held, problems)


def _checked(
    name: str, came: Arrival, carried: Carried | None, plan: Plan
) -> tuple[Arrival, PartitionVerdict | None, Carried | None]:
    """Check the rows that are ready; one that turns out to hold no event ends them.

    A leader's last events may still come when the next leader's do, so each change is a gap.
    """
    while came.ready.num_rows:
        table = came.ready.select(STORED.names)
        unfinished = frozenset(table.column("source").unique().to_pylist())
        facts = InputFacts(unfinished=unfinished, carried={name: carried} if carried else {})
        for checked in check_sorted([table], plan, facts):
            if not isinstance(checked, CheckedPartition):
                continue
            verdict = checked.verdict
            if verdict.divergence:
                left = Carried(name, None, verdict.log, divergence=verdict.divergence)
                return came, verdict, left
            if verdict.problem is None:
                return came, verdict, checked.left
            row = _row_at(table, verdict.problem, verdict.checked)
            came = without(came, row, verdict.problem.message)
    return came, None, None


def _row_at(table: pa.Table, problem: Problem, first: int) -> int:
    """Return the row of a problem, which is none of the first so many."""
    values = {"source": problem.source, "line": problem.line}
    here = pc.and_(*(pc.equal(table.column(name), value) for name, value in values.items()))
    return first + int(here.to_numpy()[first:].argmax())


def _place(rows: pa.Table) -> tuple[str, int | None]:
    return rows.column("source")[0].as_py(), rows.column("line")[0].as_py()


def judge_nameless(rows: pa.Table) -> Judged:
    """Return that rows that name no share-partition are unreadable."""
    columns = (rows.column(name).to_pylist() for name in ("source", "line", "unreadable"))
    problems = tuple(
        Problem(source or "", line, text or "partition is None; allowed: a value")
        for source, line, text in zip(*columns, strict=True)
    )
    return Judged("", Counts(unreadable=rows.num_rows), problems=problems)


def judge_batches(
    plan: Plan,
    patience: Patience,
    before: Mapping[str, Before],
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Yield what is judged of share-partitions whose rows follow each other."""
    for name, rows in partitions(batches):
        if not name:
            yield _row(judge_nameless(rows))
        else:
            yield _row(judge(name, rows, before.get(name, Before()), plan, patience))


def partitions(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str | None, pa.Table]]:
    """Yield each share-partition with its rows, however they lie in batches."""
    held: list[pa.Table] = []
    name: str | None = None
    for batch in batches:
        table = pa.Table.from_batches([batch]).cast(ARRIVED)
        for start, end in runs_of(table.column("partition")):
            here = table.column("partition")[start].as_py()
            if held and here != name:
                yield name, pa.concat_tables(held).combine_chunks()
                held = []
            name = here
            held.append(table.slice(start, end - start))
    if held:
        yield name, pa.concat_tables(held).combine_chunks()


def _row(judged: Judged) -> pa.RecordBatch:
    problems = [[each.source, each.line, each.message] for each in judged.problems[:MAX_PROBLEMS]]
    row = {
        **attrs.asdict(judged.counts),
        "partition": judged.partition,
        "left": text_of_state(judged.left) if judged.left else None,
        "batches": judged.waiting.batches,
        "stopped": judged.waiting.stopped,
        "held": packed(judged.held) if judged.held.num_rows else None,
        "problems": json.dumps(problems),
    }
    return pa.RecordBatch.from_pylist([row], schema=JUDGED)


def judged_of(row: Mapping[str, Any]) -> Judged:
    """Return what a worker handed over."""
    name = row["partition"]
    return Judged(
        name,
        Counts(*(row[number] for number in NUMBERS)),
        state_of_text(row["left"]) if row["left"] else None,
        Waiting(row["batches"], row["stopped"]),
        unpacked(bytes(row["held"])) if row["held"] else _NONE,
        tuple(Problem(s, n, text, name or None) for s, n, text in json.loads(row["problems"])),
    )


def packed(table: pa.Table) -> bytes:
    """Return a table as the bytes of an Arrow file."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def unpacked(data: bytes) -> pa.Table:
    """Return the table of the bytes of an Arrow file."""
    return pa.ipc.open_file(pa.BufferReader(data)).read_all()
