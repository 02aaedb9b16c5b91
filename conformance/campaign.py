"""The search: many sequences, each deviation once, with the shortest sequence that shows it."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random

import attrs

from conformance import asks
from conformance.generate import mixture, next_ask
from conformance.scene import Deviation, Scene, Signature, Step
from conformance.shrink import shrunk
from conformance.target import Hello, Target

__all__ = ["Campaign", "Fault", "Limits", "campaign", "play"]


@attrs.frozen
class Limits:
    """When a search ends, whichever comes first; a sequence has at most so many asks.

    ``examples``: how many sequences of one signature are shrunk, since deviations of the same
    signature can have different causes.
    """

    seconds: float = 60.0
    sequences: int = 1_000_000
    length: int = 40
    examples: int = 6


@attrs.frozen
class Fault:
    """A distinct deviation, and the shortest sequence that was found to show it.

    ``kinds`` are the operations of the sequence, which tell it from others of the same signature;
    ``seen`` is how often the signature was met.
    """

    deviation: Deviation
    sequence: tuple[asks.Ask, ...]
    steps: tuple[Step, ...]
    events: tuple[dict[str, object], ...]
    kinds: tuple[str, ...]
    seen: int = 0


@attrs.frozen
class Campaign:
    """What a search did and found.

    ``asked`` counts operations by kind and status, and ``exercised`` what they met, by the names of
    ``universe``. ``seed`` gives the same search again.
    """

    hello: Hello
    faults: tuple[Fault, ...]
    sequences: int
    steps: int
    seconds: float
    asked: dict[str, int]
    interrupted: bool = False
    exercised: dict[str, int] = attrs.field(factory=dict)
    seed: int = 0


def campaign(
    target: Target,
    limits: Limits,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda _sequences, _faults: None,
) -> Campaign:
    """Search until a limit is reached. Raises TargetError if the target cannot be driven."""
    hello = target.hello()
    search = _Search(target, hello, limits)
    began = time.monotonic()
    sequences, interrupted = 0, False
    try:
        while sequences < limits.sequences and time.monotonic() - began < limits.seconds:
            search.sequence(Random(f"{seed}:{sequences}"))  # noqa: S311 - no secret
            sequences += 1
            progress(sequences, len(search.faults))
    except KeyboardInterrupt:
        interrupted = True
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
    )


def play(
    target: Target, hello: Hello, sequence: Sequence[asks.Ask]
) -> tuple[Scene, int, Deviation | None]:
    """Play a sequence up to its first deviation; return the scene, at which ask, and what."""
    scene = Scene(target, hello)
    for at, ask in enumerate(sequence):
        if found := scene.ask(ask):
            return scene, at, found
    return scene, len(sequence), None


class _Search:
    """What a search has found so far."""

    def __init__(self, target: Target, hello: Hello, limits: Limits) -> None:
        self._target, self._hello, self._limits = target, hello, limits
        self.seen: Counter[Signature] = Counter()
        self.asked: Counter[str] = Counter()
        self.exercised: Counter[str] = Counter()
        self.faults: dict[tuple[Signature, tuple[str, ...]], Fault] = {}

    def sequence(self, random: Random) -> None:
        """Play one random sequence, and look closer at what it shows."""
        mix = mixture(random, self._hello.capabilities)
        scene = Scene(self._target, self._hello)
        sequence: list[asks.Ask] = [asks.TakeOver(mix.config)]
        found = scene.ask(sequence[0])
        while not found and len(sequence) < self._limits.length:
            sequence.append(next_ask(random, mix, scene))
            found = scene.ask(sequence[-1])
        self.asked.update(_answered(event) for event in scene.events)
        self.exercised.update(scene.exercised)
        if found:
            self._note(found, tuple(sequence))

    def found(self) -> list[Fault]:
        """Return the faults, those that were met most often first."""
        return sorted(
            self.faults.values(),
            key=lambda f: (-self.seen[f.deviation.signature], f.deviation.signature, f.kinds),
        )

    def _note(self, found: Deviation, sequence: tuple[asks.Ask, ...]) -> None:
        signature = found.signature
        self.seen[signature] += 1
        if self.seen[signature] > self._limits.examples:
            return
        short = shrunk(sequence, lambda s: self._shows(s, signature))
        scene, _at, again = play(self._target, self._hello, short)
        kinds = tuple(sorted({type(ask).__name__ for ask in short}))
        known = self.faults.get((signature, kinds))
        if again and (known is None or len(short) < len(known.sequence)):
            steps, events = tuple(scene.steps), tuple(scene.events)
            self.faults[signature, kinds] = Fault(again, short, steps, events, kinds)

    def _shows(self, sequence: tuple[asks.Ask, ...], signature: Signature) -> int | None:
        _scene, at, found = play(self._target, self._hello, sequence)
        return at if found and found.signature == signature else None


def _answered(event: dict[str, object]) -> str:
    result = event["result"]
    status = result.get("status", "skipped") if isinstance(result, dict) else "-"
    return f"{event['op']} {status}"
