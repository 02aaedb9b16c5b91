"""What a verification found, for people, for programs and for documents."""

import json
from collections.abc import Iterator, Sequence
from enum import StrEnum

import attrs
from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance.campaign import Campaign, Fault
from conformance.known import Replayed, plain_sequence
from conformance.scene import Step

__all__ = ["Report", "Verdict", "as_json", "as_markdown", "show", "show_known", "steps_table"]


class Verdict(StrEnum):
    """Conforms: nothing was found that is not known. Unknown: nothing was tried."""

    CONFORMS = "conforms"
    DEVIATES = "deviates"
    UNKNOWN = "unknown"


@attrs.frozen
class Report:
    """A search, the known deviations played again, and the faults that none of them explains."""

    campaign: Campaign
    replayed: tuple[Replayed, ...]
    new: tuple[Fault, ...]

    @property
    def gone(self) -> tuple[Replayed, ...]:
        """Return the known deviations that did not show any more."""
        return tuple(one for one in self.replayed if one.fault is None)

    @property
    def verdict(self) -> Verdict:
        """Return what the whole comes to."""
        if self.new or self.gone:
            return Verdict.DEVIATES
        return Verdict.CONFORMS if self.campaign.steps else Verdict.UNKNOWN


def show(report: Report, console: Console) -> None:
    """Print what was done, what is known, and each new fault with its shortest sequence."""
    campaign = report.campaign
    hello = campaign.hello
    console.print(f"{hello.name} {hello.version}, profile {hello.profile}", markup=False)
    console.print(_asked_table(campaign))
    for one in report.replayed:
        state = "known" if one.fault else "known, but it does not show any more"
        console.print(f"{state}: {one.known.name}: {one.known.title}", markup=False)
    for number, fault in enumerate(report.new, start=1):
        console.print(f"\n{number}. {_headline(fault)}", markup=False, style="bold red")
        _show_fault(fault, console)
    seconds = max(campaign.seconds, 1e-9)
    stopped = ", interrupted" if campaign.interrupted else ""
    left = f", {campaign.unjudged} not judged to their end" if campaign.unjudged else ""
    console.print(
        f"\n{report.verdict.value}: {len(report.new)} new, "
        f"{len(report.replayed) - len(report.gone)} known, {len(report.gone)} gone; "
        f"{campaign.sequences:,} sequences{left}, {campaign.steps:,} operations "
        f"in {seconds:.0f} s{stopped}",
        markup=False,
    )


def show_known(one: Replayed, console: Console) -> None:
    """Print a known deviation with its steps, or that it does not show any more."""
    console.print(f"{one.known.name}: {one.known.title}", markup=False)
    if one.fault is None:
        console.print("It does not show any more.")
        return
    _show_fault(one.fault, console)
    console.print(f"   rule      {one.fault.deviation.sentence}", markup=False)
    console.print(f"   means     {one.known.consequence}", markup=False)
    console.print(f"   cause     {one.known.cause}", markup=False)


def _show_fault(fault: Fault, console: Console) -> None:
    console.print(steps_table(fault.steps))
    console.print(f"   observed  {fault.deviation.recorded}", markup=False)
    console.print(f"   expected  {fault.deviation.expected}", markup=False)


def as_json(report: Report) -> Iterator[str]:
    """Yield a line for each new fault and known deviation, and one for the whole."""
    for fault in report.new:
        yield json.dumps({"kind": "new", **_plain(fault)})
    for one in report.replayed:
        shows = one.fault is not None
        yield json.dumps({"kind": "known", "name": one.known.name, "shows": shows})
    campaign = report.campaign
    yield json.dumps(
        {
            "kind": "summary",
            "verdict": report.verdict.value,
            "target": attrs.asdict(campaign.hello, filter=lambda a, _v: a.name != "capabilities"),
            "sequences": campaign.sequences,
            "unjudged": campaign.unjudged,
            "operations": campaign.steps,
            "seconds": round(campaign.seconds, 3),
            "asked": campaign.asked,
            "interrupted": campaign.interrupted,
        }
    )


def as_markdown(replayed: Sequence[Replayed], version: str) -> str:
    """Return a section for each known deviation, as its maintainers may want to read it."""
    sections = []
    for one in replayed:
        known, fault = one.known, one.fault
        if fault is None:
            continue
        rows = [
            f"| {number} | {_cell(step.asked)} | {_cell(step.answered)} | {_cell(step.after)} |"
            for number, step in enumerate(fault.steps, start=1)
        ]
        sections += [
            f"## {known.title}\n",
            f"`{known.name}`, rule `{known.signature[0]}`, seen in {version}.\n",
            f"{known.consequence}\n",
            "| | Operation | Answer | State after it |\n|---|---|---|---|",
            "\n".join(rows) + "\n",
            f"- Observed: {_cell(fault.deviation.recorded)}",
            f"- Expected: {_cell(fault.deviation.expected)}",
            f"- Rule: {fault.deviation.sentence}\n",
            f"Cause: {known.cause}\n",
        ]
    return "\n".join(sections)


def steps_table(steps: Sequence[Step]) -> Table:
    """Return a sequence as a table, a step a row."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("", "operation", "answer", "state after it"):
        table.add_column(name, overflow="fold")
    for number, step in enumerate(steps, start=1):
        table.add_row(str(number), Text(step.asked), Text(step.answered), Text(step.after))
    return table


def _headline(fault: Fault) -> str:
    deviation = fault.deviation
    return f"{deviation.name} in {deviation.operation}, met {fault.seen}×: {deviation.sentence}"


def _asked_table(campaign: Campaign) -> Table:
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


def _plain(fault: Fault) -> dict[str, object]:
    deviation = fault.deviation
    return {
        "rule": deviation.name,
        "operation": deviation.operation,
        "sentence": deviation.sentence,
        "observed": deviation.recorded,
        "expected": deviation.expected,
        "met": fault.seen,
        "steps": [attrs.asdict(step) for step in fault.steps],
        "sequence": plain_sequence(fault.sequence),
    }


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
