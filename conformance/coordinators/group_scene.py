"""One sequence of commands: what they ask of a group coordinator, and its answers judged."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from conformance.coordinators import group_asks as asks
from conformance.coordinators.group_belief import (
    HEARTBEAT_MS,
    SETTLED,
    BrokenRuleError,
    GroupBelief,
)
from conformance.coordinators.group_checks import Request, call_text
from conformance.coordinators.group_judge import judged
from conformance.coordinators.group_reply import GroupReply, StateCall, reply_from
from conformance.coordinators.share_asks import FailOver, PassTime
from conformance.cores.malformed import error_text
from conformance.cores.protocol import DriverTarget
from conformance.deviation import StepText, crashed, target_finding
from conformance.exercised import answer_name, changed
from conformance.kit import Stage
from conformance.target import Hello
from judge.finding import CRASHED, Finding
from judge.words import printable
from spec.group_membership import JOINING, LEAVING, SESSION_MS


@attrs.frozen
class GroupCapabilities:
    """What a group coordinator can do; the kit does not ask for the rest.

    ``initializes``: it initializes share-partitions itself, since 4.1. ``offsets``: offsets of a
    group can be altered, deleted and described. ``configures``: a group can have a heartbeat
    interval and a session timeout of its own. ``waits``: a request of an administrator may wait
    for share coordinators; the answer to ``answer`` has how it ends.
    """

    initializes: bool = True
    offsets: bool = True
    configures: bool = False
    waits: bool = False


GroupHello = Hello[GroupCapabilities]

_NOISE = (
    *("now_ms", "group", "beats", "seen", "changed", "heard", "earliest", "starts", "noted"),
    *("unclear", "taken", "counted", "lost", "altered", "held", "vain"),
)
"""What of a belief changes with nearly every request, or tells causes apart."""


@attrs.frozen
class GroupExchange:
    """A request, what was believed before it, and the answer; None where the target failed."""

    request: Request
    before: GroupBelief
    reply: GroupReply | None

    @property
    def status(self) -> str:
        """Return what was answered."""
        return self.reply.result.status if self.reply else CRASHED

    @property
    def calls(self) -> tuple[StateCall, ...]:
        """Return the calls of share coordinators that were made."""
        return self.reply.calls if self.reply else ()


class GroupScene(Stage[asks.GroupAsk]):
    """A fresh group coordinator with a cluster, a clock and a judge."""

    def __init__(self, target: DriverTarget[GroupCapabilities], hello: GroupHello) -> None:
        """Wait for the first command, which says how to begin."""
        self._target, self._hello = target, hello
        self.belief = GroupBelief(initializes=hello.capabilities.initializes)
        self.steps: list[StepText] = []
        self.answered, self.exercised = Counter[str](), Counter[str]()
        self.exchanges: list[GroupExchange] = []
        self._noted: dict[tuple[str, ...], tuple[Finding, int]] = {}
        self._created = 0

    def ask(self, command: asks.GroupAsk) -> Finding | None:
        """Send what a command asks, and judge each answer. Raises TargetError."""
        if isinstance(command, asks.Begin):
            times = {"session_ms": SESSION_MS, "heartbeat_ms": HEARTBEAT_MS}
            self._target.reset(max_members=command.max_members, **times)
            self.belief = attrs.evolve(self.belief, max_members=command.max_members)
        for request in self._requests(command):
            if found := self._asked(request, command):
                return found
        return None

    def _asked(self, request: Request, command: asks.GroupAsk) -> Finding | None:
        answers = [status.name for status in getattr(command, "answers", ())]
        plain = self._target.ask("apply", operation=dict(request), answers=answers)
        operation, before = request["op"], self.belief
        if "error" in plain:
            self._note(request, f"failed: {printable(error_text(plain))}", None)
            return crashed(operation, error_text(plain))
        reply = reply_from(operation, plain)
        self.answered[f"{operation} {reply.result.status}"] += 1
        self._note(request, _answer_text(reply), reply)
        try:
            self.belief = judged(before, request, reply)
        except BrokenRuleError as error:
            return _finding(error, operation)
        for broken in self.belief.noted:
            found = _finding(broken, operation)
            self._noted.setdefault(found.probable_cause, (found, len(self.steps)))
        self.belief = attrs.evolve(self.belief, noted=())
        self.exercised.update(_exercised(before, request, reply, self.belief))
        return None

    def end(self) -> Sequence[Finding]:
        """Return what was noted and ended nothing: each cause once, where it showed first."""
        return [found for found, _steps in self._noted.values()]

    def length_of(self, deviation: Finding) -> int:
        """Return how many requests led to a deviation."""
        noted = (steps for found, steps in self._noted.values() if found is deviation)
        return next(noted, len(self.steps))

    def steps_of(self, deviation: Finding, /) -> tuple[StepText, ...]:
        """Return the steps that led to a deviation."""
        return tuple(self.steps[: self.length_of(deviation)])

    def _note(self, request: Request, answer: str, reply: GroupReply | None) -> None:
        words = ", ".join(f"{k} {v}" for k, v in request.items() if k not in ("op", "id"))
        self.exchanges.append(GroupExchange(request, self.belief, reply))
        after = "" if reply is None else _group_text(reply)
        now = self.belief.now_ms + request.get("ms", 0)
        self.steps.append(StepText(f"{request['op']} {words}".strip(), answer, after, time_ms=now))

    def _requests(self, command: asks.GroupAsk) -> Iterator[Request]:
        """Yield the requests of a command; none where it has no sense."""
        names = self.belief.names
        match command:
            case asks.Begin(partitions):
                for topic, number in enumerate(partitions):
                    yield self._creation(topic, number)
            case asks.CreateTopic(topic, partitions) if f"t{topic}" not in names:
                yield self._creation(topic, partitions)
            case asks.AddPartitions(topic, partitions) if f"t{topic}" in names:
                yield {"op": "add_partitions", "topic": f"t{topic}", "partitions": partitions}
            case asks.RemoveTopic(topic) if f"t{topic}" in names:
                yield {"op": "delete_topic", "topic": f"t{topic}"}
            case asks.AnswerCall(nth, status) if ids := self.belief.unanswered:
                yield {"op": "answer", "id": ids[nth % len(ids)], "status": status.name}
            case _ if make := _REQUESTS.get(type(command)):
                yield make(self.belief, command)

    def _creation(self, topic: int, partitions: int) -> Mapping[str, Any]:
        self._created += 1
        name, topic_id = f"t{topic}", f"t{topic}.{self._created}"
        return {"op": "create_topic", "topic": name, "id": topic_id, "partitions": partitions}


def _finding(error: BrokenRuleError, operation: str) -> Finding:
    texts = printable(error.recorded), printable(error.expected)
    found = target_finding(error.rule, operation, error.sentence, *texts)
    cause = (error.rule, operation, error.kind) if error.kind else ()
    return attrs.evolve(found, cause=cause)


def _altering(_belief: GroupBelief, ask: asks.AlterOffsets) -> Request:
    plain = [[f"t{topic}", part, start] for topic, part, start in ask.offsets]
    return {"op": "alter_offsets", "offsets": plain}


def _beating(belief: GroupBelief, ask: asks.MemberHeartbeat) -> Request:
    name, named = f"m{ask.member}", None if ask.topics is None else _names(ask.topics)
    return _heartbeat(name, _epoch(belief, name, ask.epoch), named)


_REQUESTS: Mapping[type[Any], Callable[[GroupBelief, Any], Request]] = {
    asks.MemberHeartbeat: _beating,
    asks.Leave: lambda _belief, ask: _heartbeat(f"m{ask.member}", LEAVING, None),
    PassTime: lambda _belief, ask: {"op": "advance_time", "ms": ask.ms},
    asks.ConfigureGroup: lambda _belief, ask: {"op": "configure", **attrs.asdict(ask)},
    asks.AlterOffsets: _altering,
    asks.DeleteOffsets: lambda _belief, ask: {"op": "delete_offsets", "topics": _names(ask.topics)},
    asks.DeleteGroup: lambda _belief, _ask: {"op": "delete_group"},
    asks.DescribeOffsets: lambda _belief, _ask: {"op": "describe_offsets"},
    FailOver: lambda _belief, _ask: {"op": "fail_over"},
}


def _names(topics: tuple[int, ...]) -> list[str]:
    return [f"t{topic}" for topic in dict.fromkeys(topics)]


def _heartbeat(member: str, epoch: int, topics: list[str] | None) -> Mapping[str, Any]:
    return {"op": "heartbeat", "member": member, "epoch": epoch, "topics": topics}


def _epoch(belief: GroupBelief, member: str, epoch: asks.MemberEpoch) -> int:
    """Return the number of an epoch, never one that joins or leaves unless it says so."""
    known = belief.members.get(member)
    if epoch is asks.MemberEpoch.JOIN:
        return JOINING
    if known is None:
        return 1
    numbers = {
        asks.MemberEpoch.CURRENT: known.epoch,
        asks.MemberEpoch.BEFORE: known.previous_epoch,
        asks.MemberEpoch.OLD: known.previous_epoch - 1,
        asks.MemberEpoch.AHEAD: known.epoch + 1,
    }
    return numbers[epoch] if numbers[epoch] > 0 else known.epoch + 1


def _answer_text(reply: GroupReply) -> str:
    result = reply.result
    parts = [result.status]
    parts += [f"member epoch {result.member_epoch}"] if result.member_epoch else []
    for name in ("partitions", "topics", "offsets"):
        parts += [" ".join(map(str, each)) for each in getattr(result, name)]
    parts += [call_text(call) for call in reply.calls]
    return "; ".join(parts)


def _group_text(reply: GroupReply) -> str:
    if reply.group is None:
        return "no group"
    members = (
        f"{m.member} epoch {m.epoch} of {' '.join(m.topics)}: "
        f"{' '.join(f'{topic}:{part}' for topic, part in sorted(m.assignment)) or 'nothing'}"
        for m in sorted(reply.group.members, key=lambda each: each.member)
    )
    return "; ".join((f"group epoch {reply.group.epoch}", *members))


def _exercised(
    before: GroupBelief, request: Request, reply: GroupReply, after: GroupBelief
) -> Iterator[str]:
    """Yield what a request exercised that was answered legally."""
    name = str(request["op"])
    yield answer_name(name, reply.result.status)
    yield from {answer_name(f"a call in {name}", call.status) for call in reply.calls}
    same = {field: getattr(after, field) for field in _NOISE}
    yield from changed(attrs.evolve(before, **same), after, "the group", name)
    members = after.members if name == "heartbeat" else ()
    if members and all(after.beats.get(member, 0) >= SETTLED for member in members):
        yield f"an assignment → due: {name}"
        if len(members) > len(set(after.subscriptions.values())):
            yield f"an assignment of equal members → due: {name}"
