"""The report of a verification as Markdown."""

from collections.abc import Iterator

from conformance.campaign import Fault
from conformance.citations import cited
from conformance.goals import Coverage
from conformance.groups import Group
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
)
from report.markdown import code, escaped, named, prose, table


def as_markdown(report: Report) -> str:
    """Return a section for each deviation, new ones first, and one on what was covered."""
    version = f"{report.campaign.hello.name} {report.campaign.hello.version}"
    sections = [f"# {escaped(version)}, profile {escaped(report.campaign.hello.profile)}\n"]
    sections += [f"{escaped(totals_text(report))}\n", *_contents(report)]
    sections += [f"## Unknown\n\n{escaped(report.unknown)}\n"] if report.unknown else []
    for number, group in enumerate(report.groups, start=1):
        sections += [f"## New {number}: {escaped(group.title)}\n", *_group_markdown(report, group)]
    for each in report.replayed:
        known = each.known
        if each.fault is None:
            continue
        sections += [
            f"## {escaped(known.title)}\n",
            f"{named(known.name)}, rule {named(known.signature[0])}, seen in {escaped(version)}.\n",
            f"{prose(known.consequence)}\n",
            *_fault_markdown(each.fault, reproducing(report, each.fault, known.name)),
            f"\nCause: {prose(known.cause)}\n",
        ]
    sections += [f"## Gone: {escaped(each.known.title)}\n" for each in report.gone]
    sections += _coverage_markdown(report.coverage)
    sections += [f"{escaped(skipped)}\n"] if (skipped := skipped_text(report)) else []
    if report.cannot:
        cannot = (f"- {escaped(reason)}" for reason in report.cannot)
        sections += ["## What could not be asked\n", *cannot, ""]
    if report.bounds:
        sections += ["## Judged by\n", *(f"- {escaped(bound)}" for bound in report.bounds), ""]
    return "\n".join(sections)


def _contents(report: Report) -> Iterator[str]:
    """Yield a line for each deviation."""
    for number, group in enumerate(report.groups, start=1):
        yield f"{number}. {escaped(group.title)} ({group.often})"
    for each in report.replayed:
        yield f"- {'known' if each.fault else 'gone'}: {escaped(each.known.title)}"
    if report.groups or report.replayed:
        yield ""


def _group_markdown(report: Report, group: Group[object]) -> Iterator[str]:
    yield f"Not known before; shown by {group.often}.\n"
    for number, fault in enumerate(group.forms, start=1):
        yield f"### Form {number}: {escaped(form_text(fault))}\n"
        yield from _fault_markdown(fault, reproducing(report, fault))
        yield ""


def _fault_markdown(fault: Fault[object], command: str) -> Iterator[str]:
    timed = has_time(fault.steps)
    columns = [name[0].upper() + name[1:] for name in step_columns(timed=timed)]
    rows = [step_row(step, timed=timed) for step in fault.steps]
    numbered = [(str(number), *row) for number, row in enumerate(rows, start=1)]
    yield from table(("", *columns), numbered)
    yield f"\n- Observed: {escaped(fault.deviation.recorded)}"
    yield f"- Expected: {escaped(fault.deviation.expected)}"
    yield f"- Rule: {escaped(rule_text(fault))}"
    if citation := cited(fault.deviation):
        yield f"- Rests on: {citation.source}: {citation.says}"
    if command:
        yield f"- Again:\n\n{code(command)}"


def _coverage_markdown(coverage: Coverage) -> Iterator[str]:
    if not coverage.covered:
        return
    yield "## What was covered\n"
    for group, number, of in coverage.totals():
        yield f"- {number} of {of} {group.value}"
    yield "\n### Not covered\n"
    for item in coverage.missed:
        yield f"- {item.name}"
    for item, reason in coverage.skipped:
        yield f"- {item.name} (skipped: {reason})"
    if not (coverage.missed or coverage.skipped):
        yield "Nothing is left."
    yield ""
