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


def as_markdown(report: Report) -> str:
    """Return a section for each deviation, new ones first, and one on what was covered."""
    version = f"{report.campaign.hello.name} {report.campaign.hello.version}"
    sections = [f"# {_cell(version)}, profile {report.campaign.hello.profile}\n"]
    sections += [f"{_cell(totals_text(report))}\n", *_contents(report)]
    sections += [f"## Unknown\n\n{_cell(report.unknown)}\n"] if report.unknown else []
    for number, group in enumerate(report.groups, start=1):
        sections += [f"## New {number}: {_cell(group.title)}\n", *_group_markdown(report, group)]
    for each in report.replayed:
        known = each.known
        if each.fault is None:
            continue
        sections += [
            f"## {known.title}\n",
            f"`{known.name}`, rule `{known.signature[0]}`, seen in {_cell(version)}.\n",
            f"{known.consequence}\n",
            *_fault_markdown(each.fault, reproducing(report, each.fault, known.name)),
            f"\nCause: {known.cause}\n",
        ]
    sections += [f"## Gone: {each.known.title}\n" for each in report.gone]
    sections += _coverage_markdown(report.coverage)
    sections += [f"{_cell(skipped)}\n"] if (skipped := skipped_text(report)) else []
    if report.cannot:
        sections += ["## What could not be asked\n", *(f"- {_cell(s)}" for s in report.cannot), ""]
    if report.bounds:
        sections += ["## Judged by\n", *(f"- {_cell(bound)}" for bound in report.bounds), ""]
    return "\n".join(sections)


def _contents(report: Report) -> Iterator[str]:
    """Yield a line for each deviation."""
    for number, group in enumerate(report.groups, start=1):
        yield f"{number}. {_cell(group.title)} ({group.often})"
    for each in report.replayed:
        yield f"- {'known' if each.fault else 'gone'}: {_cell(each.known.title)}"
    if report.groups or report.replayed:
        yield ""


def _group_markdown(report: Report, group: Group[object]) -> Iterator[str]:
    yield f"Not known before; shown by {group.often}.\n"
    for number, fault in enumerate(group.forms, start=1):
        yield f"### Form {number}: {_cell(form_text(fault))}\n"
        yield from _fault_markdown(fault, reproducing(report, fault))
        yield ""


def _fault_markdown(fault: Fault[object], command: str) -> Iterator[str]:
    timed = has_time(fault.steps)
    columns = [name[0].upper() + name[1:] for name in step_columns(timed=timed)]
    yield f"| | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}"
    for number, step in enumerate(fault.steps, start=1):
        texts = " | ".join(_cell(text) for text in step_row(step, timed=timed))
        yield f"| {number} | {texts} |"
    yield f"\n- Observed: {_cell(fault.deviation.recorded)}"
    yield f"- Expected: {_cell(fault.deviation.expected)}"
    yield f"- Rule: {_cell(rule_text(fault))}"
    if citation := cited(fault.deviation):
        yield f"- Rests on: {citation.source}: {citation.says}"
    if command:
        yield f"- Again:\n\n{_code(command)}"


def _code(text: str) -> str:
    """Return text as a block of code; an indented one needs no marks that the text might have."""
    return "\n".join(f"        {line}" for line in text.splitlines())


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


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
