"""What ``sharespec replay`` does with request logs."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path

from conformance.known import KnownDeviation
from replay.observed.inputs import Input
from replay.observed.report import document, json_line
from replay.observed.run import JudgedLogs, judge_inputs
from replay.observed.settings import Assumed
from replay.place import LOG_MODULES, open_runner
from replay.report import Stages
from replay.sources import text_of
from replay.verdict import Replay, Verdict
from report.terminal import shown_progress
from sharespec.console import progress_console
from sharespec.dump import observed_dump
from sharespec.exit import Exit
from sharespec.known_faults import Sorted, known_of
from sharespec.replaying import tell


def judged(  # noqa: PLR0913 - what a replay of request logs is asked for
    logs: Iterable[Input],
    settings: Assumed,
    place: tuple[str | None, str | None],
    sort: Callable[[Replay], Sorted],
    *,
    listed: Sequence[KnownDeviation],
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
        text = text_of(inputs)
        progress = shown_progress(progress_console(), "replay")
        with open_runner(text, master, LOG_MODULES) as runner, progress as say:
            result = judge_inputs(inputs, settings, runner, Stages(say))
    told = sort(result)
    shown = document(result, told.label, told.lines())
    status = tell(told, shown, json_line(result), files, json_lines=json_lines)
    return status or _status(result, told, listed)


def _status(result: JudgedLogs, told: Sorted, listed: Sequence[KnownDeviation]) -> Exit:
    if result.interrupted:
        return Exit.INTERRUPTED
    if any(not known_of(d, listed) for v in told.replay.verdicts for d in v.divergences):
        return Exit.WRONG
    is_known = told.replay.counts.checked and not result.count(Verdict.UNKNOWN)
    return Exit.WELL if is_known else Exit.COULD_NOT_RUN
