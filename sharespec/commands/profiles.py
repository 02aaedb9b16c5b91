"""``sharespec profiles``: where the rules of profiles differ."""

import json

import click
from rich.table import Table
from rich.text import Text

from model.profile import PROFILES, Profile
from model.profile_rules import ProfileRule, Value, differences, value_text
from sharespec.commands.options import OneOf
from sharespec.console import output
from sharespec.exit import exits_on


@click.command("profiles")
@click.argument("names", nargs=-1, type=OneOf(sorted(PROFILES)), metavar="[PROFILE]...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one object to a line.")
@exits_on()
def profiles_command(names: tuple[str, ...], *, as_json: bool) -> None:
    """Show each rule that is not the same in all of PROFILES; without a name, in all there are.

    Exits with 0.
    """
    profiles = [PROFILES[name] for name in dict.fromkeys(names)] or list(PROFILES.values())
    rows = list(differences(profiles))
    if as_json:
        for rule, values in rows:
            of = {profile.name: value for profile, value in zip(profiles, values, strict=True)}
            click.echo(json.dumps({"rule": rule.name, "sentence": rule.sentence, "values": of}))
    elif rows:
        output().print(_table(profiles, rows))
    else:
        click.echo("They have the same rules.")


def _table(profiles: list[Profile], rows: list[tuple[ProfileRule, tuple[Value, ...]]]) -> Table:
    table = Table("Rule", *(profile.name for profile in profiles), show_lines=True)
    for rule, values in rows:
        told = Text.assemble((rule.name, "bold"), f"\n{rule.sentence}")
        table.add_row(told, *map(value_text, values))
    return table
