"""What ``verify`` and ``verify-client`` share: known deviations, a search, and a report."""

import shlex
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from difflib import get_close_matches
from functools import partial
from math import inf
from pathlib import Path
from typing import Any, NoReturn

import attrs
import click

from clients.pasted import python_module, python_test
from conformance.campaign import Campaign, Limits, Replayed, alone, campaign, replayed, unknown
from conformance.java import JavaCase, JavaWriter, NoTestError, class_name
from conformance.junit import as_junit
from conformance.kit import AnyKit
from conformance.known import KnownDeviation, KnownError, as_toml, read_known, read_sequence
from conformance.plain import as_json
from conformance.report import KitVerdict, Report, document, known_now, known_section, reproducing
from conformance.target import Hello, TargetError
from conformance.vectors.play import Played, all_cases, play_vectors, reason_to_skip
from conformance.vectors.source import Case
from report.html import html_text
from report.markdown import markdown_text
from report.terminal import show_document, show_section, shown_progress
from sharespec.commands.options import FILE, JSON, SECONDS, all_of
from sharespec.console import output, progress_console
from sharespec.exit import Exit, fail
from sharespec.reports import file_option, write_reports


@attrs.frozen
class VerifyOptions:
    """The values of the options that both commands have."""

    seconds: float | None
    sequences: int | None
    seed: int
    known: Path | None
    write_known: Path | None
    only: str | None
    play: str | None
    markdown: Path | None
    junit: Path | None
    html: Path | None
    json_lines: bool
    operations: int | None = None
    vector: str | None = None
    junit_test: Path | None = None
    test: Path | None = None


verifying_options = all_of(
    click.option("--seconds", type=SECONDS, help="How long to search at most."),
    click.option("--seed", type=int, default=0, help="Seed of the random sequences."),
    click.option("--known", type=FILE, help="File of known deviations."),
    file_option(
        "--write-known", "Write what shows as a file for --known: nothing in it is new then."
    ),
    click.option(
        "--only", metavar="NAME", help="Run only this known deviation and show its steps."
    ),
    click.option("--play", metavar="JSON", help="Play only this sequence, as reports have it."),
    file_option("--markdown", "Write every deviation to this file as Markdown."),
    file_option("--junit", "Write JUnit XML to this file, one test case per rule."),
    file_option("--html", "Write the whole report to this file as one HTML page."),
    JSON,
)
"""The options that both commands have."""


@attrs.frozen
class VerifyPlan:
    """What is read before a target is started: what is known, what to play, and how to search.

    ``may_lack_known``: the target is another release than that of the known deviations, so that
    one that does not show is none of its. ``java`` writes what shows as JUnit tests.
    """

    kit: AnyKit
    wanted: VerifyOptions
    known: tuple[KnownDeviation, ...]
    cases: tuple[Case, ...]
    sequence: tuple[Any, ...] | None
    limits: Limits
    may_lack_known: bool = False
    java: JavaWriter | None = None


def read_plan(
    kit: AnyKit, wanted: VerifyOptions, known: Path | None, version: str = ""
) -> VerifyPlan:
    """Return what to do, with a file of known deviations if none is given. Raises KnownError.

    ``version`` is the release of the target, empty where it has none.
    """
    given = sum(each is not None for each in (wanted.only, wanted.vector, wanted.play))
    if given > 1:
        raise click.UsageError("give one of --only, --vector and --play")
    if given and wanted.write_known:
        raise click.UsageError("--write-known is for a whole run, without --only, --vector, --play")
    path = wanted.known or known
    return VerifyPlan(
        kit,
        wanted,
        _chosen(read_known(path, kit.read) if path else (), wanted.only, version),
        _cases(wanted.vector, kit),
        None if wanted.play is None else read_sequence(wanted.play, kit.read),
        _limits(kit, wanted),
    )


def _limits(kit: AnyKit, wanted: VerifyOptions) -> Limits:
    """Return the limits of a search: the kit's number of sequences where nothing else ends it."""
    sequences = wanted.sequences
    if sequences is None:
        sequences = kit.sequences if wanted.seconds is wanted.operations is None else 1_000_000
    return Limits(
        inf if wanted.seconds is None else wanted.seconds,
        sequences,
        inf if wanted.operations is None else wanted.operations,
        examples=kit.examples,
        shrink_seconds=kit.shrink_seconds,
    )


def _cases(vector: str | None, kit: AnyKit) -> tuple[Case, ...]:
    """Return the vectors to play: all, or the one of this name."""
    cases = all_cases() if kit.plays_vectors else ()
    if vector is None:
        return cases
    chosen = tuple(case for case in cases if case.name == vector)
    if not chosen:
        names = [case.name for case in cases]
        near = ", ".join(get_close_matches(vector, names, 3, 0.3)) or f"{len(names)} others"
        raise KnownError(f"there is no vector {vector!r} for this target; there is {near}")
    return chosen


def _chosen(
    listed: tuple[KnownDeviation, ...], only: str | None, version: str
) -> tuple[KnownDeviation, ...]:
    chosen = tuple(known for known in listed if only in (None, known.name))
    if only and chosen and not chosen[0].is_of(version):
        raise KnownError(f"{only} is mended in {chosen[0].mended}; --version names one before it")
    chosen = tuple(known for known in chosen if known.is_of(version))
    if only and not chosen:
        names = ", ".join(known.name for known in listed) or "none"
        raise KnownError(f"{only!r} is not known; known are {names}")
    return chosen


def verify(target: Any, plan: VerifyPlan, command: str, title: str) -> NoReturn:  # noqa: ANN401 - of the kit
    """Verify a target, write and print the report, and exit. Raises TargetError, KnownError.

    ``command`` does the same, quoted for a shell, and ``title`` is its name.
    """
    wanted, kit = plan.wanted, plan.kit
    if plan.may_lack_known:
        hello = kit.hello(target)
        shows = tuple(known for known in plan.known if not kit.lacking(hello, known.sequence))
        plan = attrs.evolve(plan, known=shows)
    if wanted.only:
        (again,) = replayed(target, kit.hello(target), plan.known, kit)
        report = Report(
            kit, _nothing(kit.hello(target)), (again,), (), command=command, title=title
        )
        status = _write(target, report, plan)
        if not wanted.json_lines:
            show_section(known_section(again.known, again.fault), output())
        sys.exit(Exit.WRONG if again.fault else status)
    if plan.sequence is not None:
        searched = alone(target, plan.sequence, kit)
        report = Report(kit, searched, (), searched.faults)
    elif wanted.vector is not None:
        report = _one_vector(target, plan)
    else:
        report = _verified(target, plan)
    option = f" --known {shlex.quote(str(wanted.known))}" if wanted.known else ""
    report = attrs.evolve(report, command=command, known_option=option, title=title)
    status = _write(target, report, plan)
    if not wanted.json_lines:
        show_document(document(report), output())
    if report.campaign.interrupted:
        sys.exit(Exit.INTERRUPTED)
    if report.unknown:
        fail(report.unknown)
    sys.exit(Exit.WRONG if report.verdict is KitVerdict.DEVIATES else status)


def _write_tests(target: Any, report: Report, plan: VerifyPlan) -> Exit:  # noqa: ANN401 - of the kit
    """Write each deviation that can be expressed as a test to paste."""
    wanted, java = plan.wanted, plan.java
    if wanted.test is not None:
        return _write_test(report, wanted.test, python_test, python_module)
    if wanted.junit_test is None or java is None:
        return Exit.WELL
    name, version = class_name(wanted.junit_test), report.campaign.hello.version
    one = partial(java.method, target, report.kit)
    return _write_test(
        report, wanted.junit_test, one, lambda tests: java.source(name, tests, version)
    )


def _write_test(
    report: Report,
    path: Path,
    one: Callable[[JavaCase, Collection[str]], tuple[str, str]],
    whole: Callable[[Sequence[str]], str],
) -> Exit:
    """Write a file of tests: ``one`` for each deviation; say of the others why there is none."""
    tests: dict[str, str] = {}
    for case in _java_cases(report):
        try:
            name, text = one(case, tests)
        except NoTestError as error:
            click.echo(f"sharespec: no test of {case.name}: {error}", err=True)
        else:
            tests[name] = text
    if not tests:
        why = "is not written: no deviation shows that can be expressed"
        click.echo(f"sharespec: {path} {why}", err=True)
        return Exit.COULD_NOT_RUN
    text = whole(tuple(tests.values()))
    return write_reports([(path, lambda: text)])


def _java_cases(report: Report) -> Iterator[JavaCase]:
    for known, fault in ((each.known, each.fault) for each in report.replayed):
        if fault is not None:
            means = known.consequence
            told = (f"{known.title}.", "" if means.startswith("As above") else means)
            yield JavaCase(known.name, fault, told, reproducing(report, fault, known.name))
    for group in report.groups:
        name, command = group.first.deviation.where, reproducing(report, group.first)
        yield JavaCase(name, group.first, (f"{group.title}.",), command)


def _write(target: Any, report: Report, plan: VerifyPlan) -> Exit:  # noqa: ANN401 - of the kit
    """Write the files that are wanted, and with --json the lines."""
    wanted, shown = plan.wanted, document(report)
    files: list[tuple[Path | None, Callable[[], str]]] = [
        (wanted.markdown, partial(markdown_text, shown)),
        (wanted.junit, partial(as_junit, report)),
        (wanted.html, partial(html_text, shown)),
    ]
    if not report.unknown:
        listed = partial(known_now, report)
        files.append((wanted.write_known, lambda: as_toml(listed(), report.kit.plain)))
    status = write_reports(files) or _write_tests(target, report, plan)
    if wanted.json_lines:
        for line in as_json(report):
            click.echo(line)
    return status


def _one_vector(target: Any, plan: VerifyPlan) -> Report:  # noqa: ANN401 - a core
    hello, (case,) = target.hello(), plan.cases
    if reason := reason_to_skip(case, hello):
        raise KnownError(f"it cannot play {case.name}: the vector {reason}")
    played = play_vectors(target, hello, plan.cases)
    return Report(plan.kit, _nothing(hello), (), played.faults, played)


def _verified(target: Any, plan: VerifyPlan) -> Report:  # noqa: ANN401 - of the kit
    kit, seed = plan.kit, plan.wanted.seed
    hello = kit.hello(target)
    again: list[Replayed[Any]] = []
    played, searched = Played(), _nothing(hello, seed)
    try:
        if plan.cases:
            played = play_vectors(target, hello, plan.cases)
        searched = attrs.evolve(searched, failure=played.failure)
        if not played.failure:
            searched = _searched(target, plan)
        if not (searched.failure or searched.interrupted):
            try:
                again.extend(replayed(target, hello, plan.known, kit))
            except TargetError as error:
                searched = attrs.evolve(searched, failure=str(error))
    except KeyboardInterrupt:
        searched = attrs.evolve(searched, interrupted=True)
    if plan.may_lack_known:
        again = [each for each in again if each.fault]
    new = tuple(unknown((*played.faults, *searched.faults), plan.known))
    doubts = tuple(unknown(searched.unconfirmed, plan.known))
    searched = attrs.evolve(searched, unconfirmed=doubts)
    return Report(kit, searched, tuple(again), new, played)


def _nothing(hello: Hello[Any], seed: int = 0) -> Campaign[Any]:
    return Campaign(hello, (), 0, 0, 0.0, {}, seed=seed)


def _searched(target: object, plan: VerifyPlan) -> Campaign[Any]:
    kit = plan.kit
    passed_over = plan.known if kit.passes_over_known else ()
    with shown_progress(progress_console(), "verify") as say:

        def progress(sequences: int, faults: int) -> None:
            say(f"{sequences:,} sequences, {faults} deviations")

        return campaign(target, plan.limits, kit, plan.wanted.seed, progress, known=passed_over)
