"""The search: many sequences, each deviation once, with the shortest sequence that shows it."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from random import Random
from typing import Any

import attrs

from conformance.cores.kind import CORES
from conformance.deviation import Deviation, Signature, Step
from conformance.kind import Ask, Kind, Stage
from conformance.shrink import shrunk
from conformance.target import TargetError

__all__ = ["Campaign", "Fault", "Limits", "campaign", "play"]


@attrs.frozen
class Limits:
    """When a search ends, whichever comes first; a sequence has at most so many asks.

    ``examples``: how many sequences of one signature are shrunk, since deviations of the same
    signature can have different causes. ``shrink_seconds``: how long one of them at most.
    """

    seconds: float = 60.0
    sequences: int = 1_000_000
    length: int = 40
    examples: int = 6
    shrink_seconds: float = float("inf")


@attrs.frozen
class Fault:
    """A distinct deviation, and the shortest sequence that was found to show it.

    ``kinds`` are the features of the sequence, which tell it from others of the same signature;
    ``seen`` is how often the signature was met.
    """

    deviation: Deviation
    sequence: tuple[Ask, ...]
    steps: tuple[Step, ...]
    kinds: tuple[str, ...]
    seen: int = 0


@attrs.frozen
class Campaign:
    """What a search did and found.

    ``asked`` counts operations by kind and status, and ``exercised`` what they met, by the names of
    ``universe``. ``seed`` gives the same search again.

    ``hello`` says who was asked, with a name, a version and a profile. ``unjudged`` sequences were
    left before their end, because the judge could not follow any more. ``failure`` is why the
    target could not be driven any further; empty if it could.
    """

    hello: Any
    faults: tuple[Fault, ...]
    sequences: int
    steps: int
    seconds: float
    asked: dict[str, int]
    interrupted: bool = False
    exercised: dict[str, int] = attrs.field(factory=dict)
    seed: int = 0
    unjudged: int = 0
    failure: str = ""
    kind: Kind = CORES


def campaign(
    target: Any,  # noqa: ANN401 - what the kind's stages are made of
    limits: Limits,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda _sequences, _faults: None,
    kind: Kind = CORES,
) -> Campaign:
    """Search until a limit is reached, or until the target cannot be driven any further.

    Raises TargetError if it cannot be driven through one sequence, and that shows no deviation.
    """
    hello = target.hello()
    search = _Search(target, hello, limits, kind)
    began = time.monotonic()
    sequences, interrupted, failure = 0, False, ""
    try:
        while sequences < limits.sequences and time.monotonic() - began < limits.seconds:
            search.sequence(Random(f"{seed}:{sequences}"))  # noqa: S311 - no secret
            sequences += 1
            progress(sequences, len(search.faults))
    except KeyboardInterrupt:
        interrupted = True
    except TargetError as error:
        if not (sequences or search.faults):
            raise
        failure = str(error)
    return Campaign(
        hello,
        tuple(attrs.evolve(f, seen=search.seen[f.deviation.signature]) for f in search.found()),
        sequences,
        sum(search.asked.values()),
        time.monotonic() - began,
        dict(sorted(search.asked.items())),
        interrupted,
        dict(sorted(search.exercised.items())),
        seed,
        search.unjudged,
        failure,
        kind,
    )


def play(
    target: Any,  # noqa: ANN401 - what the kind's stages are made of
    hello: Any,  # noqa: ANN401 - as the target says it
    sequence: Sequence[Ask],
    kind: Kind = CORES,
) -> tuple[Stage, int, Deviation | None]:
    """Play a sequence up to its first deviation; return the stage, at which ask, and what."""
    with _staged(target, hello, kind) as stage:
        for at, ask in enumerate(sequence):
            if found := stage.ask(ask):
                return stage, at, found
    return stage, len(sequence), None


@contextmanager
def _staged(target: object, hello: object, kind: Kind) -> Iterator[Stage]:
    """Have a stage, and let it go: of two failures the first is raised."""
    stage = kind.stage(target, hello)
    try:
        yield stage
    except BaseException:
        with suppress(TargetError):
            stage.close()
        raise
    stage.close()


class _Search:
    """What a search has found so far."""

    def __init__(self, target: object, hello: object, limits: Limits, kind: Kind) -> None:
        self._target, self._hello, self._limits, self._kind = target, hello, limits, kind
        self.seen: Counter[Signature] = Counter()
        self.asked: Counter[str] = Counter()
        self.exercised: Counter[str] = Counter()
        self.faults: dict[tuple[Signature, tuple[str, ...]], Fault] = {}
        self.unjudged = 0

    def sequence(self, random: Random) -> None:
        """Play one random sequence, and look closer at what it shows, whatever happens then."""
        fault = None
        try:
            with _staged(self._target, self._hello, self._kind) as stage:
                try:
                    fault = self._played(random, stage)
                finally:
                    self.asked.update(stage.answered)
                    self.exercised.update(self._kind.met(stage))
                    self.unjudged += stage.over
        finally:
            if fault:
                self._note(fault)

    def _played(self, random: Random, stage: Stage) -> Fault | None:
        mix, first = self._kind.begin(random, self._hello)
        sequence = [first]
        found = stage.ask(first)
        while not (found or stage.over) and len(sequence) < self._limits.length:
            sequence.append(self._kind.next_ask(random, mix, stage))
            found = stage.ask(sequence[-1])
        return _fault(found, tuple(sequence), stage, self._kind) if found else None

    def found(self) -> list[Fault]:
        """Return the faults, those that were met most often first."""
        return sorted(
            self.faults.values(),
            key=lambda f: (-self.seen[f.deviation.signature], f.deviation.signature, f.kinds),
        )

    def _note(self, fault: Fault) -> None:
        signature = fault.deviation.signature
        self.seen[signature] += 1
        if self.seen[signature] > self._limits.examples:
            return
        best, until = fault, time.monotonic() + self._limits.shrink_seconds

        def shows(sequence: tuple[Ask, ...]) -> int | None:
            nonlocal best
            if time.monotonic() > until:
                return None
            stage, at, found = play(self._target, self._hello, sequence, self._kind)
            if found is None or found.signature != signature:
                return None
            best = _fault(found, sequence[: at + 1], stage, self._kind)
            return at

        try:
            shrunk(fault.sequence, shows, self._kind)
        finally:
            known = self.faults.get((signature, best.kinds))
            if known is None or len(best.sequence) < len(known.sequence):
                self.faults[signature, best.kinds] = best


def _fault(found: Deviation, sequence: tuple[Ask, ...], stage: Stage, kind: Kind) -> Fault:
    return Fault(found, sequence, tuple(stage.steps), kind.features_of(sequence))
