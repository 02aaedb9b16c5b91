"""``python -m tools.mutation``: make every small change of the code; some check must fail."""

import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import NoReturn

import click
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

from model.errors import InvalidValueError
from tools.mutation.checks import CHECKS, QUICK, ROOT, NoCheckoutError, require_checkout
from tools.mutation.mutants import Key, Mutant, mutants_of, sampled
from tools.mutation.report import as_json, as_lines, scores, with_scores
from tools.mutation.results import as_line, equivalents, from_lines
from tools.mutation.run import MutantJudgement, judgements

SURVIVED, BAD_ARGUMENT, INTERRUPTED = 1, 2, 130
_MODULES = ("spec/**/*.py", "impl/**/*.py", "proofs/hazards/draft_*.py")
"""The modules that mutants are made of, as patterns below the checkout."""


@click.command("mutate")
@click.argument("modules", nargs=-1, metavar="[MODULE]...")
@click.option(
    "--sample", type=click.IntRange(1), help="Run only this many mutants, chosen by the seed."
)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--json", "json_lines", is_flag=True, help="Print JSON, one object for each module.")
@click.option(
    "--results",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Append results to this file and skip mutants it has; survivors run again.",
)
@click.option(
    "--document",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Write the scores into the table of this document.",
)
@click.option(
    "--checks",
    "names",
    metavar="NAMES",
    callback=lambda _context, _option, value: _check_names(value),
    help="Only these checks may kill: names separated by commas, such as 'lockstep,own tests'.",
)
@click.option("--processes", type=click.IntRange(1), default=1, show_default=True)
def mutate_command(  # noqa: PLR0913 - one argument for each option
    *,
    modules: tuple[str, ...],
    sample: int | None,
    seed: int,
    json_lines: bool,
    results: Path | None,
    document: Path | None,
    names: tuple[str, ...] | None,
    processes: int,
) -> None:
    """Make every small change of spec and impl, and see that a check fails for each.

    MODULE is a module such as spec.record, or a package; without one, spec and impl whole.
    Exit status 1 if a mutant that is not listed as equivalent survives, or a listed one is killed;
    2 for bad arguments, or if a check fails without any mutant.
    """
    try:
        require_checkout()
        mutants = selected(modules)
        mutants_in = Counter(mutant.module for mutant in mutants)
        if sample is not None:
            mutants = sampled(mutants, sample, seed)
        judged = _earlier(results, mutants, names)
        if document:
            _check_document(document, names)
    except (NoCheckoutError, InvalidValueError) as error:
        _fail(str(error))
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}")
    listed = equivalents()
    interrupted = False
    try:
        remaining = _remaining(mutants, judged, listed)
        for judgement in _judged(remaining, listed, results, processes, names):
            judged[judgement.mutant.key] = judgement
    except KeyboardInterrupt:
        interrupted = True
    module_scores = scores(mutants_in, judged.values(), listed)
    click.echo(
        "\n".join(as_json(s) if json_lines else "\n".join(as_lines(s)) for s in module_scores)
    )
    if interrupted:
        sys.exit(INTERRUPTED)
    if document:
        document.write_text(with_scores(document.read_text(), module_scores, _commit()))
    if any(score.survivors or score.refuted for score in module_scores):
        sys.exit(SURVIVED)


def module_names() -> list[str]:
    """Return the names of all modules that mutants are made of."""
    return [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for pattern in _MODULES
        for path in sorted(ROOT.glob(pattern))
        if not path.stem.startswith("__")
    ]


def selected(names: Sequence[str]) -> list[Mutant]:
    """Return the mutants of modules and packages, of all if none is named."""
    every = module_names()
    for name in names:
        if not any(_is_in(module, name) for module in every):
            raise InvalidValueError("MODULE", name, "spec, impl or a module of them: spec.record")
    chosen = [m for m in every if not names or any(_is_in(m, name) for name in names)]
    return [mutant for module in chosen for mutant in mutants_of(module)]


def _is_in(module: str, name: str) -> bool:
    """Whether the name is that of the module or of a package around it."""
    return f"{module}.".startswith(f"{name}.")


def _check_names(value: str | None) -> tuple[str, ...] | None:
    """Return the names of checks in an option's value; None stands for all."""
    if value is None:
        return None
    known = tuple(check.name for check in CHECKS)
    names = tuple(name.strip() for name in value.split(","))
    for name in names:
        if name not in known:
            raise click.BadParameter(f"{name!r} is no check; allowed: {', '.join(known)}")
    return names


def _check_document(document: Path, names: Collection[str] | None) -> None:
    """Raise InvalidValueError unless scores can be written into the document."""
    if names is not None:
        raise InvalidValueError("--checks", ",".join(names), "all checks, with --document")
    with_scores(document.read_text(), (), "")


def _earlier(
    results: Path | None, mutants: list[Mutant], names: Collection[str] | None
) -> dict[Key, MutantJudgement]:
    """Return the results in the file that these checks gave; create the file if it is missing."""
    if results is None:
        return {}
    results.touch()
    judgements_by_key = from_lines(results.read_text().splitlines(), mutants)
    return {
        k: j for k, j in judgements_by_key.items() if names is None or not j.killed or j.by in names
    }


def _remaining(
    mutants: list[Mutant], judged: dict[Key, MutantJudgement], listed: Collection[Key]
) -> list[Mutant]:
    """Return the mutants still to run: unlisted survivors run again."""
    settled = {key for key, judgement in judged.items() if judgement.killed or key in listed}
    return [mutant for mutant in mutants if mutant.key not in settled]


def _judged(
    remaining: list[Mutant],
    listed: Collection[Key],
    results: Path | None,
    processes: int,
    names: Sequence[str] | None,
) -> Iterator[MutantJudgement]:
    """Write each result to the file, then yield it; show progress on stderr."""
    telling = [mutant for mutant in remaining if mutant.key not in listed]
    alike = [mutant for mutant in remaining if mutant.key in listed]
    unchanged = {m.module.split(".")[0]: Mutant(m.module, "", "", "", 0, 1, -1) for m in remaining}
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn())
    with ExitStack() as stack:
        file = stack.enter_context(results.open("a")) if results else None
        bar = stack.enter_context(Progress(*columns, console=Console(stderr=True), transient=True))
        task = bar.add_task("mutants", total=len(remaining))
        every = judgements([*unchanged.values(), *telling], processes, names)
        quick = [name for name in QUICK if names is None or name in names]
        for judgement in chain(every, judgements(alike, processes, quick)):
            if judgement.mutant.index < 0:
                if judgement.killed:
                    _fail(f"without a mutant, {judgement.by} fails: {judgement.detail}")
                continue
            if file:
                print(as_line(judgement), file=file, flush=True)
            bar.advance(task)
            yield judgement


def _commit() -> str:
    """Return the commit at which spec, impl and tests are, marked if they differ from it."""
    git = ["git", "-C", str(ROOT)]
    head = subprocess.run(  # noqa: S603 - fixed arguments
        [*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    )
    dirty = subprocess.run(  # noqa: S603 - fixed arguments
        [*git, "diff", "--quiet", "HEAD", "--", "spec", "impl", "proofs", "tests"], check=False
    )
    return head.stdout.strip() + ("+" if dirty.returncode else "")


def _fail(message: str) -> NoReturn:
    click.echo(f"Error: {message}", err=True)
    sys.exit(BAD_ARGUMENT)
