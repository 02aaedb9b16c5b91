"""The report of a replay, for people and as one line of JSON; text from files is escaped."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from judge.finding import Finding, FindingKind
from judge.words import printable
from replay.verdict import Counts, Divergence, PartitionVerdict, Problem, Replay, Verdict, place

MAX_ROWS = 40
"""How many share-partitions the table names; the counts are of all."""

MAX_DETAILS = 10
"""How many divergences are shown in full."""

MAX_PROBLEMS = 20
"""How many unreadable places are shown."""

_STYLES = {
    Verdict.CONFORMS: "green",
    Verdict.DIVERGES: "bold red",
    Verdict.UNREADABLE: "bold magenta",
    Verdict.UNCHECKED: "yellow",
}
_ORDER = (Verdict.DIVERGES, Verdict.UNREADABLE, Verdict.UNCHECKED, Verdict.CONFORMS)


def json_line(replay: Replay) -> str:
    """Return the totals as one line: ``events`` are those that were checked, in ``seconds``."""
    seconds = round(replay.seconds, 3)
    return json.dumps(
        {
            "events": replay.counts.checked,
            "partitions": replay.counts.partitions,
            "diverged": replay.counts.diverged,
            "unreadable": replay.counts.unreadable,
            "unchecked": replay.counts.unchecked,
            "log_unknown": replay.counts.log_unknown,
            "log_partly": replay.counts.log_partly,
            "seconds": seconds,
            "events_per_second": round(replay.counts.checked / max(replay.seconds, 1e-9), 1),
        }
    )


def show(replay: Replay, console: Console) -> None:
    """Print the verdicts, the first divergences, what could not be read, and the totals."""
    console.print(_table(replay.verdicts))
    divergences = [v.divergence for v in replay.verdicts if v.divergence]
    # A disagreement is an error of this project, so it comes before those of a broker.
    divergences.sort(key=lambda d: d.kind is not FindingKind.DISAGREEMENT)
    for divergence in divergences[:MAX_DETAILS]:
        console.print(_details(divergence))
    if len(divergences) > MAX_DETAILS:
        console.print(f"… and {len(divergences) - MAX_DETAILS} more diverging share-partitions\n")
    _show_problems(replay, console)
    for line in _totals(replay):
        console.print(line, soft_wrap=True)


def _table(verdicts: Sequence[PartitionVerdict]) -> Table:
    table = Table(box=None, pad_edge=False, title_justify="left")
    table.add_column("share-partition", overflow="fold")
    table.add_column("verdict")
    table.add_column("events", justify="right")
    table.add_column("checked", justify="right")
    table.add_column("what", overflow="fold")
    ordered = sorted(verdicts, key=lambda v: (_ORDER.index(v.verdict), v.partition))
    for verdict in ordered[:MAX_ROWS]:
        style = _STYLES[verdict.verdict]
        table.add_row(
            Text(printable(verdict.partition, 120)),
            Text(verdict.verdict.value, style=style),
            f"{verdict.events:,}",
            f"{verdict.checked:,}",
            Text(_what(verdict)),
        )
    if len(ordered) > MAX_ROWS:
        table.add_row(f"… and {len(ordered) - MAX_ROWS:,} more", "", "", "", "")
    return table


def _what(verdict: PartitionVerdict) -> str:
    if divergence := verdict.divergence:
        where = place(divergence.source, divergence.line)
        return f"{divergence.name} at seq {divergence.seq}, {where}"
    if problem := verdict.problem:
        return f"{place(problem.source, problem.line)}: {printable(problem.message, 160)}"
    return printable(verdict.reason)


def _details(divergence: Divergence) -> Text:
    text = Text()
    loud = divergence.kind is FindingKind.DISAGREEMENT
    title = "SPECIFICATION AND IMPLEMENTATION DISAGREE" if loud else "First divergence"
    name = printable(divergence.partition, 120)
    text.append(f"\n{title}: {name}, seq {divergence.seq}\n", style="bold red")
    where = place(divergence.source, divergence.line)
    _lines(text, ("where", where), ("event", divergence.event))
    return text.append(_explained(divergence))


def finding_text(finding: Finding) -> Text:
    """Return what is wrong with one event, in a few lines."""
    title = Text(f"\nDivergence at seq {finding.seq}\n", style="bold red")
    return title.append(_explained(finding))


def _explained(finding: Finding | Divergence) -> Text:
    text = Text()
    _lines(
        text,
        (finding.kind.value, f"{finding.name}: {finding.sentence}"),
        ("against", finding.engine),
        ("recorded", finding.recorded),
        ("expected", finding.expected),
        ("before", finding.before),
        ("after", finding.after),
    )
    return text


def _lines(text: Text, *lines: tuple[str, str]) -> None:
    for name, value in lines:
        text.append(f"  {name:<11} ", style="bold")
        text.append(f"{printable(value, 1000)}\n", style="default")


def _show_problems(replay: Replay, console: Console) -> None:
    problems: list[Problem] = list(
        dict.fromkeys([*(v.problem for v in replay.verdicts if v.problem), *replay.problems])
    )
    if problems:
        console.print(Text("\nUnreadable:", style="bold magenta"))
    for problem in problems[:MAX_PROBLEMS]:
        where = place(problem.source, problem.line)
        console.print(Text(f"  {where}: {printable(problem.message, 300)}"), soft_wrap=True)
    if len(problems) > MAX_PROBLEMS:
        console.print(f"  … and {len(problems) - MAX_PROBLEMS:,} more places")


def _totals(replay: Replay) -> Iterator[Text]:
    counts = replay.counts
    text = Text("\n")
    for number, name, verdict in (
        (counts.conforms, "conform", Verdict.CONFORMS),
        (counts.diverged, "diverge", Verdict.DIVERGES),
        (counts.unreadable, "unreadable", Verdict.UNREADABLE),
        (counts.unchecked, "not checked", Verdict.UNCHECKED),
    ):
        text.append(f"{number:,} {name}   ", style=_STYLES[verdict] if number else "dim")
    yield text.append(f"of {counts.partitions:,} share-partitions")
    missed = counts.events - counts.checked
    rate = counts.checked / max(replay.seconds, 1e-9)
    yield Text(
        f"{counts.checked:,} events checked, {missed:,} not checked "
        "(sampling, unreadable, or after a divergence), "
        f"{replay.seconds:.1f} s, {rate:,.0f} events/s",
        style="" if not missed else "yellow",
    )
    yield from _unchecked_promises(counts)
    if replay.passed_over:
        names = ", ".join(place(name, None) for name in replay.passed_over[:5])
        yield Text(f"{len(replay.passed_over)} files skipped, not traces by name: {names}")
    if replay.generated:
        yield Text(
            "The results in generated traces come from the implementation itself, so that it "
            "agrees with them proves nothing.",
            style="yellow",
        )
    if replay.interrupted:
        yield Text("Stopped before the end; these are the results so far.", style="bold yellow")


def _unchecked_promises(counts: Counts) -> Iterator[Text]:
    if counts.log_unknown:
        yield Text(
            f"{counts.log_unknown:,} share-partitions tell nothing of their log: that no record "
            "was lost, and that nothing past its end was read, is not checked of them.",
            style="yellow",
        )
    if counts.log_partly:
        yield Text(
            f"{counts.log_partly:,} share-partitions begin over a log that is not empty: that no "
            "record of before was lost is not checked of them.",
            style="yellow",
        )


class Bar:
    """A progress bar on a terminal; nothing elsewhere."""

    def __init__(self, console: Console) -> None:
        """Show on this console."""
        self._bar = Progress(
            TextColumn("{task.description:<6}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[totals]}"),
            TimeElapsedColumn(),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._task: Any = None

    def __enter__(self) -> Self:
        """Show the bar."""
        self._bar.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Remove the bar."""
        self._bar.stop()

    def stage(self, name: str, total: int) -> None:
        """Start a stage of ``total`` tasks."""
        self._task = self._bar.add_task(name, total=total, totals="")

    def done(self, tasks: int, results: Sequence[Any]) -> None:
        """Show how many tasks are done, and how many share-partitions diverge."""
        verdicts = [r for r in results if isinstance(r, PartitionVerdict)]
        totals = ""
        if verdicts:
            diverged = sum(v.verdict is Verdict.DIVERGES for v in verdicts)
            events = sum(v.checked for v in verdicts)
            totals = f"{events:,} events, {diverged:,} diverging"
        self._bar.update(self._task, completed=tasks, totals=totals)
