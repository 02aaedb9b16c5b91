"""``sharespec cluster``: a real cluster of brokers under faults, with real clients."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import attrs
import click

from conformance.cluster.fault_plan import PlannedFault, drawn_plan, read_plan
from conformance.shrink import with_fewest
from conformance.target import TargetError
from impl.cache import DISABLED
from judge.finding import Finding
from report.document import (
    Command,
    Document,
    Grid,
    Heading,
    ItemList,
    Paragraph,
    Section,
    Toned,
    fields,
    paragraph,
)
from report.scratch import LOCK, scratch_folder
from report.terminal import show_document, shown_progress
from sharespec.cli import is_own_process
from sharespec.commands.options import FOLDER, JSON, SECONDS, OneOf, seed_option
from sharespec.console import output, progress_console
from sharespec.exit import Exit, exits_on

if TYPE_CHECKING:
    from sharespec.cluster_judges import JudgedCluster

PLAN, FEWEST = "plan.jsonl", "fewest.jsonl"
"""The files with the plan of faults of a run that is kept, and with those that suffice."""

_NOT_KEPT = ("data", "off", f"{LOCK}*")
"""What is not copied of a run: the logs of topics, and what is no part of it."""


@click.command("cluster")
@click.argument("name", type=OneOf(["kafka"]))
@click.option("--seconds", type=SECONDS, default=60.0, help="How long faults go on.")
@seed_option("Seed of the settings, of what members do, and of the faults.")
@click.option(
    "--plan",
    "plan_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Do these faults: a line for each, [t, fault, arguments], t in ms.",
)
@click.option(
    "--out",
    type=FOLDER,
    metavar="FOLDER",
    help="Keep the plan, the traces, the request logs, the state topic, and what members saw.",
)
@click.option(
    "--shrink",
    "tries",
    type=click.IntRange(1, 100),
    metavar="N",
    help="Leave out faults while the same shows, the first thing that is new before others. "
    "A plan that does not show it is done up to N times.",
)
@JSON
@exits_on(TargetError)
def cluster_command(  # noqa: PLR0913 - one argument for each option
    *,
    name: str,
    seconds: float,
    seed: int,
    plan_file: Path | None,
    out: Path | None,
    tries: int | None,
    json_lines: bool,
) -> None:
    """Run three nodes of Apache Kafka under faults, with real clients, and judge what they did.

    Members of both clients poll, acknowledge and commit while leadership moves away and back,
    connections are reset, cut and slow, and nodes are paused, cut off and killed. Then everything
    is healed, members accept what is left, and all judges look at it: replay of the leaders'
    traces, the request logs with the state topic, and the rules from end to end.

    Exits with 0 if nothing is wrong, 1 if something is, 2 if the cluster did not start or too
    little was judged, 130 if interrupted: then what there is is judged.
    """
    plan = _plan(plan_file, seed, seconds)
    if is_own_process():
        os.environ.setdefault(DISABLED, "1")  # A run is short: compiling takes longer.
    from sharespec.cluster_judges import judge_cluster  # noqa: PLC0415 - as replay loads pyarrow
    from sharespec.cluster_run import run_cluster  # noqa: PLC0415 - as clients need extras

    with scratch_folder() as scratch, shown_progress(progress_console(), name) as say:
        folder = Path(scratch)

        def look(text: str) -> None:
            say(f"{name}: {text}")

        def keep() -> None:
            if out is not None:
                _keep(folder, out, plan)

        judged = run_cluster(folder, seed, seconds, plan, look, judge_cluster, keep)

        def play(fewer: tuple[PlannedFault, ...]) -> "JudgedCluster":
            with scratch_folder() as other:
                return run_cluster(
                    Path(other), seed, seconds, fewer, look, judge_cluster, lambda: None
                )

        fewest = _fewest(judged, plan, play, tries) if tries else None
    if fewest is not None and out is not None:
        _write_plan(out / FEWEST, fewest.plan)
    if json_lines:
        for line in _json_lines(judged, fewest):
            click.echo(line)
    else:
        again = _again(name, seconds, seed, plan_file)
        show_document(_document(name, judged, out, again, fewest), output())
    stopped = fewest is not None and fewest.interrupted
    sys.exit(Exit.INTERRUPTED if stopped else _exit_of(judged))


@attrs.define
class _Fewest:
    """The faults of a plan that suffice for a finding, as far as others were left out."""

    finding: Finding
    plan: tuple[PlannedFault, ...]
    interrupted: bool = False


def _fewest(
    judged: "JudgedCluster",
    plan: tuple[PlannedFault, ...],
    play: Callable[[tuple[PlannedFault, ...]], "JudgedCluster"],
    tries: int,
) -> _Fewest | None:
    """Leave out faults of a plan while the same shows; None if nothing is wrong."""
    findings = sorted(judged.findings, key=lambda each: bool(judged.known(each)))
    if not findings or judged.run.interrupted:
        return None
    found = _Fewest(findings[0], plan)

    def replaced(
        done: tuple[PlannedFault, ...], first: int, end: int
    ) -> tuple[PlannedFault, ...] | None:
        fewer = (*done[:first], *done[end:])
        for _ in range(tries):
            if found.interrupted:
                break
            tried = play(fewer)
            found.interrupted = tried.run.interrupted
            if _cause(found.finding) in _by_cause(tried.findings):
                return fewer
        return None

    found.plan = with_fewest(plan, replaced)
    return found


def _plan(file: Path | None, seed: int, seconds: float) -> tuple[PlannedFault, ...]:
    if file is None:
        return drawn_plan(Random(seed), seconds)  # noqa: S311 - a run is drawn from its seed
    with file.open(encoding="utf-8", errors="replace") as lines:
        return read_plan(lines, str(file), seconds)


def _keep(folder: Path, out: Path, plan: Iterable[PlannedFault]) -> None:
    """Copy what a run left, but for the logs of the topics."""
    shutil.copytree(folder, out, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*_NOT_KEPT))
    _write_plan(out / PLAN, plan)


def _write_plan(file: Path, plan: Iterable[PlannedFault]) -> None:
    file.write_text("".join(f"{fault.line()}\n" for fault in plan), encoding="utf-8")


def _exit_of(judged: "JudgedCluster") -> Exit:
    if judged.run.interrupted:
        return Exit.INTERRUPTED
    if any(judged.findings):
        return Exit.WRONG
    return Exit.COULD_NOT_RUN if judged.lack else Exit.WELL


def _again(name: str, seconds: float, seed: int, plan_file: Path | None) -> str:
    plan = f" --plan {plan_file}" if plan_file else ""
    return f"sharespec cluster {name} --seconds {seconds:g} --seed {seed}{plan}"


def _by_cause(findings: Iterable[Finding]) -> dict[tuple[str, ...], list[Finding]]:
    """Return the findings by what they have in common."""
    causes: dict[tuple[str, ...], list[Finding]] = {}
    for finding in findings:
        causes.setdefault(_cause(finding), []).append(finding)
    return causes


def _cause(finding: Finding) -> tuple[str, ...]:
    return finding.engine, *finding.probable_cause


def _json_lines(judged: "JudgedCluster", fewest: _Fewest | None) -> Iterator[str]:
    for finding in judged.findings:
        row: dict[str, Any] = {
            "judge": finding.engine,
            "rule": finding.name,
            "known": judged.known(finding) or None,
            "sentence": finding.sentence,
            "partition": finding.place.partition,
            "offset": finding.offset,
            "recorded": finding.recorded,
            "expected": finding.expected,
            "event": finding.place.event,
            "evidence": list(finding.evidence),
        }
        yield json.dumps(row)
    if fewest is not None:
        plan = [json.loads(fault.line()) for fault in fewest.plan]
        yield json.dumps({"rule": fewest.finding.name, "fewest": plan})
    run = judged.run
    yield json.dumps(
        {
            "seed": run.seed,
            "seconds": round(run.seconds, 1),
            "log": run.log,
            "letters": {group.name: group.letters for group in run.groups},
            "settings": {group.name: attrs.asdict(group.settings) for group in run.groups},
            "drained_s": run.drained_s,
            "faults": [fault.text for fault in run.faults],
            "judged": {name: [part, whole] for name, part, whole in judged.counts},
            "unseen": judged.unseen,
            "lack": judged.lack or None,
            "doubts": list(judged.doubts),
            "interrupted": run.interrupted,
        }
    )


def _document(
    name: str, judged: "JudgedCluster", out: Path | None, again: str, fewest: _Fewest | None
) -> Document:
    causes = _by_cause(judged.findings)
    if causes:
        verdict = Toned(f"{len(causes)} kinds of findings", "bad")
    elif judged.lack:
        verdict = Toned(f"unknown: {judged.lack}", "warn")
    else:
        verdict = Toned("No rule is broken", "good")
    rows = tuple((what, f"{part:,}", f"{whole:,}") for what, part, whole in judged.counts)
    table: Section = (Grid(("judged", "so many", "of"), rows, ("so many", "of")),)
    faults = tuple(fault.text for fault in judged.run.faults)
    return Document(
        command="sharespec cluster",
        subject=f"{name}, seed {judged.run.seed}",
        verdict=verdict,
        totals=(paragraph(verdict), *_totals(judged)),
        sections=(table, *(_section(judged, some, out, again) for some in causes.values())),
        others=(
            (Heading("Faults"), ItemList(faults, most=20)),
            *((_shrunk_section(fewest),) if fewest else ()),
            *(((Heading("Not told"), ItemList(judged.doubts)),) if judged.doubts else ()),
            *(((Heading("Why nodes gave up"), ItemList(judged.said)),) if judged.said else ()),
        ),
    )


def _shrunk_section(fewest: _Fewest) -> Section:
    stopped = "Interrupted: perhaps fewer suffice. " if fewest.interrupted else ""
    return (
        Heading("Fewest faults"),
        paragraph(f"{stopped}These show {': '.join(fewest.finding.probable_cause)}:"),
        ItemList(tuple(fault.line() for fault in fewest.plan)),
    )


def _totals(judged: "JudgedCluster") -> Iterator[Paragraph]:
    run = judged.run
    if run.interrupted:
        end = "Interrupted: what there is was judged."
    elif run.drained_s is None:
        end = "Then the lag did not come to 0."
    else:
        end = f"Then the lag was 0 after {run.drained_s:.0f} s."
    done = f"{len(run.faults)} of {len(run.plan)} faults"
    yield paragraph(f"{run.seconds:.0f} s of work, {done}. {end}")
    for group in run.groups:
        of = group.settings
        letters = f", with {group.letters:,} dead letters" if of.dead_letter_queue else ""
        reads = f"{of.isolation_level.replace('_', ' ')}{letters}; records: {run.log}"
        yield paragraph(f"Group {group.name} begins at {of.auto_offset_reset} and is {reads}.")
    if judged.unseen:
        yield paragraph(
            f"{judged.unseen:,} records that were confirmed to the producer reached no member."
        )
    if judged.lack:
        yield paragraph(f"Not judged enough: {judged.lack}")


def _section(judged: "JudgedCluster", some: list[Finding], out: Path | None, again: str) -> Section:
    first = some[0]
    known = judged.known(first)
    event = first.event_text
    if not event:
        with suppress(ValueError):
            event = json.dumps(json.loads(first.place.event))
    return (
        Heading(": ".join(first.probable_cause), "known" if known else "new"),
        paragraph(first.sentence),
        fields(
            ("judge", first.engine),
            ("times", f"{len(some)}"),
            ("share-partition", first.place.partition),
            ("offset", "" if first.offset is None else f"{first.offset}"),
            ("recorded", first.recorded),
            ("expected", first.expected),
            ("event", event),
            ("known", known),
            ("kept", str(out or "")),
        ),
        ItemList(first.evidence),
        Command(again),
    )
