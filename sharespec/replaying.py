"""What ``sharespec replay`` does: it takes longer to load than to read the command line."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from conformance.known import KnownDeviation, KnownError, as_toml, read_known
from replay.observed.inputs import sorted_out
from replay.pauses import FaultFileError, read_pauses
from replay.place import DEFAULT_MASTER, TRACE_MODULES, open_runner
from replay.plan import Plan
from replay.processes import HereRunner, ProcessRunner, SessionError
from replay.report import Stages, document, json_line, junit_document, verdict_lines
from replay.run import replay_sources
from replay.sources import NoSuchTraceError, find_sources, is_address, local_path, text_of
from replay.state_file import StateError
from replay.verdict import Replay, light
from report.document import Document
from report.html import html_text
from report.markdown import markdown_text
from report.terminal import show_document, shown_progress
from sharespec.cli import is_own_process
from sharespec.console import output, progress_console
from sharespec.exit import Exit, exits_on, fail, problem_lines
from sharespec.known_faults import Sorted, default_known, known_after, known_of
from sharespec.known_faults import sorted_out as sorted_by_known
from sharespec.observed_options import settings_of
from sharespec.reports import write_reports

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@exits_on(NoSuchTraceError, SessionError, StateError, KnownError, FaultFileError)
def run(  # noqa: C901, PLR0913 - one argument for each option, and what it excludes
    *,
    traces: tuple[str, ...],
    table: str | None,
    profile: str,
    against: str,
    sample: float,
    invariants: int,
    offered_within: int | None,
    sweep: int | None,
    fault_file: Path | None,
    faults_clock: int,
    master: str | None,
    out: str | None,
    page_file: Path | None,
    state: str | None,
    state_topic: str | None,
    most: int,
    known_file: Path | None,
    written_file: Path | None,
    junit: Path | None,
    markdown: Path | None,
    with_json: bool,
    json_lines: bool,
    **known: float | bool | None,
) -> None:
    """Run the command with the values of its options, and exit."""
    if bool(traces) == bool(table):
        raise click.UsageError("give TRACES, or --table TABLE")
    if state and table:
        raise click.UsageError("--state needs TRACES")
    if table and fault_file:
        raise click.UsageError("--faults needs TRACES")
    traces = tuple(map(local_path, traces))
    addresses = [trace for trace in traces if is_address(trace)]
    far = bool(addresses or (traces and out and is_address(local_path(out))))
    if far and state:
        raise click.UsageError("--state needs TRACES and --out that are files of this machine")
    if traces and (master or "").startswith("sc://"):
        raise click.UsageError("Spark Connect knows tables only: give --table")
    listed = read_known(known_file) if known_file else ()
    plan = Plan(
        profile,
        against.split(","),
        sample,
        invariants,
        offered_within=offered_within,
        sweep_ms=sweep,
        state_folder=state,
        max_divergences=most,
        pauses=read_pauses(fault_file, faults_clock),
    )
    default, results = default_known(profile), list[Sorted]()

    def sort(replay: Replay) -> Sorted:
        results.append(sorted_by_known(replay, listed, default))
        return results[-1]

    statuses: list[Exit] = []
    logs, others = sorted_out(Path(trace) for trace in traces if not is_address(trace))
    if state_topic and not logs:
        fail("--state-topic is joined to request logs, and there is none")
    if not logs and (given := sorted(filter(_is_given, known))):
        name = given[0].removesuffix("_ms").replace("_", "-")
        fail(f"--{name} is for request logs, not for traces")
    if logs:
        from sharespec.judged_logs import judged  # noqa: PLC0415 - traces need not wait for it

        settings = settings_of({**known, "sweep_ms": sweep, "most_findings": plan.max_divergences})
        place, with_traces = (master, state_topic), bool(others or addresses or table)
        # Where there are traces, too, the files are about these.
        files = (None, None, None) if with_traces else (page_file, junit, markdown)
        statuses.append(
            judged(logs, settings, place, sort, listed=listed, files=files, json_lines=json_lines)
        )
    if others or addresses or table:
        if table:
            told = sort(_of_table(table, plan, master, out))
        elif far:
            told = sort(_of_addresses((*addresses, *others), plan, master, out))
        else:
            folder = Path(local_path(out)) if out else None
            told = sort(_replayed(tuple(others), plan, master, folder))
        shown = document(told.replay, told.label, tuple(told.lines()), with_json=with_json)
        totals, files = json_line(told.replay), (page_file, junit, markdown)
        statuses.append(tell(told, shown, totals, files, json_lines=json_lines))
        statuses.append(_status(told, listed))
    statuses.append(
        write_reports([(written_file, lambda: as_toml(known_after(results, listed, default)))])
    )
    sys.exit(max(statuses, key=_SEVERITY.index))


_SEVERITY = (Exit.WELL, Exit.COULD_NOT_RUN, Exit.WRONG, Exit.INTERRUPTED)
"""The exit statuses of which the last one stands for all."""


def _is_given(option: str) -> bool:
    context = click.get_current_context()
    return context.get_parameter_source(option) is ParameterSource.COMMANDLINE


def _replayed(traces: tuple[Path, ...], plan: Plan, master: str | None, out: Path | None) -> Replay:
    sources = find_sources(traces)
    out = out.absolute() if out else None
    text = text_of(sources.files)
    opened = open_runner(text, master, TRACE_MODULES, alone=is_own_process())
    with opened as runner, shown_progress(progress_console(), "replay") as say:
        if not isinstance(runner, HereRunner | ProcessRunner):
            from replay.session import SparkRunner, is_local  # noqa: PLC0415 - small files need none

            # A cluster has no folder that all nodes see.
            if isinstance(runner, SparkRunner) and not is_local(runner.session):
                files = [f"file:{source.path}" for source in sources.files]
                return _distant(runner.session, files, plan, str(out) if out else plan.state_folder)
        return replay_sources(runner, sources, plan, out, Stages(say))


def _of_addresses(
    traces: Sequence[str | Path], plan: Plan, master: str | None, out: str | None
) -> Replay:
    from replay.session import open_session  # noqa: PLC0415 - small files need no Spark

    with open_session(master or DEFAULT_MASTER) as session:
        files = [t if isinstance(t, str) else f"file:{t.absolute()}" for t in traces]
        return _distant(session, files, plan, out)


def _distant(session: "SparkSession", files: list[str], plan: Plan, out: str | None) -> Replay:
    from replay.distant import replay_distant  # noqa: PLC0415 - small files need no Spark
    from replay.session import is_local  # noqa: PLC0415 - as above

    if out and not is_address(out):
        if not is_local(session):
            raise click.UsageError(
                "on a cluster --out is an address, as hdfs://host/out, or file:/out that all "
                "workers see, and --state needs a master of this machine"
            )
        out = f"file:{Path(out).absolute()}"
    return replay_distant(session, files, plan, out)


def _of_table(table: str, plan: Plan, master: str | None, out: str | None) -> Replay:
    from replay.frame import replay_table  # noqa: PLC0415 - as above
    from replay.session import open_session  # noqa: PLC0415 - small files need no Spark

    with open_session(master or DEFAULT_MASTER) as session:
        return replay_table(session, table, plan, out)


def tell(
    told: Sorted,
    shown: Document,
    totals: str,
    files: tuple[Path | None, Path | None, Path | None],
    *,
    json_lines: bool,
) -> Exit:
    """Print a replay, as a document or as JSON, and write the files: HTML, JUnit, Markdown."""
    writers = (
        lambda: html_text(shown),
        lambda: junit_document(told.replay, told.label),
        lambda: markdown_text(shown),
    )
    status = write_reports(zip(files, writers, strict=True))
    if json_lines:
        for line in verdict_lines(told.replay, told.label):
            click.echo(line)
        click.echo(json.dumps(json.loads(totals) | told.totals()))
    else:
        show_document(shown, output())
    return status


def _status(told: Sorted, listed: tuple[KnownDeviation, ...]) -> Exit:
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
        for line in problem_lines(result.problems[:3]):
            click.echo(line, err=True)
        fail("nothing was checked, so nothing is known")
    is_light = any(verdict.divergence and light(verdict) for verdict in result.verdicts)
    return Exit.COULD_NOT_RUN if result.counts.unknown or is_light else Exit.WELL
