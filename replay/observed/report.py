"""The report of what was observed, for people and as one line of JSON."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

from judge.words import printable, span
from replay.observed.run import Observed
from replay.observed.verdict import ObservedVerdict, Outcome, Wrong, light
from replay.verdict import place
from report.terminal import add_fields

MAX_ROWS, MAX_DETAILS, MAX_FINDINGS, MAX_TROUBLES = 40, 10, 5, 20

_WIDTH = 9
"""How wide the names are that stand before what was seen."""

_STYLES = {
    Outcome.DIVERGES: "bold red",
    Outcome.UNDETERMINED: "yellow",
    Outcome.UNKNOWN: "yellow",
    Outcome.CONFORMS: "green",
}


def json_line(result: Observed) -> str:
    """Return the totals as one line."""
    return json.dumps(
        {
            "partitions": len(result.verdicts),
            "conforms": result.count(Outcome.CONFORMS),
            "diverged": result.count(Outcome.DIVERGES),
            "undetermined": result.count(Outcome.UNDETERMINED),
            "unknown": result.count(Outcome.UNKNOWN),
            "lines": result.lines,
            "requests": result.requests,
            "judged": sum(verdict.requests + verdict.writes for verdict in result.verdicts),
            "unchecked": sum(verdict.unchecked for verdict in result.verdicts),
            "unusable_lines": result.unusable,
            "gaps": len(result.gaps),
            "durable": sum(verdict.durable for verdict in result.verdicts),
            "runner": result.runner,
            "seconds": round(result.seconds, 3),
        }
    )


Label = Callable[[str, Wrong], str]
"""What is known of a finding of a share-partition; empty: nothing."""


def unlabelled(_partition: str, _wrong: Wrong) -> str:
    """Return that nothing is known."""
    return ""


def show(result: Observed, console: Console, label: Label = unlabelled) -> None:
    """Print the verdicts, what diverges and what is in doubt, and the totals."""
    console.print(_table(result))
    order = list(_STYLES)
    shown = sorted(
        result.verdicts, key=lambda verdict: (order.index(verdict.outcome), verdict.partition)
    )
    for verdict in [verdict for verdict in shown if verdict.wrong][:MAX_DETAILS]:
        for wrong in verdict.findings[:MAX_FINDINGS]:
            known = label(verdict.partition, wrong)
            console.print(_divergence(verdict.partition, wrong, known), soft_wrap=True)
        if len(verdict.findings) > MAX_FINDINGS:
            console.print(f"\nAnd {len(verdict.findings) - MAX_FINDINGS:,} more of it.")
    for verdict in [verdict for verdict in shown if verdict.doubt][:MAX_DETAILS]:
        console.print(_doubt(verdict), soft_wrap=True)
    for line in _reading(result):
        console.print(line, soft_wrap=True)


def _table(result: Observed) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("share-partition", overflow="fold")
    table.add_column("verdict")
    for name in ("requests", "writes", "not judged"):
        table.add_column(name, justify="right")
    table.add_column("what", overflow="fold")
    order = list(_STYLES)
    rows = sorted(
        result.verdicts, key=lambda verdict: (order.index(verdict.outcome), verdict.partition)
    )
    for verdict in rows[:MAX_ROWS]:
        numbers = (
            f"{number:,}" for number in (verdict.requests, verdict.writes, verdict.unchecked)
        )
        table.add_row(
            Text(printable(verdict.partition, 120)),
            Text(verdict.outcome.value, style=_STYLES[verdict.outcome]),
            *numbers,
            Text(_what(verdict)),
        )
    if len(rows) > MAX_ROWS:
        table.add_row(f"… and {len(rows) - MAX_ROWS:,} more", "", "", "", "", "")
    return table


def _what(verdict: ObservedVerdict) -> str:
    if verdict.wrong:
        more = f"; and {len(verdict.more):,} more" if verdict.more else ""
        return f"{verdict.wrong.name} at {span(verdict.wrong.first, verdict.wrong.last)}{more}"
    if verdict.doubt:
        return f"{verdict.doubt.seen.name}, unless something unseen happened"
    return light(verdict) if verdict.outcome is Outcome.UNKNOWN else ""


def _divergence(partition: str, wrong: Wrong, known: str) -> Text:
    text = Text()
    text.append(f"\nNo legal broker: {printable(partition, 120)}\n", style="bold red")
    rows = [
        ("known", known),
        ("rule", f"{wrong.name}: {wrong.sentence}"),
        ("offsets", span(wrong.first, wrong.last)),
        ("seen", wrong.detail),
    ]
    add_fields(text, rows, _WIDTH)
    for each in wrong.evidence:
        text.append(f"  {_clock(each.end)}  ", style="bold")
        text.append(f"{printable(each.what, 300)}  ({_shown(each.place)})\n")
    return text


def _doubt(verdict: ObservedVerdict) -> Text:
    text = Text()
    if verdict.doubt is None:
        return text
    text.append(f"\nUndetermined: {printable(verdict.partition, 120)}\n", style="yellow")
    wrong = verdict.doubt.seen
    seen = f"{wrong.name} at {span(wrong.first, wrong.last)}: {wrong.detail}"
    unless = (("unless", reason) for reason in verdict.doubt.reasons)
    add_fields(text, [("seen", seen), *unless], _WIDTH)
    return text


def _reading(result: Observed) -> Iterator[Text]:
    counts = "   ".join(f"{result.count(outcome):,} {outcome.value}" for outcome in _STYLES)
    yield Text(f"\n{counts}   of {len(result.verdicts):,} share-partitions")
    judged = sum(verdict.requests + verdict.writes for verdict in result.verdicts)
    other = sum(result.passed_over.values())
    rate = result.requests / max(result.seconds, 1e-9)
    yield Text(
        f"{result.lines:,} lines, {result.requests:,} requests, {other:,} of kinds that show "
        f"nothing of share groups; {judged:,} judged, {result.seconds:.1f} s, {rate:,.0f}/s, "
        f"{result.runner}"
    )
    if result.unusable:
        yield Text(f"{result.unusable:,} lines cannot be used:", style="bold magenta")
        for trouble in result.troubles[:MAX_TROUBLES]:
            yield Text(
                f"  {place(trouble.source, trouble.line)}: {printable(trouble.message, 200)}"
            )
    if result.backward:
        often = "once" if result.backward == 1 else f"{result.backward:,} times"
        yield Text(f"The clock goes back {often}.", style="yellow")
    for gap in result.gaps[:MAX_TROUBLES]:
        times = f"from {_clock(gap.begin)} to {_clock(gap.end)}"
        yield Text(f"Not judged {times}: {printable(gap.reason, 200)}", style="yellow")
    if durable := sum(verdict.durable for verdict in result.verdicts):
        yield Text(f"{durable:,} writes have their record in the dump of the state topic.")
    if widened := sum(verdict.widened for verdict in result.verdicts):
        yield Text(f"{widened:,} times a record had too many possible states to follow.")
    if not result.whole:
        yield Text("Stopped before the end; these are the results so far.", style="bold yellow")


def _clock(ms: float) -> str:
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    except (OverflowError, ValueError, OSError):
        return f"{ms:.0f} ms"


def _shown(where: str) -> str:
    source, _, line = where.rpartition(":")
    return place(source, int(line)) if line.isdecimal() else printable(where)
