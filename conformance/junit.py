"""What a verification found as JUnit XML, which systems for continuous integration show.

A case for each rule, for each further way in which a rule is broken, for each test vector and for
each known deviation.
"""

import re
from collections import Counter
from collections.abc import Iterator
from xml.etree import ElementTree as ET

import attrs

from conformance.campaign import Fault
from conformance.citations import CITATIONS, DRAFT, cited
from conformance.deviation import CRASHED, UNREADABLE
from conformance.goals import Group
from conformance.report import Report, plain_steps, reproducing, rule_text
from spec.invariants import PARTITION_INVARIANTS, RECORD_INVARIANTS

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not have, not even escaped."""

_ALWAYS = (
    CRASHED,
    UNREADABLE,
    *(
        invariant.name
        for invariant in (*RECORD_INVARIANTS, *PARTITION_INVARIANTS)
        if CITATIONS[invariant.name].source != DRAFT
    ),
)
"""Rules that every operation is judged by; those of the draft are not asked about."""


@attrs.frozen
class _Case:
    """A test case; ``kind`` is failure, error or skipped, and empty if it passes."""

    suite: str
    name: str
    kind: str = ""
    message: str = ""
    text: str = ""
    seconds: float = 0.0


def as_junit(report: Report) -> str:
    """Return a document with one test suite.

    A rule that could not be broken in this search is skipped with the reason, and so is a known
    deviation that shows: it is expected to fail. One that is gone is a failure.
    """
    cases = list(_cases(report))
    kinds = Counter(case.kind for case in cases)
    campaign = report.campaign
    suite = ET.Element(
        "testsuite",
        name=_clean(f"sharespec verify {campaign.hello.name} {campaign.hello.version}"),
        tests=str(len(cases)),
        failures=str(kinds["failure"]),
        errors=str(kinds["error"]),
        skipped=str(kinds["skipped"]),
        time=f"{campaign.seconds:.3f}",
    )
    properties = ET.SubElement(suite, "properties")
    for name, value in _properties(report).items():
        ET.SubElement(properties, "property", name=name, value=_clean(value))
    for case in cases:
        _add(suite, case)
    suites = ET.Element("testsuites")
    suites.append(suite)
    ET.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suites, encoding="unicode")}\n'


def _properties(report: Report) -> dict[str, str]:
    campaign = report.campaign
    return {
        "target": campaign.hello.name,
        "version": campaign.hello.version,
        "profile": campaign.hello.profile,
        "seed": str(campaign.seed),
        "sequences": str(campaign.sequences),
        "operations": str(campaign.steps),
        "unjudged": str(campaign.unjudged),
        "interrupted": str(campaign.interrupted).lower(),
        "verdict": report.verdict.value,
    }


def _cases(report: Report) -> Iterator[_Case]:
    campaign = report.campaign
    kind, text = ("error" if report.unknown else ""), report.unknown
    yield _Case("search", "operations were asked", kind, text, seconds=campaign.seconds)
    yield from _rules(report)
    yield from _vectors(report)
    for reason in report.cannot:
        yield _Case("capability", reason, "skipped", "it cannot be asked")
    for replayed in report.replayed:
        known = replayed.known
        if replayed.fault is None:
            gone = "the deviation is known, but it does not show any more"
            yield _Case("known", known.name, "failure", gone, known.title)
        else:
            again = reproducing(report, replayed.fault, known.name)
            reason = f"known: {known.title}: {known.reason}"
            yield _Case("known", known.name, "skipped", reason, again)


def _rules(report: Report) -> Iterator[_Case]:
    faults: dict[str, list[Fault[object]]] = {}
    causes = _causes(report)
    for fault in (fault for group in report.groups for fault in group.forms):
        if fault.deviation.name not in report.vectors.names:
            faults.setdefault(fault.deviation.name, []).append(fault)
    reasons = _not_at_stake(report)
    at_stake = [i.name for i, _count in report.coverage.covered if i.group is Group.RULE]
    judged = (at_stake or reasons) and report.campaign.judges_invariants
    always = _ALWAYS if judged else ()
    for rule in dict.fromkeys((*always, *at_stake, *reasons, *faults)):
        broken = faults.get(rule, [])
        for number, fault in enumerate(broken, start=1):
            name = rule if number == 1 else f"{rule} ({number})"
            yield _failed(name, report, fault, causes[fault])
        if not broken:
            reason = reasons.get(rule, "")
            yield _Case("rule", rule, "skipped" if reason else "", reason)


def _vectors(report: Report) -> Iterator[_Case]:
    new = {fault.deviation.name: fault for fault in report.new}
    causes = _causes(report)
    known = {fault.deviation.name for fault in report.vectors.faults} - new.keys()
    for name in report.vectors.names:
        if name in new:
            yield _failed(name, report, new[name], causes[new[name]], "vector")
        else:
            text = "known: a known deviation names it" if name in known else ""
            yield _Case("vector", name, "skipped" if text else "", text)


def _not_at_stake(report: Report) -> dict[str, str]:
    """Return for each rule that could not be broken in this search why."""
    rules = {i.name: f"skipped: {why}" for i, why in report.coverage.skipped if _is_rule(i.group)}
    missed = (i.name for i in report.coverage.missed if _is_rule(i.group))
    return rules | dict.fromkeys(missed, "not covered: no sequence put it at stake")


def _is_rule(group: Group) -> bool:
    return group is Group.RULE


def _causes(report: Report) -> dict[Fault[object], str]:
    """Return for each new deviation the number of its probable cause, and the cause in words."""
    return {
        fault: f"{number}: {group.title}"
        for number, group in enumerate(report.groups, start=1)
        for fault in group.forms
    }


def _failed(
    name: str, report: Report, fault: Fault[object], cause: str, suite: str = "rule"
) -> _Case:
    deviation = fault.deviation
    citation = cited(deviation)
    lines = [
        f"probable cause {cause}",
        rule_text(fault),
        f"rests on: {citation.source}: {citation.says}" if citation else "",
        f"observed: {deviation.recorded}",
        f"expected: {deviation.expected}",
        *plain_steps(fault),
        f"again: {command}" if (command := reproducing(report, fault)) else "",
    ]
    message = f"{deviation.name} in {deviation.operation}: {deviation.recorded}"
    return _Case(suite, name, "failure", message, "\n".join(line for line in lines if line))


def _add(suite: ET.Element, case: _Case) -> None:
    element = ET.SubElement(
        suite,
        "testcase",
        classname=f"sharespec.{case.suite}",
        name=_clean(case.name),
        time=f"{case.seconds:.3f}",
    )
    if case.kind:
        detail = ET.SubElement(element, case.kind, message=_clean(case.message))
        if case.kind != "skipped":
            detail.set("type", case.suite)
        detail.text = _clean(case.text) or None


def _clean(text: str) -> str:
    return _FORBIDDEN.sub(lambda c: c[0].encode("unicode_escape").decode("ascii"), text)
