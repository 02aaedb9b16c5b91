"""A hazard: what goes wrong, where the draft says so, and the worlds in which it is searched."""

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from proofs.exploration.search import Search, Violation, search
from proofs.hazards.draft_readings import DRAFT_LITERAL, MENDED, Readings
from proofs.hazards.machine import RESOLVED, draft_machine
from proofs.hazards.run import begin, follow, steps
from proofs.hazards.world import Act, HazardMove, HazardProperty, HazardState, HazardWorld, Setting

MOST_STATES = 100_000
"""A search that needs more has failed: the worlds are made to be small."""


@attrs.frozen
class HazardCase:
    """One way in which a hazard occurs.

    ``options``: the readings that cause it; every other question is answered as in
    ``draft_resolved``. Where no reading is to blame but the rule itself, ``control`` names a world
    in which the property holds. ``beside``: what else has to be chosen for it to happen in the
    profile draft_literal, all of whose other sentences are taken as written. ``bound``: what the
    resolved rules guarantee, where they leave the hazard as it is. ``queueing``: the client's
    reading that the resolved rules are tried with. ``then`` goes on after the broken step.
    """

    world: HazardWorld
    holds: HazardProperty
    steps: int
    options: Mapping[str, Any] = attrs.field(factory=dict)
    title: str = ""
    beside: Mapping[str, Any] = attrs.field(factory=dict)
    control: tuple[str, HazardWorld] | None = None
    bound: HazardProperty | None = None
    queueing: bool = False
    then: tuple[Act, ...] = ()


@attrs.frozen
class Hazard:
    """A hazard, with the texts of its page.

    ``wrong``: what goes wrong, in a sentence. ``quotes``: (section, sentence) of the draft that
    cause it. ``rule``: the smallest change of the text. ``note``: what else is to be known.
    ``provided``: what the resolved rules need to be without it.
    """

    name: str
    title: str
    wrong: str
    quotes: tuple[tuple[str, str], ...]
    rule: str
    cases: tuple[HazardCase, ...]
    note: str = ""
    provided: str = ""


@attrs.frozen
class Run:
    """What happened: ``states`` has one more than ``acts``; those from ``broken`` on are after."""

    acts: tuple[Act, ...]
    states: tuple[HazardState, ...]
    reason: str
    broken: int


@attrs.frozen
class Absence:
    """A search that should find nothing: its rules, its extent, and what it found nevertheless.

    ``problem`` says why it shows nothing: a violation, too large a world, or one where a move of
    the world never happened.
    """

    where: str
    states: int
    problem: str | None


@attrs.frozen
class CaseFinding:
    """The result for a case: its shortest run, and the searches that should find none.

    ``literal`` are the steps of the shortest run in the profile draft_literal. Both are None where
    there is no run.
    """

    case: HazardCase
    run: Run | None
    literal: int | None
    controls: tuple[Absence, ...]
    resolved: Absence


@attrs.frozen
class HazardFinding:
    """The result for a hazard, case by case."""

    hazard: Hazard
    cases: tuple[CaseFinding, ...]


def is_shown(finding: CaseFinding) -> bool:
    """Whether the case occurs, in the stated number of steps, and is absent from its controls."""
    absent = all(absence.problem is None for absence in (*finding.controls, finding.resolved))
    occurs = finding.run is not None and finding.run.broken == finding.case.steps
    return occurs and absent and bool(finding.controls) and finding.literal is not None


def examine(hazard: Hazard) -> HazardFinding:
    """Search the runs of a hazard, its controls, and its absence under the resolved rules."""
    return HazardFinding(hazard, tuple(_examine(case) for case in hazard.cases))


def absence(where: str, setting: Setting) -> Absence:
    """Search a world for a step that breaks the property."""
    result, moves = _search(setting, leaps=False)
    problem = None if result.violation is None else result.violation.reason
    missing = setting.world.moves - moves
    if problem is None and result.unfinished is not None:
        problem = result.unfinished
    if problem is None and missing:
        problem = "never happened: " + ", ".join(sorted(move.name for move in missing))
    return Absence(where, result.states, problem)


def searched(setting: Setting) -> Search[HazardState, Act]:
    """Search a world for its shortest run to a step that breaks the property."""
    return _search(setting, leaps=True)[0]


def _examine(case: HazardCase) -> CaseFinding:
    violation = _search(_setting(case, MENDED), leaps=True)[0].violation
    literal = _setting(case, attrs.evolve(DRAFT_LITERAL, **case.beside))
    literal_violation = _search(literal, leaps=True)[0].violation
    return CaseFinding(
        case,
        None if violation is None else _run(case, violation),
        None if literal_violation is None else len(literal_violation.labels),
        tuple(_controls(case)),
        _resolved(case),
    )


def _setting(case: HazardCase, readings: Readings) -> Setting:
    """Return the case under these readings, but for those that are its cause."""
    readings = attrs.evolve(readings, **case.options)
    return Setting(case.world, draft_machine(readings), readings, case.holds)


def _controls(case: HazardCase) -> Iterator[Absence]:
    if case.control is not None:
        where, world = case.control
        yield absence(where, attrs.evolve(_setting(case, MENDED), world=world))
    for name in case.options:
        others = {other: value for other, value in case.options.items() if other != name}
        setting = _setting(attrs.evolve(case, options=others), MENDED)
        yield absence(f"With `{name}` mended", setting)


def _resolved(case: HazardCase) -> Absence:
    client = attrs.evolve(MENDED, marks_wait_for_poll=case.queueing)
    holds = case.bound or case.holds
    return absence("draft_resolved", Setting(case.world, RESOLVED, client, holds))


def _search(setting: Setting, *, leaps: bool) -> tuple[Search[HazardState, Act], set[HazardMove]]:
    """Search a world; return also which moves happened in it."""
    moves = set[HazardMove]()
    successors = steps(setting, leaps=leaps)

    def seen(state: HazardState) -> list[tuple[Act, HazardState]]:
        following = list(successors(state))
        moves.update(act.move for act, _ in following)
        return following

    return search([begin(setting)], seen, lambda state: state.broken, MOST_STATES), moves


def _run(case: HazardCase, violation: Violation[HazardState, Act]) -> Run:
    states = list(violation.states)
    for act in case.then:
        states.append(follow(_setting(case, MENDED), states[-1], act))
    return Run(
        (*violation.labels, *case.then), tuple(states), violation.reason, len(violation.labels)
    )
