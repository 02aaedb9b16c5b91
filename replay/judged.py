"""A batch of a stream, share-partition by share-partition, as workers judge it.

Events come late, twice, or not all yet.
"""

import itertools
import pickle
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from judge.finding import Finding
from replay.check_sorted import check_sorted
from replay.gather import STORED
from replay.pieces import parts_of
from replay.plan import CheckedPartition, InputFacts, Plan, is_sampled
from replay.state_file import Carried
from replay.tables import BadRow, Rows, first_bad_row, places_of, repeated, without_copies
from replay.verdict import PartitionVerdict, Problem, Verdict

ARRIVED = pa.schema([*STORED, ("unreadable", pa.string()), ("arrived_ms", pa.int64())])
"""The columns of a stream: an event and its place, why a row holds none, and when it came."""


@attrs.frozen
class Patience:
    """How long events wait for those that are missing before them: batches, and how many wait."""

    batches: int = 3
    events: int = 10_000


@attrs.frozen
class Waiting:
    """For how many batches a share-partition has waited for the same events.

    ``stopped`` says why it waits no longer: then nothing is checked until they come.
    """

    batches: int = 0
    stopped: str = ""


@attrs.frozen
class Arrival:
    """What came, sorted: rows to check now, in order, and those that wait.

    ``late`` were checked before, or follow a later leader; ``twice`` are the same as another;
    ``passed`` lie behind events that are missing, and are not checked.
    """

    ready: pa.Table
    held: pa.Table
    waiting: Waiting = attrs.field(factory=Waiting)
    late: int = 0
    twice: int = 0
    passed: int = 0
    problems: tuple[Problem, ...] = ()


MAX_PROBLEMS = 20
"""How many problems of a share-partition are described in a batch; all are counted."""

_NONE = ARRIVED.empty_table()


@attrs.frozen
class Counts:
    """What became of events; ``gaps`` are places where some are missing, and checking went on.

    ``late`` were checked before or follow a later leader, ``twice`` are the same as another,
    ``passed`` lie behind a divergence or what is missing, or are not in the sample. ``unreadable``
    are lines and rows that hold no event. ``believed`` were checked and follow a gap.
    """

    checked: int = 0
    late: int = 0
    twice: int = 0
    passed: int = 0
    unreadable: int = 0
    gaps: int = 0
    believed: int = 0

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
    alarms: tuple[Finding, ...] = ()


JUDGED = pa.schema([("judged", pa.binary())])
"""The column in which workers hand over what they judged."""


def judge(name: str, rows: pa.Table, before: Before, plan: Plan, patience: Patience) -> Judged:
    """Check what came of a share-partition, with what waited, as far as nothing is missing."""
    total, carried = rows.num_rows, before.carried
    if (carried and carried.state is None) or not is_sampled(name, plan.sample):
        return Judged(name, Counts(passed=total))
    came = arrival(rows, carried, before.waiting, patience)
    came, verdict, left = _checked(name, came, carried, plan)
    lost = came.late + came.twice + came.passed + came.ready.num_rows + came.held.num_rows
    counts = Counts(0, came.late, came.twice, came.passed, total - lost)
    waiting, held, problems = came.waiting, came.held, came.problems
    if verdict:
        passed = counts.passed + verdict.events - verdict.checked
        numbers = {name: getattr(verdict, name) for name in ("checked", "gaps", "believed")}
        counts = attrs.evolve(counts, passed=passed, **numbers)
        if verdict.verdict is Verdict.UNKNOWN:
            waiting = Waiting(0, verdict.reason)
            problems = (*problems, Problem(*_place(came.ready), verdict.reason, name))
        if verdict.verdict is not Verdict.CONFORMS and not (left and left.state):
            counts = attrs.evolve(counts, passed=counts.passed + held.num_rows)
            waiting, held = (waiting if waiting.stopped else Waiting()), _NONE
    told = len(carried.divergences) if carried else 0
    alarms = verdict.divergences[told:] if verdict else ()
    return Judged(name, counts, left, waiting, held, problems, alarms)


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
            verdict, left = checked.verdict, checked.left
            if verdict.problem is None:
                if left is None and verdict.divergence:
                    left = Carried(name, None, verdict.log, divergence=verdict.divergence)
                return came, verdict, left
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
    plan: Plan, patience: Patience, before: Mapping[str, Before], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield what is judged of share-partitions whose rows follow each other."""
    for name, rows in partitions(batches):
        if not name:
            yield _row(judge_nameless(rows))
        else:
            yield _row(judge(name, rows, before.get(name, Before()), plan, patience))


def partitions(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str | None, pa.Table]]:
    """Yield each share-partition with its rows, however they lie in batches."""
    tables = (pa.Table.from_batches([batch]).cast(ARRIVED) for batch in batches)
    for name, parts in itertools.groupby(parts_of(tables), key=lambda each: each[0]):
        yield name, pa.concat_tables([part.table for _, part in parts]).combine_chunks()


def _row(judged: Judged) -> pa.RecordBatch:
    """Return what is handed over; a copy of the rows that wait, as a slice takes all rows along."""
    held = judged.held.take(pa.array(range(judged.held.num_rows), pa.int64()))
    some = attrs.evolve(judged, held=held, problems=judged.problems[:MAX_PROBLEMS])
    return pa.RecordBatch.from_pylist([{"judged": pickle.dumps(some)}], schema=JUDGED)


def judged_of(row: Mapping[str, Any]) -> Judged:
    """Return what a worker handed over."""
    judged: Judged = pickle.loads(row["judged"])  # noqa: S301 - of our own workers
    return judged


def arrival(
    rows: pa.Table, before: Carried | None, waiting: Waiting, patience: Patience
) -> Arrival:
    """Return what can be checked of rows in any order, those that waited among them.

    ``before`` is where the share-partition was left, in a state.
    """
    rows, problems = _events(rows)
    rows, strangers = _of_one_kind(rows, before)
    problems += strangers
    rows = _sorted(rows)
    known = _is_known(_places(rows), before)
    rows, late = rows.filter(pa.array(~known)), int(known.sum())
    rows, twice, different = _without_twice(rows)
    result = _cut(rows, before, waiting, patience)
    problems += [*different, *result.problems]
    return attrs.evolve(result, late=late, twice=twice, problems=tuple(problems))


def without(sorted_: Arrival, row: int, message: str) -> Arrival:
    """Return what can be checked where a row turned out to hold no event: those behind it wait.

    Without leader epochs nothing fills its place but another event of its ``seq``.
    """
    ready = sorted_.ready
    held = pa.concat_tables([ready.slice(row + 1), sorted_.held])
    return attrs.evolve(
        sorted_,
        ready=ready.slice(0, row),
        held=held,
        waiting=Waiting(1 if held.num_rows else 0),
        problems=(*sorted_.problems, _problem(ready, row, message)),
    )


def _places(rows: pa.Table) -> Rows:
    """Return what orders the rows; without leader epochs ``seq`` alone does."""
    places = places_of(rows)
    if rows.column("leader_epoch").null_count:
        places[:, :2] = 0
    return places


def _problem(rows: pa.Table, row: int, message: str) -> Problem:
    source, line, name = (rows.column(n)[row].as_py() for n in ("source", "line", "partition"))
    return Problem(source, line, message, name)


def _refused(
    rows: pa.Table, bad: npt.NDArray[np.bool_], message: str
) -> tuple[pa.Table, list[Problem]]:
    """Return the rows without the bad ones, and a problem for each of these."""
    problems = [_problem(rows, row, message) for row in np.flatnonzero(bad).tolist()]
    return rows.filter(pa.array(~bad)), problems


def _events(rows: pa.Table) -> tuple[pa.Table, list[Problem]]:
    """Return the rows that have a place; the others could not be read, or tell none."""
    unread = pc.is_valid(rows.column("unreadable")).to_numpy()
    problems = [
        _problem(rows, int(row), rows.column("unreadable")[int(row)].as_py())
        for row in np.flatnonzero(unread)
    ]
    rows = rows.filter(pa.array(~unread))
    rows, placeless = _refused(rows, pc.is_null(rows.column("seq")).to_numpy(), "seq is missing")
    below = pc.less(rows.column("seq"), 0).to_numpy(zero_copy_only=False)
    rows, negative = _refused(rows, below.astype(bool), "seq is below 0; allowed: 0 or more")
    return rows, [*problems, *placeless, *negative]


def _of_one_kind(rows: pa.Table, before: Carried | None) -> tuple[pa.Table, list[Problem]]:
    """Return the rows that tell leader epochs as those before do; of a new one, as its first."""
    null = pc.is_null(rows.column("leader_epoch")).to_numpy()
    if not len(null):
        return rows, []
    leaderless = before.leader_epoch is None if before else bool(null.any())
    text = "rows with and without a leader_epoch do not follow each other"
    return _refused(rows, null != leaderless, text)


def _sorted(rows: pa.Table) -> pa.Table:
    return rows.take(pa.array(np.lexsort(_places(rows).T[::-1]))).combine_chunks()


def _next(before: Carried | None) -> tuple[int, int, int]:
    if before is None or before.state is None:
        return (-1, -1, 0)
    return before.leader_epoch or 0, before.instance or 0, before.state.seq


def _is_known(places: Rows, before: Carried | None) -> npt.NDArray[np.bool_]:
    """Return which rows come before the one that is next."""
    epoch, instance, seq = _next(before)
    led, object_, number = places.T
    is_before = (object_ < instance) | ((object_ == instance) & (number < seq))
    return np.asarray((led < epoch) | ((led == epoch) & is_before))


def _without_twice(rows: pa.Table) -> tuple[pa.Table, int, list[Problem]]:
    """Return each event once, and how many are the same as another.

    Of two that differ nothing says which is right, so neither is used.
    """
    once = without_copies(rows)
    twice, rows = rows.num_rows - once.num_rows, once
    again, keep, seq = repeated(_places(rows)), np.ones(rows.num_rows, bool), rows.column("seq")
    keep[again] = keep[again - 1] = False
    problems = [
        _problem(rows, row, f"seq {seq[row].as_py()} occurs twice, and the two differ")
        for row in np.setdiff1d(again, again - 1).tolist()
    ]
    return (rows.filter(pa.array(keep)) if problems else rows), twice, problems


def _holes(rows: pa.Table, before: Carried | None) -> list[int]:
    """Return the rows before which events are missing.

    None is where a leader begins, nor where the recorder says that they are lost.
    """
    places, led = _places(rows), not rows.column("leader_epoch").null_count
    epoch, instance, seq = _next(before)
    first = [epoch, instance, seq - 1] if led else [0, 0, seq - 1]
    earlier = np.concatenate([[first], places[:-1]])[: len(places)]
    same = (places[:, :2] == earlier[:, :2]).all(axis=1)
    fits = np.where(same, places[:, 2] == earlier[:, 2] + 1, places[:, 2] == 0)
    if led:
        is_gap = pc.fill_null(pc.equal(rows.column("op"), "gap"), False)  # noqa: FBT003 - pyarrow's
        fits |= is_gap.to_numpy(zero_copy_only=False)
    return np.flatnonzero(~fits).tolist()


def _cut(rows: pa.Table, before: Carried | None, waiting: Waiting, patience: Patience) -> Arrival:
    """Return the rows up to the first hole that still waits; the others wait, or are passed."""
    holes, total = _holes(rows, before), rows.num_rows
    if not holes:
        return _readable(Arrival(rows, rows.slice(0, 0), Waiting() if total else waiting))
    if waiting.stopped and holes[0] == 0:
        return Arrival(rows.slice(0, 0), rows.slice(0, 0), waiting, passed=total)
    batches = waiting.batches + 1 if holes[0] == 0 else 1
    given_up = int(batches > patience.batches)
    while given_up < len(holes) and total - holes[given_up] > patience.events:
        given_up += 1
    if given_up and rows.column("leader_epoch").null_count:
        return _readable(_stopped(rows, holes[0], before))
    end = holes[given_up] if given_up < len(holes) else total
    now = Waiting(1 if given_up else batches) if end < total else Waiting()
    return _readable(Arrival(rows.slice(0, end), rows.slice(end), now))


def _stopped(rows: pa.Table, hole: int, before: Carried | None) -> Arrival:
    seq = rows.column("seq")
    missing = seq[hole - 1].as_py() + 1 if hole else _next(before)[2]
    text = f"seq {missing} is missing: the next is {seq[hole].as_py()}"
    return Arrival(
        rows.slice(0, hole),
        rows.slice(0, 0),
        Waiting(0, text),
        passed=rows.num_rows - hole,
        problems=(_problem(rows, hole, text),),
    )


def _readable(sorted_: Arrival) -> Arrival:
    """Return the rows up to the first in which a value is missing; those behind it wait."""
    bad: BadRow | None = first_bad_row(sorted_.ready) if sorted_.ready.num_rows else None
    return sorted_ if bad is None else without(sorted_, bad.row, bad.message)
