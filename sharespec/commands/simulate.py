"""``sharespec simulate``: clusters of a system's own classes under faults, on one virtual clock."""

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager, nullcontext
from multiprocessing import get_context
from pathlib import Path

import attrs
import click

from conformance.cluster.history import KINDS, read_history
from conformance.cluster.run_picture import run_picture
from conformance.cluster.simulated import (
    SimulatedRun,
    Simulator,
    TraceJudge,
    fewest,
    simulated,
)
from conformance.target import TargetError
from impl.cache import DISABLED
from judge.finding import Finding
from report.document import Command, Document, Heading, ItemList, Section, Toned, fields, paragraph
from report.html import html_text
from report.markdown import markdown_text
from report.scratch import scratch_folder
from report.terminal import show_document, shown_progress
from sharespec.cli import is_own_process
from sharespec.commands.options import FOLDER, JSON, OneOf, seed_option
from sharespec.console import output, progress_console
from sharespec.exit import Exit, exits_on
from sharespec.reports import file_option, write_reports

_EVENTS, _COMPARED = "events of traces", "events of traces that were compared"


@attrs.define
class _Cause:
    """Findings that look alike: the first, its run, what is known of it, and the seeds of all."""

    finding: Finding
    run: SimulatedRun
    known: str
    seeds: list[int]


@attrs.define
class _ClusterSearch:
    """What so many clusters have shown, and whether that is not all that were asked for."""

    causes: dict[tuple[str, ...], _Cause] = attrs.field(factory=dict)
    happenings: Counter[str] = attrs.field(factory=Counter)
    faults: Counter[str] = attrs.field(factory=Counter)
    clusters: int = 0
    interrupted: bool = False

    def note(self, run: SimulatedRun) -> None:
        """Take note of a run."""
        self.clusters += 1
        self.happenings.update(run.happenings)
        self.faults.update(fault.kind for fault in run.injected)
        self.happenings.update({_EVENTS: run.judged.events, _COMPARED: run.judged.compared})
        for finding in run.findings:
            known = _known(finding, run)
            key = (*finding.probable_cause, known)
            self.causes.setdefault(key, _Cause(finding, run, known, [])).seeds.append(run.seed)

    def new_first(self) -> list[_Cause]:
        """Return all causes, those before the others of which nothing is known."""
        return sorted(self.causes.values(), key=lambda cause: bool(cause.known))


def _numbers(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> tuple[int, ...] | None:
    """Return the numbers that a text lists. Raises BadParameter if it lists something else."""
    if text is None:
        return None
    try:
        return tuple(sorted({int(part) for part in text.split(",") if part}))
    except ValueError:
        raise click.BadParameter(f"{text!r} lists something else than numbers") from None


@click.command("simulate")
@click.argument("name", type=OneOf(["kafka"]))
@click.option("--runs", type=click.IntRange(1, 1_000_000), default=200, help="How many.")
@seed_option("Seed of the first run; the others follow it.")
@click.option(
    "--workers", type=click.IntRange(1, 64), help="How many processes; default: one for each core."
)
@click.option(
    "--out",
    type=FOLDER,
    metavar="FOLDER",
    help="Keep the histories, and the traces, of runs in which something is wrong.",
)
@click.option(
    "--traces",
    "with_traces",
    is_flag=True,
    help="Record what the leaders do, too, and judge each event as replay does.",
)
@click.option(
    "--without",
    metavar="NUMBERS",
    default="",
    show_default=False,
    callback=_numbers,
    help="Leave out these faults of each run, by their numbers: 0,3,5.",
)
@click.option(
    "--events",
    metavar="NUMBERS",
    callback=_numbers,
    help="Until faults are over let clients do only this, by its numbers in that run.",
)
@click.option(
    "--shrink",
    "tries",
    type=click.IntRange(0, 100_000),
    metavar="N",
    default=300,
    help="Leave out what clients do, too, in at most N runs for each kind of finding.",
)
@file_option("--markdown", "Write the whole report to this file as Markdown.")
@file_option("--html", "Write the whole report to this file as one HTML page.")
@JSON
@exits_on(TargetError)
def simulate_command(  # noqa: PLR0913 - one argument for each option
    *,
    name: str,
    runs: int,
    seed: int,
    workers: int | None,
    out: Path | None,
    with_traces: bool,
    without: tuple[int, ...],
    events: tuple[int, ...] | None,
    tries: int,
    markdown: Path | None,
    html: Path | None,
    json_lines: bool,
) -> None:
    """Run clusters of Apache Kafka's own classes under faults, and judge them from end to end.

    Each run has three nodes on one virtual clock, with the share-partition leaders, persisters and
    share coordinators of the released classes, members that fetch and acknowledge, and faults:
    leaders and coordinators that move and return, connections that are reset, nodes that are cut
    off, paused or killed, a slow network. All of it is drawn from the run's seed. What is found is
    shown with the fewest faults, and then the fewest of what clients do, and as a picture.

    Exits with 0 if no rule is broken, 1 if one is, 2 if a run stopped or nothing was judged, 130
    if interrupted: then what was found so far is shown, with all faults of its run.
    """
    workers = workers or os.cpu_count() or 1
    judge = _trace_judge(workers) if with_traces else nullcontext()
    with scratch_folder() as scratch, judge as judge_traces:
        folder = Path(scratch) if out is None else out
        folder.mkdir(parents=True, exist_ok=True)
        seeds = range(seed, seed + runs)
        search = _ClusterSearch()

        def tell(run: SimulatedRun) -> None:
            search.note(run)
            found = f"{len(search.causes)} kinds of findings"
            say(f"{name}: {search.clusters:,} of {runs:,} clusters, {found}")

        with shown_progress(progress_console(), name) as say:
            try:
                simulated(folder, seeds, without, workers, tell, judge_traces, events)
                with closing(Simulator(folder, judge_traces)) as simulator:
                    for number, cause in enumerate(search.new_first(), start=1):
                        say(f"{name}: shrinks {number} of {len(search.causes)} kinds of findings")
                        cause.run, cause.finding = fewest(
                            simulator, cause.run, cause.finding, tries
                        )
            except KeyboardInterrupt:
                search.interrupted = True
        report = _document(name, runs, seed, search, out)
        if json_lines:
            for cause in search.new_first():
                click.echo(json.dumps(_as_json(cause)))
        else:
            show_document(report, output())
        status = write_reports(
            ((markdown, lambda: markdown_text(report)), (html, lambda: html_text(report)))
        )
    sys.exit(max(status, _exit_of(search, with_traces=with_traces)))


def _exit_of(search: _ClusterSearch, *, with_traces: bool) -> Exit:
    if search.interrupted:
        return Exit.INTERRUPTED
    judged = search.happenings["LeaderAnswered"]
    if not judged or (with_traces and not search.happenings[_COMPARED]):
        return Exit.COULD_NOT_RUN
    return Exit.WRONG if search.causes else Exit.WELL


@contextmanager
def _trace_judge(workers: int) -> Iterator[TraceJudge]:
    """Judge traces in processes of their own: that takes longer than to run the clusters.

    Each is short: compiled code is not worth the wait for it.
    """
    if is_own_process():
        os.environ.setdefault(DISABLED, "1")
    from sharespec.leader_traces import judge_leaders  # noqa: PLC0415 - as replay loads Numba

    with ProcessPoolExecutor(workers, get_context("forkserver")) as pool:
        yield lambda folder, paused_ms: pool.submit(judge_leaders, folder, paused_ms).result()


def _known(finding: Finding, run: SimulatedRun) -> str:
    """Return the name, the title and the page of what a finding of a run is, if it is known."""
    from sharespec.known_faults import known_in_cluster  # noqa: PLC0415 - as replay loads pyarrow

    return known_in_cluster(finding, run.findings)


def _as_json(cause: _Cause) -> dict[str, object]:
    finding = cause.finding
    return {
        "rule": finding.name,
        "known": cause.known or None,
        "sentence": finding.sentence,
        "seed": cause.run.seed,
        "seeds": sorted(set(cause.seeds)),
        "offset": finding.offset,
        "recorded": finding.recorded,
        "expected": finding.expected,
        "without": sorted(cause.run.without),
        "faults": [fault.text for fault in cause.run.injected],
        "events": cause.run.events,
        "done": cause.run.done,
        "event": json.loads(finding.place.event),
        "evidence": list(finding.evidence),
    }


def _document(
    name: str, runs: int, seed: int, search: _ClusterSearch, out: Path | None
) -> Document:
    causes, happenings = search.new_first(), search.happenings
    new = sum(not cause.known for cause in causes)
    clusters = f"{search.clusters:,} of {runs:,}" if search.interrupted else f"{runs:,}"
    counted = (
        f"{clusters} clusters from seed {seed}: {happenings['InjectedFault']:,} faults, "
        f"{happenings['LeaderAcquired']:,} fetches that acquired, "
        f"{happenings['LeaderAnswered']:,} acknowledgements and "
        f"{happenings['WriteAnswered']:,} writes answered."
    )
    if happenings[_EVENTS]:
        compared, events = happenings[_COMPARED], happenings[_EVENTS]
        counted += f" Of the leaders' traces {compared:,} of {events:,} events were compared."
    seen = ", ".join(f"{kind} {count:,}" for kind, count in sorted(search.faults.items()))
    unseen = ", ".join(sorted(KINDS - set(happenings))) or "nothing"
    verdict = (
        Toned(f"{len(causes)} kinds of findings, {new} of them new", "bad")
        if causes
        else Toned("No rule is broken", "good")
    )
    return Document(
        command="sharespec simulate",
        subject=name,
        verdict=verdict,
        totals=(
            paragraph(verdict),
            paragraph(counted),
            paragraph(f"Faults: {seen or 'none'}. Never happened: {unseen}."),
        ),
        sections=tuple(_section(cause, out) for cause in causes),
    )


def _section(cause: _Cause, out: Path | None) -> Section:
    finding, run = cause.finding, cause.run
    seeds = sorted(set(cause.seeds))
    options = " --traces" if run.judged.events else ""
    for option, numbers in (("without", sorted(run.without)), ("events", run.events or ())):
        options += f" --{option} {','.join(map(str, numbers))}" if numbers else ""
    kept = out is not None
    where = f"{finding.place.partition}, seq {finding.seq}" if finding.event_text else ""
    return (
        Heading(": ".join(finding.probable_cause), "known" if cause.known else "new"),
        paragraph(finding.sentence),
        fields(
            ("recorded", finding.recorded),
            ("expected", finding.expected),
            ("offset", f"{finding.offset}"),
            ("share-partition", where),
            ("event", finding.event_text or finding.place.event),
            ("seeds", f"{len(seeds)}: {', '.join(map(str, seeds[:10]))}"),
            ("clients", f"do {len(run.done):,} of {run.scripted:,} things" if run.done else ""),
            ("known", cause.known),
            ("history", str(run.history) if kept else ""),
            ("traces", str(run.traces) if kept and run.judged.events else ""),
        ),
        ItemList(tuple(fault.text for fault in run.injected)),
        ItemList(finding.evidence),
        run_picture(read_history(run.lines()), finding, run.done),
        Command(f"sharespec simulate kafka --runs 1 --seed {run.seed}{options}"),
    )
