"""``sharespec prove``: prove the theorems about the specification."""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

import click
from rich.progress import Progress

from model.errors import InvalidValueError
from proofs.theorems.catalogue import THEOREMS, theorems_about
from proofs.theorems.harness import LIMIT_MS, Meanings, as_test, check_control, prove
from proofs.theorems.reachable import witness
from proofs.theorems.report import (
    TheoremFinding,
    as_json,
    as_lines,
    is_proved,
    listed,
    summary,
    totals,
)
from proofs.theorems.theorem import Theorem
from sharespec.commands.options import JSON
from sharespec.console import progress_console
from sharespec.exit import Exit, exits_on

_MANY, _TOGETHER = 60, 4
"""From how many theorems on processes prove them, and how many one of them takes at a time."""
_MEANINGS: Meanings = {}
"""What hypotheses mean, for the theorems of this process."""


@click.command("prove")
@click.option(
    "--only",
    metavar="NAME",
    help="Only this property, its number in docs/properties.md, this transition or theorem.",
)
@click.option(
    "--list", "only_list", is_flag=True, help="List the properties with their theorems, no proofs."
)
@click.option(
    "--all",
    "details",
    is_flag=True,
    help="A line for each theorem; default: with --only, else one for each property.",
)
@JSON
@click.option(
    "--controls",
    is_flag=True,
    help="Change the rule of each proof, too, and show how the proof then fails.",
)
@click.option(
    "--limit-ms",
    type=click.IntRange(min=1),
    default=LIMIT_MS,
    help="How long Z3 may take for one question; after that the proof has failed.",
)
@exits_on(InvalidValueError)
def prove_command(  # noqa: PLR0913 - one argument for each option
    *,
    only: str | None,
    only_list: bool,
    details: bool,
    json_lines: bool,
    controls: bool,
    limit_ms: int,
) -> None:
    """Prove the theorems about the specification with Z3, for every possible share-partition.

    Exits with 0, 1 if a theorem is not proved, 2 for bad arguments.
    """
    began = time.perf_counter()
    theorems = list(THEOREMS) if only is None else theorems_about(only)
    if only_list:
        click.echo("\n".join(listed(theorems)))
        return
    is_shown = json_lines or details or only is not None
    results: list[TheoremFinding] = []
    with Progress(console=progress_console(), transient=True, disable=is_shown) as bar:
        task = bar.add_task("prove", total=len(theorems))
        for finding in findings(theorems, controls=controls, limit_ms=limit_ms):
            results.append(finding)
            bar.advance(task)
            if is_shown or not is_proved(finding):
                lines = [as_json(finding)] if json_lines else as_lines(finding)
                click.echo("\n".join(lines))
    if not is_shown:
        click.echo("\n".join(summary(results)))
    if not json_lines:
        click.echo(totals(results, time.perf_counter() - began))
    if not all(is_proved(finding) for finding in results):
        sys.exit(Exit.WRONG)


def findings(
    theorems: Sequence[Theorem], *, controls: bool, limit_ms: int = LIMIT_MS
) -> Iterator[TheoremFinding]:
    """Yield the result of each theorem, in their order; many are proved in a process for each core.

    What a process needs to begin is about what some theorems need.
    """
    each = partial(_finding, controls=controls, limit_ms=limit_ms)
    if len(theorems) < _MANY:
        yield from map(each, theorems)
        return
    processes = get_context("forkserver")
    processes.set_forkserver_preload([__name__])
    with ProcessPoolExecutor(os.cpu_count(), processes) as pool:
        yield from pool.map(each, theorems, chunksize=_TOGETHER)


def _finding(theorem: Theorem, *, controls: bool, limit_ms: int) -> TheoremFinding:
    proof = prove(theorem, limit_ms, _MEANINGS)
    return TheoremFinding(
        proof,
        witness(theorem),
        check_control(theorem, limit_ms) if controls else None,
        "" if proof.counterexample is None else as_test(theorem, proof.counterexample),
    )
