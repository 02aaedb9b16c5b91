"""The kit for group coordinators: the share part of one, for one group, in virtual time."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from random import Random

import attrs

from conformance.commands import ask_name
from conformance.coordinators import group_asks as asks
from conformance.coordinators.group_belief import HEARTBEAT_MS, RETRY_MS, SETTLED
from conformance.coordinators.group_generate import TIMES, begin, next_ask
from conformance.coordinators.group_scene import GroupCapabilities, GroupHello, GroupScene
from conformance.coordinators.share_asks import PassTime
from conformance.cores.protocol import DriverTarget
from conformance.kit import Kit, less_of
from model.errors import ErrorCode
from spec.group_membership import SESSION_MS

_OF_ADMINISTRATORS = asks.AlterOffsets | asks.DeleteOffsets | asks.DeleteGroup
_ANSWERED = asks.MemberHeartbeat | _OF_ADMINISTRATORS
_OF_OFFSETS = asks.AlterOffsets | asks.DeleteOffsets | asks.DescribeOffsets

_PLAIN_FAILURE = ErrorCode.NOT_COORDINATOR
"""The error that stands for any in a shrunk sequence."""


def _need(ask: asks.GroupAsk) -> str:
    if isinstance(ask, _OF_OFFSETS):
        return "offsets"
    if isinstance(ask, asks.ConfigureGroup):
        return "configures"
    if isinstance(ask, _OF_ADMINISTRATORS) and ErrorCode.PENDING in ask.answers:
        return "waits"
    waits = isinstance(ask, asks.MemberHeartbeat) and ask.answers
    return "initializes" if waits or isinstance(ask, asks.AnswerCall) else ""


def _with_less(ask: asks.GroupAsk) -> Iterator[asks.GroupAsk]:
    """Yield a command without answers, with one that stands for any error, and with one topic."""
    if isinstance(ask, _ANSWERED) and ask.answers:
        yield attrs.evolve(ask, answers=())
        if _PLAIN_FAILURE not in ask.answers and ErrorCode.PENDING not in ask.answers:
            yield attrs.evolve(ask, answers=(_PLAIN_FAILURE,))
    if isinstance(ask, asks.MemberHeartbeat | asks.DeleteOffsets):
        topics = ask.topics or ()
        yield from (attrs.evolve(ask, topics=(topic,)) for topic in topics if len(topics) > 1)


@attrs.frozen
class GroupCoordinators(
    Kit[asks.GroupAsk, DriverTarget[GroupCapabilities], GroupHello, GroupScene]
):
    """The kit. What is known is told apart before it is shrunk: each fault is a cause."""

    commands = asks.GroupAsk
    goals_of = "group"
    passes_over_known = True
    sequences = 1000
    longer = 3
    examples = 3

    def stage(self, target: DriverTarget[GroupCapabilities], hello: GroupHello) -> GroupScene:
        """Return a stage, which the first command begins."""
        return GroupScene(target, hello)

    def draws(
        self, random: Random, hello: GroupHello
    ) -> tuple[asks.GroupAsk, Callable[[GroupScene], asks.GroupAsk]]:
        """Begin with a few topics."""
        mix, first = begin(random, hello.capabilities)
        return first, partial(next_ask, random, mix)

    def simpler(self, ask: asks.GroupAsk) -> Iterator[asks.GroupAsk]:
        """Yield the first member and topic, fewer of what is named, less time and no answers."""
        yield from _with_less(ask)
        match ask:
            case asks.MemberHeartbeat():
                yield attrs.evolve(ask, member=1)
                yield attrs.evolve(ask, epoch=asks.MemberEpoch.CURRENT)
            case asks.Leave() if ask.member > 1:
                yield asks.Leave(1)
            case PassTime(ms):
                yield from (PassTime(less) for less in TIMES if less < ms)
            case asks.ConfigureGroup(heartbeat_ms, session_ms):
                yield from (
                    asks.ConfigureGroup(*each)
                    for each in ((HEARTBEAT_MS, session_ms), (heartbeat_ms, SESSION_MS))
                    if each != (heartbeat_ms, session_ms)
                )
            case asks.AlterOffsets(offsets):
                yield from (attrs.evolve(ask, offsets=(each,)) for each in offsets)
                yield attrs.evolve(ask, offsets=tuple((t, p, 0) for t, p, _start in offsets))
            case asks.CreateTopic() | asks.AddPartitions() if ask.partitions > 1:
                yield attrs.evolve(ask, partitions=ask.partitions - 1)
            case asks.AnswerCall(nth) if nth:
                yield attrs.evolve(ask, nth=0)

    def plainer(self, sequence: tuple[asks.GroupAsk, ...]) -> Iterator[tuple[asks.GroupAsk, ...]]:
        """Yield the sequence with fewer topics, and with fewer partitions."""
        first, *others = sequence
        if not isinstance(first, asks.Begin):
            return
        if len(first.partitions) > 1:
            yield attrs.evolve(first, partitions=first.partitions[:-1]), *others
        fewer = less_of(first.partitions, lambda n: (n - 1,) * (n > 1), least=len(first.partitions))
        yield from ((attrs.evolve(first, partitions=each), *others) for each in fewer)

    def features(self, ask: asks.GroupAsk) -> Iterator[str]:
        """Yield its name, a wrong epoch, changed topics, and answers that fail."""
        yield ask_name(type(ask))
        if isinstance(ask, asks.MemberHeartbeat):
            yield f"MemberHeartbeat {ask.epoch}"
        status = getattr(ask, "status", None)
        answers = {*getattr(ask, "answers", ()), *([status] if status else [])}
        yield from sorted(f"answer {each.name}" for each in answers if each.value)

    def bounds(self, _hello: GroupHello) -> tuple[str, ...]:
        """Return what KIP-932 has no number for."""
        return (
            f"an initialization without an answer is tried again after {RETRY_MS} ms",
            f"an assignment is complete after {SETTLED} heartbeats of every member",
        )

    def needs(self, sequence: Sequence[asks.GroupAsk]) -> Mapping[str, bool]:
        """Return the capabilities that the commands need."""
        return dict.fromkeys(filter(None, map(_need, sequence)), True)


GROUP_COORDINATORS = GroupCoordinators()
