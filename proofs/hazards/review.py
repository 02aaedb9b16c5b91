"""The review of the draft as a document for its authors (docs/in-progress-review.md)."""

import inspect
import re
from collections.abc import Iterator, Sequence

import attrs

from model.profile import KIP, LAG_RESOLVED
from model.states import PERSISTED_STATES, RecordState
from proofs.hazards.draft_readings import DRAFT_LITERAL, MENDED, Readings
from proofs.hazards.hazard import Absence, HazardFinding
from proofs.hazards.page import page
from proofs.hazards.questions import QUESTIONS
from proofs.hazards.together import lag_without_marks
from spec.record import durable_maximum

_AVAILABLE, _ARCHIVING = RecordState.AVAILABLE, RecordState.ARCHIVING
_TODAY = (
    (_AVAILABLE, RecordState.ACKNOWLEDGED),
    (_AVAILABLE, _ARCHIVING),
    (_AVAILABLE, RecordState.ARCHIVED),
    (_ARCHIVING, RecordState.ARCHIVED),
)
_INTRODUCTION = """\
# Review of the draft KIP for an IN_PROGRESS record state (KAFKA-20458)

For the authors of the draft: {number} places where the text as written leads to something that it
does not want, each with the sentence that causes it, the shortest run that shows it, and the
smallest change of the text that we know to mend it. The goal of the draft, to tell work from
silence, stays within reach with all of these changes.

The runs are not drawn up by hand. The draft is written down as a program in which each sentence
that can be read in several ways is an option
([`proofs/hazards/draft_readings.py`](../proofs/hazards/draft_readings.py)); the options are listed
[at the end](#the-readings). A breadth-first search tries everything that can
happen in a small world and stops at the first step that breaks the property, so no run is shorter.
Each run takes as written only the sentences named under “When”, and reads every other one in its
most favourable sense, so that nothing else is to blame. With every sentence as written it comes
about as well, in the number of steps that is given (where another hazard strikes first, with that
one mended). For each of the named sentences a control shows that the run is gone once that one
alone is mended. Last, the same world is searched whole under the
rules that we propose instead (profile `draft_resolved`): those of the specification, in
[a table](in-progress.md) and as they run ([`spec/record.py`](../spec/record.py)).

`sharespec hazards` runs all this again, `sharespec hazards --show Z1` prints one page, and this
document is the output of `sharespec hazards --markdown`. Times are in ms from the start of the run,
at the draft's defaults unless the page says otherwise. Records are shown as STATE(delivery count)
and their holder; “passed” is what lies before the start offset. “Lag” is the leader's, and what is
reported from the durable state where that differs. ← marks the step that breaks the property.

## Summary
"""

_LAW = """\
## A law behind several of them

The share coordinator keeps, of two states of one record, the one with the higher delivery count,
and of two with the same count the one with the higher state id. So **between two states that are
written, with the delivery count unchanged, the state id must rise**; otherwise the later write is
lost, though it was answered with success. It holds for what is written today:
"""

_FALL = """\
With a durable IN_PROGRESS, id 5, it fails at every way out of that state:
"""

_OTHERS = """\
That is Z1, and what follows from it is Z1b. Any other state with an id above those of the terminal
states has the same effect if it is ever written."""


def verdict(finding: HazardFinding) -> str:
    """Say in a few words what becomes of a hazard under the resolved rules."""
    states = sum(case.resolved.states for case in finding.cases)
    if any(case.resolved.problem for case in finding.cases):
        return "IS THERE"
    bounded = any(case.case.bound is not None for case in finding.cases)
    where = f" {finding.hazard.provided}" if finding.hazard.provided else ""
    return f"{'remains, bounded' if bounded else 'not there'}{where} ({states:,} states)"


def edges_that_fall() -> list[tuple[RecordState, RecordState]]:
    """Return the ways out of a durable IN_PROGRESS whose write the coordinator drops."""
    kept = RecordState.IN_PROGRESS
    return [
        (kept, state)
        for state in sorted(PERSISTED_STATES)
        if durable_maximum(state, 1, kept, 1)[0] == kept
    ]


def review(findings: Sequence[HazardFinding], together: Sequence[Absence]) -> str:
    """Return the document."""
    parts = [
        _INTRODUCTION.format(number=len(findings)),
        *_summary(findings),
        "",
        _together(together),
        "",
        _LAW,
        *_edges(_TODAY),
        "",
        _FALL,
        *_edges(edges_that_fall()),
        "",
        _OTHERS,
        "",
        "## The hazards",
        "",
        *(page(finding) for finding in findings),
        *_open_questions(),
        *_readings(),
    ]
    return "\n".join(parts).rstrip() + "\n"


def _summary(findings: Sequence[HazardFinding]) -> Iterator[str]:
    yield "| | What goes wrong | Steps | Because of | Under the resolved rules |"
    yield "|---|---|---:|---|---|"
    for finding in findings:
        hazard = finding.hazard
        steps = ", ".join(str(case.run.broken) if case.run else "–" for case in finding.cases)
        sections = ", ".join(dict.fromkeys(section for section, _ in hazard.quotes))
        title = f"[{hazard.title}](#{_anchor(f'{hazard.name}. {hazard.title}')})"
        yield f"| {hazard.name} | {title} | {steps} | {sections} | {verdict(finding)} |"


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


def _edges(edges: Sequence[tuple[RecordState, RecordState]]) -> list[str]:
    rows = [
        f"| {before.name} ({before.value}) | {after.name} ({after.value}) | "
        f"{durable_maximum(after, 1, before, 1)[0].name} |"
        for before, after in edges
    ]
    return [
        "| From | To, with the same delivery count | What is durable then |",
        "|---|---|---|",
        *rows,
    ]


def _open_questions() -> Iterator[str]:
    yield "## Questions that the text leaves open"
    yield ""
    yield "There is no page about these, but an implementation has to answer them."
    yield ""
    yield "| Where | Question | Proposed answer |"
    yield "|---|---|---|"
    yield from (f"| {where} | {question} | {answer} |" for where, question, answer in QUESTIONS)
    yield ""


def _readings() -> Iterator[str]:
    yield "## The readings"
    yield ""
    yield "`draft_literal` takes each sentence as its words say; `draft_resolved` is our proposal."
    yield ""
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
    return (
        {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else f"{value}"
    )


def _anchor(title: str) -> str:
    """Return the anchor that a heading gets on GitHub."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
