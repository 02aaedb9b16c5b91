"""A hazard: where it is searched, what is found, and which changes of the text it needs."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

import attrs

from model.errors import InvalidValueError
from proofs.exploration.search import BrokenRun, Search, search
from proofs.hazards.draft_readings import DRAFT_LITERAL, MENDED, NAMES, Readings
from proofs.hazards.machine import RESOLVED, draft_machine
from proofs.hazards.run import begin, follow, successors
from proofs.hazards.world import (
    HazardAct,
    HazardMove,
    HazardProperty,
    HazardState,
    HazardWorld,
    Setting,
)

MOST_STATES = 100_000
"""A search that needs more has failed: the worlds are made to be small."""

HazardSearch: TypeAlias = Search[HazardState, HazardAct]
HazardRun: TypeAlias = BrokenRun[HazardState, HazardAct]

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_FLAGS = {"yes": True, "no": False}


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
    options: Mapping[str, Any] = _NOTHING
    title: str = ""
    beside: Mapping[str, Any] = _NOTHING
    control: tuple[str, HazardWorld] | None = None
    bound: HazardProperty | None = None
    queueing: bool = False
    then: tuple[HazardAct, ...] = ()


@attrs.frozen
class Hazard:
    """A hazard, with the sections of the draft that cause it.

    ``provided``: what the resolved rules need to be without it.
    """

    name: str
    title: str
    sections: str
    cases: tuple[HazardCase, ...]
    provided: str = ""


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

    ``steps`` are those up to the broken one, after which the run goes on; ``literal`` those of the
    shortest run in the profile draft_literal. All are None where there is no run.
    """

    case: HazardCase
    run: HazardRun | None
    steps: int | None
    literal: int | None
    controls: tuple[Absence, ...]
    resolved: Absence

    @property
    def is_shown(self) -> bool:
        """Whether it occurs, in the stated number of steps, and is absent from its controls."""
        absent = all(absence.problem is None for absence in (*self.controls, self.resolved))
        occurs = self.steps == self.case.steps and self.literal is not None
        return occurs and absent and bool(self.controls)


def examine(hazard: Hazard) -> tuple[CaseFinding, ...]:
    """Search the runs of a hazard, its controls, and its absence under the resolved rules."""
    return tuple(_examine(case) for case in hazard.cases)


def absence(where: str, setting: Setting) -> Absence:
    """Search a world for a step that breaks the property."""
    moves = set[HazardMove]()

    def seen(state: HazardState) -> Iterator[tuple[HazardAct, HazardState]]:
        for act, after in successors(setting, state):
            moves.add(act.move)
            yield act, after

    result = search([begin(setting)], seen, lambda state: state.broken, MOST_STATES)
    missing = ", ".join(sorted(move.name for move in setting.world.moves - moves))
    broken = None if result.violation is None else result.violation.reason
    problem = broken or result.unfinished or (f"never happened: {missing}" if missing else None)
    return Absence(where, result.states, problem)


def as_written(case: HazardCase, changed: Mapping[str, Any] = _NOTHING) -> HazardSearch:
    """Search a case in the draft as written, but for what is changed.

    Where the text leaves a question open, the case has the reading that it is about.
    """
    readings = {**case.beside, **case.options, **changed}
    return _shortest(case, attrs.evolve(DRAFT_LITERAL, **readings))


def reading_of(text: str) -> tuple[str, Any]:
    """Read ``NAME``, which is answered as draft_resolved answers it, or ``NAME=VALUE``.

    Raises InvalidValueError that names what is allowed.
    """
    name, given, value = text.partition("=")
    if name not in NAMES:
        raise InvalidValueError("reading", name, f"one of {', '.join(NAMES)}")
    mended = getattr(MENDED, name)
    if not given:
        return name, mended
    is_choice = isinstance(mended, Enum)
    known = {each.name.lower(): each for each in type(mended)} if is_choice else _FLAGS
    if value.lower() not in known:
        raise InvalidValueError(name, value, " or ".join(known))
    return name, known[value.lower()]


def _examine(case: HazardCase) -> CaseFinding:
    found = _shortest(case, attrs.evolve(MENDED, **case.options)).violation
    literal = as_written(case).violation
    return CaseFinding(
        case,
        None if found is None else _continued(case, found),
        None if found is None else len(found.labels),
        None if literal is None else len(literal.labels),
        tuple(_controls(case)),
        _resolved(case),
    )


def _setting(case: HazardCase, readings: Readings) -> Setting:
    return Setting(case.world, draft_machine(readings), readings, case.holds)


def _shortest(case: HazardCase, readings: Readings) -> HazardSearch:
    """Search for the shortest run to a step that breaks the property; waits may be long."""
    setting = _setting(case, readings)
    leaping = attrs.evolve(setting, world=attrs.evolve(case.world, leaps=True))
    ways = partial(successors, leaping)
    return search([begin(setting)], ways, lambda state: state.broken, MOST_STATES)


def _controls(case: HazardCase) -> Iterator[Absence]:
    if case.control is not None:
        where, world = case.control
        yield absence(where, _setting(attrs.evolve(case, world=world), MENDED))
    for name in case.options:
        others = {other: value for other, value in case.options.items() if other != name}
        readings = attrs.evolve(MENDED, **others)
        yield absence(f"With `{name}` mended", _setting(case, readings))


def _resolved(case: HazardCase) -> Absence:
    client = attrs.evolve(MENDED, marks_wait_for_poll=case.queueing)
    holds = case.bound or case.holds
    return absence("draft_resolved", Setting(case.world, RESOLVED, client, holds))


def _continued(case: HazardCase, found: HazardRun) -> HazardRun:
    """Return the run with what the case has happen after the broken step."""
    setting, states = _setting(case, attrs.evolve(MENDED, **case.options)), list(found.states)
    for act in case.then:
        states.append(follow(setting, states[-1], act))
    return attrs.evolve(found, labels=(*found.labels, *case.then), states=tuple(states))


@attrs.frozen
class TextChange:
    """A change of the draft's text: where, what it should say, and the readings that it decides."""

    where: str
    text: str
    readings: Mapping[str, Any]


@attrs.frozen
class Ranked:
    """A change, with the names of the hazards that it removes.

    ``alone``: those that are gone if nothing else is changed. ``needed``: those that remain if
    every other change is made and this one is not.
    """

    change: TextChange
    alone: tuple[str, ...]
    needed: tuple[str, ...]


def ranked(
    changes: Sequence[TextChange], hazards: Sequence[Hazard], removed: Collection[str]
) -> tuple[Ranked, ...]:
    """Search the draft with each change alone, and with all but each; most needed first.

    ``removed`` are those that are gone with all.
    """
    every = [hazard for hazard in hazards if hazard.name in removed]

    def rank(change: TextChange) -> Ranked:
        rest = gone([other for other in changes if other is not change], every)
        needed = tuple(hazard.name for hazard in every if hazard.name not in rest)
        return Ranked(change, gone([change], hazards), needed)

    return tuple(sorted(map(rank, changes), key=lambda each: -len(each.needed)))


def gone(changes: Sequence[TextChange], hazards: Sequence[Hazard]) -> tuple[str, ...]:
    """Return the names of the hazards that cannot occur where the text is changed so."""
    readings = {name: value for change in changes for name, value in change.readings.items()}
    return tuple(h.name for h in hazards if is_gone(as_written(c, readings) for c in h.cases))


def is_gone(searches: Iterable[HazardSearch]) -> bool:
    """Return whether a hazard occurs in none of its cases, all of which were searched whole."""
    return all(found.violation is None and not found.unfinished for found in searches)
