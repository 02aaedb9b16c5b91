"""The report of a replay: a document, JSON and JUnit XML; text from files is escaped."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs
from rich.text import Text

from judge.finding import Finding, FindingKind
from judge.words import many, printable, span
from replay.plan import CheckedPartition
from replay.verdict import ORDER, PartitionVerdict, Recording, Replay, V, Verdict, place
from report.document import (
    Document,
    Grid,
    Heading,
    ItemList,
    Paragraph,
    Section,
    Toned,
    Words,
    fields,
    paragraph,
    toned,
)
from report.junit import JUnitCase, junit_text
from report.terminal import section_text

MAX_ROWS = 40
"""How many share-partitions the table names; the counts are of all."""

MAX_DETAILS = 10
"""How many divergences are shown in full."""

MAX_PROBLEMS = 20
"""How many unreadable places are shown."""

MAX_LINES = 100
"""How many divergences of a share-partition JUnit XML names."""

_TONES = {
    Verdict.CONFORMS: "good",
    Verdict.DIVERGES: "bad",
    Verdict.UNREADABLE: "odd",
    Verdict.UNKNOWN: "warn",
    Verdict.UNDETERMINED: "warn",
    Verdict.UNCHECKED: "warn",
}


Label = Callable[[Finding], str]
"""Returns what is known of a divergence; nothing if it is new."""


def unlabelled(_divergence: Finding) -> str:
    """Return that nothing is known of a divergence."""
    return ""


@attrs.frozen
class Alike:
    """Divergences with one signature: the first of them, and how many there are, and where."""

    first: Finding
    times: int
    partitions: int


def alike_of(verdicts: Iterable[PartitionVerdict]) -> list[Alike]:
    """Return the divergences by signature, in the order of their first.

    A disagreement is an error of this project, so it comes before those of a broker.
    """
    met: dict[tuple[str, ...], list[Finding]] = {}
    for verdict in verdicts:
        for each in verdict.divergences:
            met.setdefault(each.signature, []).append(each)
    alike = [
        Alike(same[0], len(same), len({d.place.partition for d in same})) for same in met.values()
    ]
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
                {"source": each.place.source, "line": each.place.line}
                | {name: getattr(each, name) for name in _TOLD}
                | {"signature": list(each.signature), "known": label(each) or None}
                for each in verdict.divergences
            ],
        }
        yield json.dumps(line)


_TOLD = ("seq", "time_ms", "time", "kind", "name", "headline", "offset", "recorded", "expected")


def json_line(replay: Replay) -> str:
    """Return the totals as one line: ``events`` are those that were checked, in ``seconds``."""
    counts = attrs.asdict(replay.counts)
    return json.dumps(
        {
            "events": counts["checked"],
            **{name: counts[name] for name in _TOTALS},
            "skipped_files": len(replay.passed_over),
            **{name: counts[name] for name in _LOSSES},
            **_files(replay.recordings),
            "runner": replay.runner,
            "seconds": round(replay.seconds, 3),
            "events_per_second": round(counts["checked"] / max(replay.seconds, 1e-9), 1),
        }
    )


_TOTALS = ("partitions", "diverged", "unreadable", "unchecked", "unknown")
_LOSSES = ("log_unknown", "log_partly", "gaps", "lost", "latest_ms")


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


def document(
    replay: Replay, label: Label = unlabelled, known: Sequence[str] = (), *, with_json: bool = False
) -> Document:
    """Return the report: each share-partition, each kind of divergence, and the totals.

    ``label`` tells what is known of a divergence, and ``known`` of all of them; ``with_json`` shows
    its row, too.
    """
    alike = sorted(alike_of(replay.verdicts), key=lambda each: bool(label(each.first)))
    sections = (divergence_section(each, label(each.first), with_json=with_json) for each in alike)
    return Document(
        "sharespec replay",
        totals=(*_totals(replay), *map(paragraph, known)),
        sections=((verdict_table(replay.verdicts, _NUMBERS, _what),), *sections),
        others=tuple(_problems(replay)),
        detailed=MAX_DETAILS + 1,
    )


def verdict_table(
    verdicts: Iterable[V], numbers: Mapping[str, Callable[[V], int]], what: Callable[[V], str]
) -> Grid:
    """Return a table of verdicts, what needs a look first, with these numbers of each."""
    ordered = sorted(verdicts, key=lambda v: (ORDER.index(v.verdict), v.partition))
    rows: Iterator[tuple[Words, ...]] = (
        (
            printable(v.partition, 120),
            Toned(_verdict_text(v), _TONES[v.verdict]),
            *(f"{number(v):,}" for number in numbers.values()),
            what(v),
        )
        for v in ordered
    )
    columns = ("share-partition", "verdict", *numbers, "what")
    return Grid(columns, tuple(rows), tuple(numbers), most=MAX_ROWS)


_NUMBERS: Mapping[str, Callable[[PartitionVerdict], int]] = {
    "events": lambda verdict: verdict.events,
    "checked": lambda verdict: verdict.checked,
}


def _verdict_text(verdict: PartitionVerdict) -> str:
    """Return the verdict, with the gaps of what was checked."""
    if not verdict.gaps:
        return verdict.verdict.value
    return f"{verdict.verdict.value}, {verdict.gaps} gap{'s' if verdict.gaps > 1 else ''}"


def _what(verdict: PartitionVerdict) -> str:
    if divergence := verdict.divergence:
        where = place(divergence.place.source, divergence.place.line)
        more = f", and {len(verdict.more):,} more" if verdict.more else ""
        reason = f"; {verdict.reason}" if verdict.reason else ""
        return f"{divergence.name} at seq {divergence.seq}, {where}{more}{reason}"
    if problem := verdict.problem:
        return f"{place(problem.source, problem.line)}: {printable(problem.message, 160)}"
    return verdict.reason


def divergence_section(alike: Alike, known: str, *, with_json: bool = False) -> Section:
    """Return divergences that look alike, by the first of them; ``known`` is what is known."""
    first = alike.first
    loud = first.kind is FindingKind.DISAGREEMENT
    title = "SPECIFICATION AND IMPLEMENTATION DISAGREE" if loud else "Divergence"
    often = f", the first of {alike.times:,} alike" if alike.times > 1 else ""
    if alike.partitions > 1:
        often += f" in {alike.partitions:,} share-partitions"
    where = place(first.place.source, first.place.line)
    return (
        Heading(
            f"{printable(first.place.partition, 120)}, seq {first.seq}, {where}{often}",
            "Known divergence" if known else title,
        ),
        *_explained(first),
        fields(("known", known), ("json", first.place.event if with_json else "")),
        ItemList(first.evidence, most=1000),
    )


def alarm_text(divergence: Finding, known: str = "") -> Text:
    """Return a divergence as the report of a replay shows it; ``known`` is what is known of it."""
    return section_text(divergence_section(Alike(divergence, 1, 1), known))


def finding_text(finding: Finding, width: int | None = None, known: str = "") -> Text:
    """Return what is wrong with one event, in lines of so many characters, if any are given."""
    heading = Heading(f"{'Known divergence' if known else 'Divergence'} at seq {finding.seq}")
    return section_text((heading, *_explained(finding), fields(("known", known))), width)


def _explained(finding: Finding) -> Section:
    """Return the offending value first, then the rule, the event, and the states around it."""
    is_applied = finding.after != finding.before
    rows = fields(
        (finding.kind.value, f"{finding.name}: {finding.sentence}"),
        ("offsets", "" if finding.last is None else span(finding.offset or 0, finding.last)),
        ("time", finding.time),
        ("event", finding.event_text),
        ("answered" if finding.kind is FindingKind.GUARD else "recorded", finding.recorded),
        ("expected", finding.expected),
        ("before", finding.before),
        ("expected after", finding.after if is_applied else ""),
        ("recorded after", finding.recorded_after),
        ("differs at" if is_applied else "changes at", finding.changed),
        ("against", finding.engine),
    )
    return (*([toned(finding.headline, "strong")] if finding.headline else []), rows)


def _problems(replay: Replay) -> Iterator[Section]:
    problems = dict.fromkeys([*(v.problem for v in replay.verdicts if v.problem), *replay.problems])
    if problems:
        texts = (f"{place(p.source, p.line)}: {printable(p.message, 300)}" for p in problems)
        yield Heading("Unreadable"), ItemList(tuple(texts), most=MAX_PROBLEMS)


def _totals(replay: Replay) -> Iterator[Paragraph]:
    counts = replay.counts
    numbers = (
        (counts.conforms, "conform", Verdict.CONFORMS),
        (counts.diverged, "diverge", Verdict.DIVERGES),
        (counts.unreadable, "unreadable", Verdict.UNREADABLE),
        (counts.unknown, "unknown", Verdict.UNKNOWN),
        (counts.unchecked, "not checked", Verdict.UNCHECKED),
    )
    shown = (Toned(f"{n:,} {name}   ", _TONES[v] if n else "soft") for n, name, v in numbers)
    yield paragraph(*shown, f"of {many(counts.partitions, 'share-partition')}")
    missed = counts.events - counts.checked
    rate = counts.checked / max(replay.seconds, 1e-9)
    checked = (
        f"{many(counts.checked, 'event')} checked, {missed:,} not checked "
        "(sampling, unreadable, or after a divergence), "
        f"{replay.seconds:.1f} s, {rate:,.0f} events/s, {replay.runner}"
    )
    yield toned(checked, "warn" if missed else "")
    if counts.latest_ms is not None:
        yield paragraph(f"Timers ended locks up to {counts.latest_ms:,} ms after they were due.")
    if replay.passed_over:
        names = ", ".join(place(name, None) for name in replay.passed_over[:5])
        files = many(len(replay.passed_over), "file")
        yield paragraph(f"{files} skipped, not traces by name: {names}")
    for warning in _warnings(replay):
        yield toned(warning, "warn")


def _warnings(replay: Replay) -> Iterator[str]:
    """Yield what the replay does not show, and why."""
    counts, files = replay.counts, _files(replay.recordings)
    if counts.log_unknown:
        yield (
            f"Nothing is told of the log of {many(counts.log_unknown, 'share-partition')}: that no "
            "record was lost, and that nothing past its end was read, is not checked there."
        )
    if counts.log_partly:
        yield (
            f"The log of {many(counts.log_partly, 'share-partition')} is not empty at first: "
            "that no record of before was lost is not checked there."
        )
    if counts.gaps:
        yield (
            f"{many(counts.gaps, 'gap')}, in which {many(counts.lost, 'event')} or more are lost: "
            "not checked, and what follows begins with a state that is believed."
        )
    if files["unfinished"] or files["cut"]:
        yield (
            f"{files['unfinished']:,} of {files['recordings']:,} recorded files have no trailer: "
            f"their broker died or still writes; {files['cut']:,} end within a line."
        )
    if files["sampled"]:
        yield (
            f"{files['sampled']:,} of {files['recordings']:,} recorded files have a sample of the "
            "share-partitions: nothing is known of the others."
        )
    if files["dropped"] or files["faults"]:
        dropped, faults = files["dropped"], files["faults"]
        yield f"The recorder counts {many(dropped, 'event')} dropped, {many(faults, 'fault')}."
    if replay.generated:
        yield (
            "The results in generated traces come from the implementation itself, so that it "
            "agrees with them proves nothing."
        )
    if replay.interrupted:
        yield "Stopped before the end; these are the results so far."


def junit_document(replay: Replay, label: Label = unlabelled) -> str:
    """Return JUnit XML with a case for each share-partition, and one for each unread file.

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
    Verdict.UNDETERMINED: "error",
    Verdict.UNCHECKED: "skipped",
}


def _case(verdict: PartitionVerdict, label: Label) -> JUnitCase:
    name, kind = printable(verdict.partition, 300), _KINDS.get(verdict.verdict, "")
    lines = list(_lines(verdict, label)) if kind else []
    return JUnitCase("partition", name, kind, next(iter(lines), ""), "\n".join(lines))


def _lines(verdict: PartitionVerdict, label: Label) -> Iterator[str]:
    """Yield what is wrong with a share-partition, a line each."""
    for each in verdict.divergences[:MAX_LINES]:
        known = f" (known: {label(each)})" if label(each) else ""
        where = place(each.place.source, each.place.line)
        yield printable(f"{each.name} at seq {each.seq}, {where}: {each.headline}{known}")
    if len(verdict.divergences) > MAX_LINES:
        yield f"and {len(verdict.divergences) - MAX_LINES:,} more"
    if verdict.problem:
        where = place(verdict.problem.source, verdict.problem.line)
        yield printable(f"{where}: {verdict.problem.message}")
    if verdict.reason:
        yield printable(verdict.reason)


class Stages:
    """Says how far a replay is: its stage, and what was checked."""

    def __init__(self, say: Callable[[str], None]) -> None:
        """Tell the function, as ``report.terminal.shown_progress`` has it."""
        self._say, self._name = say, ""

    def __call__(self, name: str, done: int, total: int, results: Sequence[Any]) -> None:
        """Say how many tasks are done, and how many share-partitions diverge so far."""
        if name != self._name:
            self._name = name
            self._partitions = self._events = self._diverged = 0
        for verdict in (each.verdict for each in results if isinstance(each, CheckedPartition)):
            self._partitions += 1
            self._events += verdict.checked
            self._diverged += verdict.verdict is Verdict.DIVERGES
        checked = f": {self._events:,} events, {self._diverged:,} diverging"
        told = checked if self._partitions else ""
        self._say(f"{name} {done:,}/{total:,}{told}")
