"""The search: many sequences, each deviation once, with the shortest sequence that shows it."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from random import Random
from typing import Any, Generic, TypeVar

import attrs

from conformance.deviation import Deviation, Signature, StepText
from conformance.goals import Coverage
from conformance.kit import Hello, Kit, Stage, features_of
from conformance.shrink import shrunk
from conformance.target import TargetError

C = TypeVar("C")
C_co = TypeVar("C_co", covariant=True)
T = TypeVar("T")
H = TypeVar("H", bound=Hello)
S = TypeVar("S", bound=Stage[Any])

_NO_COVERAGE = Coverage()
_WAITING = 3
_LONG_EVERY = 25
"""One of so many sequences is longer, as the kit says."""


@attrs.frozen
class Limits:
    """When a search ends, whichever limit is first; ``length`` is the most commands of a sequence.

    ``operations``: no further sequence begins after so many, those of shrinking not counted.

    ``examples``: how many sequences of one signature and probable cause are shrunk, since the cause
    is no more than probable. ``shrink_seconds``: how long shrinking one may take.
    """

    seconds: float = 60.0
    sequences: int = 1_000_000
    operations: float = float("inf")
    length: int = 40
    examples: int = 6
    shrink_seconds: float = float("inf")


@attrs.frozen
class Fault(Generic[C_co]):
    """A distinct deviation, with the shortest sequence found that shows it.

    ``kinds`` are the features of the sequence, which distinguish it from others of the same
    signature; ``seen`` counts the random sequences with this signature and probable cause.
    """

    deviation: Deviation
    sequence: tuple[C_co, ...]
    steps: tuple[StepText, ...]
    kinds: tuple[str, ...]
    seen: int = 0


@attrs.frozen
class Campaign(Generic[C_co]):
    """The results of a search.

    ``asked`` counts operations by kind and status, and ``exercised`` how often they covered each
    coverage goal, by name. ``seed`` repeats the search.

    ``hello`` describes the target. ``unjudged`` counts the sequences that ended early because the
    judge could no longer follow. ``failure`` is why the target stopped responding; else empty.
    """

    hello: Hello
    faults: tuple[Fault[C_co], ...]
    sequences: int
    steps: int
    seconds: float
    asked: dict[str, int]
    interrupted: bool = False
    exercised: dict[str, int] = attrs.field(factory=dict)
    seed: int = 0
    unjudged: int = 0
    failure: str = ""
    coverage: Coverage = _NO_COVERAGE
    judges_invariants: bool = True


def campaign(
    target: T,
    limits: Limits,
    kit: Kit[C, T, H, S],
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda _sequences, _faults: None,
) -> Campaign[C]:
    """Search until a limit is reached or the target stops responding.

    Raises TargetError if it stops in the first sequence and that shows no deviation.
    """
    hello = kit.hello(target)
    search = _Search(target, hello, limits, kit)
    began = time.monotonic()
    sequences, interrupted, failure = 0, False, ""
    try:
        while (
            sequences < limits.sequences
            and sum(search.asked.values()) < limits.operations
            and time.monotonic() - began < limits.seconds
        ):
            random = Random(f"{seed}:{sequences}")  # noqa: S311 - reproducible, not secret
            search.sequence(random, 1 if (sequences + 1) % _LONG_EVERY else kit.longer)
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
        search.sorted_faults(),
        sequences,
        steps=sum(search.asked.values()),
        seconds=time.monotonic() - began,
        asked=dict(sorted(search.asked.items())),
        interrupted=interrupted,
        exercised=dict(sorted(search.exercised.items())),
        seed=seed,
        unjudged=search.unjudged,
        failure=failure,
        coverage=kit.coverage(search.exercised, hello) if search.exercised else _NO_COVERAGE,
        judges_invariants=kit.judges_invariants,
    )


def alone(target: T, sequence: tuple[C, ...], kit: Kit[C, T, H, S]) -> Campaign[C]:
    """Play one sequence, as often as the kit must to tell that it shows nothing.

    Raises TargetError.
    """
    hello, began = kit.hello(target), time.monotonic()
    for _try in range(kit.tries):
        stage, index, deviation = play(target, hello, sequence, kit)
        if deviation:
            break
    shown = sequence[: index + 1]
    faults = (
        (Fault(deviation, shown, tuple(stage.steps), features_of(kit, shown), 1),)
        if deviation
        else ()
    )
    return Campaign(
        hello,
        faults,
        sequences=1,
        steps=sum(stage.answered.values()),
        seconds=time.monotonic() - began,
        asked=dict(sorted(stage.answered.items())),
        unjudged=int(stage.unjudged and not faults),
        judges_invariants=kit.judges_invariants,
    )


def play(
    target: T, hello: H, sequence: Sequence[C], kit: Kit[C, T, H, S]
) -> tuple[S, int, Deviation | None]:
    """Play a sequence up to its first deviation; return the stage, at which command, and what."""
    with _staged(target, hello, kit) as stage:
        for index, command in enumerate(sequence):
            if deviation := stage.ask(command):
                return stage, index, deviation
    return stage, len(sequence), None


@contextmanager
def _staged(target: T, hello: H, kit: Kit[C, T, H, S]) -> Iterator[S]:
    """Open a stage and close it. If both the block and closing fail, raise the block's error."""
    stage = kit.stage(target, hello)
    try:
        yield stage
    except BaseException:
        with suppress(TargetError):
            stage.close()
        raise
    stage.close()


_Kind = tuple[Signature, tuple[str, ...]]


def _kind(deviation: Deviation) -> _Kind:
    """Return what deviations have in common that are shrunk as one."""
    return deviation.signature, deviation.probable_cause


class _Search(Generic[C, T, H, S]):
    """The results of a search so far."""

    def __init__(self, target: T, hello: H, limits: Limits, kit: Kit[C, T, H, S]) -> None:
        self._target, self._hello, self._limits, self._kit = target, hello, limits, kit
        self.seen: Counter[_Kind] = Counter()
        self.asked: Counter[str] = Counter()
        self.exercised: Counter[str] = Counter()
        self.faults: dict[tuple[_Kind, tuple[str, ...]], Fault[C]] = {}
        self.unjudged = 0

    def sequence(self, random: Random, times: int = 1) -> None:
        """Play one random sequence, so many times as long as most; shrink any deviation.

        It is shrunk even if the target dies.
        """
        fault = None
        try:
            with _staged(self._target, self._hello, self._kit) as stage:
                try:
                    fault = self._played(random, stage, times)
                finally:
                    self.asked.update(stage.answered)
                    self.exercised.update(stage.exercised)
                    self.unjudged += stage.unjudged and not fault
        finally:
            if fault:
                self._note(fault)

    def _played(self, random: Random, stage: S, times: int) -> Fault[C] | None:
        first, next_command = self._kit.draws(random, self._hello)
        sequence = [first]
        deviation = stage.ask(first)
        while not (deviation or stage.over) and len(sequence) < self._longest(stage, times):
            sequence.append(next_command(stage))
            deviation = stage.ask(sequence[-1])
        return self._fault(deviation, tuple(sequence), stage) if deviation else None

    def _longest(self, stage: S, times: int) -> int:
        """Return how long a sequence may get: longer while a record waits to be offered."""
        return self._limits.length * max(times, _WAITING if stage.waits else 1)

    def _fault(self, deviation: Deviation, sequence: tuple[C, ...], stage: S) -> Fault[C]:
        return Fault(deviation, sequence, tuple(stage.steps), features_of(self._kit, sequence))

    def sorted_faults(self) -> tuple[Fault[C], ...]:
        """Return the faults, the most frequent signature first."""
        faults = (
            attrs.evolve(fault, seen=self.seen[kind])
            for (kind, _features), fault in self.faults.items()
        )
        return tuple(sorted(faults, key=lambda f: (-f.seen, f.deviation.signature, f.kinds)))

    def _note(self, fault: Fault[C]) -> None:
        kind = _kind(fault.deviation)
        self.seen[kind] += 1
        if self.seen[kind] > self._limits.examples:
            return
        best, until = fault, time.monotonic() + self._limits.shrink_seconds

        def shows(sequence: tuple[C, ...]) -> int | None:
            nonlocal best
            if time.monotonic() > until:
                return None
            stage, index, deviation = play(self._target, self._hello, sequence, self._kit)
            if deviation is None or _kind(deviation) != kind:
                return None
            best = self._fault(deviation, sequence[: index + 1], stage)
            return index

        try:
            shrunk(fault.sequence, shows, self._kit)
        finally:
            known = self.faults.get((kind, best.kinds))
            if known is None or len(best.sequence) < len(known.sequence):
                self.faults[kind, best.kinds] = best
