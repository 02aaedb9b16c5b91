"""What searches say in the review of the draft (docs/in-progress-review.md), part by part."""

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence

import attrs

from model.profile import KIP, LAG_RESOLVED
from model.states import PERSISTED_STATES, RecordState
from proofs.hazards.catalogue import CHANGES, HAZARDS
from proofs.hazards.draft_readings import DRAFT_LITERAL, MENDED, Readings
from proofs.hazards.hazard import Absence, CaseFinding, Hazard, examine, gone, ranked
from proofs.hazards.page import page
from proofs.hazards.together import lag_without_marks
from spec.record import durable_maximum

Findings = Mapping[str, Sequence[CaseFinding]]
"""What was found of each hazard, by its name."""

_AVAILABLE, _ARCHIVING = RecordState.AVAILABLE, RecordState.ARCHIVING
_TODAY = (
    (_AVAILABLE, RecordState.ACKNOWLEDGED),
    (_AVAILABLE, _ARCHIVING),
    (_AVAILABLE, RecordState.ARCHIVED),
    (_ARCHIVING, RecordState.ARCHIVED),
)


def examine_all() -> dict[str, tuple[CaseFinding, ...]]:
    """Search for every hazard."""
    return {hazard.name: examine(hazard) for hazard in HAZARDS}


def parts(findings: Findings, together: Sequence[Absence]) -> dict[str, str]:
    """Return each part of the document that is found by search, by the name in its markers."""
    return {
        "changes": "\n".join(_changes()),
        "summary": "\n".join(_summary(findings)),
        "together": _together(together),
        "states that rise": _edges(_TODAY),
        "states that fall": _edges(edges_that_fall()),
        **{name: page(finding) for name, finding in findings.items()},
        "readings": "\n".join(_readings()),
    }


def verdict(hazard: Hazard, findings: Sequence[CaseFinding]) -> str:
    """Say in a few words what becomes of a hazard under the resolved rules."""
    states = sum(case.resolved.states for case in findings)
    if any(case.resolved.problem for case in findings):
        return "IS THERE"
    bounded = any(case.case.bound is not None for case in findings)
    where = f" {hazard.provided}" if hazard.provided else ""
    return f"{'remains, bounded' if bounded else 'not there'}{where} ({states:,} states)"


def edges_that_fall() -> list[tuple[RecordState, RecordState]]:
    """Return the ways out of a durable IN_PROGRESS whose write the coordinator drops."""
    kept = RecordState.IN_PROGRESS
    return [
        (kept, state)
        for state in sorted(PERSISTED_STATES)
        if durable_maximum(state, 1, kept, 1)[0] == kept
    ]


def _summary(findings: Findings) -> Iterator[str]:
    yield "| | What goes wrong | Steps | Because of | Under the resolved rules |"
    yield "|---|---|---:|---|---|"
    for hazard in HAZARDS:
        found = findings[hazard.name]
        steps = ", ".join("–" if case.steps is None else str(case.steps) for case in found)
        title = f"[{hazard.title}](#{_anchor(f'{hazard.name}. {hazard.title}')})"
        result = verdict(hazard, found)
        yield f"| {hazard.name} | {title} | {steps} | {hazard.sections} | {result} |"


def _changes() -> Iterator[str]:
    removed = gone(CHANGES, HAZARDS)
    rows = ranked(CHANGES, HAZARDS, removed)
    yield "| | Where | What the text should say | Hazards that need it | Gone with it alone |"
    yield "|---|---|---|---|---|"
    for number, each in enumerate(rows, 1):
        change, alone = each.change, ", ".join(each.alone) or "–"
        yield f"| {number} | {change.where} | {change.text} | {', '.join(each.needed)} | {alone} |"
    last = [hazard.name for hazard in HAZARDS if hazard.name not in removed]
    yield ""
    yield (
        f"With all of them {len(HAZARDS) - len(last)} of {len(HAZARDS)} hazards are gone; "
        f"{' and '.join(last)} remain, within bounds that the resolved rules have."
    )


def _together(absences: Sequence[Absence]) -> str:
    sizes = " and ".join(f"{absence.states:,}" for absence in absences)
    problems = [absence.problem for absence in absences if absence.problem]
    result = "none of them is broken" if not problems else f"BROKEN: {'; '.join(problems)}"
    return (
        "Under the resolved rules the properties were also checked all at once, in larger worlds "
        "in which members come and go, writes fail, late marks arrive and leaders change: in "
        f"{sizes} states {result}. Of the reported lag they speak only while no write is lost: "
        f"{_lag_of_today()}"
    )


def _lag_of_today() -> str:
    """Say what becomes of the reported lag without the draft where a write is lost."""
    today, counted = lag_without_marks(KIP), lag_without_marks(LAG_RESOLVED)
    result = "it is right" if today.problem is None else f"{today.problem}"
    mended = f"not there ({counted.states:,} states)" if counted.problem is None else "THERE TOO"
    return (
        f"where one is, KIP-1226 alone, with no record marked, comes to this: {result}. That is no "
        "fault of the draft ([the finding](findings/kip-1226.md)); where the share coordinator "
        f"counts (profile `lag_resolved`), it is {mended}."
    )


def _edges(edges: Sequence[tuple[RecordState, RecordState]]) -> str:
    rows = [
        f"| {before.name} ({before.value}) | {after.name} ({after.value}) | "
        f"{durable_maximum(after, 1, before, 1)[0].name} |"
        for before, after in edges
    ]
    head = "| From | To, with the same delivery count | What is durable then |\n|---|---|---|"
    return "\n".join([head, *rows])


def _readings() -> Iterator[str]:
    yield "| Option | What it decides | As written | Resolved |"
    yield "|---|---|---|---|"
    described = dict(
        re.findall(r"``(\w+)``: (.*?)(?=\n``|\Z)", inspect.getdoc(Readings) or "", re.DOTALL)
    )
    for field in attrs.fields(Readings):
        text = " ".join(described[field.name].split())
        literal, mended = getattr(DRAFT_LITERAL, field.name), getattr(MENDED, field.name)
        yield f"| `{field.name}` | {text} | {_shown(literal)} | {_shown(mended)} |"


def _shown(value: object) -> str:
    return f"{value}" if not isinstance(value, bool) else "yes" if value else "no"


def _anchor(title: str) -> str:
    """Return the anchor that a heading gets on GitHub."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
