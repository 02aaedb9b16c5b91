"""The file of results, and the list of equivalent mutants."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from model.errors import InvalidValueError
from tools.mutation.mutants import Key, Mutant, source_of
from tools.mutation.run import MutantJudgement

EQUIVALENTS = Path(__file__).with_name("equivalent.json")
"""Mutants that do what the code does, in groups of one reason."""


def equivalents(path: Path = EQUIVALENTS) -> dict[Key, str]:
    """Return the mutants that are listed as equivalent, each with its reason."""
    reasons: dict[Key, str] = {}
    for group in json.loads(path.read_text()):
        if not group["reason"]:
            raise InvalidValueError("reason", group["reason"], "why the mutants change nothing")
        for module, function, before, after, occurrence in group["mutants"]:
            key = (module, function, before, after, occurrence)
            if key in reasons:
                raise InvalidValueError("mutant", key, "each listed once")
            reasons[key] = group["reason"]
    return reasons


def unknown_keys(listed: Iterable[Key], mutants: Iterable[Mutant]) -> list[Key]:
    """Return the listed entries that are no mutants."""
    known = {mutant.key for mutant in mutants}
    return [key for key in listed if key not in known]


def as_line(judgement: MutantJudgement) -> str:
    """Return a result as one line of JSON."""
    mutant = judgement.mutant
    fields: dict[str, Any] = {
        "key": mutant.key,
        "line": mutant.line,
        "source": _digest(mutant.module),
        "by": judgement.by,
        "detail": judgement.detail,
        "seconds": round(judgement.seconds, 3),
    }
    return json.dumps(fields, ensure_ascii=False)


def from_lines(lines: Iterable[str], mutants: Iterable[Mutant]) -> Mapping[Key, MutantJudgement]:
    """Return the earlier results of modules that have not changed since.

    The last line about a mutant counts; truncated lines are skipped.
    """
    known = {mutant.key: mutant for mutant in mutants}
    digests = {module: _digest(module) for module in {mutant.module for mutant in known.values()}}
    judgements: dict[Key, MutantJudgement] = {}
    for line in lines:
        try:
            fields = json.loads(line)
            module, function, before, after, occurrence = fields["key"]
            key = (module, function, before, after, occurrence)
            if key in known and fields["source"] == digests[module]:
                outcome = fields["by"], fields["detail"], fields["seconds"]
                judgements[key] = MutantJudgement(known[key], *outcome)
        except (ValueError, KeyError, TypeError):
            continue
    return judgements


def _digest(module: str) -> str:
    return hashlib.sha256(source_of(module).read_bytes()).hexdigest()[:16]
