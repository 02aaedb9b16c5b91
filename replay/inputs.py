"""What the files of a trace hold, put together from the reading of each."""

from collections.abc import Iterable

import attrs

from replay.gather import Gathered
from replay.plan import Found, line_bases
from replay.survey import Survey
from replay.verdict import Problem

__all__ = ["Inputs", "first_problems", "inputs_of"]


@attrs.frozen
class Inputs:
    """What was found in the files.

    ``places`` has where each share-partition begins in each file, ``events`` how many it has.
    """

    gathered: tuple[Gathered, ...]
    surveys: tuple[Survey, ...]
    problems: tuple[Problem, ...]
    places: dict[str, list[Found]]
    events: dict[str, int]


def inputs_of(gathered: list[Gathered], surveys: list[Survey]) -> Inputs:
    """Put together what the parts of each file were found to hold."""
    gathered.sort(key=lambda part: part.task.number)
    bases = line_bases(gathered)
    places: dict[str, list[Found]] = {}
    events: dict[str, int] = {}
    problems = [found.problem for found in surveys if found.problem]
    for part in gathered:
        base = bases[part.task.number]
        path = part.task.source.path
        for name, (line, count) in part.partitions.items():
            places.setdefault(name, []).append(Found(path, base + line))
            events[name] = events.get(name, 0) + count
        problems += [
            attrs.evolve(problem, line=problem.line and problem.line + base)
            for problem in part.problems
        ]
    for found in surveys:
        for run in found.runs or ():
            place = Found(found.source.path, run.first_row + 1)
            places.setdefault(run.partition, []).append(place)
            events[run.partition] = events.get(run.partition, 0) + run.rows
    return Inputs(tuple(gathered), tuple(surveys), tuple(problems), places, events)


def first_problems(problems: Iterable[Problem]) -> dict[str, Problem]:
    """Return the first problem of each share-partition that has one."""
    first: dict[str, Problem] = {}
    for problem in problems:
        if problem.partition is not None:
            first.setdefault(problem.partition, problem)
    return first
