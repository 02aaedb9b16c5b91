"""Coverage goals: what a search should reach, which of it a search covered, and how often.

A search counts names (``exercised``): answers, transitions, and rules that bound an answer. Which
of them it should come by is in ``reach.toml`` and, of those that bound, in the table of rules. That
says as well which names put a rule at stake.
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from fnmatch import fnmatchcase
from importlib.resources import files
from typing import Any

import attrs

from model.config import AutoOffsetReset
from model.rules import RULES, Rule
from model.states import AcquireMode

_TABLE: Mapping[str, Any] = tomllib.loads(
    files(__package__).joinpath("reach.toml").read_text("utf-8")
)
"""Of each kit: what a search of the specification reaches, and what of it needs a capability."""


class GoalKind(StrEnum):
    """The kinds of coverage goal."""

    TRANSITION = "transitions"
    ANSWER = "answers"
    BOUND = "answers next to which is one that a rule refuses"
    SITUATION = "situations"
    RULE = "rules that could have been broken"


_MARKS = {
    " is answered ": GoalKind.ANSWER,
    " is bounded by ": GoalKind.BOUND,
    ": ": GoalKind.TRANSITION,
}
"""What the name of a goal of each group has in it; the first that fits."""


@attrs.frozen
class Goal:
    """A transition, answer, situation or rule that a search should reach.

    ``needs`` names capabilities of the target, or acquire modes. ``never``: why the kit cannot
    reach it. A rule is covered by any of the goals in ``any_of``.
    """

    group: GoalKind
    name: str
    needs: tuple[str, ...] = ()
    never: str = ""
    any_of: tuple["Goal", ...] = ()


def goals(kit: str, counts: Iterable[str] = ()) -> tuple[Goal, ...]:
    """Return what a search should reach with a kit, and what else one counted, by its name."""
    table = _TABLE[kit]
    bounds = {
        name: rule.needs
        for rule in _rules()
        for name in _at_stake(rule, kit)
        if name.endswith(f" is bounded by {rule.name}") and "*" not in name
    }
    names = dict.fromkeys((*table["reaches"], *bounds, *counts))
    rows = [
        Goal(_group(name), name, (*bounds.get(name, ()), *_needs(name, table["needs"])))
        for name in names
    ]
    return (*rows, *rule_goals(rows, kit))


def _rules() -> Iterator[Rule]:
    return (rule for rules in RULES.values() for rule in rules.values())


def _at_stake(rule: Rule, kit: str) -> tuple[str, ...]:
    """Return the names, or patterns of some, of what puts a rule at stake; ``it`` is the rule."""
    suffix, name = " is bounded by it", f" is bounded by {rule.name}"
    return tuple(each.replace(suffix, name) for each in rule.at_stake.get(kit, ()))


def _group(name: str) -> GoalKind:
    return next((group for mark, group in _MARKS.items() if mark in name), GoalKind.SITUATION)


def _needs(name: str, needs: Mapping[str, str]) -> tuple[str, ...]:
    found = (need for pattern, need in needs.items() if fnmatchcase(name, pattern))
    return tuple(dict.fromkeys(found))


def rule_goals(goals: Iterable[Goal], kit: str) -> Iterator[Goal]:
    """Yield a goal for each rule that some of a kit's goals put at stake, as the table says."""
    goals = tuple(goals)
    for rule in _rules():
        names = _at_stake(rule, kit)
        some = tuple(goal for goal in goals if any(fnmatchcase(goal.name, name) for name in names))
        if some:
            yield Goal(GoalKind.RULE, rule.name, rule.needs, any_of=some)


CANNOT = "it cannot: "
"""How a reason begins that names the capabilities which a target lacks."""


def lacking(goal: Goal, can: object) -> str:
    """Return why a target, or the kit, cannot reach a goal; empty if both can.

    ``can`` are the capabilities of a core or of a broker.
    """
    if goal.any_of and not _missing(goal, can):
        return min((lacking(part, can) for part in goal.any_of), key=len)
    if goal.never:
        return f"the kit does not ask for it: {goal.never}"
    missing = _missing(goal, can)
    return f"{CANNOT}{', '.join(missing)}" if missing else ""


def _missing(goal: Goal, can: object) -> list[str]:
    return [need for need in goal.needs if not _has(can, need)]


def _has(can: Any, need: str) -> bool:  # noqa: ANN401 - capabilities of a core or of a broker
    if need in set(AcquireMode):
        return need in can.acquire_modes
    if need in set(AutoOffsetReset):
        return need in can.resets
    if need == "write_errors":
        return bool(can.write_errors) and can.pending_writes
    return bool(getattr(can, need))


@attrs.frozen
class Coverage:
    """Which goals were covered and how often, which were not, and which cannot be and why."""

    covered: tuple[tuple[Goal, int], ...] = ()
    missed: tuple[Goal, ...] = ()
    skipped: tuple[tuple[Goal, str], ...] = ()

    def totals(self) -> Iterator[tuple[GoalKind, int, int]]:
        """Yield for each group how many goals were covered, and of how many; not if of none."""
        for group in GoalKind:
            number = sum(goal.group is group for goal, _count in self.covered)
            if of := number + sum(goal.group is group for goal in self.missed):
                yield group, number, of


def _count(goal: Goal, counts: Mapping[str, int]) -> int:
    return sum(counts.get(part.name, 0) for part in goal.any_of or (goal,))


def coverage(goals: Iterable[Goal], counts: Mapping[str, int], can: object) -> Coverage:
    """Return what the counts of a search cover, for what its target can do."""
    counted = [
        (goal, 0 if goal.any_of and _missing(goal, can) else _count(goal, counts)) for goal in goals
    ]
    uncovered = [(goal, lacking(goal, can)) for goal, count in counted if not count]
    return Coverage(
        tuple((goal, count) for goal, count in counted if count),
        tuple(goal for goal, reason in uncovered if not reason),
        tuple((goal, reason) for goal, reason in uncovered if reason),
    )
