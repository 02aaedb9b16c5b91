"""What the files of a trace hold, the tasks that read and check it, and the rows of each in order.

The rows come from gathered files or the user's own.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from model.errors import InvalidValueError
from model.trace_arrow import SCHEMA
from replay.gather import STORED, Gathered, GatherTask, bucket_of, opened, with_places
from replay.pauses import pauses_of
from replay.pieces import PartitionRows, UnreadError, begun, each_once, keys_of, partitions
from replay.plan import InputFacts, Plan
from replay.sources import Form, Source, text_of
from replay.state_file import Carried
from replay.tables import KEYS
from replay.verdict import Problem, Recording

T_ = TypeVar("T_")

CHUNK_BYTES = 32 << 20
"""How much of a file of plain lines one task reads."""

BUCKET_BYTES = 48 << 20
"""How much text the share-partitions of one bucket take, about."""

MOST_BUCKETS = 2048
_PLAN = Plan()


MOST_ROWS = 200_000
"""How many rows of a user's file are decoded at a time."""

Key = tuple[int, ...]


@attrs.frozen
class FilePart:
    """Row groups of a gathered file; ``base`` lines of the source come before the first."""

    path: str
    row_groups: tuple[int, ...] = ()
    base: int = 0


@attrs.frozen
class CheckTask:
    """Share-partitions to check: ``events`` has how many rows each of them has.

    Their rows are in the parts: of gathered files, or of one Parquet file of the user, in which
    they are in order. Then ``first_rows`` says where each begins there.
    """

    number: int
    parts: tuple[FilePart, ...]
    events: Mapping[str, int]
    facts: InputFacts = attrs.field(factory=InputFacts)
    first_rows: Mapping[str, int] = attrs.field(factory=dict)


@attrs.frozen
class Inputs:
    """What the files hold.

    ``places`` has the line at which each share-partition begins in each file that has it, and
    ``events`` how many it has.
    ``leaderless`` are those of which a row tells no leader epoch; ``recordings`` is what a recorder
    says of each file.
    """

    gathered: tuple[Gathered, ...]
    problems: tuple[Problem, ...]
    places: dict[str, dict[str, int]]
    events: dict[str, int]
    leaderless: frozenset[str] = frozenset()
    recordings: Mapping[str, Recording] = attrs.field(factory=dict)


def bucket_count(sources: Iterable[Source], parallelism: int) -> int:
    """Return the number of buckets: enough for all workers, each small enough for memory."""
    return min(MOST_BUCKETS, max(4 * parallelism, text_of(sources) // BUCKET_BYTES))


def gather_tasks(sources: Sequence[Source], buckets: int, folder: str) -> list[GatherTask]:
    """Return the tasks that read the files, numbered from 0.

    Only plain lines have several, of which each reads those that begin in its part.
    """
    tasks: list[GatherTask] = []
    for source in sources:
        step = CHUNK_BYTES if source.form is Form.LINES else max(1, source.size)
        for start in range(0, max(1, source.size), step):
            number, end = len(tasks), None if start + step >= source.size else start + step
            target = f"{folder}/{number:06}.parquet"
            tasks.append(GatherTask(number, source, start, end, buckets, target))
    return tasks


def inputs_of(gathered: list[Gathered]) -> Inputs:
    """Combine what the tasks read from each file."""
    gathered.sort(key=lambda part: part.task.number)
    bases = line_bases((part.task, part.lines) for part in gathered)
    places: dict[str, dict[str, int]] = {}
    events: dict[str, int] = {}
    problems: list[Problem] = []
    for part in gathered:
        base = bases[part.task.number]
        path = part.task.source.path
        for name, (line, count) in part.partitions.items():
            places.setdefault(name, {}).setdefault(path, base + line)
            events[name] = events.get(name, 0) + count
        problems += [
            attrs.evolve(problem, line=problem.line and problem.line + base)
            for problem in part.problems
        ]
    leaderless = frozenset[str]().union(*(part.leaderless for part in gathered))
    recordings: dict[str, Recording] = {}
    for part in gathered:
        path = part.task.source.path
        recordings[path] = recordings.get(path, Recording()) + part.recording
    return Inputs(tuple(gathered), tuple(problems), places, events, leaderless, recordings)


def problems_of(inputs: Inputs) -> dict[str, Problem]:
    """Return the problem of each share-partition that has one: a bad line, or several files."""
    return _first_problems(inputs.problems) | _conflicts(inputs)


def facts_of(
    inputs: Inputs,
    carried: Mapping[str, Carried] | None = None,
    large: Mapping[str, int] | None = None,
    folder: str = "",
    plan: Plan = _PLAN,
) -> InputFacts:
    """Return what the checks of share-partitions have to know of all files."""
    unfinished = (path for path, each in inputs.recordings.items() if each.is_unfinished)
    return InputFacts(
        inputs.events,
        _first_problems(inputs.problems),
        frozenset(_conflicts(inputs)),
        frozenset(unfinished),
        carried or {},
        large or {},
        folder,
        pauses_of(plan.pauses, inputs.recordings, plan.rules.sweep_ms),
    )


def check_tasks(
    inputs: Inputs, chosen: Iterable[str], parallelism: int, facts: InputFacts
) -> list[CheckTask]:
    """Return the tasks that check the chosen share-partitions, without those that are unusable."""
    wanted = frozenset(chosen) - facts.unusable
    tasks = _bucket_tasks(inputs, wanted)
    tasks += _ordered_tasks(inputs.gathered, wanted, parallelism, len(tasks))
    return [attrs.evolve(task, facts=_facts_about(facts, task.events)) for task in tasks]


def _facts_about(facts: InputFacts, names: Iterable[str]) -> InputFacts:
    """Return the facts about these share-partitions: a task takes no others along."""
    names = frozenset(names)

    def about(facts: Mapping[str, T_]) -> dict[str, T_]:
        return {name: facts[name] for name in facts.keys() & names}

    return attrs.evolve(
        facts,
        events=about(facts.events),
        bad=about(facts.bad),
        unusable=frozenset(),
        carried=about(facts.carried),
        large=about(facts.large),
    )


def line_bases(read: Iterable[tuple[GatherTask, int]]) -> dict[int, int]:
    """Return for each task, by number, how many lines of its file come before its part.

    ``read`` has how many lines each has read.
    """
    bases: dict[int, int] = {}
    lines: dict[str, int] = {}
    for task, count in sorted(read, key=lambda each: each[0].number):
        bases[task.number] = lines.get(task.source.path, 0)
        lines[task.source.path] = bases[task.number] + count
    return bases


def bucket_parts(
    read: Iterable[tuple[GatherTask, Mapping[int, Sequence[int]]]], bases: Mapping[int, int]
) -> dict[int, list[FilePart]]:
    """Return where the rows of each bucket are, of tasks with the row groups of each."""
    parts: dict[int, list[FilePart]] = {}
    for task, row_groups in read:
        for bucket, groups in row_groups.items():
            part = FilePart(task.target, tuple(groups), bases[task.number])
            parts.setdefault(bucket, []).append(part)
    return parts


def _first_problems(problems: Iterable[Problem]) -> dict[str, Problem]:
    """Return the first problem of each share-partition that has one."""
    first: dict[str, Problem] = {}
    for problem in problems:
        if problem.partition is not None:
            first.setdefault(problem.partition, problem)
    return first


def _conflicts(inputs: Inputs) -> dict[str, Problem]:
    """Return a problem for each share-partition in several files that tell no leader epochs."""
    conflicts: dict[str, Problem] = {}
    for partition, files in inputs.places.items():
        if partition in inputs.leaderless and len(files) > 1:
            (source, line), (other, at), *_ = sorted(files.items())
            text = (
                f"the share-partition is in {len(files)} files: also in {other}, line {at}; "
                "allowed: one file, or a leader_epoch in each event, which orders the files"
            )
            conflicts[partition] = Problem(source, line, text, partition)
    return conflicts


def _bucket_tasks(inputs: Inputs, chosen: frozenset[str]) -> list[CheckTask]:
    """Return a task for each bucket that holds a chosen share-partition."""
    gathered = [part for part in inputs.gathered if part.row_groups]
    if not gathered:
        return []
    buckets = gathered[0].task.buckets
    names: dict[int, set[str]] = {}
    here = {name for part in gathered for name in part.partitions}
    for name in here & chosen:
        names.setdefault(bucket_of(name, buckets), set()).add(name)
    bases = line_bases((part.task, part.lines) for part in inputs.gathered)
    parts = bucket_parts(((part.task, part.row_groups) for part in gathered), bases)
    return [
        CheckTask(i, tuple(parts[bucket]), {name: inputs.events[name] for name in wanted})
        for i, (bucket, wanted) in enumerate(sorted(names.items()))
    ]


def _ordered_tasks(
    gathered: Sequence[Gathered], chosen: frozenset[str], parallelism: int, first: int
) -> list[CheckTask]:
    """Return tasks of about equal size over what is chosen of files that lie in order."""
    in_order = [part for part in gathered if part.survey.partitions]
    total = sum(part.lines for part in in_order)
    target = min(1_000_000, max(20_000, total // (4 * parallelism)))
    tasks: list[CheckTask] = []
    for part in in_order:
        ends = frozenset(itertools.accumulate(part.survey.row_groups))
        held: dict[str, tuple[int, int]] = {}
        size = 0
        for name, (line, rows) in part.partitions.items():
            if name in chosen:
                held[name] = line, rows
                size += rows
            # A cut within a row group makes two tasks read it.
            cut = size >= target and (line - 1 + rows in ends or size >= 2 * target)
            if held and cut:
                tasks.append(_ordered(first + len(tasks), part, held))
                held, size = {}, 0
        if held:
            tasks.append(_ordered(first + len(tasks), part, held))
    return tasks


def _ordered(number: int, part: Gathered, runs: Mapping[str, tuple[int, int]]) -> CheckTask:
    """Return the task over these share-partitions, of which the first row and the rows are told."""
    events = {name: rows for name, (_, rows) in runs.items()}
    first_rows = {name: line - 1 for name, (line, _) in runs.items()}
    return CheckTask(number, (FilePart(part.task.source.path),), events, first_rows=first_rows)


def whole_rows(task: CheckTask) -> Iterator[PartitionRows]:
    """Yield each share-partition of a task in one piece.

    Those that cannot be read have no row and a problem.
    """
    most, facts = max(task.events.values(), default=0) + 1, task.facts

    def whole(tables: Iterator[pa.Table]) -> Iterator[tuple[str, PartitionRows]]:
        for name, (piece,) in partitions(tables, most):
            rows = begun(each_once(piece), facts.carried.get(name), facts.unfinished, facts.pauses)
            yield name, attrs.evolve(rows, problem=facts.bad.get(name) or rows.problem)

    def unread(name: str, events: int, problem: Problem) -> PartitionRows:
        return PartitionRows(name, STORED.empty_table(), events, problem)

    return each_partition(task, most, whole, unread)


def each_partition(
    task: CheckTask,
    most: int,
    use: Callable[[Iterator[pa.Table]], Iterator[tuple[str, T_]]],
    unread: Callable[[str, int, Problem], T_],
) -> Iterator[T_]:
    """Yield what is made of the sorted rows of each share-partition, as ``read_sorted`` has them.

    ``use`` names the share-partitions that are done. Damage may concern only some: those that are
    not done are read one by one, and of one that cannot be read ``unread`` makes something.
    """
    done: set[str] = set()
    problem: Problem | None = None
    try:
        for tables in read_sorted(task, most):
            for name, made in use(tables):
                done.add(name)
                yield made
    except UnreadError as error:
        problem = error.problem
    if len(task.events) > 1:
        for name in sorted(task.events.keys() - done):
            alone = attrs.evolve(task, events={name: task.events[name]})
            yield from each_partition(alone, most, use, unread)
    elif problem:
        ((name, events),) = task.events.items()
        yield unread(name, events, problem)


def read_sorted(task: CheckTask, most: int) -> Iterator[Iterator[pa.Table]]:
    """Yield the rows of share-partitions one after another, each in order.

    Those of the short ones come first, together, and then those of each that has more than
    ``most``, by itself. The tables raise UnreadError for what cannot be read, which names a
    share-partition that comes alone.
    """
    long = sorted(name for name, events in task.events.items() if events > most)
    short = {name: events for name, events in task.events.items() if events <= most}
    if short:
        yield _readable(attrs.evolve(task, events=short), _gathered)
    for name in long:
        yield _readable(attrs.evolve(task, events={name: task.events[name]}), _in_order)


def _readable(
    task: CheckTask, read: Callable[[CheckTask], Iterator[pa.Table]]
) -> Iterator[pa.Table]:
    try:
        yield from (_in_file if task.first_rows else read)(task)
    except (pa.ArrowException, OSError, InvalidValueError) as error:
        message = f"cannot be read: {' '.join(str(error).split())[:200]}"
        alone = next(iter(task.events)) if len(task.events) == 1 else None
        raise UnreadError(Problem(task.parts[0].path, None, message, alone)) from None


def _in_file(task: CheckTask) -> Iterator[pa.Table]:
    """Yield the rows of a user's file as they are decoded: memory may not hold a row group."""
    path, chosen, found = task.parts[0].path, pa.array(sorted(task.events), pa.string()), 0
    firsts = np.array([task.first_rows[name] for name in task.events])
    ends = firsts + np.array(list(task.events.values()))
    with opened(path) as file:
        sizes = [file.metadata.row_group(g).num_rows for g in range(file.metadata.num_row_groups)]
        starts = np.cumsum([0, *sizes]).tolist()
        # One group at a time: of several, PyArrow 26 keeps what it has read until the last is done.
        for group, (first, end) in enumerate(itertools.pairwise(starts)):
            if not ((firsts < end) & (ends > first)).any():
                continue
            place = first
            for batch in file.iter_batches(MOST_ROWS, [group], SCHEMA.names, use_threads=False):
                rows = np.arange(place + 1, place + 1 + batch.num_rows)
                table = with_places(pa.Table.from_batches([batch]), path, rows)
                wanted = pc.is_in(table.column("partition"), value_set=chosen)
                yield table if pc.all(wanted).as_py() else table.filter(wanted)
                place, found = place + batch.num_rows, found + pc.sum(wanted).as_py()
    if found != sum(task.events.values()):
        raise InvalidValueError("file", path, "a file that does not change while it is read")


def _gathered(task: CheckTask) -> Iterator[pa.Table]:
    """Yield the rows of share-partitions, sorted, as one table."""
    chosen = pa.array(sorted(task.events), pa.string())
    # What is not chosen may be larger than memory: it goes row group by row group.
    groups = (table for part in task.parts for _, table in groups_of(part))
    tables = [
        table.filter(pc.is_in(table.column("partition"), value_set=chosen)) for table in groups
    ]
    table = pa.concat_tables(tables)
    keys = ["partition", *KEYS]
    if table.column("leader_epoch").null_count == table.num_rows:
        keys = ["partition", "seq"]
    order = pc.sort_indices(table, sort_keys=[(key, "ascending") for key in keys])
    yield table.take(order).combine_chunks()


def groups_of(
    part: FilePart, columns: Sequence[str] = STORED.names
) -> Iterator[tuple[FilePart, pa.Table]]:
    """Yield each row group and these columns of it; lines count from the beginning of a file."""
    with pq.ParquetFile(part.path) as file:
        for group in part.row_groups:
            table = file.read_row_group(group, list(columns), use_threads=False)
            table = table.select(list(columns))
            if part.base and "line" in columns:
                line = pc.add(table.column("line"), part.base)
                place = table.schema.get_field_index("line")
                table = table.set_column(place, table.schema.field(place), line)
            yield attrs.evolve(part, row_groups=(group,)), table


def _in_order(task: CheckTask) -> Iterator[pa.Table]:
    """Yield the rows of a share-partition in order, from no more row groups at once than overlap.

    A recorder writes its rows in order, so that hardly any do.
    """
    (name,) = task.events
    read = (group for part in task.parts for group in groups_of(part, ["partition", *KEYS]))
    bounds = [(*_bounds(rows), part) for part, table in read if (rows := _of(table, name)).num_rows]
    bounds.sort(key=lambda each: each[:2])
    group: list[FilePart] = []
    reached: Key | None = None
    for low, high, part in bounds:
        if group and reached is not None and low > reached:
            yield _sorted(group, name)
            group = []
        group.append(part)
        reached = max(high, reached or high)
    if group:
        yield _sorted(group, name)


def _bounds(rows: pa.Table) -> tuple[Key, Key]:
    """Return the first and the last key."""
    keys = keys_of(rows)
    ordered = keys[np.lexsort(keys.T[::-1])]
    return tuple(ordered[0].tolist()), tuple(ordered[-1].tolist())


def _sorted(parts: Sequence[FilePart], name: str) -> pa.Table:
    read = (table for part in parts for _, table in groups_of(part))
    table = pa.concat_tables([_of(table, name) for table in read])
    return table.take(pa.array(np.lexsort(keys_of(table).T[::-1]))).combine_chunks()


def _of(table: pa.Table, name: str) -> pa.Table:
    return table.filter(pc.equal(table.column("partition"), name))
