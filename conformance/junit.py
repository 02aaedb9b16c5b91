"""What a verification found as JUnit XML, which systems for continuous integration show.

A case for each rule, for each further way in which a rule is broken, for each test vector and for
each known deviation.
"""

from collections.abc import Iterator

from conformance.campaign import Fault
from conformance.citations import DRAFT, cited
from conformance.deviation import UNREADABLE
from conformance.goals import GoalKind
from conformance.report import Report, plain_steps, reproducing, rule_text, unconfirmed_text
from judge.finding import CRASHED
from judge.invariants import PARTITION_INVARIANTS, RECORD_INVARIANTS
from model.rules import VERDICT_RULES
from report.junit import JUnitCase, junit_text

_ALWAYS = (
    CRASHED,
    UNREADABLE,
    *(
        invariant.name
        for invariant in (*RECORD_INVARIANTS, *PARTITION_INVARIANTS)
        if VERDICT_RULES[invariant.name].source != DRAFT
    ),
)
"""Rules that every operation is judged by; those of the draft are not asked about."""


def as_junit(report: Report) -> str:
    """Return a document with one test suite.

    A rule that could not be broken in this search is skipped with the reason, and so is a known
    deviation that shows: it is expected to fail. One that is gone is a failure. A rule of which
    only an unconfirmed deviation showed is skipped.
    """
    hello = report.campaign.hello
    name = f"{report.title} {hello.name} {hello.version}".strip()
    return junit_text(name, list(_cases(report)), report.campaign.seconds, _properties(report))


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


def _cases(report: Report) -> Iterator[JUnitCase]:
    campaign = report.campaign
    kind, text = ("error" if report.unknown else ""), report.unknown
    yield JUnitCase("search", "operations were asked", kind, text, seconds=campaign.seconds)
    yield from _rules(report)
    yield from _vectors(report)
    for reason in report.cannot:
        yield JUnitCase("capability", reason, "skipped", "it cannot be asked")
    for replayed in report.replayed:
        known = replayed.known
        if replayed.fault is None:
            gone = "the deviation is known, but it does not show any more"
            yield JUnitCase("known", known.name, "failure", gone, known.title)
        else:
            again = reproducing(report, replayed.fault, known.name)
            reason = f"known: {known.title}: {known.reason}"
            yield JUnitCase("known", known.name, "skipped", reason, again)


def _rules(report: Report) -> Iterator[JUnitCase]:
    faults: dict[str, list[Fault[object]]] = {}
    causes = _causes(report)
    for fault in (fault for group in report.groups for fault in group.forms):
        if fault.deviation.label not in report.vectors.names:
            faults.setdefault(fault.deviation.name, []).append(fault)
    doubts = {each.deviation.name: each for each in report.campaign.unconfirmed}
    reasons = _not_at_stake(report) | {n: unconfirmed_text(each) for n, each in doubts.items()}
    at_stake = [i.name for i, _count in report.coverage.covered if i.group is GoalKind.RULE]
    judged = (at_stake or reasons) and report.campaign.judges_invariants
    always = _ALWAYS if judged else ()
    for rule in dict.fromkeys((*always, *at_stake, *reasons, *faults)):
        broken = faults.get(rule, [])
        for number, fault in enumerate(broken, start=1):
            name = rule if number == 1 else f"{rule} ({number})"
            yield _failed(name, report, fault, causes[fault])
        if not broken:
            reason = reasons.get(rule, "")
            again = reproducing(report, doubts[rule]) if rule in doubts else ""
            yield JUnitCase("rule", rule, "skipped" if reason else "", reason, again)


def _vectors(report: Report) -> Iterator[JUnitCase]:
    new = {fault.deviation.label: fault for fault in report.new}
    causes = _causes(report)
    known = {fault.deviation.label for fault in report.vectors.faults} - new.keys()
    for name in report.vectors.names:
        if name in new:
            yield _failed(name, report, new[name], causes[new[name]], "vector")
        else:
            text = "known: a known deviation names it" if name in known else ""
            yield JUnitCase("vector", name, "skipped" if text else "", text)


def _not_at_stake(report: Report) -> dict[str, str]:
    """Return for each rule that could not be broken in this search why."""
    rules = {i.name: f"skipped: {why}" for i, why in report.coverage.skipped if _is_rule(i.group)}
    missed = (i.name for i in report.coverage.missed if _is_rule(i.group))
    return rules | dict.fromkeys(missed, "not covered: no sequence put it at stake")


def _is_rule(group: GoalKind) -> bool:
    return group is GoalKind.RULE


def _causes(report: Report) -> dict[Fault[object], str]:
    """Return for each new deviation the number of its probable cause, and the cause in words."""
    return {
        fault: f"{number}: {group.title}"
        for number, group in enumerate(report.groups, start=1)
        for fault in group.forms
    }


def _failed(
    name: str, report: Report, fault: Fault[object], cause: str, suite: str = "rule"
) -> JUnitCase:
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
    message = f"{deviation.where}: {deviation.recorded}"
    return JUnitCase(suite, name, "failure", message, "\n".join(line for line in lines if line))
