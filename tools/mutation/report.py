"""What ``python -m tools.mutation`` prints, and its table in a document."""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator

import attrs

from tools.documents.parts import with_part
from tools.mutation.checks import CHECKS
from tools.mutation.mutants import Key
from tools.mutation.run import MutantJudgement

BEGIN = "<!-- begin: scores, written by python -m tools.mutation -->"
END = "<!-- end: scores -->"
_HEAD = (
    "| Module | Mutants | Run | Killed | Equivalent | Survived | Score | Killed by | Commit |",
    "|---|--:|--:|--:|--:|--:|--:|---|---|",
)


@attrs.frozen
class Score:
    """The results of a module: ``mutants`` counts all its mutants, also those not run.

    ``equivalent`` survived and are listed as such, ``survivors`` are not listed; ``refuted``
    are listed as equivalent, yet a check killed them.
    """

    module: str
    mutants: int
    killed: tuple[MutantJudgement, ...]
    equivalent: tuple[MutantJudgement, ...]
    survivors: tuple[MutantJudgement, ...]
    refuted: tuple[MutantJudgement, ...]

    @property
    def run(self) -> int:
        """How many mutants were run."""
        return len(self.killed) + len(self.equivalent) + len(self.survivors)

    @property
    def percent(self) -> str:
        """The killed mutants, in percent of those that are not equivalent, rounded down."""
        telling = len(self.killed) + len(self.survivors)
        return f"{1000 * len(self.killed) // telling / 10:g} %" if telling else "–"

    @property
    def by(self) -> str:
        """How many mutants each check killed, in the order in which they run."""
        counts = Counter(judgement.by for judgement in self.killed)
        return ", ".join(
            f"{check.name} {counts[check.name]}" for check in CHECKS if check.name in counts
        )


def scores(
    mutants: Counter[str], judged: Iterable[MutantJudgement], listed: Collection[Key]
) -> list[Score]:
    """Return the score of each module; ``mutants`` counts the mutants of each."""
    of: dict[str, list[MutantJudgement]] = {module: [] for module in mutants}
    for judgement in judged:
        of[judgement.mutant.module].append(judgement)
    return [
        Score(
            module,
            mutants[module],
            tuple(j for j in of[module] if j.killed),
            tuple(j for j in of[module] if not j.killed and j.mutant.key in listed),
            tuple(j for j in of[module] if not j.killed and j.mutant.key not in listed),
            tuple(j for j in of[module] if j.killed and j.mutant.key in listed),
        )
        for module in sorted(of)
    ]


def as_lines(score: Score) -> Iterator[str]:
    """Yield the numbers of a score, and each survivor and each listed mutant that was killed."""
    yield (
        f"{score.module:<20} {score.run:>5} of {score.mutants:>4} mutants"
        f" {len(score.killed):>5} killed {len(score.equivalent):>4} equivalent"
        f" {len(score.survivors):>4} survived {score.percent:>7}   {score.by}"
    )
    for word, judged in (("survived", score.survivors), ("listed, yet killed", score.refuted)):
        for judgement in judged:
            mutant = judgement.mutant
            place = f"{mutant.module.replace('.', '/')}.py:{mutant.line} {mutant.function}".rstrip()
            yield f"  {word}: {place}"
            yield f"      before  {mutant.before}"
            yield f"      after   {mutant.after}"
            if judgement.by:
                yield f"      {judgement.by}: {judgement.detail}"


def as_json(score: Score) -> str:
    """Return a score as one line of JSON."""
    return json.dumps(
        {
            "module": score.module,
            "mutants": score.mutants,
            "run": score.run,
            "killed": len(score.killed),
            "killed_by": dict(Counter(judgement.by for judgement in score.killed)),
            "equivalent": len(score.equivalent),
            "survivors": [_fields(judgement) for judgement in score.survivors],
            "listed_yet_killed": [_fields(judgement) for judgement in score.refuted],
        },
        ensure_ascii=False,
    )


def rows_of(document: str) -> dict[str, str]:
    """Return the rows of a document's table, by module."""
    return {
        row[1]: row[0] for row in re.finditer(r"^\| `([\w.]+)` \|.*\|$", document, re.MULTILINE)
    }


def with_scores(document: str, scores: Iterable[Score], commit: str) -> str:
    """Return the document with these scores in its table; rows of other modules stay."""
    rows = rows_of(document) | {
        score.module: (
            f"| `{score.module}` | {score.mutants} | {score.run} | {len(score.killed)}"
            f" | {len(score.equivalent)} | {len(score.survivors)} | {score.percent}"
            f" | {score.by} | {commit} |"
        )
        for score in scores
    }
    order = sorted(rows, key=lambda module: (not module.startswith("spec."), module))
    return with_part(document, BEGIN, END, "\n".join([*_HEAD, *(rows[module] for module in order)]))


def _fields(judgement: MutantJudgement) -> dict[str, object]:
    return {**attrs.asdict(judgement.mutant), "by": judgement.by, "detail": judgement.detail}
