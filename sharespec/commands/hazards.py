"""``sharespec hazards``: the hazards of the draft KIP for an IN_PROGRESS state."""

import json
import sys

import click

from model.errors import InvalidValueError
from proofs.hazards.catalogue import HAZARDS, hazard_named
from proofs.hazards.hazard import CaseFinding, HazardFinding, examine, is_shown
from proofs.hazards.page import page, property_text
from proofs.hazards.review import review, verdict
from proofs.hazards.together import all_together
from sharespec.commands.options import JSON
from sharespec.exit import Exit, exits_on

__all__ = ["hazards_command"]


@click.command("hazards")
@click.option("--show", "name", metavar="NAME", help="Show the page of this hazard, such as Z1.")
@JSON
@click.option("--markdown", is_flag=True, help="Print the review of the draft with every page.")
@exits_on(InvalidValueError)
def hazards_command(name: str | None, *, json_lines: bool, markdown: bool) -> None:
    """Search for the hazards of the draft KIP for an IN_PROGRESS record state (KAFKA-20458).

    Each search finds a hazard in the draft as written, and shows with controls that it cannot
    occur, or is bounded, under the rules of the profile draft_resolved.

    Exits with 0, 1 if a hazard is not as claimed, 2 for bad arguments.
    """
    hazards = HAZARDS if name is None else (hazard_named(name),)
    found = []
    for hazard in hazards:
        finding = examine(hazard)
        found.append(finding)
        if not markdown:
            click.echo(_said(finding, json_lines=json_lines, in_full=name is not None))
    shown = all(is_shown(case) for finding in found for case in finding.cases)
    if name is None:
        together = all_together()
        shown = shown and all(absence.problem is None for absence in together)
        if markdown:
            click.echo(review(found, together), nl=False)
        elif not json_lines:
            states = sum(absence.states for absence in together)
            problems = "; ".join(absence.problem for absence in together if absence.problem)
            click.echo(
                f"All properties together under draft_resolved: {problems or 'none is broken'} "
                f"({states:,} states)"
            )
    elif markdown:
        click.echo(page(found[0]), nl=False)
    if not shown:
        sys.exit(Exit.WRONG)


def _said(found: HazardFinding, *, json_lines: bool, in_full: bool) -> str:
    if json_lines:
        return json.dumps(_as_json(found), ensure_ascii=False)
    return page(found) if in_full else _line(found)


def _line(found: HazardFinding) -> str:
    steps = ", ".join(str(case.run.broken) if case.run else "none" for case in found.cases)
    shown = "" if all(is_shown(case) for case in found.cases) else "  NOT AS CLAIMED"
    broken = property_text(found.hazard.cases[0].holds)
    return (
        f"{found.hazard.name:<4} {found.hazard.title}\n"
        f"     breaks: {broken}\n"
        f"     found by search, {steps} steps; draft_resolved: {verdict(found)}{shown}"
    )


def _as_json(found: HazardFinding) -> dict[str, object]:
    return {
        "name": found.hazard.name,
        "title": found.hazard.title,
        "wrong": found.hazard.wrong,
        "rule": found.hazard.rule,
        "cases": [_case(case) for case in found.cases],
    }


def _case(found: CaseFinding) -> dict[str, object]:
    bound = found.case.bound
    return {
        "shown": is_shown(found),
        "breaks": property_text(found.case.holds),
        "readings": {name: str(value) for name, value in found.case.options.items()},
        "steps": found.run.broken if found.run else None,
        "how": found.run.reason if found.run else None,
        "steps_as_written": found.literal,
        "controls": [
            {"where": c.where, "states": c.states, "problem": c.problem} for c in found.controls
        ],
        "draft_resolved": {
            "states": found.resolved.states,
            "problem": found.resolved.problem,
            "bound": None if bound is None else property_text(bound),
        },
    }
