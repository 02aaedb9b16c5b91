"""``python -m tools.promises``: let the judge find every faulty implementation."""

import sys

import click

from model.profile import PROFILES
from tools.promises.behaviour import Behaviour, Face
from tools.promises.catalogue import BEHAVIOURS
from tools.promises.faces import Shown, searched, traced


@click.command()
@click.option("--profile", type=click.Choice(list(PROFILES)), default="kip")
@click.option("--face", type=click.Choice(list(Face)), default=Face.TRACE)
@click.option("--only", default="", help="Those whose name or promise contains this.")
def main(profile: str, face: str, only: str) -> None:
    """Print for each faulty implementation the rule that it breaks and how short that shows.

    Exit status 1 if one of them is not found.
    """
    missed = 0
    for behaviour in BEHAVIOURS:
        if face in behaviour.faces and only in f"{behaviour.promise}: {behaviour.name}":
            shown = _shown(behaviour, profile, face)
            missed += shown is None
            click.echo(f"{behaviour.promise}: {behaviour.name}: {_text(shown, face)}")
    sys.exit(missed > 0)


def _shown(behaviour: Behaviour, profile: str, face: str) -> Shown | None:
    rules = PROFILES[profile]
    if face == Face.TRACE:
        return traced(behaviour, rules, enough=6)
    return searched(behaviour, rules)


def _text(shown: Shown | None, face: str) -> str:
    if shown is None:
        return "NOT FOUND"
    unit = "events" if face == Face.TRACE else "commands"
    return f"{shown.rule}, {shown.length} {unit}"


if __name__ == "__main__":
    main(prog_name="python -m tools.promises")
