"""``sharespec explore``: visit every state of a small world."""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import attrs
import click

from model.errors import InvalidValueError
from model.profile import profile_named
from proofs.exploration.end_to_end import PROPERTIES, ExploredProperty, PropertyWatch, judged_under
from proofs.exploration.explorer import Explorer, WorldSearch
from proofs.exploration.liveness import ASSUMPTIONS, PROMISES, LivenessPromise
from proofs.exploration.report import PropertyVerdict, listed, verdicts_of
from proofs.exploration.run_table import table_of
from proofs.exploration.search import search
from proofs.exploration.world import SmallWorld
from sharespec.commands.options import JSON, Number, OneOf, profile_option
from sharespec.console import output
from sharespec.exit import Exit, exits_on

_NOT_TOLD = ("came_from", "violation")
"""What JSON leaves out of a search: every state, and the run that its verdict has."""


def _sized(command: Callable[..., None]) -> Callable[..., None]:
    """Add an option for each field of a world to the command."""
    for field in reversed(attrs.fields(SmallWorld)):
        if "text" in field.metadata:
            option = f"--{field.name.replace('_', '-')}"
            option += f"/--no-{option[2:]}" if isinstance(field.default, bool) else ""
            default, text = field.default, field.metadata["text"]
            command = click.option(option, default=default, help=text)(command)
    return command


@click.command("explore")
@_sized
@profile_option("kip")
@click.option(
    "--property",
    "name",
    metavar="NAME",
    help="Check only this property and show the run that decides it.",
)
@click.option("--list", "only_list", is_flag=True, help="List the properties and exit.")
@click.option(
    "--without",
    type=OneOf(list(ASSUMPTIONS)),
    help="Drop this fairness assumption, to show that it is needed.",
)
@click.option(
    "--depth", type=click.IntRange(min=0), help="Visit only states within this many steps."
)
@click.option(
    "--memory",
    type=Number(0.1, 10**6),
    default=4.0,
    metavar="GIB",
    help="Stop when this much memory is used.",
)
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
    json_lines: bool,
    **sizes: Any,  # noqa: ANN401 - whole numbers and flags
) -> None:
    """Visit every state of a small world, with specification and implementation side by side.

    Exits with 0, 1 if a property that should hold does not, 2 for bad arguments, 3 if it stopped
    before it had visited every state (--memory, --depth), 130 if interrupted.
    """
    if only_list:
        click.echo("\n".join(listed(known) for known in (*PROPERTIES, *PROMISES)))
        return
    world = SmallWorld(profile=profile_named(profile), **sizes)
    properties, promises = _chosen(name)
    explorer, watch = Explorer(world), PropertyWatch(judged_under(world.profile, properties))
    bounds: Any = {"most_depth": depth, "most_bytes": int(memory * 2**30)}
    begin, ways = [explorer.begin()], explorer.successors
    found = search(begin, ways, watch.check, progress=progress_reporter(), **bounds)
    verdicts = verdicts_of(explorer, watch, found, promises, without or "")
    if json_lines:
        _print_json(explorer, found, verdicts)
    else:
        _show(explorer, found)
        for verdict in verdicts:
            _show_verdict(verdict, in_full=name is not None or without is not None)
    if any(verdict.is_wrong for verdict in verdicts):
        sys.exit(Exit.WRONG)
    if found.unfinished is not None:
        interrupted = found.unfinished == "interrupted"
        sys.exit(Exit.INTERRUPTED if interrupted else Exit.UNFINISHED)


def _chosen(name: str | None) -> tuple[tuple[ExploredProperty, ...], tuple[LivenessPromise, ...]]:
    if name is None:
        return PROPERTIES, PROMISES
    properties = tuple(p for p in PROPERTIES if p.name == name)
    promises = tuple(p for p in PROMISES if p.name == name)
    if not properties and not promises:
        names = ", ".join(p.name for p in (*PROPERTIES, *PROMISES))
        raise InvalidValueError("--property", name, names)
    return properties, promises


def progress_reporter() -> Callable[[int, int], None]:
    """Return a function that reports progress on the standard error, at most once a second."""
    began = reported = time.perf_counter()

    def report(states: int, depth: int) -> None:
        nonlocal reported
        now = time.perf_counter()
        if now - reported >= 1:
            reported = now
            click.echo(f"{states:>12,} states, depth {depth}, {now - began:.0f} s", err=True)

    return report


def _counts(explorer: Explorer) -> dict[str, int]:
    """Return the states of leaders, the moves that were compared, durable states and merges."""
    leaders, coordinator = explorer.leaders, explorer.coordinator
    return {
        "leaders": len(leaders.found),
        "compared": leaders.compared,
        "durables": len(coordinator.states),
        "merges": len(coordinator.merges),
    }


def _print_json(
    explorer: Explorer, found: WorldSearch, verdicts: tuple[PropertyVerdict, ...]
) -> None:
    explored = attrs.asdict(found, filter=lambda field, _: field.name not in _NOT_TOLD)
    told = [attrs.asdict(verdict) for verdict in verdicts]
    click.echo(json.dumps({"explored": explored, **_counts(explorer), "verdicts": told}))


def _show(explorer: Explorer, found: WorldSearch) -> None:
    click.echo(
        f"{found.states:,} states, {found.transitions:,} transitions, depth "
        f"{found.depth}, {found.seconds:.1f} s"
    )
    click.echo(
        "{leaders:,} states of a leader, in which specification and implementation made "
        "{compared:,} moves; {durables:,} durable states, {merges:,} merges".format(
            **_counts(explorer)
        )
    )
    if found.unfinished is not None:
        click.echo(
            f"Not every state was visited ({found.unfinished}): {found.waiting:,} states of "
            f"depth {found.depth} were not followed; every state above them was checked"
        )


def _show_verdict(verdict: PropertyVerdict, *, in_full: bool) -> None:
    click.echo(_line(verdict))
    if verdict.run and (in_full or verdict.is_wrong):
        output().print(table_of(verdict.run))
        if verdict.again is not None:
            click.echo(f"and from step {verdict.again} again, forever")


def _line(verdict: PropertyVerdict) -> str:
    text = {True: "holds", False: "FAILS", None: "holds so far"}[verdict.holds]
    if not verdict.should:
        text = {False: f"fails, as expected, after {len(verdict.run) - 1} steps"}.get(
            verdict.holds is None or verdict.holds, "did not fail"
        )
    return f"{text:<35} {verdict.name}: {verdict.sentence}"
