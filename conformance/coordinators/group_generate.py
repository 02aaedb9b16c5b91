"""Random sequences of commands for a group coordinator."""

from collections.abc import Callable
from random import Random
from typing import Any

import attrs

from conformance.coordinators import group_asks as asks
from conformance.coordinators.group_belief import HEARTBEAT_MS, GroupBelief
from conformance.coordinators.group_scene import GroupCapabilities, GroupScene
from conformance.coordinators.share_asks import FailOver, PassTime
from model.errors import ErrorCode
from spec.group_membership import SESSION_MS

_ALWAYS: dict[type[Any], float] = {asks.MemberHeartbeat: 12.0, asks.Leave: 1.5}
_SOMETIMES: dict[type[Any], float] = {
    PassTime: 2.0,
    asks.CreateTopic: 0.7,
    asks.AddPartitions: 1.0,
    asks.RemoveTopic: 0.7,
    asks.ConfigureGroup: 1.0,
    asks.AlterOffsets: 1.0,
    asks.DeleteOffsets: 1.0,
    asks.DeleteGroup: 1.0,
    asks.DescribeOffsets: 1.5,
    asks.AnswerCall: 3.0,
    FailOver: 0.7,
}
_OF_OFFSETS = (asks.AlterOffsets, asks.DeleteOffsets, asks.DescribeOffsets)
_OF_NOBODY = (asks.AlterOffsets, asks.DeleteOffsets, asks.DeleteGroup)
"""What only a group without members allows; much more likely there, and seldom elsewhere."""

_ONCE_MORE = 20.0
"""How much more likely offsets are deleted while a deletion has failed: it is to be completed."""

TIMES = (7_001, 20_002, 31_003, 46_004)
"""In ms: sums of them are never 30 s or 45 s, so that it is clear what is over."""

_HEARTBEATS, _SESSIONS = (HEARTBEAT_MS, 12_000), (SESSION_MS, 55_000)
"""In ms: what a group may have for its own, as sums of the times above never are."""

_BESIDE = 0.2
"""How likely a partition is named that the topic does not have, half the times one below 0."""

_FAILURES = (ErrorCode.NOT_COORDINATOR, ErrorCode.UNKNOWN_SERVER_ERROR)


@attrs.frozen
class GroupMixture:
    """What a sequence draws from: the commands with their weights, members, topics and answers.

    ``empties``: how much more likely members leave, so that the group becomes empty.
    """

    weights: dict[type[Any], float]
    members: int
    topics: int
    alike: bool
    answers: tuple[ErrorCode, ...]
    waits: bool


def begin(random: Random, can: GroupCapabilities) -> tuple[GroupMixture, asks.Begin]:
    """Return a random mixture of what a group coordinator can do, and the first command."""
    optional = {kind: weight for kind, weight in _SOMETIMES.items() if random.random() < 0.5}
    cannot = (*_OF_OFFSETS,) * (not can.offsets) + (asks.ConfigureGroup,) * (not can.configures)
    for kind in cannot:
        optional.pop(kind, None)
    late = can.initializes and asks.AnswerCall in optional
    failures = _FAILURES if random.random() < 0.3 else ()
    topics = random.randint(1, 3)
    leaving = random.choice((1.5, 1.5, 6.0))
    mix = GroupMixture(
        {**_ALWAYS, asks.Leave: leaving, **optional},
        random.choice((1, 2, 3, 3, 4, 7)),
        topics,
        alike=random.random() < 0.6,
        answers=(*(ErrorCode.NONE,) * 3, *(ErrorCode.PENDING,) * 2 * late, *failures),
        waits=can.waits,
    )
    partitions = tuple(random.choice((1, 2, 2, 3, 5)) for _topic in range(topics))
    return mix, asks.Begin(partitions, random.choice((2, 6, 6)))


def next_ask(random: Random, mix: GroupMixture, scene: GroupScene) -> asks.GroupAsk:
    """Return the next command of a sequence."""
    belief = scene.belief
    weights = {kind: weight * _factor(kind, belief) for kind, weight in mix.weights.items()}
    (kind,) = random.choices(list(weights), list(weights.values()))
    return _MAKERS[kind](random, mix, belief)


def _factor(kind: type[Any], belief: GroupBelief) -> float:
    if kind is asks.DeleteOffsets and belief.metadata.deleting and not belief.members:
        return _ONCE_MORE
    if kind in _OF_NOBODY:
        return 0.3 if belief.members else 4.0 if belief.exists else 1.0
    if kind is asks.AnswerCall and not belief.unanswered:
        return 0.05
    return 1.0


def _heartbeat(random: Random, mix: GroupMixture, belief: GroupBelief) -> asks.GroupAsk:
    """Choose mostly a heartbeat that has sense: joining, or staying with the epoch known."""
    member = random.randint(1, mix.members)
    answers = _answers(random, mix)
    if f"m{member}" not in belief.members:
        odd = random.random() < 0.1
        epoch = asks.MemberEpoch.CURRENT if odd else asks.MemberEpoch.JOIN
        return asks.MemberHeartbeat(member, epoch, None if odd else _topics(random, mix), answers)
    if random.random() < 0.75:
        return asks.MemberHeartbeat(member, answers=answers)
    epoch = random.choice(tuple(asks.MemberEpoch))
    joins = epoch is asks.MemberEpoch.JOIN
    known = tuple(int(n[1:]) for n in sorted(belief.subscriptions[f"m{member}"]))
    topics = random.choice((known, _topics(random, mix), *([] if joins else [None])))
    return asks.MemberHeartbeat(member, epoch, topics, answers)


def _topics(random: Random, mix: GroupMixture) -> tuple[int, ...]:
    """Choose the same topics for all members, or any, of which one may not exist."""
    if mix.alike and random.random() < 0.9:
        return tuple(range(mix.topics))
    number = mix.topics + 1
    return tuple(sorted(random.sample(range(number), random.randint(1, number))))


def _answers(random: Random, mix: GroupMixture) -> asks.Answers:
    if len(set(mix.answers)) == 1 or random.random() < 0.4:
        return ()
    return (random.choice(mix.answers),)


def _awaited(random: Random, mix: GroupMixture) -> asks.Answers:
    """Choose answers for which the request waits: late ones only where it may, and then often."""
    if mix.waits and ErrorCode.PENDING in mix.answers and random.random() < 0.5:
        return (ErrorCode.PENDING,)
    return tuple(each for each in _answers(random, mix) if each is not ErrorCode.PENDING)


def _alter(random: Random, mix: GroupMixture, belief: GroupBelief) -> asks.GroupAsk:
    """Choose partitions of a topic, and sometimes of another."""
    topics = random.sample(range(mix.topics + 1), 2 if random.random() < _BESIDE else 1)
    offsets = (each for topic in sorted(topics) for each in _altered(random, topic, belief))
    return asks.AlterOffsets(tuple(offsets), _awaited(random, mix))


def _altered(random: Random, topic: int, belief: GroupBelief) -> list[tuple[int, int, int]]:
    width, beside = belief.topics.get(belief.names.get(f"t{topic}", ""), 1), random.random()
    width += beside < _BESIDE
    parts = random.sample(range(width), random.randint(1, width))
    if beside < _BESIDE / 2:
        parts = [-1 if part == width - 1 else part for part in parts]
    return [(topic, part, random.choice((0, 1, 100))) for part in sorted(parts)]


def _delete(random: Random, mix: GroupMixture, belief: GroupBelief) -> asks.GroupAsk:
    """Choose a topic whose deletion has failed, if there is one, and sometimes others beside it."""
    failed = {key.topic_id for key in belief.metadata.deleting}
    names = sorted(name for name, topic in belief.names.items() if topic in failed)
    topic = int(random.choice(names)[1:]) if names else random.randint(0, mix.topics)
    more = [other for other in range(mix.topics + 1) if other != topic and random.random() < 0.2]
    return asks.DeleteOffsets((topic, *more), _awaited(random, mix))


def _answer(random: Random, mix: GroupMixture, _belief: GroupBelief) -> asks.GroupAsk:
    statuses = tuple(each for each in mix.answers if each is not ErrorCode.PENDING)
    return asks.AnswerCall(random.randint(0, 2), random.choice(statuses))


_MAKERS: dict[type[Any], Callable[[Random, GroupMixture, GroupBelief], asks.GroupAsk]] = {
    asks.MemberHeartbeat: _heartbeat,
    asks.Leave: lambda random, mix, _b: asks.Leave(random.randint(1, mix.members)),
    PassTime: lambda random, _mix, _b: PassTime(random.choice(TIMES)),
    asks.CreateTopic: lambda random, mix, _b: asks.CreateTopic(
        random.randint(0, mix.topics), random.randint(1, 3)
    ),
    asks.AddPartitions: lambda random, mix, _b: asks.AddPartitions(
        random.randrange(mix.topics), random.randint(1, 2)
    ),
    asks.RemoveTopic: lambda random, mix, _b: asks.RemoveTopic(random.randint(0, mix.topics)),
    asks.ConfigureGroup: lambda random, _mix, _b: asks.ConfigureGroup(
        random.choice(_HEARTBEATS), random.choice(_SESSIONS)
    ),
    asks.AlterOffsets: _alter,
    asks.DeleteOffsets: _delete,
    asks.DeleteGroup: lambda random, mix, _b: asks.DeleteGroup(_awaited(random, mix)),
    asks.DescribeOffsets: lambda _random, _mix, _b: asks.DescribeOffsets(),
    asks.AnswerCall: _answer,
    FailOver: lambda _random, _mix, _b: FailOver(),
}
