"""Judging logs of requests: what is read goes to buckets of topic-partitions, each judged alone."""

import functools
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import cast

import attrs
import pyarrow.parquet as pq

from replay.gather import GatherTask, bucket_of
from replay.observed.bundle import judged
from replay.observed.gaps import gaps_of
from replay.observed.inputs import Input, read
from replay.observed.observation import Facts, Lapse, Observation
from replay.observed.rows import SCHEMA, observations_in, table_of
from replay.observed.settings import Assumed
from replay.observed.verdict import ObservedVerdict
from replay.processes import HereRunner, Progress, Runner, Silent
from replay.request_log.scan import FileTally
from replay.sources import in_lots
from replay.tasks import (
    FilePart,
    bucket_count,
    bucket_parts,
    gather_tasks,
    groups_of,
    line_bases,
)
from replay.verdict import Problem, Replay, Verdict, weighed
from report.scratch import scratch_folder, whole_file

ROWS_AT_ONCE = 20_000
"""How many observations a task holds before it writes them."""


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
    """What a task has read; ``row_groups`` has those of each bucket."""

    task: GatherTask
    tally: FileTally
    row_groups: dict[int, list[int]]


def judge_inputs(
    inputs: Sequence[Input],
    settings: Assumed,
    runner: Runner | None = None,
    progress: Progress | None = None,
) -> JudgedLogs:
    """Judge every share-partition of the inputs, in this process unless a runner is given.

    Raises SessionError if the runner gives up.
    """
    started = time.monotonic()
    runner, progress = runner or HereRunner(), progress or Silent()
    with scratch_folder() as folder:
        buckets = bucket_count(inputs, runner.parallelism)
        tasks = gather_tasks(inputs, buckets, folder)
        results, whole = runner.run("read", tasks, _gather, progress)
        bases = line_bases((each.task, each.tally.lines) for each in results)
        tallies = [result.tally for result in results]
        facts = [fact for tally in tallies for fact in tally.facts]
        gaps = gaps_of(facts)
        verdicts: list[ObservedVerdict] = []
        if whole:
            check = functools.partial(_judge_bucket, facts, gaps, settings)
            parts = bucket_parts(((r.task, r.row_groups) for r in results), bases)
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
    """Read a part and write its observations, a row group for each bucket of each lot."""
    tally, groups, written = FileTally(task.source.path), dict[int, list[int]](), 0
    seen = read(cast("Input", task.source), tally, task.start, task.end)
    with (
        whole_file(Path(task.target)) as draft,
        pq.ParquetWriter(draft, SCHEMA, compression="lz4") as writer,
    ):
        for lot in in_lots(seen, ROWS_AT_ONCE):
            split: dict[int, list[Observation]] = {}
            for each in lot:
                split.setdefault(bucket_of(each.log, task.buckets), []).append(each)
            for bucket, some in sorted(split.items()):
                writer.write_table(table_of(some), row_group_size=len(some))
                groups.setdefault(bucket, []).append(written)
                written += 1
    return [_Read(task, tally, groups)]


def _judge_bucket(
    facts: Facts, gaps: list[Lapse], settings: Assumed, parts: Sequence[FilePart]
) -> Iterator[ObservedVerdict]:
    tables = (table for part in parts for _, table in groups_of(part, SCHEMA.names))
    seen = (each for table in tables for each in observations_in(table))
    yield from judged(seen, facts, gaps, settings)
