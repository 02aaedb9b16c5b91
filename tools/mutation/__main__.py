"""``python -m tools.mutation``: make every small change of modules; some check must notice it."""

import json
import os
import sys
from collections import Counter
from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from tools.mutation.mutants import Key, Mutant, module_names, mutants_of, sampled
from tools.mutation.run import CHECKS, QUICK, killed_by

EQUIVALENTS = Path(__file__).with_name("equivalent.json")
"""Mutants that do what the code does, in groups of one reason."""
_HEAD = """| Module | Mutants | Run | Killed | Equivalent | Survived | Killed by |
|---|--:|--:|--:|--:|--:|---|"""

Fate = tuple[str, str]
"""The check that killed a mutant and what failed in it, or empty texts."""


@click.command()
@click.argument("modules", nargs=-1, required=True, metavar="MODULE...")
@click.option("--sample", type=click.IntRange(1), help="Run only so many, chosen by the seed.")
@click.option("--seed", default=0, show_default=True)
@click.option("--check", "checks", type=click.Choice([*CHECKS]), multiple=True, default=[*CHECKS])
@click.option("--results", type=click.Path(path_type=Path), default=os.devnull)
@click.option("--processes", type=click.IntRange(1), default=2, show_default=True)
def mutate_command(  # noqa: PLR0913 - one argument for each option
    *,
    modules: Collection[str],
    sample: int | None,
    seed: int,
    checks: Collection[str],
    results: Path,
    processes: int,
) -> None:
    """Run checks against the mutants of modules, such as spec.record, or of packages.

    Each result is appended to the file of --results, and another run skips what is killed there.
    Exit status 1 if a mutant that is not listed as equivalent survives, or a listed one is killed.
    """
    found = {module: mutants_of(module) for name in modules for module in module_names(name)}
    chosen = sampled((m for mutants in found.values() for m in mutants[1:]), sample, seed)
    listed = equivalents()
    with results.open("a+") as file, TemporaryDirectory() as kept:
        file.seek(0)
        fates = settled(file, chosen, checks)
        with ThreadPoolExecutor(processes) as pool:
            wholes = {name.split(".")[0]: ms[0] for name, ms in found.items()}
            for by, detail in pool.map(
                partial(killed_by, checks=checks, kept=kept), wholes.values()
            ):
                if by:
                    raise click.ClickException(f"without a mutant, {by} fails: {detail}")
            running = {
                pool.submit(killed_by, m, QUICK if m.key in listed else checks, kept): m
                for m in chosen
                if m.key not in fates
            }
            try:
                with click.progressbar(as_completed(running), len(running), file=sys.stderr) as bar:
                    for ended in bar:
                        key, digest = running[ended].key, running[ended].digest
                        fates[key] = ended.result()
                        print(json.dumps([key, digest, fates[key]]), file=file, flush=True)
            except KeyboardInterrupt:
                pool.shutdown(cancel_futures=True)
                sys.exit(130)
    click.echo(_HEAD)
    for module, mutants in found.items():
        click.echo(row(module, len(mutants) - 1, fates, listed))
    wrong = [key for key, (by, _detail) in fates.items() if bool(by) == (key in listed)]
    for module, function, before, after, number in wrong:
        by, detail = fates[module, function, before, after, number]
        fate = f"listed, yet killed by {by}: {detail}" if by else "survived"
        click.echo(f"\n{module} {function} {fate}\n    before  {before}\n    after   {after}")
    sys.exit(bool(wrong))


def equivalents(path: Path = EQUIVALENTS) -> dict[Key, str]:
    """Return the mutants that are listed as equivalent, each with its reason."""
    groups = json.loads(path.read_text())
    return {tuple(key): group["reason"] for group in groups for key in group["mutants"]}


def settled(
    lines: Iterable[str], mutants: Iterable[Mutant], checks: Collection[str]
) -> dict[Key, Fate]:
    """Return the mutants that one of the checks has killed, unless their module changed since."""
    digests = {mutant.key: mutant.digest for mutant in mutants}
    fates = {}
    for line in lines:
        with suppress(ValueError):  # What was killed itself may have cut the line.
            (*key, number), digest, (by, detail) = json.loads(line)
            if digests.get((*key, number)) == digest and by in {*checks, "import"}:
                fates[*key, number] = by, detail
    return fates


def row(module: str, mutants: int, fates: dict[Key, Fate], listed: Collection[Key]) -> str:
    """Return the row of a module, of so many mutants, in the Markdown table."""
    run = {key: by for key, (by, _detail) in fates.items() if key[0] == module}
    kills = Counter(filter(None, run.values()))
    alike = sum(not by and key in listed for key, by in run.items())
    killed_by = ", ".join(f"{check} {number}" for check, number in kills.most_common())
    counts = mutants, len(run), kills.total(), alike, len(run) - kills.total() - alike
    return f"| `{module}` | {' | '.join(map(str, counts))} | {killed_by} |"


if __name__ == "__main__":
    mutate_command(prog_name="python -m tools.mutation")
