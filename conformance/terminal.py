"""The report of a verification for a person at a terminal."""

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance.campaign import Campaign, Fault
from conformance.citations import cited
from conformance.deviation import StepText
from conformance.goals import CANNOT, Coverage
from conformance.groups import Group
from conformance.known import Replayed
from conformance.report import (
    Report,
    form_text,
    has_time,
    reproducing,
    rule_text,
    skipped_text,
    step_columns,
    step_row,
    totals_text,
    vectors_text,
)
from judge.words import printable

_MAX_LISTED = 10
"""How many goals that were not covered are listed, and how many forms of a deviation."""

_MAX_DETAILED = 20
"""How many new deviations are printed with their steps; the others have a line."""

_FILES = "--json and every report to a file"


def show(report: Report, console: Console) -> None:
    """Print the totals, the known deviations, and each new one with its shortest sequence."""
    campaign = report.campaign
    hello = campaign.hello
    console.print(f"{hello.name} {hello.version}, profile {hello.profile}", markup=False)
    console.print(_asked_table(campaign))
    if report.vectors.number or report.vectors.skipped:
        console.print(vectors_text(report.vectors), markup=False)
    _show_known_ones(report, console)
    _show_groups(report, console)
    for line in _coverage_lines(report.coverage):
        console.print(line, markup=False)
    if skipped := skipped_text(report):
        console.print(skipped, markup=False)
    for reason in report.cannot:
        console.print(f"skipped: {printable(reason)}", markup=False)
    for bound in report.bounds:
        console.print(f"judged by: {bound}", markup=False)
    console.print(f"\n{totals_text(report)}", markup=False)


def _show_known_ones(report: Report, console: Console) -> None:
    for each in report.replayed:
        state = "known" if each.fault else "known, but it does not show any more"
        console.print(f"{state}: {each.known.name}: {each.known.title}", markup=False)
        if each.fault and (command := reproducing(report, each.fault, each.known.name)):
            console.print(f"   again     {command}", markup=False, soft_wrap=True)


def _show_groups(report: Report, console: Console) -> None:
    for number, group in enumerate(report.groups, start=1):
        console.print(f"\n{number}. {group.title}", markup=False, style="bold red")
        console.print(f"   shown by {group.often}", markup=False)
        if number <= _MAX_DETAILED:
            _show_group(group, report, console)
    if len(report.groups) > _MAX_DETAILED:
        console.print(f"\nsteps of {_MAX_DETAILED + 1} and the following: {_FILES}", markup=False)


def show_known(each: Replayed[object], console: Console) -> None:
    """Print a known deviation with its steps, or that it no longer shows."""
    console.print(f"{each.known.name}: {each.known.title}", markup=False)
    if each.fault is None:
        console.print("It does not show any more.")
        return
    _show_fault(each.fault, console)
    console.print(f"   means     {each.known.consequence}", markup=False)
    console.print(f"   cause     {each.known.cause}", markup=False)


def _show_group(group: Group[object], report: Report, console: Console) -> None:
    _show_fault(group.first, console)
    if command := reproducing(report, group.first):
        console.print(f"   again     {command}", markup=False, soft_wrap=True)
    others = group.forms[1:]
    for fault in others[:_MAX_LISTED]:
        console.print(f"   also      {form_text(fault)}", markup=False)
    if (more := len(others) - _MAX_LISTED) > 0:
        console.print(f"   also      {more} more forms: {_FILES}", markup=False)


def _show_fault(fault: Fault[object], console: Console) -> None:
    console.print(steps_table(fault.steps))
    console.print(f"   observed  {fault.deviation.recorded}", markup=False)
    console.print(f"   expected  {fault.deviation.expected}", markup=False)
    console.print(f"   rule      {rule_text(fault)}", markup=False)
    if citation := cited(fault.deviation):
        console.print(f"   rests on  {citation.source}: {citation.says}", markup=False)


def steps_table(steps: Sequence[StepText]) -> Table:
    """Return a sequence as a table with a row for each step."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    timed = has_time(steps)
    for name in ("", *step_columns(timed=timed)):
        table.add_column(name, overflow="fold")
    for number, step in enumerate(steps, start=1):
        table.add_row(str(number), *(Text(text) for text in step_row(step, timed=timed)))
    return table


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


def _coverage_lines(coverage: Coverage) -> Iterator[str]:
    if not coverage.covered:
        return
    totals = ", ".join(f"{number} of {of} {group.value}" for group, number, of in coverage.totals())
    yield f"\ncovered: {totals}"
    for goal in coverage.missed[:_MAX_LISTED]:
        optional = " (optional)" if goal.optional else ""
        yield f"not covered: {goal.name}{optional}"
    if (more := len(coverage.missed) - _MAX_LISTED) > 0:
        yield f"not covered: {more} more, which every report to a file lists"
    others = (reason for _goal, reason in coverage.skipped if not reason.startswith(CANNOT))
    for reason, number in Counter(others).items():
        yield f"skipped: {number}: {reason}"
