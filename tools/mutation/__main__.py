"""``python -m tools.mutation``: make every small change of modules; some check must notice it."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from tools.documents.reproduced import origin
from tools.mutation.mutants import Key, module_names, mutants_of, sampled
from tools.mutation.scores import with_scores

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "proofs.md"
CHECKS = {
    "lockstep": (20, "", "tests/mutants/lockstep.py"),
    "recorded events": (90, "impl", "tests/mutants/recorded_events.py"),
    "own tests": (90, "", "tests/*/test_{name}.py"),
    "long lockstep": (90, "", "tests/mutants/long_lockstep.py"),
    "theorems": (150, "spec", "tests/mutants/theorems.py"),
    "all tests": (300, "", "tests/{package} tests/rules"),
}
"""CPU seconds of each check, many times what it needs, its package, and tests, or the rules'."""
_SETTINGS = {
    "COLUMNS": "300",  # So wide pytest says what failed.
    "NUMBA_DISABLE_JIT": "1",  # To compile impl anew would take longer than every check.
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
}


@click.command()
@click.argument("modules", nargs=-1, required=True, metavar="MODULE...")
@click.option("--sample", type=click.IntRange(1), help="Run only so many, chosen by the seed.")
@click.option("--each", is_flag=True, help="Choose so many of each module, not of all together.")
@click.option("--seed", default=0, show_default=True)
@click.option("--check", "checks", type=click.Choice([*CHECKS]), multiple=True, default=[*CHECKS])
@click.option("--processes", type=click.IntRange(1), default=2, show_default=True)
@click.option("--table", is_flag=True, help="Write the table of docs/proofs.md (--check theorems).")
def mutate_command(  # noqa: PLR0913 - one argument for each option
    *,
    modules: Iterable[str],
    sample: int | None,
    each: bool,
    seed: int,
    checks: Iterable[str],
    processes: int,
    table: bool,
) -> None:
    """Run checks against the mutants of modules, such as spec.record, or of packages.

    Exit status 1 if a mutant that is not listed as equivalent survives, or a listed one is killed.
    """
    found = [mutants_of(module) for name in modules for module in module_names(name)]
    sources = {key: source for mutants in found for key, source in mutants.items()}
    keys = [key for key in sources if key[1:3] != ("", "")]
    groups = [[key for key in keys if key in of] for of in found] if each else [keys]
    chosen = [key for group in groups for key in sampled(group, sample, seed)]
    unchanged = {key[0].split(".")[0]: key for key in sources if key[1:3] == ("", "")}
    listed, wrong, told_of = equivalents(), 0, dict[Key, tuple[str, str]]()
    with TemporaryDirectory() as kept, ThreadPoolExecutor(processes) as pool:
        fate = partial(killed_by, checks=checks, kept=kept)
        for key in unchanged.values():
            by, said = fate(key, sources[key]())
            if by:
                raise click.ClickException(f"without a mutant, {by} fails: {said}")
        fates = pool.map(fate, chosen, [sources[key]() for key in chosen])
        for key, (by, said) in zip(chosen, fates, strict=True):
            module, function, before, after, _number = key
            told_of[key] = by, said
            is_wrong = bool(by) == (key in listed)
            wrong += is_wrong
            told = f"killed by {by}: {said}" if by else "survived"
            click.echo(f"{'WRONG: ' * is_wrong}{module} {function}: {before} → {after}: {told}")
            if table:  # So a run that is stopped leaves the rows of modules that it has tried.
                _write_table(told_of, found, listed, {*chosen})
    click.echo(f"{len(chosen)} mutants, {wrong} of them wrong")
    sys.exit(wrong > 0)


def _write_table(
    fates: dict[Key, tuple[str, str]],
    found: Iterable[Iterable[Key]],
    listed: Iterable[Key],
    chosen: set[Key],
) -> None:
    """Write the rows of the modules of which every chosen mutant was tried."""
    named = [[key for key in of if key[1:3] != ("", "")] for of in found]
    sizes = {of[0][0]: len(of) for of in named if of and chosen.intersection(of) <= fates.keys()}
    if sizes:
        now = origin()
        told = now["commit"], now["date"]
        page = with_scores(PAGE.read_text("utf-8"), fates, sizes, listed, told)
        PAGE.write_text(page, "utf-8")


def equivalents() -> dict[Key, str]:
    """Return the mutants that do what the code does, each with the reason of its group."""
    groups = json.loads(Path(__file__).with_name("equivalent.json").read_text())
    return {tuple(key): group["reason"] for group in groups for key in group["mutants"]}


def killed_by(key: Key, source: str, checks: Iterable[str], kept: str) -> tuple[str, str]:
    """Return the first check that notices a mutant and what fails in it, or empty texts.

    Each runs in a process of its own, with limits; what checks compute of the unchanged code is
    kept in a folder.
    """
    module, function = key[:2]
    package, _, name = module.rpartition(".")
    known = {"SHARESPEC_MUTANT": f"{module}:{function}", "SHARESPEC_KEPT": kept}
    how: Any = {"cwd": ROOT, "env": {**os.environ, **_SETTINGS, **known}, "input": source}
    for check in checks:
        cpu_s, only, tests = CHECKS[check]
        if only not in {"", package}:
            continue
        named = tests.format(name=name, package=package).split()
        paths = sorted(str(p) for each in named for p in ROOT.glob(each)) or ["tests/rules"]
        command = [sys.executable, "-m", "tests.mutants.stand_in", module, str(cpu_s), *paths]
        run = subprocess.run(command, **how, capture_output=True, check=False, text=True)  # noqa: S603 - fixed arguments
        if run.returncode:
            failed = re.search("^(?:FAILED|ERROR) (.*)", run.stdout, re.MULTILINE)
            said = failed[1] if failed else run.stderr.strip().rpartition("\n")[2]
            return check, said or f"exit status {run.returncode}"
    return "", ""


if __name__ == "__main__":
    mutate_command(prog_name="python -m tools.mutation")
