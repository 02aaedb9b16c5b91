"""What the files of a trace hold, and the tasks that read and check it."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import attrs

from replay.facts import InputFacts
from replay.gather import Gathered, GatherTask, bucket_of
from replay.load import CheckTask, FilePart
from replay.pauses import pauses_of
from replay.plan import Plan
from replay.recording import Recording
from replay.sources import Form, Source, text_of
from replay.state_file import Carried
from replay.verdict import Problem

T_ = TypeVar("T_")

CHUNK_BYTES = 32 << 20
"""How much of a file of plain lines one task reads."""

BUCKET_BYTES = 48 << 20
"""How much text the share-partitions of one bucket take, about."""

MOST_BUCKETS = 2048
_PLAN = Plan()


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
    problems: tuple[Problem, ...]
    places: dict[str, list[FirstEvent]]
    events: dict[str, int]
    leaderless: frozenset[str] = frozenset()
    recordings: Mapping[str, Recording] = attrs.field(factory=dict)


def bucket_count(sources: Iterable[Source], parallelism: int) -> int:
    """Return the number of buckets: enough for all workers, each small enough for memory."""
    return min(MOST_BUCKETS, max(4 * parallelism, text_of(sources) // BUCKET_BYTES))


def gather_tasks(sources: Sequence[Source], buckets: int, folder: str) -> list[GatherTask]:
    """Return the tasks that read the files, numbered from 0; plain lines in parts."""
    tasks: list[GatherTask] = []
    for source in sources:
        whole = source.form is not Form.LINES or source.size <= CHUNK_BYTES
        step = max(1, source.size) if whole else CHUNK_BYTES
        for start in range(0, max(1, source.size), step):
            number = len(tasks)
            end = None if start + step >= source.size else start + step
            target = f"{folder}/{number:06}.parquet"
            tasks.append(GatherTask(number, source, start, end, buckets, target))
    return tasks


def inputs_of(gathered: list[Gathered]) -> Inputs:
    """Combine what the tasks read from each file."""
    gathered.sort(key=lambda part: part.task.number)
    bases = line_bases(gathered)
    places: dict[str, list[FirstEvent]] = {}
    events: dict[str, int] = {}
    problems: list[Problem] = []
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
    leaderless = {name for part in gathered for name in part.partitions.keys() - part.led}
    recordings: dict[str, Recording] = {}
    for part in gathered:
        path = part.task.source.path
        recordings[path] = recordings.get(path, Recording()) + part.recording
    return Inputs(
        tuple(gathered), tuple(problems), places, events, frozenset(leaderless), recordings
    )


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


def _bucket_tasks(inputs: Inputs, chosen: frozenset[str]) -> list[CheckTask]:
    """Return a task for each bucket that holds a chosen share-partition."""
    gathered = [part for part in inputs.gathered if part.row_groups]
    if not gathered:
        return []
    buckets = gathered[0].task.buckets
    bases = line_bases(inputs.gathered)
    names: dict[int, set[str]] = {}
    here = {name for part in gathered for name in part.partitions}
    for name in here & chosen:
        names.setdefault(bucket_of(name, buckets), set()).add(name)
    parts: dict[int, list[FilePart]] = {}
    for each in gathered:
        for bucket, groups in each.row_groups.items():
            part = FilePart(each.task.target, groups, bases[each.task.number])
            parts.setdefault(bucket, []).append(part)
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
