"""The report of what was observed: a document, and one line of JSON."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping

from judge.finding import Finding
from judge.words import clock_text, many, printable, span
from replay.observed.run import JudgedLogs
from replay.observed.verdict import Doubt, ObservedVerdict
from replay.report import Alike, Label, divergence_section, verdict_table
from replay.verdict import ORDER, Verdict, place
from report.document import (
    Document,
    Heading,
    ItemList,
    Paragraph,
    Section,
    fields,
    paragraph,
    toned,
)

MAX_TROUBLES = 20
"""How many unusable lines, and how many gaps, a terminal shows."""

_COUNTED = (Verdict.DIVERGES, Verdict.UNDETERMINED, Verdict.UNKNOWN, Verdict.CONFORMS)

_NUMBERS: Mapping[str, Callable[[ObservedVerdict], int]] = {
    "requests": lambda verdict: verdict.requests,
    "writes": lambda verdict: verdict.writes,
    "not judged": lambda verdict: verdict.events - verdict.checked,
}


def json_line(result: JudgedLogs) -> str:
    """Return the totals as one line."""
    return json.dumps(
        {
            "partitions": len(result.verdicts),
            "conforms": result.count(Verdict.CONFORMS),
            "diverged": result.count(Verdict.DIVERGES),
            "undetermined": result.count(Verdict.UNDETERMINED),
            "unknown": result.count(Verdict.UNKNOWN),
            "lines": result.lines,
            "requests": result.requests,
            "judged": result.counts.checked,
            "unchecked": result.counts.events - result.counts.checked,
            "unusable_lines": result.unusable,
            "gaps": len(result.gaps),
            "durable": sum(verdict.durable for verdict in result.verdicts),
            "runner": result.runner,
            "seconds": round(result.seconds, 3),
        }
    )


def document(result: JudgedLogs, label: Label, known: Iterable[str]) -> Document:
    """Return the report: the verdicts, what diverges and what is in doubt, and the totals.

    ``known`` says what is known of all findings.
    """
    ordered = sorted(result.verdicts, key=lambda v: (ORDER.index(v.verdict), v.partition))
    findings = [Alike(found, 1, 1) for v in ordered for found in v.divergences]
    return Document(
        "sharespec replay",
        totals=(*_totals(result), *map(paragraph, known)),
        sections=(
            (verdict_table(ordered, _NUMBERS, _what),),
            *(divergence_section(each, label(each.first)) for each in findings),
            *(_in_doubt(v.partition, v.doubt) for v in ordered if v.doubt),
        ),
        others=tuple(_troubles(result)),
    )


def _what(verdict: ObservedVerdict) -> str:
    if verdict.divergence:
        first, *others = verdict.divergences
        more = f"; and {len(others):,} more" if others else ""
        return f"{first.name} at {_offsets(first)}{more}"
    if verdict.doubt:
        return f"{verdict.doubt.seen.name}, unless something unseen happened"
    return verdict.reason


def _offsets(found: Finding) -> str:
    return span(found.offset or 0, found.last or 0)


def _in_doubt(partition: str, doubt: Doubt) -> Section:
    seen = f"{doubt.seen.name} at {_offsets(doubt.seen)}: {doubt.seen.headline}"
    unless = (("unless", reason) for reason in doubt.reasons)
    return Heading(printable(partition, 120), "Undetermined"), fields(("seen", seen), *unless)


def _totals(result: JudgedLogs) -> Iterator[Paragraph]:
    counts = "   ".join(f"{result.count(outcome):,} {outcome.value}" for outcome in _COUNTED)
    yield paragraph(f"{counts}   of {many(len(result.verdicts), 'share-partition')}")
    judged = result.counts.checked
    rate = result.requests / max(result.seconds, 1e-9)
    yield paragraph(
        f"{many(result.lines, 'line')}, {many(result.requests, 'request')}, {result.others:,} of "
        f"kinds that show nothing of share groups; {judged:,} judged, {result.seconds:.1f} s, "
        f"{rate:,.0f}/s, {result.runner}"
    )
    if durable := sum(verdict.durable for verdict in result.verdicts):
        yield paragraph(f"{durable:,} writes have their record in the dump of the state topic.")
    if widened := sum(verdict.widened for verdict in result.verdicts):
        yield paragraph(f"{widened:,} times a record had too many possible states to follow.")
    if result.backward:
        often = "once" if result.backward == 1 else f"{result.backward:,} times"
        yield toned(f"The clock goes back {often}.", "warn")
    if result.interrupted:
        yield toned("Stopped before the end; these are the results so far.", "warn")


def _troubles(result: JudgedLogs) -> Iterator[Section]:
    if result.unusable:
        texts = (
            f"{place(trouble.source, trouble.line)}: {printable(trouble.message, 200)}"
            for trouble in result.troubles
        )
        title = f"{many(result.unusable, 'line')} cannot be used"
        yield Heading(title), ItemList(tuple(texts), most=MAX_TROUBLES)
    if result.gaps:
        gaps = (
            f"from {clock_text(gap.begin)} to {clock_text(gap.end)}: {printable(gap.reason, 200)}"
            for gap in result.gaps
        )
        yield Heading("Not judged"), ItemList(tuple(gaps), most=MAX_TROUBLES)
