"""What ``sharespec replay`` does with request logs."""

from collections.abc import Iterable
from contextlib import nullcontext

import click

from replay.observed.inputs import Input
from replay.observed.report import json_line, show
from replay.observed.run import Observed, judge_inputs, text_of_logs
from replay.observed.settings import Settings
from replay.observed.verdict import Outcome
from replay.place import LOG_MODULES, open_runner
from replay.report import Bar
from sharespec.console import output, progress_console
from sharespec.dump import observed_dump
from sharespec.exit import Exit


def judged(
    logs: Iterable[Input],
    settings: Settings,
    master: str | None,
    state_topic: str | None,
    *,
    json_lines: bool,
) -> Exit:
    """Judge request logs, joined to a dump of __share_group_state if one is given, and print it.

    Raises SessionError, and OSError for files that cannot be opened.
    """
    with observed_dump(state_topic) if state_topic else nullcontext() as dump:
        inputs = [*logs, dump] if dump else list(logs)
        text = text_of_logs(inputs)
        with open_runner(text, master, LOG_MODULES) as runner, Bar(progress_console()) as bar:
            result = judge_inputs(inputs, settings, runner, bar)
    if json_lines:
        click.echo(json_line(result))
    else:
        show(result, output())
    return _status(result)


def _status(result: Observed) -> Exit:
    if not result.whole:
        return Exit.INTERRUPTED
    if result.count(Outcome.DIVERGES):
        return Exit.WRONG
    is_known = result.verdicts and not result.count(Outcome.UNKNOWN)
    return Exit.WELL if is_known else Exit.COULD_NOT_RUN
