"""The report of a verification, for people, for programs and for documents."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum

import attrs
from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance.campaign import Campaign, Fault
from conformance.citations import citation_of
from conformance.deviation import StepText
from conformance.goals import Coverage
from conformance.known import Replayed, plain_sequence
from conformance.vectors.play import Played
from judge.words import printable

_MAX_LISTED = 10
"""How many goals that were not covered are listed for a person at a terminal."""

_MAX_DETAILED = 20
"""How many new deviations are printed with their steps; the others have a line."""


class KitVerdict(StrEnum):
    """Conforms: there is no new deviation, and no known deviation is gone.

    Unknown: the same, but nothing was tried, or the target stopped responding.
    """

    CONFORMS = "conforms"
    DEVIATES = "deviates"
    UNKNOWN = "unknown"


@attrs.frozen
class Report:
    """A search, the replayed known deviations, and the deviations that none of them explains.

    ``vectors`` are the results of the test vectors, which run before the search.
    """

    campaign: Campaign[object]
    replayed: tuple[Replayed[object], ...]
    new: tuple[Fault[object], ...]
    vectors: Played = attrs.Factory(Played)

    @property
    def gone(self) -> tuple[Replayed[object], ...]:
        """Return the known deviations that no longer show."""
        return tuple(one for one in self.replayed if one.fault is None)

    @property
    def coverage(self) -> Coverage:
        """Return which goals the search covered; no goals at all where it counted none."""
        return self.campaign.coverage

    @property
    def cannot(self) -> tuple[str, ...]:
        """Return what the kit cannot ask of a broker, each with the reason."""
        return tuple(getattr(self.campaign.hello, "skipped", ()))

    @property
    def verdict(self) -> KitVerdict:
        """Return the verdict of the whole verification."""
        if self.new or self.gone:
            return KitVerdict.DEVIATES
        return KitVerdict.UNKNOWN if self.unknown else KitVerdict.CONFORMS

    @property
    def unknown(self) -> str:
        """Return why the verification is incomplete; empty if it is not."""
        if self.campaign.failure:
            return f"it could not be driven any further: {printable(self.campaign.failure)}"
        if not (self.campaign.steps or self.vectors.number):
            return "nothing was tried, so nothing is known"
        return ""


def show(report: Report, console: Console) -> None:
    """Print the totals, the known deviations, and each new one with its shortest sequence."""
    campaign = report.campaign
    hello = campaign.hello
    console.print(f"{hello.name} {hello.version}, profile {hello.profile}", markup=False)
    console.print(_asked_table(campaign))
    if report.vectors.number or report.vectors.skipped:
        console.print(vectors_text(report.vectors), markup=False)
    for one in report.replayed:
        state = "known" if one.fault else "known, but it does not show any more"
        console.print(f"{state}: {one.known.name}: {one.known.title}", markup=False)
    for number, fault in enumerate(report.new, start=1):
        console.print(f"\n{number}. {headline(fault)}", markup=False, style="bold red")
        if number <= _MAX_DETAILED:
            _show_fault(fault, console)
    for line in _coverage_lines(report.coverage):
        console.print(line, markup=False)
    for said in report.cannot:
        console.print(f"skipped: {printable(said)}", markup=False)
    console.print(f"\n{totals_text(report)}", markup=False)


def totals_text(report: Report) -> str:
    """Return the verdict and the totals in one line."""
    campaign = report.campaign
    stopped = ", interrupted" if campaign.interrupted else ""
    stopped += ", ended early" if campaign.failure else ""
    left = f", {campaign.unjudged} not judged to their end" if campaign.unjudged else ""
    return (
        f"{report.verdict.value}: {len(report.new)} new, "
        f"{len(report.replayed) - len(report.gone)} known, {len(report.gone)} gone; "
        f"{campaign.sequences:,} sequences{left}, {campaign.steps:,} operations "
        f"in {campaign.seconds:.0f} s{stopped}"
    )


def _coverage_lines(found: Coverage) -> Iterator[str]:
    if not found.covered:
        return
    totals = ", ".join(f"{number} of {of} {group.value}" for group, number, of in found.totals())
    yield f"\ncovered: {totals}"
    for goal in found.missed[:_MAX_LISTED]:
        optional = " (optional)" if goal.optional else ""
        yield f"not covered: {goal.name}{optional}"
    if (more := len(found.missed) - _MAX_LISTED) > 0:
        yield f"not covered: {more} more, which every report to a file lists"
    for reason, number in Counter(reason for _item, reason in found.skipped).items():
        yield f"skipped: {number}: {reason}"


def vectors_text(vectors: Played) -> str:
    """Return the results of the test vectors in one line."""
    skipped = "; ".join(f"{count} {reason}" for reason, count in sorted(vectors.skipped.items()))
    left = f", {sum(vectors.skipped.values())} not played: {skipped}" if skipped else ""
    return f"{vectors.number} vectors, {len(vectors.faults)} deviate{left}"


def show_known(one: Replayed[object], console: Console) -> None:
    """Print a known deviation with its steps, or that it no longer shows."""
    console.print(f"{one.known.name}: {one.known.title}", markup=False)
    if one.fault is None:
        console.print("It does not show any more.")
        return
    _show_fault(one.fault, console)
    console.print(f"   rule      {one.fault.deviation.sentence}", markup=False)
    console.print(f"   means     {one.known.consequence}", markup=False)
    console.print(f"   cause     {one.known.cause}", markup=False)


def _show_fault(fault: Fault[object], console: Console) -> None:
    console.print(steps_table(fault.steps))
    console.print(f"   observed  {fault.deviation.recorded}", markup=False)
    console.print(f"   expected  {fault.deviation.expected}", markup=False)
    if citation := citation_of(fault.deviation.broken):
        console.print(f"   rests on  {citation.source}: {citation.says}", markup=False)


def as_json(report: Report) -> Iterator[str]:
    """Yield a line for each new fault and known deviation, what was covered, and the whole."""
    for fault in report.new:
        yield json.dumps({"kind": "new", **_plain(fault)})
    for one in report.replayed:
        shows = one.fault is not None
        yield json.dumps({"kind": "known", "name": one.known.name, "shows": shows})
    campaign, found = report.campaign, report.coverage
    yield json.dumps(
        {
            "kind": "exercised",
            "met": {item.name: count for item, count in found.covered},
            "not_exercised": [item.name for item in found.missed],
            "skipped": {item.name: reason for item, reason in found.skipped},
            "cannot": report.cannot,
        }
    )
    yield json.dumps(
        {
            "kind": "summary",
            "verdict": report.verdict.value,
            "target": attrs.asdict(campaign.hello, filter=lambda a, _v: a.name != "capabilities"),
            "sequences": campaign.sequences,
            "unjudged": campaign.unjudged,
            "operations": campaign.steps,
            "seconds": round(campaign.seconds, 3),
            "seed": campaign.seed,
            "asked": campaign.asked,
            "vectors": {
                "played": report.vectors.number,
                "deviate": [fault.deviation.name for fault in report.vectors.faults],
                "skipped": report.vectors.skipped,
            },
            "interrupted": campaign.interrupted,
            "failure": campaign.failure,
        }
    )


def as_markdown(report: Report) -> str:
    """Return a section for each deviation, new ones first, and one on what was covered."""
    version = f"{report.campaign.hello.name} {report.campaign.hello.version}"
    sections = [f"## Unknown\n\n{_cell(report.unknown)}\n"] if report.unknown else []
    for fault in report.new:
        seen = f"Rule `{fault.deviation.broken}`, seen in {_cell(version)}, not known before.\n"
        sections += [f"## New: {_cell(headline(fault))}\n", seen, *_fault_markdown(fault), ""]
    for one in report.replayed:
        known = one.known
        if one.fault is None:
            continue
        sections += [
            f"## {known.title}\n",
            f"`{known.name}`, rule `{known.signature[0]}`, seen in {_cell(version)}.\n",
            f"{known.consequence}\n",
            *_fault_markdown(one.fault),
            f"\nCause: {known.cause}\n",
        ]
    sections += [f"## Gone: {one.known.title}\n" for one in report.gone]
    sections += _coverage_markdown(report.coverage)
    if report.cannot:
        sections += ["## What could not be asked\n", *(f"- {_cell(s)}" for s in report.cannot), ""]
    return "\n".join(sections)


def _fault_markdown(fault: Fault[object]) -> Iterator[str]:
    yield "| | Operation | Answer | State after it |\n|---|---|---|---|"
    for number, step in enumerate(fault.steps, start=1):
        yield f"| {number} | {_cell(step.asked)} | {_cell(step.answered)} | {_cell(step.after)} |"
    yield f"\n- Observed: {_cell(fault.deviation.recorded)}"
    yield f"- Expected: {_cell(fault.deviation.expected)}"
    yield f"- Rule: {fault.deviation.sentence}"
    if citation := citation_of(fault.deviation.broken):
        yield f"- Rests on: {citation.source}: {citation.says}"


def _coverage_markdown(found: Coverage) -> Iterator[str]:
    if not found.covered:
        return
    yield "## What was covered\n"
    for group, number, of in found.totals():
        yield f"- {number} of {of} {group.value}"
    yield "\n### Not covered\n"
    for item in found.missed:
        yield f"- {item.name}"
    for item, reason in found.skipped:
        yield f"- {item.name} (skipped: {reason})"
    if not (found.missed or found.skipped):
        yield "Nothing is left."
    yield ""


def plain_steps(fault: Fault[object]) -> Iterator[str]:
    """Yield the steps of a deviation as lines of text."""
    for number, step in enumerate(fault.steps, start=1):
        yield f"{number}. {step.asked}"
        yield from (f"   {said}" for said in (step.answered, step.after) if said)


def steps_table(steps: Sequence[StepText]) -> Table:
    """Return a sequence as a table with a row for each step."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("", "operation", "answer", "state after it"):
        table.add_column(name, overflow="fold")
    for number, step in enumerate(steps, start=1):
        table.add_row(str(number), Text(step.asked), Text(step.answered), Text(step.after))
    return table


def headline(fault: Fault[object]) -> str:
    """Return a deviation in one line."""
    deviation = fault.deviation
    return f"{deviation.name} in {deviation.operation}, met {fault.seen}×: {deviation.sentence}"


def _asked_table(campaign: Campaign[object]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("operation")
    table.add_column("answers, and how often")
    rows: dict[str, list[str]] = {}
    for what, count in campaign.asked.items():
        operation, status = what.split(" ", 1)
        rows.setdefault(operation, []).append(f"{status} {count:,}")
    for operation, answers in rows.items():
        table.add_row(operation, ", ".join(answers))
    return table


def _plain(fault: Fault[object]) -> dict[str, object]:
    deviation, citation = fault.deviation, citation_of(fault.deviation.broken)
    return {
        "rule": deviation.name,
        "operation": deviation.operation,
        "sentence": deviation.sentence,
        "observed": deviation.recorded,
        "expected": deviation.expected,
        "met": fault.seen,
        "rests_on": attrs.asdict(citation) if citation else None,
        "steps": [
            {"asked": step.asked, "answered": step.answered, "after": step.after}
            for step in fault.steps
        ],
        "sequence": plain_sequence(fault.sequence),
    }


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
