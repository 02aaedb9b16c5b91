"""``sharespec refine``: compare the implementation with the specification, whole small sizes."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import active_children, get_context

import click

from proofs.refinement.check import Broken, Tally
from proofs.refinement.families import FAMILIES, QUICK, Family, tally
from sharespec.commands.options import JSON
from sharespec.exit import Exit, exits_on

_MOST_SHOWN = 3


@click.command("refine")
@click.option("--quick", is_flag=True, help="Only the smallest sizes, in seconds.")
@JSON
@exits_on()
def refine_command(*, quick: bool, json_lines: bool) -> None:
    """Compare each step of the implementation with the specification's, for whole small sizes.

    Each line is a family: every state of a kind, and every small step in it. From arrays that stand
    for a value the implementation must reach arrays that stand for what the specification reaches,
    with the same outcome or refusal. Nothing is said of larger states.

    Exits with 0, 1 if a step differs.
    """
    total = Tally()
    families = QUICK if quick else FAMILIES
    for family, compared in zip(families, _tallies(families), strict=True):
        click.echo(
            json.dumps(_as_json(family, compared)) if json_lines else _line(family, compared)
        )
        total.states += compared.states
        total.steps += compared.steps
        total.refused += compared.refused
        total.broken += compared.broken
    if not json_lines:
        click.echo(
            f"{total.states:,} states, {total.steps.total():,} steps, of which "
            f"{total.refused.total():,} are refused on both sides, by {len(total.refused)} guards "
            f"and checks: {len(total.broken) or 'none'} differ"
        )
    if total.broken:
        sys.exit(Exit.WRONG)


def _tallies(families: tuple[Family, ...]) -> Iterator[Tally]:
    """Yield what was compared of each family, in their order; of many in a process for each core.

    The quick ones take no longer than a process takes to begin.
    """
    if families is QUICK:
        yield from map(tally, families)
        return
    ignored = signal.SIGINT, signal.SIG_IGN
    with ProcessPoolExecutor(
        os.cpu_count(), get_context("forkserver"), signal.signal, ignored
    ) as pool:
        compared = [pool.submit(tally, family) for family in families]
        try:
            for each in compared:
                yield each.result()
        except BaseException:
            for process in active_children():  # A family may take a minute.
                process.kill()
            raise


def _line(family: Family, compared: Tally) -> str:
    line = (
        f"{family.profile.name:<15} {family.name:<48} {compared.states:>5} states "
        f"{compared.steps.total():>8,} steps"
    )
    shown = "".join(f"\n{_text(broken)}" for broken in compared.broken[:_MOST_SHOWN])
    return f"{line}  {len(compared.broken)} DIFFER{shown}" if compared.broken else line


def _text(broken: Broken) -> str:
    records = dict(sorted(broken.before.window.records.items()))
    return f"  {broken.step}\n  of {records}\n  {broken.wrong}"


def _as_json(family: Family, compared: Tally) -> dict[str, object]:
    return {
        "family": family.name,
        "profile": family.profile.name,
        "states": compared.states,
        "steps": dict(compared.steps),
        "refused": dict(compared.refused),
        "differ": [_text(broken) for broken in compared.broken],
    }
