"""A replay as JUnit XML and as Markdown, for continuous integration and for reports."""

from collections.abc import Iterator

from judge.words import printable
from replay.report import Label, alike_of, unlabelled
from replay.verdict import PartitionVerdict, Replay, Verdict, place
from report.junit import JUnitCase, junit_text
from report.markdown import escaped, table

MAX_SHOWN = 100
"""How many divergences of a share-partition a document names."""


def as_junit(replay: Replay, label: Label = unlabelled) -> str:
    """Return a document with a case for each share-partition, and one for each unread file.

    What diverges fails, what is unreadable or unknown is an error, what was not checked is skipped.
    """
    cases = [_case(verdict, label) for verdict in replay.verdicts]
    for problem in replay.problems:
        if problem.partition is None:
            where = place(problem.source, problem.line)
            cases.append(JUnitCase("file", where, "error", printable(problem.message)))
    return junit_text("sharespec replay", cases, replay.seconds)


_KINDS = {
    Verdict.DIVERGES: "failure",
    Verdict.UNREADABLE: "error",
    Verdict.UNKNOWN: "error",
    Verdict.UNCHECKED: "skipped",
}


def _case(verdict: PartitionVerdict, label: Label) -> JUnitCase:
    name, kind = printable(verdict.partition, 300), _KINDS.get(verdict.verdict, "")
    lines = list(_lines(verdict, label)) if kind else []
    return JUnitCase("partition", name, kind, next(iter(lines), ""), "\n".join(lines))


def _lines(verdict: PartitionVerdict, label: Label) -> Iterator[str]:
    """Yield what is wrong with a share-partition, a line each."""
    for each in verdict.divergences[:MAX_SHOWN]:
        known = f" (known: {label(each)})" if label(each) else ""
        where = place(each.source, each.line)
        yield printable(f"{each.name} at seq {each.seq}, {where}: {each.headline}{known}")
    if len(verdict.divergences) > MAX_SHOWN:
        yield f"and {len(verdict.divergences) - MAX_SHOWN:,} more"
    if verdict.problem:
        where = place(verdict.problem.source, verdict.problem.line)
        yield printable(f"{where}: {verdict.problem.message}")
    if verdict.reason:
        yield printable(verdict.reason)


def as_markdown(replay: Replay, label: Label = unlabelled) -> str:
    """Return a document with the totals, the share-partitions and each kind of divergence."""
    return "\n".join([*_head(replay), *_table(replay, label), *_kinds(replay, label), ""])


def _head(replay: Replay) -> Iterator[str]:
    counts = replay.counts
    yield "# sharespec replay"
    yield ""
    yield (
        f"{counts.conforms:,} of {counts.partitions:,} share-partitions conform, "
        f"{counts.diverged:,} diverge, {counts.unreadable:,} are unreadable, "
        f"{counts.unknown:,} unknown, {counts.unchecked:,} were not checked; "
        f"{counts.checked:,} of {counts.events:,} events were checked."
    )
    yield ""


def _table(replay: Replay, label: Label) -> Iterator[str]:
    columns = ("Share-partition", "Verdict", "Events", "Checked", "What")
    rows = (
        (
            printable(verdict.partition, 1000),
            verdict.verdict.value,
            f"{verdict.events:,}",
            f"{verdict.checked:,}",
            next(_lines(verdict, label), "")
            + (f"; and {len(verdict.more):,} more" if verdict.more else ""),
        )
        for verdict in replay.verdicts
    )
    yield from table(columns, rows, numbers=("Events", "Checked"))
    yield ""


def _kinds(replay: Replay, label: Label) -> Iterator[str]:
    for alike in alike_of(replay.verdicts):
        each = alike.first
        yield f"## {escaped(each.name)} in {escaped(each.operation)}: {escaped(each.headline)}"
        yield ""
        often = f"{alike.times:,} times in {alike.partitions:,} share-partitions"
        yield f"{escaped(each.sentence)}. {often}."
        yield ""
        for name, text in (
            ("First", f"{each.partition}, seq {each.seq}, {place(each.source, each.line)}"),
            ("Known", label(each)),
            ("Event", each.event_text),
            ("Recorded", each.recorded),
            ("Expected", each.expected),
            ("Before", each.before),
            ("Expected after", each.after),
            ("Recorded after", each.recorded_after),
            ("Differs", each.changed),
        ):
            if text:
                yield f"- {name}: {escaped(text, 1000)}"
        yield ""
