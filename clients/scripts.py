"""Scripts: what an application does, and what its broker does meanwhile, as values and as JSON."""

from enum import Enum
from random import Random
from typing import Any, TypeAlias

import attrs

from clients.drivers import ClientCapabilities
from clients.events import Settings
from serve.rare import Habit

MOST_STEPS = 200
MOST_PARTITIONS = 8
MOST_BROKERS = 5
MOST_COUNT = 10_000
"""The largest number in a step: records of a batch, or ms of a pause or of an interval."""
LEAST_INTERVAL_MS = 100
"""The shortest interval of heartbeats that the broker lets an administrator set."""


class Do(Enum):
    """A step of a script; those with a number need it.

    ``POLL`` polls until there is something, as long as there may be; ``POLL_ONCE`` polls once
    whatever comes, ``POLL_FOR`` for so many ms. ``ACCEPT``, ``RELEASE``, ``REJECT`` and ``RENEW``
    acknowledge, where the number says how many of what the last poll returned, 0 for all.
    """

    PRODUCE = "produce"
    PRODUCE_COMPACTED = "produce-compacted"
    PRODUCE_COMMITTED = "produce-committed"
    PRODUCE_ABORTED = "produce-aborted"
    POLL = "poll"
    POLL_ONCE = "poll-once"
    POLL_FOR = "poll-for"
    ACCEPT = "accept"
    RELEASE = "release"
    REJECT = "reject"
    RENEW = "renew"
    COMMIT = "commit"
    COMMIT_BRIEFLY = "commit-briefly"
    COMMIT_ASYNC = "commit-async"
    IDLE = "idle"
    DRAIN = "drain"
    EVICT = "evict"
    MISNUMBER = "misnumber"
    LAPSE = "lapse"
    EXPEL = "expel"
    FENCE = "fence"
    FEWER = "fewer"
    HOLES = "holes"
    NOTHING = "nothing"
    CUT_FETCH = "cut-fetch"
    CUT_FETCHED = "cut-fetched"
    CUT_ACKNOWLEDGEMENT = "cut-acknowledgement"
    CUT_ACKNOWLEDGED = "cut-acknowledged"
    REFUSE_RENEWALS = "refuse-renewals"
    READ_COMMITTED = "read-committed"
    SECOND_MEMBER = "second-member"
    SECOND_LEAVES = "second-leaves"
    THROTTLE = "throttle"
    PIECES = "pieces"
    SLOW_HEARTBEAT = "slow-heartbeat"
    SLOW_METADATA = "slow-metadata"
    NO_COORDINATOR = "no-coordinator"
    LOADING = "loading"
    UNAVAILABLE = "unavailable"
    MOVE_LEADER = "move-leader"
    MOVE_LEADER_UNNAMED = "move-leader-unnamed"
    MOVE_COORDINATOR = "move-coordinator"
    ANSWER_LAST = "answer-last"
    RESTART = "restart"
    PRODUCE_EMPTY = "produce-empty"
    PRODUCE_CORRUPT = "produce-corrupt"
    PRODUCE_UNREADABLE = "produce-unreadable"
    HANG_UP = "hang-up"
    AT_ONCE = "at-once"
    ADD_PARTITION = "add-partition"
    ADD_PARTITION_LATE = "add-partition-late"
    CREATE_AGAIN = "create-again"
    SUBSCRIBE = "subscribe"
    INTERVAL = "interval"
    STORAGE = "storage"
    UNKNOWN = "unknown"
    UNAUTHORIZED = "unauthorized"
    CROWD = "crowd"
    THROW = "throw"


ACKNOWLEDGE = (Do.ACCEPT, Do.RELEASE, Do.REJECT, Do.RENEW)
OF_BROKERS = (Do.ANSWER_LAST, Do.RESTART)
"""The steps whose number is that of a broker, counted from 1."""
TRANSACTIONS = (Do.PRODUCE_COMMITTED, Do.PRODUCE_ABORTED)
ODD = (Do.PRODUCE_EMPTY, Do.PRODUCE_CORRUPT, Do.PRODUCE_UNREADABLE)
PRODUCES = (Do.PRODUCE, Do.PRODUCE_COMPACTED, *TRANSACTIONS, *ODD)
ADDS = (Do.ADD_PARTITION, Do.ADD_PARTITION_LATE)
SUBSCRIPTIONS = (("t",), ("u",), ("t", "u"))
"""The topics of a subscription by its number, from 1 on; the second topic has one partition."""
NUMBERED = frozenset(
    {*PRODUCES, *ACKNOWLEDGE, *OF_BROKERS, Do.IDLE, Do.SUBSCRIBE, Do.INTERVAL, Do.POLL_FOR}
)
_LEAST = {
    Do.PRODUCE_COMPACTED: 3,
    Do.INTERVAL: LEAST_INTERVAL_MS,
    **dict.fromkeys((Do.PRODUCE, *TRANSACTIONS, *ODD, *OF_BROKERS, Do.SUBSCRIBE, Do.POLL_FOR), 1),
}
MOVES = (Do.MOVE_LEADER, Do.MOVE_LEADER_UNNAMED, Do.MOVE_COORDINATOR)
"""The steps that need a second broker."""
AWAITED = (
    *(Do.EXPEL, Do.FENCE, Do.SECOND_MEMBER, Do.SECOND_LEAVES, Do.MOVE_COORDINATOR),
    *(*ADDS, Do.CREATE_AGAIN, Do.SUBSCRIBE, Do.INTERVAL, Do.LOADING, Do.UNAVAILABLE),
)
"""The steps after which heartbeats are waited for."""
HABITS = {Do[habit.name]: habit for habit in Habit if habit.name in Do.__members__}

_FLAGS = ("recycles", "listens")

Step: TypeAlias = tuple[Do, int]


class ScriptError(ValueError):
    """A text that is no script."""


@attrs.frozen
class Script:
    """How the client is set up, the partitions of its topic, and the steps; then it closes."""

    settings: Settings
    partitions: int
    steps: tuple[Step, ...]
    brokers: int = 1


def as_object(script: Script) -> dict[str, Any]:
    """Return a script as JSON has it."""
    settings = script.settings
    steps = [[do.value, number] if do in NUMBERED else [do.value] for do, number in script.steps]
    return {
        "mode": "explicit" if settings.explicit else "implicit",
        "acquire_mode": "record_limit" if settings.record_limit else "batch_optimized",
        "max_poll_records": settings.max_poll_records,
        "partitions": script.partitions,
        **({"brokers": script.brokers} if script.brokers > 1 else {}),
        **{name: True for name in _FLAGS if getattr(settings, name)},
        "steps": steps,
    }


def from_object(document: object) -> Script:
    """Return the script in JSON. Raises ScriptError that says what is wrong and allowed."""
    if not isinstance(document, dict):
        raise ScriptError("a script is a JSON object, as reports have it")
    explicit = _choice(document, "mode", ("implicit", "explicit")) == "explicit"
    limit = _choice(document, "acquire_mode", ("batch_optimized", "record_limit"))
    most = _number(document, "max_poll_records")
    flags = {name: document.get(name, False) for name in _FLAGS}
    wrong = next((name for name, flag in flags.items() if not isinstance(flag, bool)), None)
    if wrong is not None:
        raise ScriptError(f"{wrong} is {flags[wrong]!r:.80}; allowed: true, false")
    settings = Settings(explicit, limit == "record_limit", most, **flags)
    partitions = _number(document, "partitions", MOST_PARTITIONS)
    steps = document.get("steps")
    if not isinstance(steps, list) or len(steps) > MOST_STEPS:
        raise ScriptError(f"steps: a list of at most {MOST_STEPS} steps is allowed")
    brokers = _number(document, "brokers", MOST_BROKERS)
    checked = tuple(_step(nth, step) for nth, step in enumerate(steps))
    moves = next((do.value for do, _ in checked if do in MOVES), None)
    if moves is not None and brokers == 1:
        raise ScriptError(f"brokers is 1; {moves} needs 2 or more, at most {MOST_BROKERS}")
    strange = next((step for step in checked if step[0] in OF_BROKERS and step[1] > brokers), None)
    if strange is not None:
        raise ScriptError(f"{strange[0].value} is of broker {strange[1]}; brokers is {brokers}")
    if partitions + sum(do in ADDS for do, _ in checked) > MOST_PARTITIONS:
        raise ScriptError(f"with those added there are at most {MOST_PARTITIONS} partitions")
    return Script(settings, partitions, checked, brokers)


def _choice(document: dict[str, Any], name: str, allowed: tuple[str, ...]) -> str:
    value = document.get(name, allowed[0])
    if value not in allowed:
        raise ScriptError(f"{name} is {value!r:.80}; allowed: {', '.join(allowed)}")
    return str(value)


def _number(document: dict[str, Any], name: str, most: int = MOST_COUNT) -> int:
    value = document.get(name, 1)
    if type(value) is not int or not 1 <= value <= most:
        raise ScriptError(f"{name} is {value!r:.80}; allowed: a whole number from 1 to {most}")
    return value


def _step(nth: int, step: object) -> Step:
    names = {do.value: do for do in Do}
    if not isinstance(step, list) or not step or str(step[0]) not in names:
        raise ScriptError(f"step {nth} is {step!r:.80}; allowed: [NAME], of {', '.join(names)}")
    do = names[str(step[0])]
    if do not in NUMBERED:
        if len(step) != 1:
            raise ScriptError(f"step {nth} is {step!r:.80}; {do.value} has no number")
        return do, 0
    number = step[1] if len(step) == 2 else None  # noqa: PLR2004 - a name and a number
    least, most = _LEAST.get(do, 0), len(SUBSCRIPTIONS) if do is Do.SUBSCRIBE else MOST_COUNT
    if type(number) is not int or not least <= number <= most:
        raise ScriptError(
            f"step {nth} is {step!r:.80}; {do.value} needs a number from {least} to {most}"
        )
    return do, number


_TROUBLE = (
    *(Do.EVICT, Do.MISNUMBER, Do.LAPSE, Do.FEWER, Do.HOLES, Do.NOTHING),
    *(Do.CUT_FETCH, Do.CUT_FETCHED, Do.CUT_ACKNOWLEDGEMENT, Do.CUT_ACKNOWLEDGED),
    *(Do.NO_COORDINATOR, Do.EXPEL, Do.FENCE, Do.SLOW_HEARTBEAT, Do.THROTTLE, Do.PIECES),
    *(Do.SECOND_MEMBER, Do.SECOND_MEMBER, Do.SECOND_LEAVES, Do.READ_COMMITTED),
    *(Do.STORAGE, Do.UNKNOWN, Do.UNAUTHORIZED, Do.CROWD, Do.LOADING, Do.UNAVAILABLE),
    *(Do.RESTART, Do.RESTART, Do.ANSWER_LAST, Do.SLOW_METADATA),
)
_BESIDE = (Do.STORAGE, Do.UNKNOWN)
"""What refuses one partition, for which others are to have records in the same answer."""
_WIDER = (
    *(Do.HANG_UP, *ADDS, Do.CREATE_AGAIN),
    *(Do.PRODUCE_EMPTY, Do.PRODUCE_CORRUPT, Do.INTERVAL),
)
"""What each round of some scripts begins with: so the others have what they need as often."""
_LONG_MS, _OBSERVED_MS, _LATE_MS = 6000, 5000, 3000
"""An interval of heartbeats, how long those are watched that come too early, and a long poll."""
_WIDE = 0.4
_MOVES = 4
"""How often each step that needs a second broker is drawn for one of the others."""
_ACKNOWLEDGE = (Do.ACCEPT, Do.ACCEPT, Do.RELEASE, Do.REJECT)
_RENEWING = (*_ACKNOWLEDGE, Do.RENEW, Do.RENEW)


@attrs.frozen
class _Drawing:
    """What scripts are drawn from: chance, the cluster, and the steps that fit the client."""

    random: Random
    brokers: int
    partitions: int
    trouble: tuple[Do, ...]
    says: tuple[Do, ...]
    wider: tuple[Do, ...]
    slows: bool

    def happens(self, likely: float) -> bool:
        """Return true as often as that."""
        return self.random.random() < likely

    def troubled(self, likely: float = 1.0) -> list[Step]:
        """Draw a step of trouble, maybe a second one at once, or none."""
        if not self.happens(likely):
            return []
        more = self.trouble_step() if self.happens(_TWICE) else []
        return more + self.trouble_step()

    def trouble_step(self) -> list[Step]:
        """Draw one step of trouble."""
        do = self.random.choice(self.trouble)
        soon = bool(self.wider) and do in AWAITED and self.happens(_AT_ONCE)
        number = self.random.randint(1, self.brokers) if do in OF_BROKERS else 0
        beside = [(Do.PRODUCE, 1)] * 2 if do in _BESIDE and self.partitions > 1 else []
        if do is Do.UNAUTHORIZED and Do.SUBSCRIBE in self.wider:
            return [(Do.SUBSCRIBE, len(SUBSCRIPTIONS)), (do, 0), *[(Do.PRODUCE, 1)] * 2]
        return [*([(Do.AT_ONCE, 0)] if soon else []), (do, number), *beside]

    def widened(self) -> list[Step]:
        """Draw one of the rarer steps, where the script has them."""
        if not self.wider:
            return []
        do = self.random.choice(self.wider)
        if do is Do.INTERVAL:
            watched = (do, _LONG_MS), (Do.IDLE, _OBSERVED_MS)
            return [(Do.AT_ONCE, 0), *watched, (do, LEAST_INTERVAL_MS)]
        most = {Do.SUBSCRIBE: len(SUBSCRIPTIONS), **dict.fromkeys(ODD, 8)}.get(do, 0)
        return [(do, self.random.randint(_LEAST.get(do, 0), most))]


def drawn(random: Random, client: ClientCapabilities) -> Script:
    """Draw a script: rounds of an application, with trouble between and within them."""
    is_wide = random.random() < _WIDE
    limit = random.choice(client.acquire_modes) == "record_limit"
    many = random.random() < _MANY
    most = 500 if many else random.choice((1, 3, 5, 500))
    explicit = random.choice(client.modes) == "explicit"
    recycles = client.recycles and random.random() < _RECYCLES
    listens = client.listens and (not explicit or random.random() < _LISTENS)
    settings = Settings(explicit, limit, most, client.callbacks, recycles, listens)
    brokers = random.choice((1, 2, 3, 5, 5) if is_wide else (1, 1, 2, 3, 5))
    renews = client.renews and explicit and not listens
    moves = MOVES * _MOVES if brokers > 1 else ()
    trouble = _TROUBLE + moves + ((Do.REFUSE_RENEWALS,) * 2 if renews else ())
    trouble += (Do.THROW,) if client.throws else ()
    able = {Do.SUBSCRIBE: client.resubscribes, Do.PRODUCE_UNREADABLE: client.deserializes}
    wider = (*_WIDER, *(do for do, has in able.items() if has)) if is_wide else ()
    says = (_RENEWING if renews else _ACKNOWLEDGE) if explicit else ()
    partitions = random.choice((1, brokers, max(2, brokers), 2))
    slows = client.renews_itself and explicit
    chance = _Drawing(random, brokers, partitions, trouble, says, wider, slows)
    steps: list[Step] = []
    if chance.happens(_PRODUCED):
        steps = [(Do.PRODUCE, random.randint(1, 8)) for _ in range(random.randint(1, 2))]
    for _ in range(random.randint(1, 3)):
        steps += chance.widened() + _any_round(chance, drains=bool(steps))
    if many:
        steps = [(Do.PRODUCE, random.randint(150, 400)) for _ in range(4)]
    if many or chance.happens(_DRAINS):
        steps.append((Do.DRAIN, 0))
    steps += [] if many else _last_steps(chance)
    return Script(settings, chance.partitions, _in_bounds(steps, chance.partitions), brokers)


def _last_steps(chance: _Drawing) -> list[Step]:
    """Draw what a client closes with: maybe records that it sends nothing about, maybe trouble."""
    steps: list[Step] = []
    if chance.happens(_HOLDS_LAST):
        steps = [(Do.PRODUCE, chance.random.randint(1, 3)), (Do.POLL, 0)]
        steps += [(chance.random.choice(chance.says), 0)] if chance.says else []
    return steps + chance.troubled(_TROUBLED_LAST)


def _in_bounds(steps: list[Step], partitions: int) -> tuple[Step, ...]:
    """Leave out what would add more partitions than there may be."""
    added = [nth for nth, (do, _) in enumerate(steps) if do in ADDS]
    beyond = added[MOST_PARTITIONS - partitions :]
    return tuple(step for nth, step in enumerate(steps) if nth not in beyond)


_MANY = 0.1
"""How likely a script has no more than many records, all of which are taken."""

_PRODUCES, _COMPACTED, _DRAINS, _TROUBLED, _IDLE_MS = 0.5, 0.3, 0.8, 0.35, 300
_PARTED, _SPREAD, _SPREAD_GAPS, _HOLDS_LAST = 0.3, 0.7, 0.5, 0.4
_AT_ONCE, _TROUBLED_LAST, _PRODUCED = 0.4, 0.3, 0.7
_TWICE, _RECYCLES, _LATE, _LISTENS, _SLOW = 0.3, 0.5, 0.3, 0.5, 0.25


def _any_round(chance: _Drawing, *, drains: bool) -> list[Step]:
    """Draw a round of one of the kinds that fit."""
    if chance.slows and chance.happens(_SLOW):
        return _slow_round(chance)
    if chance.says and chance.partitions > 1 and chance.happens(_SPREAD):
        return _spread_round(chance, drains=drains)
    if chance.says and chance.happens(_PARTED):
        return _parted_round(chance)
    return _round(chance)


def _spread_round(chance: _Drawing, *, drains: bool) -> list[Step]:
    """Draw a poll of records of several partitions, and one commit, answered in any order.

    A client that has a fetch under way gets the first of them alone: none has that polls first.
    """
    gaps = chance.happens(_SPREAD_GAPS)
    kinds = (Do.PRODUCE_COMPACTED, Do.PRODUCE_COMPACTED, *TRANSACTIONS) if gaps else (Do.PRODUCE,)
    produced = [
        (do, max(_LEAST[do], chance.random.randint(1, 3)))
        for do in chance.random.choices(kinds, k=chance.partitions)
    ]
    order = chance.random.sample(range(1, chance.brokers + 1), chance.brokers)
    commit = chance.random.choice((Do.COMMIT, Do.COMMIT, Do.COMMIT_ASYNC, Do.COMMIT_BRIEFLY))
    late = [*order, *order] if commit is Do.COMMIT_BRIEFLY else order[1:]
    renews = Do.RENEW in chance.says and chance.happens(_SPREAD)
    return [
        *([(Do.DRAIN, 0)] if drains else []),
        *(*produced, (Do.IDLE, _IDLE_MS), (Do.POLL, 0)),
        (chance.random.choice(chance.says), chance.random.choice((1, 2))),
        (Do.RENEW if renews else chance.random.choice(chance.says), 0),
        *((Do.ANSWER_LAST, broker) for broker in late),
        *((commit, 0), *([(Do.POLL_ONCE, 0)] if commit is Do.COMMIT_BRIEFLY else [])),
    ]


def _slow_round(chance: _Drawing) -> list[Step]:
    """Draw an application that is as slow with some records of a poll as their locks last."""
    return [
        *((Do.PRODUCE, chance.random.randint(1, 4)), (Do.POLL, 0)),
        *([(chance.random.choice(chance.says), 1)] if chance.happens(_SPREAD) else []),
        *[(Do.IDLE, MOST_COUNT)] * 3,
        *((chance.random.choice(chance.says), 0), (Do.POLL, 0), (Do.ACCEPT, 0)),
    ]


def _parted_round(chance: _Drawing) -> list[Step]:
    """Draw what an application goes on to say of the records of a poll after trouble."""
    late = (Do.ANSWER_LAST, chance.random.randint(1, chance.brokers))
    return [
        *((Do.POLL, 0), *chance.troubled(), (Do.IDLE, _IDLE_MS)),
        *((chance.random.choice(chance.says), 1), *([late] if chance.happens(_LATE) else [])),
        (chance.random.choice((Do.COMMIT, Do.COMMIT_ASYNC)), 0),
        *chance.troubled(_TROUBLED),
        (chance.random.choice(chance.says), 0),
        (Do.POLL_ONCE, 0),
    ]


def _round(chance: _Drawing) -> list[Step]:
    """Draw one round: maybe more records, a poll, what is said of its records, maybe a commit."""
    random, steps = chance.random, chance.troubled(_TROUBLED)
    if chance.happens(_PRODUCES):
        gaps = chance.happens(_COMPACTED)
        do = random.choice((Do.PRODUCE_COMPACTED, *TRANSACTIONS)) if gaps else Do.PRODUCE
        steps.append((do, random.randint(_LEAST[do], 8)))
    poll = random.choice((Do.POLL, Do.POLL, Do.POLL_ONCE, Do.POLL_FOR))
    steps.append((poll, _LATE_MS if poll is Do.POLL_FOR else 0))
    steps += chance.troubled(_TROUBLED)
    if chance.says:
        steps += [
            (random.choice(chance.says), random.choice((0, 0, 1, 2)))
            for _ in range(random.randint(1, 3))
        ]
    steps += chance.troubled(_TROUBLED)
    commit = random.choice((Do.COMMIT, Do.COMMIT, Do.COMMIT_ASYNC, Do.IDLE, None))
    if commit is not None:
        steps.append((commit, _IDLE_MS if commit is Do.IDLE else 0))
    return steps
