"""``sharespec explore``: visit every state of a small world."""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import attrs
import click

from model.errors import InvalidValueError
from model.profile import profile_named
from proofs.exploration.end_to_end import PROPERTIES, Property
from proofs.exploration.leaders import Leaders
from proofs.exploration.liveness import ASSUMPTIONS, PROMISES, Promise
from proofs.exploration.network import Network
from proofs.exploration.product import Product
from proofs.exploration.report import Report, Verdict, listed, report_on
from proofs.exploration.run_table import table_of
from proofs.exploration.world import World
from sharespec.commands.options import JSON, profile_option
from sharespec.console import output
from sharespec.exit import Exit, exits_on

__all__ = ["explore_command", "tell_progress"]

_SIZES = {
    "offsets": "Offsets of the log.",
    "members": "Members of the group.",
    "limit": "The delivery count limit.",
    "window": "The record lock limit: how wide the window may be.",
    "lock": "How many ticks an acquisition lock lasts.",
    "outstanding": "Writes whose answers may be awaited at a time.",
    "late": "Writes that may be under way at a time while nobody waits for them.",
    "log_start": "How far the log start offset may move up.",
}
_FLAGS = {
    "gaps": "Offsets may be missing from the log.",
    "failovers": "New leaders take over, as often as they like.",
    "resets": "The start offset is altered, as often as one likes.",
    "dead_letters": "There is a dead-letter queue, switched off and on.",
    "symmetry": "Members that differ in name only are alike.",
}


def _sized(command: Callable[..., None]) -> Callable[..., None]:
    """Give the command an option for each field of a world."""
    default = World()
    for name, text in reversed({**_SIZES, **_FLAGS}.items()):
        option = f"--{name.replace('_', '-')}"
        value = getattr(default, name)
        kind = int if name in _SIZES else bool
        option += f"/--no-{name.replace('_', '-')}" if name in _FLAGS else ""
        command = click.option(option, type=kind, default=value, show_default=True, help=text)(
            command
        )
    return command


@click.command("explore")
@_sized
@profile_option("kip")
@click.option(
    "--property", "name", metavar="NAME", help="Only this property, and a run against it."
)
@click.option("--list", "only_list", is_flag=True, help="List the properties and end.")
@click.option("--without", type=click.Choice(list(ASSUMPTIONS)), help="Assume less of fairness.")
@click.option("--depth", type=click.IntRange(min=0), help="Go no deeper than so many steps.")
@click.option(
    "--memory",
    type=click.FloatRange(min=0.1),
    default=4.0,
    show_default=True,
    metavar="GIB",
    help="End when so much memory is used.",
)
@click.option("--processes", type=click.IntRange(min=1), help="How many; default: all cores.")
@JSON
@exits_on(InvalidValueError)
def explore_command(  # noqa: PLR0913 - one argument for each option
    *,
    profile: str,
    name: str | None,
    only_list: bool,
    without: str | None,
    depth: int | None,
    memory: float,
    processes: int | None,
    json_lines: bool,
    **sizes: Any,  # noqa: ANN401 - whole numbers and flags
) -> None:
    """Visit every state of a small world, of specification and implementation side by side.

    Exit status 1 if anything that should hold does not, 2 for bad arguments, 3 if it ended before
    every state was visited (memory, depth), 130 if it was interrupted.
    """
    if only_list:
        click.echo("\n".join(listed(known) for known in (*PROPERTIES, *PROMISES)))
        return
    world = World(profile=profile_named(profile), **sizes)
    properties, promises = _chosen(name)
    network = Network(world.late)
    with Leaders(world, network, processes or os.cpu_count() or 1) as leaders:
        product = Product(world, leaders, network, properties)
        explored = product.explore(int(memory * 2**30), depth, tell_progress())
        report = report_on(product, explored, promises, without or "")
    if json_lines:
        click.echo(json.dumps(attrs.asdict(report), default=str))
    else:
        _show(report, in_full=name is not None or without is not None)
    if report.is_wrong:
        sys.exit(Exit.WRONG)
    if explored.unfinished is not None:
        interrupted = explored.unfinished == "interrupted"
        sys.exit(Exit.INTERRUPTED if interrupted else Exit.UNFINISHED)


def _chosen(name: str | None) -> tuple[tuple[Property, ...], tuple[Promise, ...]]:
    if name is None:
        return PROPERTIES, PROMISES
    properties = tuple(p for p in PROPERTIES if p.name == name)
    promises = tuple(p for p in PROMISES if p.name == name)
    if not properties and not promises:
        names = ", ".join(p.name for p in (*PROPERTIES, *PROMISES))
        raise InvalidValueError("--property", name, names)
    return properties, promises


def tell_progress() -> Callable[[int, int], None]:
    """Return what tells of progress on stderr, at most once a second."""
    began = told = time.perf_counter()

    def tell(states: int, depth: int) -> None:
        nonlocal told
        now = time.perf_counter()
        if now - told >= 1:
            told = now
            click.echo(f"{states:>12,} states, depth {depth}, {now - began:.0f} s", err=True)

    return tell


def _show(report: Report, *, in_full: bool) -> None:
    explored = report.explored
    click.echo(
        f"{explored.states:,} states, {explored.transitions:,} transitions, depth "
        f"{explored.depth}, {explored.seconds:.1f} s"
    )
    click.echo(
        f"{report.leaders:,} states of a leader, in which specification and implementation made "
        f"{report.compared:,} moves; {report.durables:,} durable states, {report.merges:,} merges"
    )
    if explored.unfinished is not None:
        click.echo(
            f"Not all was visited ({explored.unfinished}): {explored.waiting:,} states of depth "
            f"{explored.depth} were not followed; all that lies less deep was checked"
        )
    for verdict in report.verdicts:
        click.echo(_line(verdict))
        if verdict.run and (in_full or verdict.is_wrong):
            output().print(table_of(verdict.run))
            if verdict.again is not None:
                click.echo(f"and from step {verdict.again} on again, for ever")


def _line(verdict: Verdict) -> str:
    found = {True: "holds", False: "FAILS", None: "holds so far"}[verdict.holds]
    if not verdict.should:
        found = {False: f"fails, as expected, after {len(verdict.run) - 1} steps"}.get(
            verdict.holds is None or verdict.holds, "not seen to fail"
        )
    return f"{found:<35} {verdict.name}: {verdict.sentence}"
