"""A replay as JUnit XML and as Markdown, for continuous integration and for reports."""

import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

from judge.words import printable
from replay.report import Label, alike_of, unlabelled
from replay.verdict import PartitionVerdict, Replay, Verdict, place

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not have, not even escaped."""

MAX_SHOWN = 100
"""How many divergences of a share-partition a document names."""


def as_junit(replay: Replay, label: Label = unlabelled) -> str:
    """Return a document with a case for each share-partition, and one for each unread file.

    What diverges fails, what is unreadable or unknown is an error, what was not checked is skipped.
    """
    suite = ET.Element("testsuite", name="sharespec replay", time=f"{replay.seconds:.3f}")
    kinds = [_case(suite, verdict, label) for verdict in replay.verdicts]
    for problem in replay.problems:
        if problem.partition is None:
            where = place(problem.source, problem.line)
            case = ET.SubElement(suite, "testcase", name=_clean(where))
            ET.SubElement(case, "error", message=_clean(printable(problem.message)))
            kinds.append("error")
    for name, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(kinds.count(kind)))
    suite.set("tests", str(len(kinds)))
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


_KINDS = {
    Verdict.DIVERGES: "failure",
    Verdict.UNREADABLE: "error",
    Verdict.UNKNOWN: "error",
    Verdict.UNCHECKED: "skipped",
}


def _case(suite: ET.Element, verdict: PartitionVerdict, label: Label) -> str:
    case = ET.SubElement(suite, "testcase", name=_clean(printable(verdict.partition, 300)))
    kind = _KINDS.get(verdict.verdict, "")
    if kind:
        lines = list(_lines(verdict, label))
        result = ET.SubElement(case, kind, message=_clean(lines[0] if lines else ""))
        result.text = _clean("\n".join(lines))
    return kind


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
    yield "| Share-partition | Verdict | Events | Checked | What |"
    yield "|---|---|---:|---:|---|"
    for verdict in replay.verdicts:
        first = next(_lines(verdict, label), "")
        more = f"; and {len(verdict.more):,} more" if verdict.more else ""
        cells = (_cell(verdict.partition), verdict.verdict.value, f"{verdict.events:,}")
        yield f"| {' | '.join(cells)} | {verdict.checked:,} | {_cell(first)}{more} |"
    yield ""


def _kinds(replay: Replay, label: Label) -> Iterator[str]:
    for alike in alike_of(replay.verdicts):
        each = alike.first
        yield f"## {_cell(each.name)} in {_cell(each.operation)}: {_cell(each.headline)}"
        yield ""
        often = f"{alike.times:,} times in {alike.partitions:,} share-partitions"
        yield f"{_cell(each.sentence)}. {often}."
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
                yield f"- {name}: {_cell(text)}"
        yield ""


def _cell(text: str) -> str:
    """Return text of a file so that Markdown shows it as it is."""
    return re.sub(r"([\\`*_\[\]<>|#&~])", r"\\\1", printable(text, 1000))


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
