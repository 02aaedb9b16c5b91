"""The report of a replay, for people and as one line of JSON; text from files is escaped."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Self

import attrs
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from judge.finding import Finding, FindingKind
from judge.words import printable
from replay.recording import Recording
from replay.verdict import (
    ORDER,
    Counts,
    Divergence,
    PartitionVerdict,
    Problem,
    Replay,
    Verdict,
    place,
)
from report.terminal import add_fields

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
    Verdict.UNKNOWN: "bold yellow",
    Verdict.UNCHECKED: "yellow",
}


Label = Callable[[Divergence], str]
"""Returns what is known of a divergence; nothing if it is new."""


def unlabelled(_divergence: Divergence) -> str:
    """Return that nothing is known of a divergence."""
    return ""


@attrs.frozen
class Alike:
    """Divergences with one signature: the first of them, and how many there are, and where."""

    first: Divergence
    times: int
    partitions: int


def alike_of(verdicts: Iterable[PartitionVerdict]) -> list[Alike]:
    """Return the divergences by signature, in the order of their first.

    A disagreement is an error of this project, so it comes before those of a broker.
    """
    met: dict[tuple[str, ...], list[Divergence]] = {}
    for verdict in verdicts:
        for each in verdict.divergences:
            met.setdefault(each.signature, []).append(each)
    alike = [Alike(same[0], len(same), len({d.partition for d in same})) for same in met.values()]
    return sorted(alike, key=lambda each: each.first.kind is not FindingKind.DISAGREEMENT)


def verdict_lines(replay: Replay, label: Label) -> Iterator[str]:
    """Yield a line of JSON for each share-partition."""
    for verdict in replay.verdicts:
        line = {
            "partition": verdict.partition,
            "verdict": verdict.verdict,
            "events": verdict.events,
            "checked": verdict.checked,
            "reason": verdict.reason,
            "problem": verdict.problem and verdict.problem.message,
            "divergences": [
                {name: getattr(each, name) for name in _TOLD}
                | {"signature": list(each.signature), "known": label(each) or None}
                for each in verdict.divergences
            ],
        }
        yield json.dumps(line)


_TOLD = ("seq", "source", "line", "kind", "name", "headline", "offset", "recorded", "expected")


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
            "unknown": replay.counts.unknown,
            "skipped_files": len(replay.passed_over),
            "log_unknown": replay.counts.log_unknown,
            "log_partly": replay.counts.log_partly,
            "gaps": replay.counts.gaps,
            "lost": replay.counts.lost,
            "latest_ms": replay.counts.latest_ms,
            **_files(replay.recordings),
            "runner": replay.runner,
            "seconds": seconds,
            "events_per_second": round(replay.counts.checked / max(replay.seconds, 1e-9), 1),
        }
    )


def _files(recordings: Sequence[Recording]) -> dict[str, int]:
    """Return what a recorder says of its files, in numbers."""
    total = sum(recordings, Recording())
    return {
        "recordings": len(recordings),
        "unfinished": sum(each.is_unfinished for each in recordings),
        "cut": total.cut,
        "dropped": total.dropped,
        "faults": total.faults,
        "sampled": total.sampled,
    }


def show(
    replay: Replay, console: Console, *, label: Label = unlabelled, with_json: bool = False
) -> None:
    """Print the verdicts, divergences, what could not be read, and the totals.

    ``label`` tells what is known of a divergence; ``with_json`` shows its row, too.
    """
    console.print(_table(replay.verdicts))
    alike = sorted(alike_of(replay.verdicts), key=lambda each: bool(label(each.first)))
    for each in alike[:MAX_DETAILS]:
        console.print(_details(each, label(each.first), with_json=with_json))
    if len(alike) > MAX_DETAILS:
        console.print(f"… and {len(alike) - MAX_DETAILS} more kinds of divergence\n")
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
    ordered = sorted(verdicts, key=lambda v: (ORDER.index(v.verdict), v.partition))
    for verdict in ordered[:MAX_ROWS]:
        style = _STYLES[verdict.verdict]
        table.add_row(
            Text(printable(verdict.partition, 120)),
            Text(_verdict_text(verdict), style=style),
            f"{verdict.events:,}",
            f"{verdict.checked:,}",
            Text(_what(verdict)),
        )
    if len(ordered) > MAX_ROWS:
        table.add_row(f"… and {len(ordered) - MAX_ROWS:,} more", "", "", "", "")
    return table


def _verdict_text(verdict: PartitionVerdict) -> str:
    """Return the verdict, with the gaps of what was checked."""
    if not verdict.gaps:
        return verdict.verdict.value
    return f"{verdict.verdict.value}, {verdict.gaps} gap{'s' if verdict.gaps > 1 else ''}"


def _what(verdict: PartitionVerdict) -> str:
    if divergence := verdict.divergence:
        where = place(divergence.source, divergence.line)
        more = f", and {len(verdict.more):,} more" if verdict.more else ""
        reason = f"; {printable(verdict.reason)}" if verdict.reason else ""
        return f"{divergence.name} at seq {divergence.seq}, {where}{more}{reason}"
    if problem := verdict.problem:
        return f"{place(problem.source, problem.line)}: {printable(problem.message, 160)}"
    return printable(verdict.reason)


def _details(alike: Alike, known: str, *, with_json: bool) -> Text:
    divergence, text = alike.first, Text()
    loud = divergence.kind is FindingKind.DISAGREEMENT
    title = "SPECIFICATION AND IMPLEMENTATION DISAGREE" if loud else "Divergence"
    title = "Known divergence" if known else title
    name = printable(divergence.partition, 120)
    where = place(divergence.source, divergence.line)
    often = f", the first of {alike.times:,} alike" if alike.times > 1 else ""
    if alike.partitions > 1:
        often += f" in {alike.partitions:,} share-partitions"
    text.append(f"\n{title}: {name}, seq {divergence.seq}, {where}{often}\n", style="bold red")
    text.append(_explained(divergence))
    add_fields(text, [("known", known), ("json", divergence.event if with_json else "")], _WIDTH)
    return text


_WIDTH = 14
"""How wide the names are that stand before what is known of a divergence."""


def alarm_text(divergence: Divergence, known: str = "") -> Text:
    """Return a divergence as the report of a replay shows it; ``known`` is what is known of it."""
    return _details(Alike(divergence, 1, 1), known, with_json=False)


def finding_text(finding: Finding) -> Text:
    """Return what is wrong with one event, in a few lines."""
    title = Text(f"\nDivergence at seq {finding.seq}\n", style="bold red")
    return title.append(_explained(finding))


def _explained(finding: Finding | Divergence) -> Text:
    """Return the offending value first, then the rule, the event, and the states around it."""
    text = Text()
    if finding.headline:
        text.append(f"  {printable(finding.headline, 300)}\n", style="bold")
    is_applied = finding.after != finding.before
    fields = (
        (finding.kind.value, f"{finding.name}: {finding.sentence}"),
        ("event", finding.event_text),
        ("answered" if finding.kind is FindingKind.GUARD else "recorded", finding.recorded),
        ("expected", finding.expected),
        ("before", finding.before),
        ("expected after", finding.after if is_applied else ""),
        ("recorded after", finding.recorded_after),
        ("differs at" if is_applied else "changes at", finding.changed),
        ("against", finding.engine),
    )
    add_fields(text, fields, _WIDTH)
    return text


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
        (counts.unknown, "unknown", Verdict.UNKNOWN),
        (counts.unchecked, "not checked", Verdict.UNCHECKED),
    ):
        text.append(f"{number:,} {name}   ", style=_STYLES[verdict] if number else "dim")
    yield text.append(f"of {counts.partitions:,} share-partitions")
    missed = counts.events - counts.checked
    rate = counts.checked / max(replay.seconds, 1e-9)
    yield Text(
        f"{counts.checked:,} events checked, {missed:,} not checked "
        "(sampling, unreadable, or after a divergence), "
        f"{replay.seconds:.1f} s, {rate:,.0f} events/s, {replay.runner}",
        style="" if not missed else "yellow",
    )
    yield from _unchecked_promises(counts)
    yield from _recorded(replay)
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


def _recorded(replay: Replay) -> Iterator[Text]:
    counts, files = replay.counts, _files(replay.recordings)
    if counts.gaps:
        yield Text(
            f"{counts.gaps:,} gaps, in which {counts.lost:,} events or more are missing: they are "
            "not checked, and what follows begins with a state that is believed.",
            style="yellow",
        )
    if counts.latest_ms is not None:
        yield Text(f"Timers ended locks up to {counts.latest_ms:,} ms after they were due.")
    if files["unfinished"] or files["cut"]:
        yield Text(
            f"{files['unfinished']:,} of {files['recordings']:,} recorded files have no trailer: "
            f"their broker died or still writes; {files['cut']:,} end within a line.",
            style="yellow",
        )
    if files["sampled"]:
        yield Text(
            f"{files['sampled']:,} of {files['recordings']:,} recorded files have a sample of the "
            "share-partitions: nothing is known of the others.",
            style="yellow",
        )
    if files["dropped"] or files["faults"]:
        yield Text(
            f"The recorder counts {files['dropped']:,} events dropped, {files['faults']:,} faults.",
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
