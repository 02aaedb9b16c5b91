"""The kit for clients: scripts, each played against a broker of its own and judged as a whole."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import attrs

from clients.drivers import ClientHello, Driver, hello
from clients.duties import Duty
from clients.events import ClientRecord, Event, Heartbeat
from clients.judge import judge
from clients.play import Pace, play
from clients.scripts import Do, Script, ScriptError, as_object, drawn, from_object
from clients.stakes import ACKNOWLEDGED, CUT, DELIVERED, REFUSED, stakes
from conformance.deviation import StepText
from conformance.goals import Coverage, Goal, GoalKind, coverage
from conformance.kit import Kit, Stage
from conformance.known import KnownError
from conformance.target import TargetError
from judge.finding import Finding
from judge.weighing import Evidence, too_little

LAST_EVENTS = 12
"""How many events up to a violation are shown, but for heartbeats that change nothing."""

AT_ONCE = 8
"""How many scripts are played at once by default: clients wait most of their time."""

_LONGEST = 400


@attrs.frozen
class Setup:
    """How a script begins: one without any steps."""

    script: Script


@attrs.frozen
class Take:
    """One step of a script."""

    do: Do
    number: int = 0


Command = Setup | Take


def script_of(sequence: Sequence[Command]) -> Script:
    """Return the script that a sequence of commands is."""
    setup, *steps = sequence
    assert isinstance(setup, Setup)  # noqa: S101 - the first command of every sequence
    taken = ((step.do, step.number) for step in steps if isinstance(step, Take))
    return attrs.evolve(setup.script, steps=tuple(taken))


def commands_of(script: Script) -> tuple[Command, ...]:
    """Return the commands of a script."""
    steps = (Take(do, number) for do, number in script.steps)
    return Setup(attrs.evolve(script, steps=())), *steps


@attrs.define
class ScriptStage(Stage[Command]):
    """Takes the steps of a script, which is played and judged as a whole at its end."""

    start: Callable[[], Driver]
    hello: ClientHello
    pace: Pace
    commands: list[Command] = attrs.field(factory=list)
    record: ClientRecord | None = None
    steps: list[StepText] = attrs.field(factory=list)
    answered: Counter[str] = attrs.field(factory=Counter)
    exercised: Counter[str] = attrs.field(factory=Counter)
    unjudged: bool = False

    def ask(self, command: Command) -> None:
        """Take a step."""
        self.commands.append(command)

    def end(self) -> tuple[Finding, ...]:
        """Play the script; return each way in which a duty is violated. Raises TargetError."""
        script = script_of(self.commands)
        mode = "explicit" if script.settings.explicit else "implicit"
        can = self.hello.capabilities
        if mode not in can.modes:
            raise TargetError(f"its client has no {mode} mode")
        limit = script.settings.record_limit and "record_limit" in can.acquire_modes
        own = {"callbacks": can.callbacks, "renews_itself": can.renews_itself}
        settings = attrs.evolve(script.settings, record_limit=limit, **own)
        record = play(attrs.evolve(script, settings=settings), self.start, self.pace)
        self.record, self.unjudged = record, record.full
        self.answered.update(f"event {type(each).__name__.lower()}" for each in record.events)
        self.exercised.update(stakes(record))
        owed = [each for each in judge(record) if Duty(each.name) not in can.without]
        first = {each.cause: each for each in reversed(owed)}
        return tuple(each for each in owed if each is first[each.cause])

    def steps_of(self, deviation: Finding) -> tuple[StepText, ...]:
        """Return the last events up to a violation."""
        events = self.record.events if self.record else ()
        upto = events[: deviation.seq + 1]
        kept = [*(each for each in upto[:-1] if not _is_usual(each)), *upto[-1:]]
        return tuple(StepText(said(e), "", "", time_ms=e.at_ms) for e in kept[-LAST_EVENTS:])


@attrs.frozen
class Clients(Kit[Command, Callable[[], Driver], ClientHello, ScriptStage]):
    """The kit for clients; a target starts a driver.

    A client with threads does not do the same twice, so that scripts are played a few times.
    """

    pace: Pace = attrs.Factory(Pace)
    tries: int = 3
    shrink_tries = 3
    confirmations = 5
    passes_over_known = True
    sequences = 200
    shrink_seconds = 60.0

    def hello(self, start: Callable[[], Driver]) -> ClientHello:
        """Start a driver, ask it for its client, and end it. Raises TargetError."""
        driver = start()
        try:
            return hello(driver)
        finally:
            driver.close()

    def stage(self, start: Callable[[], Driver], hello: ClientHello) -> ScriptStage:
        """Return a stage for one script."""
        return ScriptStage(start, hello, self.pace)

    def draws(
        self, random: Random, hello: ClientHello
    ) -> tuple[Command, Callable[[ScriptStage], Command | None]]:
        """Draw a script."""
        first, *steps = commands_of(drawn(random, hello.capabilities))
        rest = iter(steps)
        return first, lambda _stage: next(rest, None)

    def plain(self, sequence: Sequence[Command], *, short: bool = False) -> Any:  # noqa: ANN401, ARG002
        """Return a script as JSON has it."""
        return as_object(script_of(sequence))

    def read(self, plain: Any) -> tuple[Command, ...]:  # noqa: ANN401 - JSON
        """Return the commands of a script. Raises KnownError."""
        try:
            return commands_of(from_object(plain))
        except ScriptError as error:
            raise KnownError(str(error)) from None

    def features(self, command: Command) -> tuple[str, ...]:
        """Return the name of a step, or whether the application listens, and there are brokers."""
        if isinstance(command, Take):
            return (command.do.value,)
        listens, several = command.script.settings.listens, command.script.brokers > 1
        return *(["listens"] if listens else []), *(["several-brokers"] if several else [])

    def coverage(self, counts: Mapping[str, int], hello: ClientHello) -> Coverage:
        """Return which duties were at stake; one that never was is not shown to be kept."""
        absent = dict.fromkeys(hello.capabilities.without, "its client has no such call")
        goals = [Goal(GoalKind.RULE, duty.value, never=absent.get(duty, "")) for duty in Duty]
        happens = [Goal(GoalKind.SITUATION, n) for n in (DELIVERED, ACKNOWLEDGED, REFUSED, CUT)]
        return coverage([*happens, *goals], counts, hello.capabilities)

    def lack(self, counts: Mapping[str, int], hello: ClientHello) -> str:
        """Return why nothing was shown of a client, or of too few of its duties."""
        for needed in (DELIVERED, ACKNOWLEDGED):
            if not counts.get(needed):
                return f"nothing was shown of {hello.name}: no {needed.replace('s are', ' was')}"
        owed = [duty.value for duty in Duty if duty not in hello.capabilities.without]
        return too_little(Evidence.DUTIES, sum(counts.get(duty, 0) > 0 for duty in owed), len(owed))


CLIENTS = Clients()


def _is_usual(event: Event) -> bool:
    """Whether it is a heartbeat that changes nothing, of which there are many."""
    return isinstance(event, Heartbeat) and event.epoch == event.given > 0


def said(event: Event) -> str:
    """Return an event as text: its kind, and what of it is not as usual."""
    words = []
    for field in attrs.fields(type(event)):
        value = getattr(event, field.name)
        if field.name not in ("at_ms", "member") and value not in (field.default, (), None):
            words.append(f"{field.name}={value}")
    text = f"{type(event).__name__.lower()} {' '.join(words)}"
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
