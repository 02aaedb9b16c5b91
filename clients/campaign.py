"""Random scripts against one client: what each violates, once, with its shortest script."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from random import Random

import attrs

from clients.drivers import Driver, Hello, hello
from clients.duties import Duty
from clients.events import Record
from clients.exercise import Exercise, exercised
from clients.judge import Violation, judge
from clients.known import Known, covering
from clients.play import Pace, play
from clients.scripts import Script, drawn
from clients.stakes import stakes
from conformance.target import TargetError
from judge.weighing import Given, too_little

SHRINKING = 3
"""How many times a shorter script is played before it is said not to show a violation any more:
a client with threads does not do the same twice."""


@attrs.frozen
class Limits:
    """How long to search, in seconds, how many scripts to play, and how long to shrink one."""

    seconds: float = 60.0
    runs: int = 1_000_000
    shrink_seconds: float = 60.0


@attrs.frozen
class Shown:
    """A violated duty, with the shortest script that showed it, and what happened in it."""

    violation: Violation
    script: Script
    record: Record


@attrs.frozen
class Again:
    """A known violation: whether its own script showed it, and how many random scripts did."""

    known: Known
    shows: bool
    scripts: int = 0


@attrs.frozen
class Campaign:
    """What was played and shown; ``failure`` is why it ended early, ``full`` how many runs were.

    ``interrupted``: whether whoever started it ended it.

    ``shown`` are those that are not known; ``stakes`` counts how often each duty was at stake.
    ``is_search``: the scripts were drawn, not given.
    """

    client: Hello
    runs: int
    events: int
    shown: tuple[Shown, ...]
    full: int = 0
    failure: str | None = None
    exercised: Exercise = attrs.field(factory=Exercise)
    stakes: Counter[Duty] = attrs.field(factory=Counter)
    again: tuple[Again, ...] = ()
    interrupted: bool = False
    is_search: bool = True

    @property
    def is_as_known(self) -> bool:
        """Whether nothing is new, and nothing that was known is gone."""
        return not self.shown and all(each.shows for each in self.again)

    @property
    def lack(self) -> str | None:
        """Why nothing was shown, or None where something was."""
        if self.shown:
            return None
        return self.exercised.lack if self.runs else "no script was played"

    @property
    def light(self) -> str:
        """Why too little was judged for a verdict; empty if it was enough, or is not needed."""
        if self.lack or not (self.is_search and self.is_as_known):
            return ""
        owed = set(Duty) - set(self.client.without)
        met = sum(self.stakes[duty] > 0 for duty in owed)
        scripts = too_little(Given.SCRIPTS, self.runs - self.full, self.runs)
        return scripts or too_little(Given.DUTIES, met, len(owed))


def campaign(  # noqa: PLR0913 - how long, with which chance, and beside what
    start: Callable[[], Driver],
    limits: Limits,
    seed: int = 0,
    pace: Pace | None = None,
    *,
    known: Sequence[Known] = (),
    progress: Callable[[int, int], None] = lambda _runs, _shown: None,
) -> Campaign:
    """Play what is known, then random scripts until a limit.

    Raises TargetError where the client is not told of, or fails at a known script.
    """
    client = described(start)
    again = [Again(each, _shows(each, client, start, pace)) for each in known]
    until = time.monotonic() + limits.seconds
    shown: dict[Duty, Shown] = {}
    others = Counter[str]()
    runs = events = full = 0
    total, staked = Exercise(), Counter[Duty]()
    failure, interrupted = None, False
    while runs < limits.runs and time.monotonic() < until and not (failure or interrupted):
        random = Random(f"{seed}:{runs}")  # noqa: S311 - chance, no secret
        script = drawn(
            random,
            client.acquire_modes,
            callbacks=client.callbacks,
            modes=client.modes,
            renews=client.renews,
        )
        runs += 1
        try:
            record = play(script, start, pace)
            events, full = events + len(record.events), full + record.full
            total += exercised(record)
            staked.update(stakes(record))
            covered = set[str]()
            for violation in _owed(record, client):
                if each := covering(known, violation.duty, script):
                    covered.add(each.name)
                elif violation.duty not in shown:
                    shown[violation.duty] = first = Shown(violation, script, record)
                    shown[violation.duty] = shrunk(first, start, limits.shrink_seconds, pace)
            others.update(covered)
        except TargetError as error:
            failure = str(error)
        except KeyboardInterrupt:
            interrupted = True
        progress(runs, len(shown))
    counted = tuple(attrs.evolve(each, scripts=others[each.known.name]) for each in again)
    new = tuple(shown.values())
    return Campaign(client, runs, events, new, full, failure, total, staked, counted, interrupted)


def _owed(record: Record, client: Hello) -> Iterator[Violation]:
    """Yield the violations of the duties that the client has."""
    return (violation for violation in judge(record) if violation.duty not in client.without)


def _shows(known: Known, client: Hello, start: Callable[[], Driver], pace: Pace | None) -> bool:
    """Return whether the script of a known violation shows it; it is played a few times."""
    settings = attrs.evolve(known.script.settings, callbacks=client.callbacks)
    script = attrs.evolve(known.script, settings=settings)
    return any(
        violation.duty is known.duty
        for _ in range(SHRINKING)
        for violation in _owed(play(script, start, pace), client)
    )


def described(start: Callable[[], Driver]) -> Hello:
    """Start a driver, ask it for its client, and end it. Raises TargetError."""
    driver = start()
    try:
        return hello(driver)
    finally:
        driver.close()


def alone(start: Callable[[], Driver], script: Script, pace: Pace | None = None) -> Campaign:
    """Play one script. Raises TargetError."""
    client = described(start)
    mode = "explicit" if script.settings.explicit else "implicit"
    if mode not in client.modes:
        raise TargetError(f"its client has no {mode} mode")
    settings = attrs.evolve(script.settings, callbacks=client.callbacks)
    script = attrs.evolve(script, settings=settings)
    record = play(script, start, pace)
    first: dict[Duty, Shown] = {}
    for violation in _owed(record, client):
        first.setdefault(violation.duty, Shown(violation, script, record))
    shown, full = tuple(first.values()), int(record.full)
    return Campaign(
        client,
        1,
        len(record.events),
        shown,
        full,
        exercised=exercised(record),
        stakes=stakes(record),
        is_search=False,
    )


def shrunk(
    shown: Shown, start: Callable[[], Driver], seconds: float, pace: Pace | None = None
) -> Shown:
    """Leave out steps, one after the other, as long as the duty is violated."""
    until, position = time.monotonic() + seconds, 0
    while position < len(shown.script.steps):
        steps = shown.script.steps
        shorter = attrs.evolve(shown.script, steps=steps[:position] + steps[position + 1 :])
        smaller = next(_again(shown.violation.duty, shorter, start, until, pace), None)
        position += smaller is None
        shown = smaller or shown
        if time.monotonic() >= until:
            break
    return shown


def _again(
    duty: Duty,
    script: Script,
    start: Callable[[], Driver],
    until: float,
    pace: Pace | None,
) -> Iterator[Shown]:
    """Yield each play of a script that violates a duty; it is played a few times."""
    for _ in range(SHRINKING):
        if time.monotonic() >= until:
            return
        record = play(script, start, pace)
        for violation in judge(record):
            if violation.duty is duty:
                yield Shown(violation, script, record)
                break
