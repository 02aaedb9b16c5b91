"""Play the vectors that a core can play, judged by the rules instead of by text."""

from collections import Counter
from collections.abc import Iterable

import attrs

from conformance.campaign import Fault, play
from conformance.commands import ask_name
from conformance.cores.kit import CORES
from conformance.cores.target import CoreHello, Target
from conformance.target import TargetError
from conformance.vectors.source import Case, cases
from judge.finding import Citation


@attrs.frozen
class Played:
    """How many vectors were played, what they showed, and how many were skipped, by reason.

    ``names`` are the names of the played vectors. ``failure`` is why the core stopped responding;
    else empty.
    """

    number: int = 0
    faults: tuple[Fault[object], ...] = ()
    skipped: dict[str, int] = attrs.Factory(dict)
    names: tuple[str, ...] = ()
    failure: str = ""


def all_cases() -> tuple[Case, ...]:
    """Return the vectors of this project."""
    return tuple(case for listed in cases().values() for case in listed)


def play_vectors(target: Target, hello: CoreHello, listed: Iterable[Case]) -> Played:
    """Play the vectors that the core can play, until it stops responding.

    Raises TargetError if it stops in the first of them.
    """
    names: list[str] = []
    faults, skipped, failure = [], Counter[str](), ""
    for case in listed:
        if reason := reason_to_skip(case, hello):
            skipped[reason] += 1
            continue
        try:
            scene, length, found = play(target, hello, case.asks, CORES)
        except TargetError as error:
            if not names:
                raise
            failure = str(error)
            break
        names.append(case.name)
        for deviation in found:
            named = attrs.evolve(
                deviation,
                vector=case.name,
                pins=case.pins,
                rests_on=_own(case) if length == len(case.asks) - 1 else None,
            )
            asked = case.asks[: length + 1]
            kinds = tuple(sorted({ask_name(type(ask)) for ask in asked}))
            faults.append(Fault(named, asked, tuple(scene.steps), kinds, 1))
    return Played(len(names), tuple(faults), dict(skipped), tuple(names), failure)


def _own(case: Case) -> Citation:
    text = case.rests_on
    return Citation(f"KIP-{text.kip}, {text.section}", f"“{text.says}”")


def reason_to_skip(case: Case, hello: CoreHello) -> str | None:
    """Return why a core cannot play a vector; None if it can."""
    if hello.profile not in case.profiles:
        return f"is not for profile {hello.profile}"
    return CORES.lacking(hello, case.asks)
