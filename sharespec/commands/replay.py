"""``sharespec replay``: check recorded traces and request logs."""

import functools
import json
import math
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path

import attrs
import click
from rich.text import Text

import replay
from judge.words import printable
from replay.observed.inputs import Input, sorted_out
from replay.observed.report import json_line as observed_json_line
from replay.observed.report import show as show_observed
from replay.observed.run import Observed, judge_inputs, text_of_logs
from replay.observed.settings import Settings
from replay.observed.verdict import Outcome
from replay.place import DEFAULT_MASTER, open_runner
from replay.plan import Plan
from replay.report import Bar, json_line, show, verdict_lines
from replay.run import replay_sources
from replay.runner import SessionError
from replay.scratch import scratch_folder
from replay.sources import NoSuchTraceError, find_sources, is_address, local_path
from replay.state_file import StateError
from replay.tasks import text_of
from replay.verdict import Replay
from replay.written import as_junit, as_markdown
from sharespec.commands.options import JSON, OFFERED_WITHIN, PROFILE, SWEEP
from sharespec.console import output, progress_console
from sharespec.dump import observed_dump
from sharespec.exit import Exit, exits_on, fail
from sharespec.known_faults import (
    KnownFault,
    KnownFaultsError,
    Sorted,
    default_known,
    known_of,
    read_known,
)
from sharespec.known_faults import (
    sorted_out as sorted_by_known,
)
from sharespec.observed_options import observed_options, settings_of
from sharespec.reports import writable_file, write_reports

TRACE_MODULES = tuple(f"{replay.__name__}.{name}" for name in ("check", "gather"))
LOG_MODULES = (f"{replay.__name__}.observed.bundle",)
"""What children import while this process does."""


def _against(_context: click.Context, _option: click.Parameter, value: str) -> tuple[str, ...]:
    names = {name.strip() for name in value.split(",")}
    if not names <= {"spec", "impl"}:
        raise click.BadParameter("allowed: spec, impl or spec,impl")
    return tuple(name for name in ("spec", "impl") if name in names)


def _fraction(_context: click.Context, _option: click.Parameter, value: float) -> float:
    if not (math.isfinite(value) and 0 < value <= 1):
        raise click.BadParameter("allowed: more than 0, at most 1")
    return value


@click.command("replay")
@click.argument("traces", nargs=-1, type=click.Path())
@click.option(
    "--table",
    metavar="TABLE",
    help="Check the events of a table that Spark knows, or of Parquet at an address that it opens, "
    "such as s3a://bucket/events.",
)
@PROFILE
@click.option(
    "--against",
    default="spec,impl",
    show_default=True,
    callback=_against,
    help="What to compare the traces with: spec, impl or both.",
)
@click.option(
    "--sample",
    default=1.0,
    callback=_fraction,
    metavar="FRACTION",
    help="Check only this fraction of the share-partitions; every run chooses the same ones.",
)
@click.option(
    "--invariants",
    default=50,
    type=click.IntRange(0),
    metavar="EVENTS",
    show_default=True,
    help="How many events lie between two checks of the specification's invariants; 0: no check.",
)
@OFFERED_WITHIN
@SWEEP
@click.option(
    "--master",
    help="Use Spark, with this master, for a table perhaps sc://host of Spark Connect; default: "
    f"small inputs are checked in this process, others by Spark on {DEFAULT_MASTER}.",
)
@click.option(
    "--out",
    help="Write verdicts, divergences and lag as Parquet into this folder, or to any address that "
    "Spark opens.",
)
@click.option(
    "--html",
    "page_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    callback=writable_file,
    help="Write a page of the traces: an overview, and the diverging share-partitions drawn, with "
    "some that conform.",
)
@click.option(
    "--state",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="Go on where the replay before left each share-partition, as DIR has it, and leave there "
    "where this one does.",
)
@click.option(
    "--state-topic",
    type=click.Path(dir_okay=False, allow_dash=True),
    metavar="DUMP",
    help="Request logs: what is in __share_group_state, as `sharespec state-topic` reads it.",
)
@click.option(
    "--divergences",
    "most",
    default=100,
    show_default=True,
    type=click.IntRange(1),
    metavar="NUMBER",
    help="After so many divergences nothing more of a share-partition is checked.",
)
@click.option(
    "--first", is_flag=True, help="Check nothing behind the first divergence of a share-partition."
)
@click.option(
    "--known",
    "known_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Known deviations (TOML), besides those of released Kafkas, which are known under the "
    "profiles kafka. The exit status is 0 if FILE names all that diverges.",
)
@click.option(
    "--junit",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    callback=writable_file,
    help="Write JUnit XML to this file, one test case for each share-partition.",
)
@click.option(
    "--markdown",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    callback=writable_file,
    help="Write every kind of divergence to this file as Markdown.",
)
@click.option("--events", "with_json", is_flag=True, help="Show diverging events as JSON, too.")
@observed_options
@JSON
@exits_on(NoSuchTraceError, SessionError, StateError, KnownFaultsError)
def replay_command(  # noqa: PLR0913 - one argument for each option
    *,
    traces: tuple[str, ...],
    table: str | None,
    profile: str,
    against: tuple[str, ...],
    sample: float,
    invariants: int,
    offered_within: int | None,
    sweep: int | None,
    master: str | None,
    out: str | None,
    page_file: Path | None,
    state: str | None,
    state_topic: str | None,
    most: int,
    first: bool,
    known_file: Path | None,
    junit: Path | None,
    markdown: Path | None,
    with_json: bool,
    json_lines: bool,
    **known: float | bool | None,
) -> None:
    """Check every recorded event of TRACES against the specification and the implementation.

    After a divergence the recorded state is adopted where it tells enough, and the rest checked.

    TRACES are files or folders: JSON lines (gzip or not) or Parquet, or addresses of such that
    Spark opens, as hdfs://host/traces. Request logs of Kafka's brokers (kafka.request.logger at
    DEBUG) are recognised and judged by what they show.

    Exits with 0 if nothing diverges but what --known names, 1 if a share-partition diverges (also
    by a known fault of a released Kafka) or cannot be read, 2 if the replay could not run or had
    nothing to check, 130 if interrupted.
    """
    if bool(traces) == bool(table):
        raise click.UsageError("give TRACES, or --table TABLE")
    if state and (table or "impl" not in against):
        raise click.UsageError("--state needs TRACES, and the implementation in --against")
    if page_file and table:
        raise click.UsageError("--html needs TRACES")
    traces = tuple(map(local_path, traces))
    addresses = [trace for trace in traces if is_address(trace)]
    far = bool(addresses) or _is_far(table, out)
    _check_far(traces, master, far=far, near_only=(("--state", state), ("--html", page_file)))
    listed = read_known(known_file) if known_file else ()
    plan = Plan(profile, against, sample, invariants, offered_within=offered_within, sweep_ms=sweep)
    plan = attrs.evolve(plan, state_folder=state, max_divergences=1 if first else most)
    statuses: list[Exit] = []
    logs, others = sorted_out(Path(trace) for trace in traces if not is_address(trace))
    if state_topic and not logs:
        fail("--state-topic is joined to request logs, and there is none")
    if logs:
        settings = settings_of({**known, "sweep_ms": sweep})
        with observed_dump(state_topic) if state_topic else nullcontext() as dump:
            inputs = [*logs, dump] if dump else logs
            statuses.append(_judged(inputs, settings, master, json_lines=json_lines))
    if others or addresses or table:
        sort = functools.partial(sorted_by_known, listed=listed, default=default_known(profile))
        if table:
            told = sort(_of_table(table, plan, master, out))
        elif far:
            told = sort(_of_addresses((*addresses, *others), plan, master, out))
        else:
            folder = Path(local_path(out)) if out else None
            told = _with_page(tuple(others), plan, (master, folder), sort, page_file)
        wanted = (junit, as_junit), (markdown, as_markdown)
        texts = [(file, functools.partial(text, told.replay, told.label)) for file, text in wanted]
        statuses.append(write_reports(texts))
        _print(told, json_lines=json_lines, with_json=with_json)
        statuses.append(_status(told, listed))
    sys.exit(max(statuses, key=_SEVERITY.index))


_SEVERITY = (Exit.WELL, Exit.COULD_NOT_RUN, Exit.WRONG, Exit.INTERRUPTED)
"""The exit statuses of which the last one stands for all."""


def _judged(logs: list[Input], settings: Settings, master: str | None, *, json_lines: bool) -> Exit:
    text = text_of_logs(logs)
    with open_runner(text, master, LOG_MODULES) as runner, Bar(progress_console()) as bar:
        result = judge_inputs(logs, settings, runner, bar)
    if json_lines:
        click.echo(observed_json_line(result))
    else:
        show_observed(result, output())
    return _status_observed(result)


def _status_observed(result: Observed) -> Exit:
    if not result.whole:
        return Exit.INTERRUPTED
    if result.count(Outcome.DIVERGES):
        return Exit.WRONG
    judged = sum(verdict.requests + verdict.writes for verdict in result.verdicts)
    return Exit.WELL if judged else Exit.COULD_NOT_RUN


def _with_page(
    traces: tuple[Path, ...],
    plan: Plan,
    place: tuple[str | None, Path | None],
    sort: Callable[[Replay], Sorted],
    page_file: Path | None,
) -> Sorted:
    master, out = place
    if page_file is None:
        return sort(_replayed(traces, plan, master, out))
    from sharespec.replay_page import write_page  # noqa: PLC0415 - the page imports all rules

    # A page shows the lag over time, which the workers of a distant cluster cannot hand over.
    with nullcontext(out) if out else scratch_folder() as folder:
        told = sort(_replayed(traces, plan, master, Path(folder)))
        write_page(page_file, traces, told, plan, Path(folder) / "lag")
    return told


def _replayed(traces: tuple[Path, ...], plan: Plan, master: str | None, out: Path | None) -> Replay:
    sources = find_sources(traces)
    if out:
        out.mkdir(parents=True, exist_ok=True)
        out = out.absolute()
    text = text_of(sources.files)
    with open_runner(text, master, TRACE_MODULES) as runner, Bar(progress_console()) as bar:
        if not (runner.local or out or plan.state_folder):
            from replay.distant import replay_distant  # noqa: PLC0415 - small files need no Spark
            from replay.session import SparkRunner  # noqa: PLC0415 - as above

            # No folder is known that all nodes see.
            if isinstance(runner, SparkRunner):
                files = [f"file:{source.path}" for source in sources.files]
                return replay_distant(runner.session, files, plan)
        return replay_sources(runner, sources, plan, out, bar)


def _is_far(table: str | None, out: str | None) -> bool:
    """Return whether Spark must write the results of traces, as they go to an address."""
    return table is None and out is not None and is_address(local_path(out))


def _check_far(
    traces: tuple[str, ...],
    master: str | None,
    *,
    far: bool,
    near_only: tuple[tuple[str, object], ...],
) -> None:
    """Fail for options that do not go with addresses, and for a master that knows no files."""
    for name, value in near_only:
        if far and value:
            raise click.UsageError(f"{name} needs TRACES and --out that are files of this machine")
    if traces and (master or "").startswith("sc://"):
        raise click.UsageError("Spark Connect knows tables only: give --table")


def _of_addresses(
    traces: Sequence[str | Path], plan: Plan, master: str | None, out: str | None
) -> Replay:
    from replay.distant import replay_distant  # noqa: PLC0415 - small files need no Spark
    from replay.session import SparkRunner, open_session  # noqa: PLC0415 - as above

    with open_session(master or DEFAULT_MASTER) as session:
        if out and not is_address(out):
            if not SparkRunner(session).local:
                raise click.UsageError(
                    "on a cluster the --out of addresses is one too, as hdfs://host/out, "
                    "or file:/out that all workers see"
                )
            out = f"file:{Path(out).absolute()}"
        files = [t if isinstance(t, str) else f"file:{t.absolute()}" for t in traces]
        return replay_distant(session, files, plan, out)


def _of_table(table: str, plan: Plan, master: str | None, out: str | None) -> Replay:
    from replay.session import open_session  # noqa: PLC0415 - small files need no Spark
    from replay.table import replay_table  # noqa: PLC0415 - as above

    with open_session(master or DEFAULT_MASTER) as session:
        return replay_table(session, table, plan, out)


def _print(told: Sorted, *, json_lines: bool, with_json: bool) -> None:
    if json_lines:
        for line in verdict_lines(told.replay, told.label):
            click.echo(line)
        totals = json.loads(json_line(told.replay))
        click.echo(json.dumps(totals | told.totals()))
        return
    console = output()
    show(told.replay, console, label=told.label, with_json=with_json)
    for text in told.lines():
        console.print(Text(printable(text)), soft_wrap=True)


def _status(told: Sorted, listed: tuple[KnownFault, ...]) -> Exit:
    result = told.replay
    if result.interrupted:
        return Exit.INTERRUPTED
    is_seen = all(
        known_of(divergence, listed)
        for verdict in result.verdicts
        for divergence in verdict.divergences
    )
    if not is_seen or (result.counts.unreadable and result.counts.checked):
        return Exit.WRONG
    if not result.counts.checked and not result.counts.diverged:
        for problem in result.problems[:3]:
            click.echo(f"{printable(problem.source)}: {printable(problem.message)}", err=True)
        fail("nothing was checked, so nothing is known")
    return Exit.WELL
