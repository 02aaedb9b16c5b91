"""Judging logs of requests: what is read goes to buckets of topic-partitions, each judged alone."""

import functools
import pickle
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import starmap
from operator import attrgetter
from pathlib import Path
from typing import Any, cast

import attrs

from replay.gather import GatherTask, bucket_of
from replay.observed.bundle import judged
from replay.observed.gaps import gaps_of
from replay.observed.inputs import Input, read
from replay.observed.observation import Facts, Lapse, Observation
from replay.observed.settings import Assumed
from replay.observed.verdict import ObservedVerdict
from replay.processes import HereRunner, Progress, Runner, silent
from replay.request_log.scan import FileTally
from replay.sources import in_lots
from replay.tasks import FilePart, bucket_count, bucket_parts, gather_tasks, line_bases
from replay.verdict import Problem, Replay, Verdict, weighed
from report.scratch import scratch_folder, whole_file

ROWS_AT_ONCE = 20_000
"""How many observations a task holds before it writes them."""

Fields = tuple[Any, ...]
_FIELDS = attrgetter(*(field.name for field in attrs.fields(Observation)))


@attrs.frozen(kw_only=True)
class JudgedLogs(Replay):
    """The result of judging request logs, and what was read.

    ``troubles`` are lines that cannot be used, of ``unusable`` that are counted; ``others`` are
    requests that show nothing of share groups. The clock went back ``backward`` times.
    """

    verdicts: tuple[ObservedVerdict, ...]
    troubles: tuple[Problem, ...]
    gaps: tuple[Lapse, ...]
    lines: int
    requests: int
    unusable: int
    backward: int
    others: int

    def count(self, verdict: Verdict) -> int:
        """Return how many share-partitions have a verdict."""
        return sum(each.verdict is verdict for each in self.verdicts)


@attrs.frozen
class _Read:
    """What a task has read; ``lots`` has where those of each bucket begin in its file."""

    task: GatherTask
    tally: FileTally
    lots: dict[int, list[int]]


def judge_inputs(
    inputs: Sequence[Input],
    settings: Assumed,
    runner: Runner | None = None,
    progress: Progress = silent,
) -> JudgedLogs:
    """Judge every share-partition of the inputs, in this process unless a runner is given.

    Raises SessionError if the runner gives up.
    """
    started = time.monotonic()
    runner = runner or HereRunner()
    with scratch_folder() as folder:
        buckets = bucket_count(inputs, runner.parallelism)
        tasks = gather_tasks(inputs, buckets, folder)
        results, whole = runner.run("read", tasks, _gather, progress)
        bases = line_bases((each.task, each.tally.lines) for each in results)
        tallies = [result.tally for result in results]
        facts = [fact for tally in tallies for fact in tally.facts]
        gaps = gaps_of(facts, settings)
        verdicts: list[ObservedVerdict] = []
        if whole:
            check = functools.partial(_judge_bucket, facts, gaps, settings)
            parts = bucket_parts(((r.task, r.lots) for r in results), bases)
            each_bucket = [parts[bucket] for bucket in sorted(parts)]
            verdicts, whole = runner.run("check", each_bucket, check, progress)
    found = tuple(sorted(map(weighed, verdicts), key=lambda verdict: verdict.partition))
    return JudgedLogs(
        verdicts=found,
        problems=(),
        seconds=time.monotonic() - started,
        interrupted=not whole,
        runner=runner.place,
        troubles=tuple(
            attrs.evolve(trouble, line=(trouble.line or 0) + bases[each.task.number])
            for each in results
            for trouble in each.tally.troubles
        ),
        gaps=tuple(gaps),
        lines=sum(tally.lines for tally in tallies),
        requests=sum(tally.requests for tally in tallies),
        unusable=sum(tally.unusable for tally in tallies),
        backward=sum(tally.backward for tally in tallies),
        others=sum(tally.others for tally in tallies),
    )


def read_all(inputs: Sequence[Input]) -> tuple[list[FileTally], list[Observation]]:
    """Read the inputs in this process."""
    tallies: list[FileTally] = []
    seen: list[Observation] = []
    for input_file in inputs:
        tally = FileTally(input_file.path)
        seen += read(input_file, tally)
        tallies.append(tally)
    return tallies, seen


def _gather(task: GatherTask) -> Iterable[_Read]:
    """Read a part and write its observations, those of each bucket of a lot together."""
    tally, lots = FileTally(task.source.path), dict[int, list[int]]()
    seen = read(cast("Input", task.source), tally, task.start, task.end)
    with whole_file(Path(task.target)) as draft, draft.open("wb") as file:
        for lot in in_lots(seen, ROWS_AT_ONCE):
            split: dict[int, list[Fields]] = {}
            for each in lot:
                split.setdefault(bucket_of(each.log, task.buckets), []).append(_FIELDS(each))
            for bucket, some in split.items():
                lots.setdefault(bucket, []).append(file.tell())
                pickle.dump(some, file)
    return [_Read(task, tally, lots)]


def _judge_bucket(
    facts: Facts, gaps: list[Lapse], settings: Assumed, parts: Sequence[FilePart]
) -> Iterator[ObservedVerdict]:
    yield from judged(
        (each for part in parts for each in _observations(part)), facts, gaps, settings
    )


def _observations(part: FilePart) -> Iterator[Observation]:
    """Yield what ``_gather`` has written; lines count from the beginning of a file."""
    with Path(part.path).open("rb") as file:
        for begin in part.row_groups:
            file.seek(begin)
            for each in starmap(Observation, pickle.load(file)):  # noqa: S301 - of our own workers
                yield attrs.evolve(each, line=each.line + part.base) if part.base else each
