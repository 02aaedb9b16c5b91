"""``sharespec doctor``: which ways of recording a cluster permits, and the commands for them."""

import json
import sys
from functools import partial
from pathlib import Path

import attrs
import click
from rich.console import Console

from conformance.target import TargetError
from conformance.wire.cluster import SeenCluster, examine
from conformance.wire.connection import Address, Bounds, Wire
from conformance.wire.security import Security, read_security
from judge.words import many, printable
from sharespec.commands.options import JSON, silence_option
from sharespec.console import output
from sharespec.exit import Exit, exits_on
from sharespec.recipes import Access, Recipe, recipes

_WORDS = {True: "permitted", False: "not permitted", None: "the cluster does not tell"}
_MOST_NAMES = 5
_SETTINGS = (
    "group.share.delivery.count.limit",
    "group.share.partition.max.record.locks",
    "group.share.record.lock.duration.ms",
    "group.share.session.timeout.ms",
)
"""What a person wants to see; ``--json`` has every setting of share groups."""


@click.command("doctor")
@click.argument("bootstrap", metavar="HOST:PORT")
@click.option(
    "--command-config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Client configuration as Kafka's tools take it: TLS with PEM stores, SASL PLAIN, SCRAM.",
)
@silence_option("a broker may take for one answer", 10)
@JSON
@exits_on(TargetError)
def doctor_command(
    *, bootstrap: str, command_config: Path | None, silence: float, json_lines: bool
) -> None:
    """Ask a cluster how its share groups can be recorded. Nothing is changed.

    Exits with 0 if it permits a recipe or does not tell, 1 if it permits none, 2 if it does not
    answer.
    """
    security = read_security(command_config) if command_config else Security()
    opened = partial(Wire, bounds=Bounds(seconds=silence), security=security)
    cluster = examine(Address.parse(bootstrap), opened)
    offered = recipes(cluster, Access(bootstrap, str(command_config) if command_config else None))
    if json_lines:
        click.echo(_as_json(cluster, offered))
    else:
        _show(cluster, offered, output())
    sys.exit(Exit.WRONG if all(recipe.permitted is False for recipe in offered) else Exit.WELL)


def _show(cluster: SeenCluster, offered: tuple[Recipe, ...], console: Console) -> None:
    for line in _summary(cluster):
        _print(console, line)
    for number, recipe in enumerate(offered, start=1):
        _print(console, "")
        _print(console, f"{number}. {recipe.name}: {_WORDS[recipe.permitted]}", "bold")
        for sentence in recipe.because:
            _print(console, f"   {sentence}")
        for command in recipe.commands:
            _print(console, f"     {command}")


def _summary(cluster: SeenCluster) -> list[str]:
    spoken = cluster.share_fetch
    fetch = f"ShareFetch {spoken[0]} to {spoken[1]}" if spoken else "no ShareFetch"
    level = cluster.features.get("share.version")
    feature = "" if level is None else f", share.version {level}"
    named = ", ".join(cluster.groups[:_MOST_NAMES])
    named += ", …" if len(cluster.groups) > _MOST_NAMES else ""
    return [
        f"cluster {cluster.id}: {many(len(cluster.nodes), 'broker')}, {fetch}{feature}",
        f"share groups: {len(cluster.groups)}" + (f" ({named})" if named else ""),
        *(f"{name} = {cluster.settings[name]}" for name in _SETTINGS if name in cluster.settings),
    ]


def _print(console: Console, text: str, style: str = "") -> None:
    """Print a line that can be copied: it is neither wrapped nor read as markup."""
    console.print(printable(text, 2000), markup=False, style=style, soft_wrap=True)


def _as_json(cluster: SeenCluster, offered: tuple[Recipe, ...]) -> str:
    facts = attrs.asdict(cluster, value_serializer=_plain)
    return json.dumps({"cluster": facts, "recipes": [attrs.asdict(recipe) for recipe in offered]})


def _plain(_object: object, _field: object, value: object) -> object:
    if isinstance(value, frozenset):
        return sorted(value)
    return str(value) if isinstance(value, Address) else value
