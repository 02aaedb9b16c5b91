"""A whole replay: from paths to verdicts."""

import functools
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from threading import Thread
from typing import TypeVar

import attrs
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from replay.check import Plan, compile_ahead, is_sampled, run_task
from replay.gather import Gathered, GatherTask, gather
from replay.load import BucketTask, OrderedTask
from replay.session import Progress, Silent, run_tasks
from replay.sources import Form, Source, Sources
from replay.survey import Survey, survey
from replay.tasks import (
    Inputs,
    bucket_count,
    check_tasks,
    gather_tasks,
    inputs_of,
    problems_of,
)
from replay.verdict import Divergence, PartitionVerdict, Replay, Verdict, counted

TASKS_PER_CORE = 2
"""How many tasks of Spark each core gets in a stage, about: few cost little, more spread well."""

T_ = TypeVar("T_")


def replay_sources(
    session: SparkSession,
    sources: Sources,
    plan: Plan,
    out: Path | None = None,
    progress: Progress | None = None,
) -> Replay:
    """Check every share-partition of the sources and return the verdicts.

    ``out`` is a folder for ``divergences.parquet`` and ``lag/``; on a cluster, one that all
    workers see. Raises SessionError if Spark gives up.
    """
    started = time.monotonic()
    progress = progress or Silent()
    if out:
        plan = attrs.evolve(plan, lag_folder=str(_cleared(out)))
    folder = tempfile.mkdtemp(prefix="sharespec-", dir=out)
    try:
        ahead = Thread(target=compile_ahead, args=(plan,), daemon=True)
        if (session.sparkContext.master or "").startswith("local["):
            ahead.start()
        inputs, whole = _first_stage(session, sources.files, folder, progress)
        problems = [*sources.problems, *inputs.problems]
        verdicts: list[PartitionVerdict] = []
        if ahead.ident is not None:
            ahead.join()
        if whole:
            verdicts, whole = _second_stage(session, inputs, plan, progress)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    verdicts = sorted([*verdicts, *_others(inputs, plan, verdicts)], key=lambda v: v.partition)
    if out:
        _write_divergences(out, verdicts)
    return Replay(
        tuple(verdicts),
        tuple(problems),
        counted(verdicts, problems),
        time.monotonic() - started,
        sources.passed_over,
        any(survey.generated for survey in inputs.surveys),
        not whole,
    )


def _first_stage(
    session: SparkSession, files: Sequence[Source], folder: str, progress: Progress
) -> tuple[Inputs, bool]:
    """Survey the Parquet files; gather the events of all files that are not in order."""
    parallelism = session.sparkContext.defaultParallelism
    buckets = bucket_count(files, parallelism)
    lines = [source for source in files if source.form is not Form.PARQUET]
    in_order = [source for source in files if source.form is Form.PARQUET]
    tasks: list[tuple[Source, ...] | GatherTask] = [*_shares(in_order, parallelism)]
    tasks += gather_tasks(lines, buckets, folder, 0)
    results, whole = run_tasks(session, "read", tasks, _prepare, progress)
    surveys = [result for result in results if isinstance(result, Survey)]
    gathered = [result for result in results if isinstance(result, Gathered)]
    unsorted = [s.source for s in surveys if s.runs is None and s.problem is None]
    if whole and unsorted:
        more = gather_tasks(unsorted, buckets, folder, len(tasks))
        sorted_, whole = run_tasks(session, "sort", more, _prepare, progress)
        gathered += [result for result in sorted_ if isinstance(result, Gathered)]
    surveys.sort(key=lambda found: found.source.path)
    return inputs_of(gathered, surveys), whole


def _prepare(task: tuple[Source, ...] | GatherTask) -> Iterable[Survey | Gathered]:
    if isinstance(task, GatherTask):
        return [gather(task)]
    return [survey(source) for source in task]


def _second_stage(
    session: SparkSession, inputs: Inputs, plan: Plan, progress: Progress
) -> tuple[list[PartitionVerdict], bool]:
    """Check the share-partitions that are sampled."""
    parallelism = session.sparkContext.defaultParallelism
    chosen = [name for name in inputs.places if is_sampled(name, plan.sample)]
    tasks = check_tasks(inputs, chosen, parallelism)
    shares = _shares(tasks, parallelism)
    check = functools.partial(_check, plan)
    verdicts, whole = run_tasks(session, "check", shares, check, progress)
    # A share-partition in two files, one of them in order, is seen by the other's task alone.
    return list({verdict.partition: verdict for verdict in verdicts}.values()), whole


def _check(plan: Plan, tasks: tuple[BucketTask | OrderedTask, ...]) -> Iterator[PartitionVerdict]:
    return (verdict for task in tasks for verdict in run_task(task, plan))


def _shares(items: Sequence[T_], parallelism: int) -> list[tuple[T_, ...]]:
    """Return the items in shares: short tasks one by one would cost more in Spark than they do."""
    size = max(1, len(items) // (TASKS_PER_CORE * parallelism))
    return [tuple(items[i : i + size]) for i in range(0, len(items), size)]


def _others(
    inputs: Inputs, plan: Plan, verdicts: Iterable[PartitionVerdict]
) -> Iterator[PartitionVerdict]:
    """Yield a verdict for each share-partition that no task has checked."""
    done = {verdict.partition for verdict in verdicts}
    bad = problems_of(inputs)
    for name in inputs.places.keys() | bad.keys():
        if name in done:
            continue
        events = inputs.events.get(name, 0)
        if name in bad:
            yield PartitionVerdict(name, Verdict.UNREADABLE, events, 0, problem=bad[name])
        elif not is_sampled(name, plan.sample):
            yield PartitionVerdict(name, Verdict.UNCHECKED, events, 0, "not in the sample")
        else:
            yield PartitionVerdict(name, Verdict.UNCHECKED, events, 0, "stopped before it was")


def _cleared(out: Path) -> Path:
    """Return the folder for lag, with the files of an earlier replay removed."""
    lag = out / "lag"
    lag.mkdir(parents=True, exist_ok=True)
    for old in [*lag.glob("part-*.parquet"), *lag.glob("part-*.draft")]:
        old.unlink()
    return lag


def _write_divergences(out: Path, verdicts: Sequence[PartitionVerdict]) -> None:
    rows = [attrs.asdict(v.divergence) for v in verdicts if v.divergence]
    numbers = ("seq", "line", "offset")
    schema = pa.schema(
        [
            (field.name, pa.int64() if field.name in numbers else pa.string())
            for field in attrs.fields(Divergence)
        ]
    )
    for row in rows:
        row["kind"] = row["kind"].value
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), out / "divergences.parquet")
