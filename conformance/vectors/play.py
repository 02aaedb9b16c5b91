"""Play the vectors that a core can play, judged by the rules instead of by text."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from conformance.campaign import Fault, play
from conformance.cores import asks
from conformance.cores.kit import CORES
from conformance.cores.target import Hello, Target
from conformance.target import TargetError
from conformance.vectors.source import Case, cases
from judge.finding import Citation
from model.errors import ErrorCode
from model.operations import Acknowledge
from model.profile import KIP
from model.states import AcknowledgeType, AcquireMode
from spec.validation import validate

NEEDS = "needs "
"""How a reason begins that names the capability which a core lacks."""

_SETTLED = (ErrorCode.NONE, ErrorCode.PENDING)


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


def play_vectors(target: Target, hello: Hello, listed: Iterable[Case]) -> Played:
    """Play the vectors that the core can play, until it stops responding.

    Raises TargetError if it stops in the first of them.
    """
    names: list[str] = []
    faults, skipped, failure = [], Counter[str](), ""
    for listed_case in listed:
        case = attrs.evolve(listed_case, asks=in_mode_of(hello, listed_case.asks))
        if reason := reason_to_skip(case, hello):
            skipped[reason] += 1
            continue
        try:
            scene, length, deviation = play(target, hello, case.asks, CORES)
        except TargetError as error:
            if not names:
                raise
            failure = str(error)
            break
        names.append(case.name)
        if deviation:
            named = attrs.evolve(
                deviation,
                vector=case.name,
                pins=case.pins,
                rests_on=_own(case) if length == len(case.asks) - 1 else None,
            )
            asked = case.asks[: length + 1]
            kinds = tuple(sorted({type(ask).__name__ for ask in asked}))
            faults.append(Fault(named, asked, tuple(scene.steps), kinds, 1))
    return Played(len(names), tuple(faults), dict(skipped), tuple(names), failure)


def _own(case: Case) -> Citation:
    text = case.rests_on
    return Citation(f"KIP-{text.kip}, {text.section}", f"“{text.says}”")


def reason_to_skip(case: Case, hello: Hello) -> str | None:
    """Return why a core cannot play a vector; None if it can."""
    if hello.profile not in case.profiles:
        return f"is not for profile {hello.profile}"
    return lacking(hello, case.asks)


def lacking(hello: Hello, sequence: Sequence[asks.Ask]) -> str | None:
    """Return the first capability that a sequence needs and a core lacks, in words; else None."""
    can = attrs.asdict(hello.capabilities)
    for name, needed in needs(sequence).items():
        if needed is True and not can[name]:
            return f"{NEEDS}{name}"
        if needed is not True:
            has = {getattr(each, "name", each) for each in can[name]}
            if lacks := [each for each in needed if each not in has]:
                return f"{NEEDS}{name} {lacks[0]}"
    return None


def in_mode_of(hello: Hello, sequence: tuple[asks.Ask, ...]) -> tuple[asks.Ask, ...]:
    """Return a sequence in the one acquire mode that a core has: the rules judge what it does."""
    modes = hello.capabilities.acquire_modes
    if len(modes) > 1:
        return sequence
    mode = AcquireMode(modes[0])
    return tuple(attrs.evolve(a, mode=mode) if isinstance(a, asks.Fetch) else a for a in sequence)


def needs(sequence: Sequence[asks.Ask]) -> dict[str, Any]:
    """Return the capabilities that a sequence needs, by name."""
    batches = [
        batch for ask in sequence if isinstance(ask, asks.Acknowledge) for batch in ask.batches
    ]
    types = {kind for batch in batches for kind in batch.types}
    statuses = {status for ask in sequence for status in _statuses(ask)}
    configs = [a.config for a in sequence if isinstance(a, asks.TakeOver | asks.AlterConfig)]
    leaders = [ask for ask in sequence if isinstance(ask, asks.TakeOver)]
    wanted: dict[str, Any] = {
        "acquire_modes": sorted({a.mode.value for a in sequence if isinstance(a, asks.Fetch)}),
        "renew": AcknowledgeType.RENEW in types,
        "renew_setting": not all(config.renew_acknowledge_enable for config in configs),
        "validates_requests": any(_is_malformed(ask) for ask in sequence),
        "pending_writes": bool(statuses),
        "write_errors": sorted(s.name for s in statuses if s not in _SETTLED),
        "advance_log_start": any(isinstance(ask, asks.AdvanceLogStart) for ask in sequence),
        "take_over": len(leaders) > 1 or any(ask.persisted for ask in leaders),
        "alter_config": any(isinstance(ask, asks.AlterConfig) for ask in sequence),
        "dead_letter_queue": any(config.dead_letter_queue for config in configs),
        "aborted_transactions": any(isinstance(ask, asks.ProduceAborted) for ask in sequence),
    }
    return {name: needed for name, needed in wanted.items() if needed}


def _statuses(ask: asks.Ask) -> tuple[ErrorCode, ...]:
    if isinstance(ask, asks.CompleteWrite):
        return (ask.status,)
    return getattr(ask, "answers", ())


def _is_malformed(ask: asks.Ask) -> bool:
    if not isinstance(ask, asks.Acknowledge):
        return False
    return validate(Acknowledge(ask.member, ask.batches), KIP) is not ErrorCode.NONE
