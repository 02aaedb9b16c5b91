"""The search: many sequences, each deviation once, with the shortest sequence that shows it."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count, takewhile
from random import Random
from typing import Any, Generic, TypeVar

import attrs

from conformance.deviation import Signature, StepText
from conformance.goals import Coverage
from conformance.kit import Kit, Stage, features_of
from conformance.known import KnownDeviation
from conformance.plays import Plays
from conformance.shrink import shrunk
from conformance.target import Hello, TargetError
from judge.finding import Finding

C = TypeVar("C")
C_co = TypeVar("C_co", covariant=True)
T = TypeVar("T")
H = TypeVar("H", bound=Hello[Any])
S = TypeVar("S", bound=Stage[Any])

_NO_COVERAGE = Coverage()
_WAITING = 3
_MOST_DOUBTED = 5
"""How many sequences of one signature are played again before it is left unconfirmed."""
_MORE_EXAMPLES = 3
"""How many sequences of one signature and probable cause are shrunk beyond the examples: those that
lack some feature of each that was shrunk, since they may show another fault."""
_LONG_EVERY = 25
"""One of so many sequences is longer, as the kit says."""


@attrs.frozen
class Limits:
    """When a search ends, whichever limit is first; ``length`` is the most commands of a sequence.

    ``operations``: no further sequence begins after so many, those of shrinking not counted.

    ``examples``: how many sequences of one signature and probable cause are shrunk, since the cause
    is no more than probable. ``shrink_seconds``: how long shrinking one may take, and
    ``shrink_plays`` how many sequences it may play, which is the same on a busy machine.
    """

    seconds: float = 60.0
    sequences: int = 1_000_000
    operations: float = float("inf")
    length: int = 40
    examples: int = 6
    shrink_seconds: float = float("inf")
    shrink_plays: float = float("inf")


@attrs.frozen
class Fault(Generic[C_co]):
    """A distinct deviation, with the shortest sequence found that shows it.

    ``kinds`` are the features of the sequence, which distinguish it from others of the same
    signature; ``seen`` counts the random sequences with this signature and probable cause.
    ``in_vain``: how many plays again of such sequences did not show it.
    """

    deviation: Finding
    sequence: tuple[C_co, ...]
    steps: tuple[StepText, ...]
    kinds: tuple[str, ...]
    seen: int = 0
    in_vain: int = 0


@attrs.frozen
class Campaign(Generic[C_co]):
    """The results of a search.

    ``asked`` counts operations by kind and status, and ``exercised`` how often they covered each
    coverage goal, by name. ``seed`` repeats the search.

    ``hello`` describes the target. ``unjudged`` counts the sequences that ended early because the
    judge could no longer follow. ``failure`` is why the target stopped responding; else empty.
    ``lack``: why what was exercised bears no verdict; empty if it does. ``met`` counts those that
    showed what was known before, by name, where the search passes over that. ``unconfirmed`` are
    deviations that no play again showed, as often as the kit asks for.
    """

    hello: Hello[Any]
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
    lack: str = ""
    met: dict[str, int] = attrs.field(factory=dict)
    unconfirmed: tuple[Fault[C_co], ...] = ()


@attrs.frozen
class _Drawn(Generic[C_co]):
    """What a random sequence showed, and what ended it early, if anything did."""

    answered: Counter[str] = attrs.field(factory=Counter)
    exercised: Counter[str] = attrs.field(factory=Counter)
    unjudged: bool = False
    faults: tuple[Fault[C_co], ...] = ()
    error: TargetError | KeyboardInterrupt | None = None


@attrs.frozen
class Replayed(Generic[C_co]):
    """A known deviation, replayed: ``fault`` is what its sequence showed, None if it is gone."""

    known: KnownDeviation
    fault: Fault[C_co] | None


def campaign(  # noqa: PLR0913 - how long, with which chance, and beside what
    target: T,
    limits: Limits,
    kit: Kit[C, T, H, S],
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda _sequences, _faults: None,
    *,
    known: Sequence[KnownDeviation] = (),
) -> Campaign[C]:
    """Search until a limit is reached or the target stops responding.

    What is ``known`` is counted and not shrunk. Raises TargetError if the target stops in the first
    sequence and that shows no deviation.
    """
    hello = kit.hello(target)
    plays = Plays(kit.at_once)
    search = _Search(target, hello, limits, kit, known, plays)
    began = time.monotonic()
    sequences, interrupted, failure = 0, False, ""

    def goes_on(number: int) -> bool:
        is_early = time.monotonic() - began < limits.seconds
        is_short = sum(search.asked.values()) < limits.operations
        return number < limits.sequences and is_short and is_early

    def drawn(number: int) -> _Drawn[C]:
        random = Random(f"{seed}:{number}")  # noqa: S311 - reproducible, not secret
        return search.draw(random, 1 if (number + 1) % _LONG_EVERY else kit.longer)

    try:
        with plays:
            for each in plays.in_order(drawn, takewhile(goes_on, count())):
                search.take(each)
                sequences += 1
                progress(sequences, len(search.faults))
            plays.finish()
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
        lack=kit.lack(search.exercised, hello) if sequences else "",
        met=dict(search.met),
        unconfirmed=search.sorted_doubts(),
    )


def alone(target: T, sequence: tuple[C, ...], kit: Kit[C, T, H, S]) -> Campaign[C]:
    """Play one sequence, as often as the kit must to tell that it shows nothing.

    Raises TargetError.
    """
    hello, began = kit.hello(target), time.monotonic()
    for _try in range(kit.tries):
        stage, index, found = play(target, hello, sequence, kit)
        if found:
            break
    shown = sequence[: index + 1]
    return Campaign(
        hello,
        tuple(_fault(kit, stage, deviation, shown, 1) for deviation in found),
        sequences=1,
        steps=sum(stage.answered.values()),
        seconds=time.monotonic() - began,
        asked=dict(sorted(stage.answered.items())),
        exercised=dict(stage.exercised),
        unjudged=int(stage.unjudged and not found),
        judges_invariants=kit.judges_invariants,
    )


def play(
    target: T, hello: H, sequence: Sequence[C], kit: Kit[C, T, H, S]
) -> tuple[S, int, Sequence[Finding]]:
    """Play a sequence up to its first deviation; return the stage, at which command, and what.

    Several deviations can show at the end of a sequence. Raises TargetError.
    """
    with _staged(target, hello, kit) as stage:
        for index, command in enumerate(sequence):
            if deviation := stage.ask(command):
                return stage, index, (deviation,)
        return stage, len(sequence) - 1, stage.end()


def replayed(
    target: T, hello: H, known: Sequence[KnownDeviation], kit: Kit[C, T, H, S]
) -> Iterator[Replayed[C]]:
    """Play the sequence of each known deviation, and yield what it shows. Raises TargetError."""
    with Plays(kit.at_once) as plays:
        yield from plays.in_order(partial(_replayed, target, hello, kit=kit), iter(known))


def _replayed(target: T, hello: H, known: KnownDeviation, kit: Kit[C, T, H, S]) -> Replayed[C]:
    for _try in range(kit.tries):
        stage, index, found = play(target, hello, known.sequence, kit)
        for deviation in found if index == len(known.sequence) - 1 else ():
            if deviation.signature == known.signature and _differs_so(deviation, known):
                return Replayed(known, _fault(kit, stage, deviation, known.sequence))
    return Replayed(known, None)


def unknown(faults: Sequence[Fault[C]], known: Sequence[KnownDeviation]) -> list[Fault[C]]:
    """Return the faults that no known deviation accounts for.

    A known deviation accounts for a fault if it names the vector, or if both have the same
    signature and the sequence of the fault has every feature that the known one needs; and if the
    fault has the probable cause that it names, if any. Or if it obscures what has such a cause.
    """
    return [fault for fault in faults if not any(_accounts(each, fault) for each in known)]


def _accounts(known: KnownDeviation, fault: Fault[Any]) -> bool:
    deviation, kinds = fault.deviation, set(fault.kinds)
    named = deviation.vector in known.vectors
    alike = known.signature == deviation.signature and known.needs <= kinds
    comes_after = not known.after or bool(known.after & kinds)
    exactly = (named or (alike and comes_after)) and _differs_so(deviation, known)
    return exactly or not known.obscures.isdisjoint(deviation.probable_cause)


def _differs_so(deviation: Finding, known: KnownDeviation) -> bool:
    return known.difference in ((), deviation.probable_cause)


def _fault(
    kit: Kit[C, Any, Any, S], stage: S, deviation: Finding, shown: tuple[C, ...], seen: int = 0
) -> Fault[C]:
    return Fault(deviation, shown, stage.steps_of(deviation), features_of(kit, shown), seen)


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


def _kind(deviation: Finding) -> _Kind:
    """Return what deviations have in common that are shrunk as one."""
    return deviation.signature, deviation.probable_cause


class _Search(Generic[C, T, H, S]):
    """The results of a search so far."""

    def __init__(  # noqa: PLR0913, PLR0917 - what a search is of
        self,
        target: T,
        hello: H,
        limits: Limits,
        kit: Kit[C, T, H, S],
        known: Sequence[KnownDeviation],
        plays: Plays,
    ) -> None:
        self._target, self._hello, self._limits, self._kit = target, hello, limits, kit
        self._known, self._plays = known, plays
        self.seen: Counter[_Kind] = Counter()
        self.asked: Counter[str] = Counter()
        self.exercised: Counter[str] = Counter()
        self.met: Counter[str] = Counter()
        self.faults: dict[tuple[_Kind, tuple[str, ...]], Fault[C]] = {}
        self.doubts: dict[_Kind, Fault[C]] = {}
        self.doubted: Counter[_Kind] = Counter()
        self.examples: Counter[_Kind] = Counter()
        self.unjudged = 0

    def draw(self, random: Random, times: int = 1) -> _Drawn[C]:
        """Play one random sequence, so many times as long as most."""
        stage: S | None = None
        faults: tuple[Fault[C], ...] = ()
        error: TargetError | KeyboardInterrupt | None = None
        try:
            with _staged(self._target, self._hello, self._kit) as stage:
                faults = self._drawn(random, stage, times)
        except (TargetError, KeyboardInterrupt) as ended:
            error = ended
        if stage is None:
            return _Drawn(error=error)
        unjudged = stage.unjudged and not faults
        return _Drawn(stage.answered, stage.exercised, unjudged, faults, error)

    def take(self, drawn: _Drawn[C]) -> None:
        """Count what a sequence showed and shrink any deviation, even if the target died of it."""
        self.asked.update(drawn.answered)
        self.exercised.update(drawn.exercised)
        self.unjudged += drawn.unjudged
        for fault in drawn.faults:
            if accounting := next((each for each in self._known if _accounts(each, fault)), None):
                self.met[accounting.name] += 1
            else:
                kind = _kind(fault.deviation)
                self._plays.in_line(kind, partial(self._note, fault, kind))
        if isinstance(drawn.error, TargetError):
            self._plays.finish()
        if drawn.error is not None:
            raise drawn.error

    def _drawn(self, random: Random, stage: S, times: int) -> tuple[Fault[C], ...]:
        command, next_command = self._kit.draws(random, self._hello)
        following: C | None = command
        sequence: list[C] = []
        deviation = None
        while not (following is None or deviation or stage.over):
            sequence.append(following)
            deviation = stage.ask(following)
            is_whole = len(sequence) >= self._longest(stage, times)
            following = None if is_whole or deviation or stage.over else next_command(stage)
        found = (deviation,) if deviation else stage.end()
        return tuple(_fault(self._kit, stage, each, tuple(sequence)) for each in found)

    def _longest(self, stage: S, times: int) -> int:
        """Return how long a sequence may get: longer while a record waits to be offered."""
        return self._limits.length * max(times, _WAITING if stage.waits else 1)

    def sorted_faults(self) -> tuple[Fault[C], ...]:
        """Return the faults, the most frequent signature first."""
        return self._sorted((kind, fault) for (kind, _features), fault in self.faults.items())

    def sorted_doubts(self) -> tuple[Fault[C], ...]:
        """Return what did not come back in any sequence, the most frequent first."""
        shown = {kind for kind, _features in self.faults}
        return self._sorted(doubt for doubt in self.doubts.items() if doubt[0] not in shown)

    def _sorted(self, faults: Iterable[tuple[_Kind, Fault[C]]]) -> tuple[Fault[C], ...]:
        counted = (attrs.evolve(fault, seen=self.seen[kind]) for kind, fault in faults)
        return tuple(sorted(counted, key=lambda f: (-f.seen, f.deviation.signature, f.kinds)))

    def _note(self, fault: Fault[C], kind: _Kind) -> None:
        """Confirm and shrink a deviation; those of one kind one after another."""
        self.seen[kind] += 1
        if not self._is_example(fault, kind):
            return
        if self.doubted[kind] >= _MOST_DOUBTED or not self._comes_back(fault, kind):
            return
        self.examples[kind] += 1
        found = [fault]
        try:
            self._shrink(found, kind)
        finally:
            self._keep(found[-1], kind)

    def _is_example(self, fault: Fault[C], kind: _Kind) -> bool:
        """Whether to shrink it: one of the first, or one that no shrunk one accounts for."""
        number = self.seen[kind] - self.doubted[kind]
        if number <= self._limits.examples:
            return True
        kept = (set(known.kinds) for (each, _), known in [*self.faults.items()] if each == kind)
        most = self._limits.examples + _MORE_EXAMPLES
        return self.examples[kind] < most and not any(kinds <= {*fault.kinds} for kinds in kept)

    def _keep(self, best: Fault[C], kind: _Kind) -> None:
        known = self.faults.get((kind, best.kinds))
        if known is None or len(best.sequence) < len(known.sequence):
            self.faults[kind, best.kinds] = best

    def _comes_back(self, fault: Fault[C], kind: _Kind) -> bool:
        """Play a sequence again until it shows the same; keep a doubt while none has done so."""
        doubt, confirmed = self.doubts.get(kind, fault), not self._kit.confirmations
        in_vain = 0
        try:
            while not confirmed and in_vain < self._kit.confirmations:
                confirmed = self._again(fault.sequence, kind) is not None
                in_vain += not confirmed
        except TargetError:
            # It may have ended by what it did: where nothing can be played again, it counts.
            confirmed = True
            self._keep(fault, kind)
            raise
        finally:
            if not confirmed:
                self.doubted[kind] += 1
                self.doubts[kind] = attrs.evolve(doubt, in_vain=doubt.in_vain + in_vain)
        return confirmed

    def _again(self, sequence: tuple[C, ...], kind: _Kind) -> Fault[C] | None:
        """Play a sequence; return what it shows of this kind."""
        return self._plays.first(partial(self._shown, sequence, kind), 1)

    def _shown(self, sequence: tuple[C, ...], kind: _Kind) -> Fault[C] | None:
        stage, index, found = play(self._target, self._hello, sequence, self._kit)
        shown = (
            _fault(self._kit, stage, each, sequence[: index + 1])
            for each in found
            if _kind(each) == kind
        )
        return next(shown, None)

    def _shrink(self, found: list[Fault[C]], kind: _Kind) -> None:
        """Add shorter sequences that show the fault; where the last does not come back, the first.

        It comes back as a new deviation must.
        """
        until = time.monotonic() + self._limits.shrink_seconds
        plays_left = self._limits.shrink_plays

        def shown(sequence: tuple[C, ...]) -> Fault[C] | None:
            nonlocal plays_left
            plays_left -= 1
            is_over = plays_left < 0 or time.monotonic() > until
            return None if is_over else self._shown(sequence, kind)

        def shows(sequence: tuple[C, ...]) -> int | None:
            fault = self._plays.first(partial(shown, sequence), self._kit.shrink_tries)
            if fault is None:
                return None
            found.append(fault)
            return len(fault.sequence) - 1

        shrunk(found[0].sequence, shows, self._kit)
        plays = range(self._kit.confirmations if len(found) > 1 else 0)
        if plays and not any(self._again(found[-1].sequence, kind) for _ in plays):
            found.append(found[0])
