"""``sharespec hazards``: the hazards of the draft KIP for an IN_PROGRESS state."""

import json
import sys
from collections.abc import Sequence

import attrs
import click

from model.errors import InvalidValueError
from proofs.hazards.catalogue import HAZARDS, hazard_named
from proofs.hazards.hazard import (
    CaseFinding,
    Hazard,
    HazardSearch,
    as_written,
    examine,
    is_gone,
    reading_of,
)
from proofs.hazards.page import page, property_text
from proofs.hazards.review import verdict
from proofs.hazards.together import all_together
from sharespec.commands.options import JSON
from sharespec.exit import Exit, exits_on


@click.command("hazards")
@click.option("--show", "name", metavar="NAME", help="Show the run of this hazard, such as Z1.")
@click.option(
    "--with",
    "changed",
    multiple=True,
    metavar="READING[=VALUE]",
    help="Take every sentence as written but this one: as draft_resolved answers it, or as given. "
    "List which hazards remain. May be given more than once.",
)
@JSON
@exits_on(InvalidValueError)
def hazards_command(name: str | None, changed: tuple[str, ...], *, json_lines: bool) -> None:
    """Search for the hazards of the draft KIP for an IN_PROGRESS record state (KAFKA-20458).

    Each search finds a hazard in the draft as written, and shows with controls that it cannot
    occur, or is bounded, under the rules of the profile draft_resolved. What the draft says, and
    the change that mends it, docs/in-progress-review.md tells.

    Exits with 0, 1 if a hazard is not as claimed, 2 for bad arguments. With --with nothing is
    claimed, and it exits with 0.
    """
    hazards = HAZARDS if name is None else (hazard_named(name),)
    if changed:
        _reread(hazards, changed, json_lines=json_lines)
        return
    shown = True
    for hazard in hazards:
        findings = examine(hazard)
        shown = shown and all(finding.is_shown for finding in findings)
        if json_lines:
            click.echo(json.dumps(_as_json(hazard, findings), ensure_ascii=False))
        elif name is None:
            click.echo(_line(hazard, findings))
        else:
            click.echo(f"### {hazard.name}. {hazard.title}\n\n{page(findings)}")
    if name is None:
        together = all_together()
        problems = [absence.problem for absence in together if absence.problem]
        shown = shown and not problems
        if not json_lines:
            states = sum(absence.states for absence in together)
            click.echo(
                "All properties together under draft_resolved: "
                f"{'; '.join(problems) or 'none is broken'} ({states:,} states)"
            )
    if not shown:
        sys.exit(Exit.WRONG)


def _reread(hazards: tuple[Hazard, ...], changed: tuple[str, ...], *, json_lines: bool) -> None:
    """List which hazards remain where these sentences are changed."""
    readings = dict(map(reading_of, changed))
    gone, undecided = [], []
    for hazard in hazards:
        found = [(case.title, as_written(case, readings)) for case in hazard.cases]
        if json_lines:
            rows = [_case_read(title, search) for title, search in found]
            click.echo(json.dumps({"name": hazard.name, "title": hazard.title, "cases": rows}))
        else:
            remains = "; ".join(_remains(search) for _, search in found)
            click.echo(f"{hazard.name:<4} {hazard.title}: {remains}")
        if any(search.unfinished for _, search in found):
            undecided.append(hazard.name)
        elif is_gone(search for _, search in found):
            gone.append(hazard.name)
    if not json_lines:
        rest = len(hazards) - len(gone) - len(undecided)
        click.echo(f"gone: {', '.join(gone) or 'none'}; {rest} remain")
        if undecided:
            click.echo(f"not decided: {', '.join(undecided)}")


def _case_read(title: str, found: HazardSearch) -> dict[str, object]:
    steps = None if found.violation is None else len(found.violation.labels)
    unfinished = found.unfinished
    return {"title": title, "steps": steps, "states": found.states, "unfinished": unfinished}


def _remains(found: HazardSearch) -> str:
    if found.violation is not None:
        return f"remains, {len(found.violation.labels)} steps"
    if found.unfinished:
        return f"not decided, {found.unfinished}"
    return f"not there ({found.states:,} states)"


def _line(hazard: Hazard, findings: Sequence[CaseFinding]) -> str:
    steps = ", ".join("none" if each.steps is None else str(each.steps) for each in findings)
    shown = "" if all(each.is_shown for each in findings) else "  NOT AS CLAIMED"
    return (
        f"{hazard.name:<4} {hazard.title}\n"
        f"     breaks: {property_text(hazard.cases[0].holds)}\n"
        f"     found by search, {steps} steps; draft_resolved: {verdict(hazard, findings)}{shown}"
    )


def _as_json(hazard: Hazard, findings: Sequence[CaseFinding]) -> dict[str, object]:
    cases = [_case(finding) for finding in findings]
    return {"name": hazard.name, "title": hazard.title, "cases": cases}


def _case(finding: CaseFinding) -> dict[str, object]:
    bound = finding.case.bound
    return {
        "shown": finding.is_shown,
        "breaks": property_text(finding.case.holds),
        "readings": {name: str(value) for name, value in finding.case.options.items()},
        "steps": finding.steps,
        "how": finding.run.reason if finding.run else None,
        "steps_as_written": finding.literal,
        "controls": [attrs.asdict(control) for control in finding.controls],
        "draft_resolved": {
            "states": finding.resolved.states,
            "problem": finding.resolved.problem,
            "bound": None if bound is None else property_text(bound),
        },
    }
