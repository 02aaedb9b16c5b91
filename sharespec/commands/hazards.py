"""``sharespec hazards``: the hazards of the draft KIP for an IN_PROGRESS state."""

import json
import sys

import attrs
import click

from model.errors import InvalidValueError
from proofs.hazards.catalogue import HAZARDS, hazard_named
from proofs.hazards.hazard import CaseFinding, Hazard, HazardFinding, examine, is_shown
from proofs.hazards.page import page, property_text
from proofs.hazards.rereading import Remainder, reading_of, remainders
from proofs.hazards.review import review, verdict
from proofs.hazards.together import all_together
from sharespec.commands.options import JSON
from sharespec.exit import Exit, exits_on


@click.command("hazards")
@click.option("--show", "name", metavar="NAME", help="Show the page of this hazard, such as Z1.")
@click.option(
    "--with",
    "changed",
    multiple=True,
    metavar="READING[=VALUE]",
    help="Take every sentence as written but this one: as draft_resolved answers it, or as given. "
    "List which hazards remain. May be given more than once.",
)
@JSON
@click.option("--markdown", is_flag=True, help="Print the review of the draft with every page.")
@exits_on(InvalidValueError)
def hazards_command(
    name: str | None, changed: tuple[str, ...], *, json_lines: bool, markdown: bool
) -> None:
    """Search for the hazards of the draft KIP for an IN_PROGRESS record state (KAFKA-20458).

    Each search finds a hazard in the draft as written, and shows with controls that it cannot
    occur, or is bounded, under the rules of the profile draft_resolved.

    Exits with 0, 1 if a hazard is not as claimed, 2 for bad arguments. With --with nothing is
    claimed, and it exits with 0.
    """
    hazards = HAZARDS if name is None else (hazard_named(name),)
    if changed:
        if markdown:
            raise click.UsageError("--with prints lines or --json, and no --markdown")
        _reread(hazards, changed, json_lines=json_lines)
        return
    findings = []
    for hazard in hazards:
        finding = examine(hazard)
        findings.append(finding)
        if not markdown:
            click.echo(_text(finding, json_lines=json_lines, in_full=name is not None))
    shown = all(is_shown(case) for finding in findings for case in finding.cases)
    if name is None:
        together = all_together()
        shown = shown and all(absence.problem is None for absence in together)
        if markdown:
            click.echo(review(findings, together), nl=False)
        elif not json_lines:
            states = sum(absence.states for absence in together)
            problems = "; ".join(absence.problem for absence in together if absence.problem)
            click.echo(
                f"All properties together under draft_resolved: {problems or 'none is broken'} "
                f"({states:,} states)"
            )
    elif markdown:
        click.echo(page(findings[0]), nl=False)
    if not shown:
        sys.exit(Exit.WRONG)


def _reread(hazards: tuple[Hazard, ...], changed: tuple[str, ...], *, json_lines: bool) -> None:
    """List which hazards remain where these sentences are changed."""
    readings = dict(map(reading_of, changed))
    gone, undecided = [], []
    for hazard in hazards:
        cases = remainders(hazard, readings)
        if json_lines:
            rows = [attrs.asdict(case) for case in cases]
            click.echo(json.dumps({"name": hazard.name, "title": hazard.title, "cases": rows}))
        else:
            click.echo(f"{hazard.name:<4} {hazard.title}: {'; '.join(map(_remains, cases))}")
        if any(case.unfinished for case in cases):
            undecided.append(hazard.name)
        elif all(case.steps is None for case in cases):
            gone.append(hazard.name)
    if not json_lines:
        rest = len(hazards) - len(gone) - len(undecided)
        click.echo(f"gone: {', '.join(gone) or 'none'}; {rest} remain")
        if undecided:
            click.echo(f"not decided: {', '.join(undecided)}")


def _remains(case: Remainder) -> str:
    if case.steps is not None:
        return f"remains, {case.steps} steps"
    return (
        f"not decided, {case.unfinished}"
        if case.unfinished
        else f"not there ({case.states:,} states)"
    )


def _text(finding: HazardFinding, *, json_lines: bool, in_full: bool) -> str:
    if json_lines:
        return json.dumps(_as_json(finding), ensure_ascii=False)
    return page(finding) if in_full else _line(finding)


def _line(finding: HazardFinding) -> str:
    steps = ", ".join(str(case.run.broken) if case.run else "none" for case in finding.cases)
    shown = "" if all(is_shown(case) for case in finding.cases) else "  NOT AS CLAIMED"
    broken = property_text(finding.hazard.cases[0].holds)
    return (
        f"{finding.hazard.name:<4} {finding.hazard.title}\n"
        f"     breaks: {broken}\n"
        f"     found by search, {steps} steps; draft_resolved: {verdict(finding)}{shown}"
    )


def _as_json(finding: HazardFinding) -> dict[str, object]:
    return {
        "name": finding.hazard.name,
        "title": finding.hazard.title,
        "wrong": finding.hazard.wrong,
        "rule": finding.hazard.rule,
        "cases": [_case(case) for case in finding.cases],
    }


def _case(finding: CaseFinding) -> dict[str, object]:
    bound = finding.case.bound
    return {
        "shown": is_shown(finding),
        "breaks": property_text(finding.case.holds),
        "readings": {name: str(value) for name, value in finding.case.options.items()},
        "steps": finding.run.broken if finding.run else None,
        "how": finding.run.reason if finding.run else None,
        "steps_as_written": finding.literal,
        "controls": [
            {"where": c.where, "states": c.states, "problem": c.problem} for c in finding.controls
        ],
        "draft_resolved": {
            "states": finding.resolved.states,
            "problem": finding.resolved.problem,
            "bound": None if bound is None else property_text(bound),
        },
    }
