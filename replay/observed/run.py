"""Judging logs of requests: what is read goes to buckets of topic-partitions, each judged alone."""

import functools
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from replay.gather import bucket_of
from replay.observed.bundle import judged
from replay.observed.gaps import gaps_of
from replay.observed.inputs import Input, Part, parts_of, read
from replay.observed.observation import Facts, Gap, Observation, joined
from replay.observed.rows import SCHEMA, observation_of, row_of
from replay.observed.settings import Settings
from replay.observed.verdict import ObservedVerdict
from replay.processes import HereRunner, Progress, Runner, Silent
from replay.request_log.scan import Tally
from replay.scratch import scratch_folder
from replay.sources import in_lots
from replay.tasks import bucket_count
from replay.verdict import Problem, Replay, Verdict, counted, weighed

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
    gaps: tuple[Gap, ...]
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
    part: Part
    tally: Tally
    target: str
    row_groups: dict[int, tuple[int, ...]]


@attrs.frozen
class _Bucket:
    number: int
    files: tuple[tuple[str, int, tuple[int, ...]], ...]


def judge_inputs(
    inputs: Sequence[Input],
    settings: Settings,
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
        work = functools.partial(_gather, buckets, folder)
        results, whole = runner.run("read", parts_of(inputs), work, progress)
        bases = _bases(results)
        tallies = [result.tally for result in results]
        facts = joined([tally.facts() for tally in tallies])
        gaps = gaps_of(facts)
        verdicts: list[ObservedVerdict] = []
        if whole:
            check = functools.partial(_judge_bucket, facts, gaps, settings)
            tasks = _buckets(results, bases, buckets)
            verdicts, whole = runner.run("check", tasks, check, progress)
    found = tuple(sorted(map(weighed, verdicts), key=lambda verdict: verdict.partition))
    return JudgedLogs(
        verdicts=found,
        problems=(),
        counts=counted(found, ()),
        seconds=time.monotonic() - started,
        interrupted=not whole,
        runner=runner.place,
        troubles=tuple(trouble for tally in tallies for trouble in tally.troubles),
        gaps=tuple(gaps),
        lines=sum(tally.lines for tally in tallies),
        requests=sum(tally.requests for tally in tallies),
        unusable=sum(tally.unusable for tally in tallies),
        backward=sum(tally.backward for tally in tallies),
        others=sum(tally.others for tally in tallies),
    )


def read_all(inputs: Sequence[Input]) -> tuple[list[Tally], list[Observation]]:
    """Read the inputs in this process."""
    tallies: list[Tally] = []
    seen: list[Observation] = []
    for input_file in inputs:
        tally = Tally(input_file.path)
        seen += read(Part(0, input_file), tally)
        tallies.append(tally)
    return tallies, seen


def _buckets(results: Sequence[_Read], bases: Mapping[int, int], buckets: int) -> list[_Bucket]:
    """Return the buckets that hold anything, each with where its observations are."""
    tasks = [
        _Bucket(
            bucket,
            tuple(
                (result.target, bases[result.part.number], result.row_groups[bucket])
                for result in results
                if bucket in result.row_groups
            ),
        )
        for bucket in range(buckets)
    ]
    return [task for task in tasks if task.files]


def _bases(results: Sequence[_Read]) -> dict[int, int]:
    """Return how many lines of its file come before each part; correct its troubles."""
    bases: dict[int, int] = {}
    lines: Counter[str] = Counter()
    for result in results:
        base = lines[result.part.input.path]
        bases[result.part.number] = base
        result.tally.troubles = [
            attrs.evolve(trouble, line=(trouble.line or 0) + base)
            for trouble in result.tally.troubles
        ]
        lines[result.part.input.path] += result.tally.lines
    return bases


def _gather(buckets: int, folder: str, part: Part) -> Iterable[_Read]:
    """Read a part and write its observations, a row group for each bucket of each lot."""
    tally = Tally(part.input.path)
    target = Path(folder) / f"{part.number:06}.parquet"
    groups: dict[int, list[int]] = {}
    written = 0
    with pq.ParquetWriter(target, SCHEMA, compression="lz4") as writer:
        for lot in in_lots(read(part, tally), ROWS_AT_ONCE):
            split: dict[int, list[Observation]] = {}
            for each in lot:
                split.setdefault(bucket_of(each.log, buckets), []).append(each)
            for bucket, some in sorted(split.items()):
                table = pa.Table.from_pylist([row_of(each) for each in some], SCHEMA)
                writer.write_table(table, row_group_size=table.num_rows)
                groups.setdefault(bucket, []).append(written)
                written += 1
    return [_Read(part, tally, str(target), {b: tuple(some) for b, some in groups.items()})]


def _judge_bucket(
    facts: Facts, gaps: list[Gap], settings: Settings, bucket: _Bucket
) -> Iterator[ObservedVerdict]:
    seen: list[Observation] = []
    for path, base, groups in bucket.files:
        with pq.ParquetFile(path) as file:
            rows = file.read_row_groups(list(groups), use_threads=False).to_pylist()
        for row in rows:
            row["line"] += base
            seen.append(observation_of(row))
    yield from judged(seen, facts, gaps, settings)
