"""What ``sharespec replay`` does with request logs."""

import functools
import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path

import click
from rich.text import Text

from judge.words import printable
from replay.observed.findings import as_replay, divergence_of
from replay.observed.inputs import Input
from replay.observed.report import json_line, show
from replay.observed.run import Observed, judge_inputs, text_of_logs
from replay.observed.settings import Settings
from replay.observed.verdict import Outcome, Wrong
from replay.place import LOG_MODULES, open_runner
from replay.report import Bar, verdict_lines
from replay.verdict import Replay
from replay.written import as_junit, as_markdown
from sharespec.console import output, progress_console
from sharespec.dump import observed_dump
from sharespec.exit import Exit
from sharespec.known_faults import KnownFault, Sorted, known_of
from sharespec.reports import write_reports


def judged(  # noqa: PLR0913 - what a replay of request logs is asked for
    logs: Iterable[Input],
    settings: Settings,
    place: tuple[str | None, str | None],
    sort: Callable[[Replay], Sorted],
    *,
    listed: Sequence[KnownFault],
    files: tuple[Path | None, Path | None, Path | None],
    json_lines: bool,
) -> Exit:
    """Judge request logs, print what is found and write it to files: HTML, JUnit, Markdown.

    ``place`` is the master of Spark, and a dump of __share_group_state to join the logs to, if
    one is given. Raises SessionError, and OSError for files that cannot be opened.
    """
    master, state_topic = place
    with observed_dump(state_topic) if state_topic else nullcontext() as dump:
        inputs = [*logs, dump] if dump else list(logs)
        text = text_of_logs(inputs)
        with open_runner(text, master, LOG_MODULES) as runner, Bar(progress_console()) as bar:
            result = judge_inputs(inputs, settings, runner, bar)
    told = sort(as_replay(result))
    writers = (_page, as_junit, as_markdown)
    status = write_reports(
        (file, functools.partial(write, told.replay, told.label))
        for file, write in zip(files, writers, strict=True)
    )
    _print(result, told, json_lines=json_lines)
    return status or _status(result, told, listed)


def _page(replay: Replay, label: Callable[..., str]) -> str:
    from operations.view.many import listed_verdicts  # noqa: PLC0415 - few ask for a page
    from operations.view.page import page  # noqa: PLC0415 - as above

    counts = replay.counts
    title = f"Request logs: {counts.diverged} of {counts.partitions} share-partitions diverge"
    return page(title, listed_verdicts(replay.verdicts, None, label), ())


def _print(result: Observed, told: Sorted, *, json_lines: bool) -> None:
    if json_lines:
        for line in verdict_lines(told.replay, told.label):
            click.echo(line)
        click.echo(json.dumps(json.loads(json_line(result)) | told.totals()))
        return

    def label(partition: str, wrong: Wrong) -> str:
        return told.label(divergence_of(partition, wrong))

    console = output()
    show(result, console, label)
    for text in told.lines():
        console.print(Text(printable(text)), soft_wrap=True)


def _status(result: Observed, told: Sorted, listed: Sequence[KnownFault]) -> Exit:
    if not result.whole:
        return Exit.INTERRUPTED
    if any(not known_of(d, listed) for v in told.replay.verdicts for d in v.divergences):
        return Exit.WRONG
    is_known = told.replay.counts.checked and not result.count(Outcome.UNKNOWN)
    return Exit.WELL if is_known else Exit.COULD_NOT_RUN
