"""A whole replay: from paths to verdicts."""

import functools
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import attrs
import pyarrow.parquet as pq

from replay.gather import gather
from replay.plan import CheckedPartition, InputFacts, Plan, is_sampled
from replay.processes import HereRunner, ProcessRunner, Progress, Runner, silent
from replay.result_schema import result_tables
from replay.sources import Form, Source, Sources, text_of
from replay.state_file import Carried, diverged_before, locked, read_states, write_states
from replay.tasks import (
    CheckTask,
    Inputs,
    bucket_count,
    check_tasks,
    facts_of,
    gather_tasks,
    inputs_of,
    problems_of,
)
from replay.verdict import (
    NOT_SAMPLED,
    PartitionVerdict,
    Recording,
    Replay,
    Verdict,
    not_checked,
    weighed,
)
from report.scratch import made_folder, scratch_folder, whole_file

if TYPE_CHECKING:
    from replay.check_sorted import Segment

LARGE_EVENTS = 20_000
"""How many events a share-partition has at least that is checked in segments."""

SEGMENTS_PER_CORE = 4
"""How many segments each core gets of a large share-partition, about."""

TASKS_PER_CORE = 2
"""How many tasks each core gets in a stage, about: few cost little, more spread well."""

MAX_SOURCES = 100
"""How many files the metadata of a result names."""

HERE_BYTES = 8 << 20
"""Up to so much text is read in this process, while its children get ready."""

COMPILED_PARTS = 2
"""In how many parts the kernel is compiled; as in ``impl.ahead``, which who waits does not load."""

T_ = TypeVar("T_")


def replay_sources(
    runner: Runner,
    sources: Sources,
    plan: Plan,
    out: Path | None = None,
    progress: Progress = silent,
) -> Replay:
    """Check every share-partition of the sources and return the verdicts.

    ``out`` is a folder for ``verdicts.parquet``, ``divergences.parquet`` and ``lag/``. Raises
    SessionError if the runner gives up, StateError for states that cannot be used, or that another
    process uses; then, and when interrupted, it leaves those of an earlier replay as they are.
    """
    alone = locked(Path(plan.state_folder)) if plan.state_folder else nullcontext()
    with alone, made_folder(out / "lag") if out else nullcontext():
        try:
            return _replayed(runner, sources, plan, out, progress)
        except BaseException:
            if out:
                _cleared(out)  # No part of the results without the others.
            raise


def _replayed(
    runner: Runner, sources: Sources, plan: Plan, out: Path | None, progress: Progress
) -> Replay:
    started = time.monotonic()
    carried = read_states(Path(plan.state_folder), plan.rules) if plan.state_folder else {}
    if out:
        plan = attrs.evolve(plan, lag_folder=str(_cleared(out)), labels=labels_of(plan, sources))
    with scratch_folder(out) as folder:
        inputs, whole = _first_stage(runner, sources.files, plan, folder, progress)
        problems = [*sources.problems, *inputs.problems]
        verdicts: list[PartitionVerdict] = []
        left: dict[str, Carried] = {}
        if whole:
            large = large_ones(inputs.events, plan, runner.parallelism)
            facts = facts_of(inputs, carried, large, folder, plan)
            verdicts, left, whole = _second_stage(runner, inputs, plan, facts, progress)
    rest = [*others(inputs, plan, verdicts), *_earlier(carried, inputs, plan)]
    verdicts = sorted([*verdicts, *rest], key=lambda v: v.partition)
    states = after(verdicts, left, carried)
    verdicts = [weighed(verdict) for verdict in verdicts]
    if whole and plan.state_folder:
        write_states(Path(plan.state_folder), plan.rules, {**carried, **states}.values())
    if out:
        with ExitStack() as drafts:  # All of them, or none.
            for name, table in result_tables(verdicts, plan.labels).items():
                draft = drafts.enter_context(whole_file(out / f"{name}.parquet"))
                pq.write_table(table, draft)
    return Replay(
        tuple(verdicts),
        tuple(problems),
        time.monotonic() - started,
        sources.passed_over,
        any(part.survey.generated for part in inputs.gathered),
        not whole,
        tuple(each for each in inputs.recordings.values() if each != Recording()),
        runner.place,
    )


def _first_stage(
    runner: Runner, files: Sequence[Source], plan: Plan, folder: str, progress: Progress
) -> tuple[Inputs, bool]:
    """Gather the events of all files that are not in order.

    Then compile what the plan needs, so that the children have it cached.
    """
    parallelism = runner.parallelism
    gathering = gather_tasks(files, bucket_count(files, parallelism), folder)
    lines = [task for task in gathering if task.source.form is not Form.PARQUET]
    columns = [task for task in gathering if task.source.form is Form.PARQUET]
    tasks = [*_shares(columns, parallelism), *((task,) for task in lines)]
    is_local = isinstance(runner, ProcessRunner)
    is_little = is_local and not columns and text_of(files) <= HERE_BYTES
    results, whole = (HereRunner() if is_little else runner).run("read", tasks, gather, progress)
    if whole and tasks and parallelism > 1:
        part = functools.partial(_compile_part, plan)
        compiled, whole = runner.run("compile", range(COMPILED_PARTS), part, progress)
        if whole and any(compiled):
            _, whole = runner.run("compile", [plan], _compile, progress)
    return inputs_of(results), whole


def _compile_part(plan: Plan, part: int) -> Iterable[bool]:
    from replay.check import compile_part  # noqa: PLC0415 - who only waits needs no Numba

    return [compile_part(plan, part)]


def _compile(plan: Plan) -> Iterable[None]:
    """Compile what is left when the parts are compiled, in one process, for all."""
    from replay.check import compile_ahead  # noqa: PLC0415 - who only waits needs no Numba

    compile_ahead(plan)
    return []


def _second_stage(
    runner: Runner, inputs: Inputs, plan: Plan, facts: InputFacts, progress: Progress
) -> tuple[list[PartitionVerdict], dict[str, Carried], bool]:
    """Check the share-partitions that are sampled; return also where a later replay can go on."""
    parallelism = runner.parallelism
    chosen = [name for name in inputs.places if is_sampled(name, plan.sample)]
    tasks = check_tasks(inputs, chosen, parallelism, facts)
    check = functools.partial(_check, plan)
    results, whole = runner.run("check", _shares(tasks, parallelism), check, progress)
    verdicts = [result.verdict for result in results if not result.segments]
    if whole and (cut := [result for result in results if result.segments]):
        more, whole = _third_stage(runner, cut, progress)
        verdicts += more
    left = {each.left.partition: each.left for each in results if each.left}
    return verdicts, left, whole


def _check(plan: Plan, tasks: tuple[CheckTask, ...]) -> Iterator[CheckedPartition]:
    from replay.check_sorted import check_task  # noqa: PLC0415 - who only waits needs no Numba

    return (checked for task in tasks for checked in check_task(task, plan))


def large_ones(events: Mapping[str, int], plan: Plan, parallelism: int) -> dict[str, int]:
    """Return the share-partitions to check in segments, and of about how many events.

    They are those that would keep one worker busy while others have nothing to do. Without the
    specification, which takes the time, none is.
    """
    if "spec" not in plan.against:
        return {}
    events = {name: n for name, n in events.items() if is_sampled(name, plan.sample)}
    if plan.segment_events:
        return {name: plan.segment_events for name, n in events.items() if n > plan.segment_events}
    if parallelism == 1:
        return {}
    least = max(LARGE_EVENTS, sum(events.values()) // (SEGMENTS_PER_CORE * parallelism))
    return {name: _segment_events(n, parallelism) for name, n in events.items() if n >= least}


def _segment_events(events: int, parallelism: int) -> int:
    return max(LARGE_EVENTS // SEGMENTS_PER_CORE, -(-events // (SEGMENTS_PER_CORE * parallelism)))


def _third_stage(
    runner: Runner, cut: list[CheckedPartition], progress: Progress
) -> tuple[list[PartitionVerdict], bool]:
    """Check the segments of the share-partitions that were cut up."""
    from replay.check_sorted import joined_segments  # noqa: PLC0415 - who only waits needs no Numba

    segments = [segment for each in cut for segment in each.segments]
    results, whole = runner.run("segments", segments, _check_segment, progress)
    parts: dict[str, dict[int, PartitionVerdict]] = {}
    for number, verdict in results:
        parts.setdefault(verdict.partition, {})[number] = verdict
    verdicts = (
        joined_segments(each.verdict, len(each.segments), parts.get(each.verdict.partition, {}))
        for each in cut
    )
    return [verdict for verdict in verdicts if verdict], whole


def _check_segment(segment: "Segment") -> Iterable[tuple[int, PartitionVerdict]]:
    from replay.check_sorted import check_segment  # noqa: PLC0415 - who only waits needs no Numba

    return [check_segment(segment)]


def _shares(items: Sequence[T_], parallelism: int) -> list[tuple[T_, ...]]:
    """Return the items in shares: short tasks one by one would cost more than they do."""
    size = max(1, len(items) // (TASKS_PER_CORE * parallelism))
    return [tuple(items[i : i + size]) for i in range(0, len(items), size)]


def others(
    inputs: Inputs, plan: Plan, verdicts: Iterable[PartitionVerdict]
) -> Iterator[PartitionVerdict]:
    """Yield a verdict for each share-partition that no task has checked."""
    done = {verdict.partition for verdict in verdicts}
    bad = problems_of(inputs)
    for name in inputs.places.keys() | bad.keys():
        if name in done:
            continue
        reason = "stopped before it was" if is_sampled(name, plan.sample) else NOT_SAMPLED
        yield not_checked(name, inputs.events.get(name, 0), reason, bad.get(name))


def _earlier(
    carried: Mapping[str, Carried], inputs: Inputs, plan: Plan
) -> Iterator[PartitionVerdict]:
    """Yield a verdict for each share-partition that diverged before and has no row now."""
    for name, each in carried.items():
        if each.divergence and name not in inputs.places and is_sampled(name, plan.sample):
            yield diverged_before(each, 0)


def after(
    verdicts: Iterable[PartitionVerdict], left: Mapping[str, Carried], before: Mapping[str, Carried]
) -> dict[str, Carried]:
    """Return what a later replay begins with; one that was not checked whole stays as it was."""
    states = {}
    for verdict in verdicts:
        name = verdict.partition
        is_good = verdict.verdict is Verdict.CONFORMS or verdict.divergence
        if is_good and not verdict.problem and name in left:
            states[name] = left[name]
        elif verdict.divergence and not (name in before and before[name].divergence):
            states[name] = Carried(name, None, verdict.log, divergence=verdict.divergence)
    return states


def _cleared(out: Path) -> Path:
    """Return the folder for lag, with the files of an earlier replay removed."""
    lag = out / "lag"
    for old in [*lag.glob("part-*.parquet"), *lag.glob("part-*.draft")]:
        old.unlink()
    return lag


def labels_of(plan: Plan, sources: Sources) -> tuple[tuple[str, str], ...]:
    """Return what the metadata of a file says: the version, what was checked, and how."""
    named = [source.path for source in sources.files[:MAX_SOURCES]]
    more = len(sources.files) - len(named)
    return (
        ("version", version("sharespec")),
        ("profile", plan.profile),
        ("against", ",".join(plan.against)),
        ("source", "; ".join([*named, *([f"and {more} more"] if more else [])])),
    )
