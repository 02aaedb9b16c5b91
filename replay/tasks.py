"""What the files of a trace hold, and the tasks that read and check it."""

from collections.abc import Iterable, Mapping, Sequence

import attrs

from replay.gather import Gathered, GatherTask, bucket_of
from replay.load import BucketTask, GatheredPart, OrderedTask
from replay.recording import Recording
from replay.sources import Form, Source, text_of
from replay.state_file import Carried
from replay.survey import PartitionRun, Survey
from replay.verdict import Problem

CHUNK_BYTES = 32 << 20
"""How much of a file of plain lines one task reads."""

BUCKET_BYTES = 48 << 20
"""How much text the share-partitions of one bucket take, about."""

MOST_BUCKETS = 2048


@attrs.frozen
class FirstEvent:
    """Where a file has its first event of a share-partition; ``line`` counts from 1."""

    source: str
    line: int


@attrs.frozen
class Inputs:
    """What the files hold.

    ``places`` has where each share-partition begins in each file, ``events`` how many it has.
    ``leaderless`` are those of which a row tells no leader epoch; ``recordings`` is what a recorder
    says of each file.
    """

    gathered: tuple[Gathered, ...]
    surveys: tuple[Survey, ...]
    problems: tuple[Problem, ...]
    places: dict[str, list[FirstEvent]]
    events: dict[str, int]
    leaderless: frozenset[str] = frozenset()
    recordings: Mapping[str, Recording] = attrs.field(factory=dict)


def bucket_count(sources: Iterable[Source], parallelism: int) -> int:
    """Return the number of buckets: enough for all workers, each small enough for memory."""
    return min(MOST_BUCKETS, max(4 * parallelism, text_of(sources) // BUCKET_BYTES))


def gather_tasks(
    sources: Sequence[Source], buckets: int, folder: str, first: int
) -> list[GatherTask]:
    """Return the tasks that read the files, numbered from ``first``; plain lines in parts."""
    tasks: list[GatherTask] = []
    for source in sources:
        whole = source.form is not Form.LINES or source.size <= CHUNK_BYTES
        step = max(1, source.size) if whole else CHUNK_BYTES
        for start in range(0, max(1, source.size), step):
            number = first + len(tasks)
            end = None if start + step >= source.size else start + step
            target = f"{folder}/{number:06}.parquet"
            tasks.append(GatherTask(number, source, start, end, buckets, target))
    return tasks


def inputs_of(gathered: list[Gathered], surveys: list[Survey]) -> Inputs:
    """Combine what the tasks read from each file."""
    gathered.sort(key=lambda part: part.task.number)
    bases = line_bases(gathered)
    places: dict[str, list[FirstEvent]] = {}
    events: dict[str, int] = {}
    problems = [survey.problem for survey in surveys if survey.problem]
    for part in gathered:
        base = bases[part.task.number]
        path = part.task.source.path
        for name, (line, count) in part.partitions.items():
            places.setdefault(name, []).append(FirstEvent(path, base + line))
            events[name] = events.get(name, 0) + count
        problems += [
            attrs.evolve(problem, line=problem.line and problem.line + base)
            for problem in part.problems
        ]
    for survey in surveys:
        for run in survey.runs or ():
            place = FirstEvent(survey.source.path, run.first_row + 1)
            places.setdefault(run.partition, []).append(place)
            events[run.partition] = events.get(run.partition, 0) + run.rows
    leaderless = {name for part in gathered for name in part.partitions.keys() - part.led}
    leaderless |= {run.partition for survey in surveys for run in survey.runs or ()}
    recordings: dict[str, Recording] = {}
    for part in gathered:
        path = part.task.source.path
        recordings[path] = recordings.get(path, Recording()) + part.recording
    return Inputs(
        tuple(gathered),
        tuple(surveys),
        tuple(problems),
        places,
        events,
        frozenset(leaderless),
        recordings,
    )


def problems_of(inputs: Inputs) -> dict[str, Problem]:
    """Return the problem of each share-partition that has one: a bad line, or several files."""
    return _first_problems(inputs.problems) | _conflicts(inputs)


def check_tasks(
    inputs: Inputs,
    chosen: Iterable[str],
    parallelism: int,
    carried: Mapping[str, Carried] | None = None,
) -> list[BucketTask | OrderedTask]:
    """Return the tasks that check the chosen share-partitions.

    ``carried`` has where an earlier replay left some of them.
    """
    conflicts, chosen = _conflicts(inputs), frozenset(chosen)
    tasks: list[BucketTask | OrderedTask] = []
    tasks += _bucket_tasks(inputs, conflicts, chosen)
    # A share-partition in several files is not read from those in order.
    alone = chosen - conflicts.keys()
    tasks += _ordered_tasks(inputs.surveys, alone, parallelism, len(tasks))
    return [_going_on(task, carried) for task in tasks] if carried else tasks


def _going_on(
    task: BucketTask | OrderedTask, carried: Mapping[str, Carried]
) -> BucketTask | OrderedTask:
    """Return the task with where an earlier replay left its share-partitions."""
    runs = task.runs if isinstance(task, OrderedTask) else ()
    names = task.chosen if isinstance(task, BucketTask) else {run.partition for run in runs}
    return attrs.evolve(task, carried={name: carried[name] for name in names if name in carried})


def line_bases(gathered: Iterable[Gathered]) -> dict[int, int]:
    """Return for each task, by number, how many lines of its file come before its part."""
    bases: dict[int, int] = {}
    lines: dict[str, int] = {}
    for part in sorted(gathered, key=lambda part: part.task.number):
        path = part.task.source.path
        bases[part.task.number] = lines.get(path, 0)
        lines[path] = lines.get(path, 0) + part.lines
    return bases


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
    for partition, events in inputs.places.items():
        if partition not in inputs.leaderless:
            continue
        files = {event.source: event for event in sorted(events, key=lambda e: -e.line)}
        if len(files) > 1:
            first, other, *_ = sorted(files.values(), key=lambda e: e.source)
            text = (
                f"the share-partition is in {len(files)} files: also in "
                f"{other.source}, line {other.line}"
            )
            conflicts[partition] = Problem(first.source, first.line, text, partition)
    return conflicts


def _bucket_tasks(
    inputs: Inputs, conflicts: Mapping[str, Problem], chosen: Iterable[str]
) -> list[BucketTask]:
    """Return a task for each bucket that holds a chosen share-partition."""
    gathered, bad = inputs.gathered, _first_problems(inputs.problems)
    if not gathered:
        return []
    unfinished = (path for path, recording in inputs.recordings.items() if recording.is_unfinished)
    open_files = frozenset(unfinished)
    buckets = gathered[0].task.buckets
    bases = line_bases(gathered)
    names: dict[int, set[str]] = {}
    here = {name for part in gathered for name in part.partitions}
    for name in here.intersection(chosen):
        names.setdefault(bucket_of(name, buckets), set()).add(name)
    parts: dict[int, list[GatheredPart]] = {}
    for task in sorted(gathered, key=lambda part: part.task.number):
        for bucket, groups in task.row_groups.items():
            part = GatheredPart(task.task.target, groups, bases[task.task.number])
            parts.setdefault(bucket, []).append(part)
    return [
        BucketTask(
            i,
            tuple(parts[bucket]),
            {name: bad[name] for name in wanted if name in bad},
            {name: conflicts[name] for name in wanted if name in conflicts},
            frozenset(wanted),
            open_files,
            events={name: inputs.events[name] for name in wanted},
        )
        for i, (bucket, wanted) in enumerate(sorted(names.items()))
    ]


def _ordered_tasks(
    surveys: Sequence[Survey], chosen: frozenset[str], parallelism: int, first: int
) -> list[OrderedTask]:
    """Return tasks of about equal size over the chosen runs of files that lie in order."""
    total = sum(survey.rows for survey in surveys)
    target = min(1_000_000, max(20_000, total // (4 * parallelism)))
    tasks: list[OrderedTask] = []
    for survey in surveys:
        ends = _row_group_ends(survey)
        held: list[PartitionRun] = []
        size = 0
        for run in survey.runs or ():
            if run.partition in chosen:
                held.append(run)
                size += run.rows
            # A cut within a row group makes two tasks read it.
            cut = size >= target and (run.first_row + run.rows in ends or size >= 2 * target)
            if held and cut:
                tasks.append(_ordered(first + len(tasks), survey, held))
                held, size = [], 0
        if held:
            tasks.append(_ordered(first + len(tasks), survey, held))
    return tasks


def _row_group_ends(survey: Survey) -> dict[int, int]:
    """Return the row after each row group, with the group's number."""
    ends: dict[int, int] = {}
    row = 0
    for group, rows in enumerate(survey.row_groups):
        row += rows
        ends[row] = group
    return ends


def _ordered(number: int, survey: Survey, runs: Sequence[PartitionRun]) -> OrderedTask:
    """Return the task over these runs, with the row groups that any of them touches."""
    groups: list[int] = []
    start = place = 0
    for group, rows in enumerate(survey.row_groups):
        while place < len(runs) and runs[place].first_row + runs[place].rows <= start:
            place += 1
        if place < len(runs) and runs[place].first_row < start + rows:
            groups.append(group)
        start += rows
    return OrderedTask(number, survey.source.path, tuple(groups), tuple(runs))
