"""The search finds each fault planted in a group coordinator, and nothing in a correct one."""

from typing import Any

import attrs
import pytest

from conformance.campaign import Campaign, Limits, alone, campaign
from conformance.coordinators import group_asks as asks
from conformance.coordinators.group_kit import GROUP_COORDINATORS
from conformance.coordinators.group_scene import GroupCapabilities
from conformance.coordinators.share_asks import FailOver, PassTime
from conformance.cores.protocol import DriverTarget
from conformance.goals import GoalKind
from conformance.target import TargetError
from model.errors import ErrorCode
from model.share_messages import TopicPartition
from spec.group_lifecycle import GroupPlan
from spec.share_group import CallDelete, group_of
from tests.doubles.group_coordinator import FAULTS, GroupCoordinatorDouble


def searched(fault: str, sequences: int, seed: int = 0) -> Campaign[object]:
    target = DriverTarget(GroupCoordinatorDouble(fault), GroupCapabilities)
    limits = Limits(sequences=sequences, examples=1, shrink_seconds=0.5)
    return campaign(target, limits, GROUP_COORDINATORS, seed)


def test_a_correct_group_coordinator_conforms() -> None:
    result = searched("", 200)
    assert [fault.steps for fault in result.faults] == []
    missed, covered = result.coverage.missed, result.coverage.covered
    assert [goal.name for goal in missed if goal.group is GoalKind.RULE] == []
    assert len(missed) < 0.1 * len(covered)


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found_by_its_rule(fault: str) -> None:
    rules = set[str]()
    for seed in range(60):
        rules |= {found.deviation.name for found in searched(fault, 5, seed).faults}
        if FAULTS[fault] in rules:
            return
    pytest.fail(f"only {sorted(rules)}")


JOINED = (asks.Begin((2,)), asks.MemberHeartbeat(1, asks.MemberEpoch.JOIN, (0,)))


def shown(double: GroupCoordinatorDouble, *commands: asks.GroupAsk) -> list[str]:
    """Return the rules that a coordinator breaks in a sequence once a member has joined."""
    target = DriverTarget(double, GroupCapabilities)
    result = alone(target, (*JOINED, *commands), GROUP_COORDINATORS)
    return [fault.deviation.name for fault in result.faults]


class Forgetful(GroupCoordinatorDouble):
    """It never ends a deletion that waited."""

    def _ended(self, request: dict[str, Any]) -> dict[str, Any]:
        self.ending.pop(request["id"])
        return {"status": ErrorCode.NOT_COORDINATOR.name}


class Told(GroupCoordinatorDouble):
    """It answers every deletion of a topic that waited in one way, and deletes nothing."""

    def __init__(self, *topics: list[str]) -> None:
        super().__init__()
        self.topics = topics

    def _ended(self, request: dict[str, Any]) -> dict[str, Any]:
        self.ending.pop(request["id"])
        return {"status": ErrorCode.NONE.name, "topics": [*self.topics]}


class Answering(GroupCoordinatorDouble):
    """It answers altered offsets that waited in one way."""

    def __init__(self, *partitions: list[Any]) -> None:
        super().__init__()
        self.partitions = partitions

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        return {**super()._answer(request), "partitions": [*self.partitions]}


class Sparing(GroupCoordinatorDouble):
    """It deletes the state of partition 0 alone."""

    def _delete(self, plan: GroupPlan) -> str:
        calls = (
            e for e in plan.effects if isinstance(e, CallDelete) and not e.topic_partition.partition
        )
        return super()._delete(attrs.evolve(plan, effects=tuple(calls)))


class Leaving(GroupCoordinatorDouble):
    """It deletes no state with a group."""

    def _delete(self, plan: GroupPlan) -> str:
        return super()._delete(attrs.evolve(plan, effects=()))


class AtOnce(GroupCoordinatorDouble):
    """It ends the sessions that there are by the new timeout."""

    def _configure(self, request: dict[str, Any]) -> None:
        before = self.session_ms
        super()._configure(request)
        for name, member in self.members.items():
            ends_ms = member.ends_ms - before + self.session_ms
            self.members = self.members.set(name, attrs.evolve(member, ends_ms=ends_ms))


@pytest.mark.parametrize("double", [GroupCoordinatorDouble, AtOnce])
def test_either_session_timeout_may_hold_until_the_next_heartbeat(
    double: type[GroupCoordinatorDouble],
) -> None:
    longer, passes = asks.ConfigureGroup(7_000, 55_000), PassTime(46_004)
    shorter = asks.ConfigureGroup(7_000, 45_000)
    assert shown(double(), longer, passes, PassTime(20_002)) == []
    beat = asks.MemberHeartbeat(1)
    assert shown(double(), longer, beat, shorter, passes, PassTime(20_002)) == []
    ignores = "a group has no session timeout of its own"
    assert shown(double(ignores), longer, beat, passes) == ["SESSION_TIMEOUT"]
    assert shown(double("sessions do not end"), longer, passes) == []
    assert shown(double("sessions do not end"), longer, passes, passes) == ["SESSION_TIMEOUT"]


def test_a_deletion_that_waited_is_refused_where_the_group_is_in_use_again() -> None:
    leaves, answer = asks.Leave(1), asks.AnswerCall(0)
    waits = leaves, asks.DeleteGroup((ErrorCode.PENDING,))
    hasty = "a deletion that waited takes what came since"
    assert shown(GroupCoordinatorDouble(hasty), *waits, answer) == []
    assert shown(Sparing(), *waits) == ["STATE_IS_DELETED"]
    assert shown(Forgetful(), *waits, answer) == ["REQUEST_ANSWER"]
    assert shown(Forgetful(), *waits, FailOver(), answer) == []
    assert shown(Told(), *waits, FailOver(), answer) == ["REQUEST_ANSWER"]
    for again in (JOINED[1:], (*JOINED[1:], leaves)):
        assert shown(GroupCoordinatorDouble(), *waits, *again, answer) == []
    assert shown(GroupCoordinatorDouble(hasty), *waits, *JOINED[1:], leaves, answer) == [
        "STATE_IS_DELETED"
    ]


def test_a_deletion_of_offsets_that_waited_is_told_of_each_topic() -> None:
    waits = asks.Leave(1), asks.DeleteOffsets((0,), (ErrorCode.PENDING,))
    served, failed = asks.AnswerCall(0), asks.AnswerCall(0, ErrorCode.NOT_COORDINATOR)
    refusal = ["t0", ErrorCode.NOT_COORDINATOR.name]
    for double in (GroupCoordinatorDouble(), Told(["t0", ErrorCode.NONE.name])):
        assert shown(double, *waits, served) == []
    for double in (Told(), Told(refusal)):
        assert shown(double, *waits, served) == ["REQUEST_ANSWER"]
        assert shown(double, *waits, FailOver(), served) == []
        assert shown(double, *waits, *JOINED[1:], served) == []
    assert shown(Sparing(), *waits) == ["STATE_IS_DELETED"]
    assert shown(Told(refusal), *waits, failed) == []
    assert shown(Told(["t0", ErrorCode.NONE.name]), *waits, failed) == ["REQUEST_ANSWER"]


def test_a_deletion_of_offsets_that_fails_may_give_every_topic_its_error() -> None:
    class Failing(GroupCoordinatorDouble):
        def _delete_offsets(self, request: dict[str, Any]) -> dict[str, Any]:
            super()._delete_offsets(request)
            return {"status": ErrorCode.UNKNOWN_SERVER_ERROR.name}

    both = asks.DeleteOffsets((0, 1), (ErrorCode.UNKNOWN_SERVER_ERROR,))
    assert shown(Failing(), asks.Leave(1), both) == []
    assert shown(Failing(), asks.Leave(1), asks.DeleteOffsets((0, 1))) == ["REQUEST_ANSWER"]
    assert shown(Failing(), asks.Leave(1), asks.DeleteOffsets((1,))) == ["REQUEST_ANSWER"]


class Undoing(GroupCoordinatorDouble):
    """It has no more of a share-partition whose initialization failed."""

    def _call(self, starts: dict[TopicPartition, int], epoch: int) -> str:
        status = super()._call(starts, epoch)
        if status == ErrorCode.NOT_COORDINATOR.name:
            known = group_of(self.world).metadata
            self._metadata(attrs.evolve(known, initializing=known.initializing - {*starts}))
        return status


class Unknowing(Undoing):
    """It does not know any topic whose offsets are to be deleted."""

    def _delete_offsets(self, request: dict[str, Any]) -> dict[str, Any]:
        return {"topics": [[name, "UNKNOWN_TOPIC_OR_PARTITION"] for name in request["topics"]]}


def test_a_group_may_have_nothing_of_an_initialization_that_failed() -> None:
    failed = (ErrorCode.NOT_COORDINATOR,)
    fails = asks.CreateTopic(1, 1), asks.MemberHeartbeat(1, topics=(0, 1), answers=failed)
    deletes = asks.Leave(1), asks.DeleteGroup(failed)
    for double in (GroupCoordinatorDouble(), Undoing(), Unknowing()):
        assert shown(double, *fails, *deletes, asks.DeleteOffsets((1,))) == []
    assert shown(Unknowing(), *fails, *deletes, asks.DeleteOffsets((0,))) == ["REQUEST_ANSWER"]


def test_a_sequence_goes_on_after_what_the_judge_can_follow() -> None:
    def played(double: GroupCoordinatorDouble, *commands: asks.GroupAsk) -> Campaign[object]:
        target = DriverTarget(double, GroupCapabilities)
        return alone(target, (*JOINED, *commands), GROUP_COORDINATORS)

    stays = "the group epoch stays when offsets are altered"
    altered = asks.Leave(1), asks.AlterOffsets(((0, 0, 0),))
    result = played(GroupCoordinatorDouble(stays), *altered, asks.DescribeOffsets(), *altered)
    (fault,) = result.faults
    assert fault.deviation.name == "GROUP_EPOCH_RISES"
    assert fault.steps[-1].asked.startswith("alter_offsets")
    assert result.asked["alter_offsets NONE"] == 2
    again = *JOINED[1:], asks.Leave(1), asks.DeleteGroup()
    (other,) = played(Leaving(stays), *altered, *again).faults
    assert other.deviation.name == "STATE_IS_DELETED"


def test_the_time_of_all_initializations_may_count_anew_with_each() -> None:
    class Subscribed(GroupCoordinatorDouble):
        anew = False

        def _call(self, starts: dict[TopicPartition, int], epoch: int) -> str:
            topics = {self.names[name] for names in self.subscriptions.values() for name in names}
            status = super()._call({k: v for k, v in starts.items() if k.topic_id in topics}, epoch)
            self.begun = dict.fromkeys(self.begun, self.now) if self.anew else self.begun
            return status

    class Anew(Subscribed):
        anew = True

    def beats(*topics: int) -> asks.MemberHeartbeat:
        return asks.MemberHeartbeat(1, topics=topics, answers=(ErrorCode.PENDING,))

    both, late = (asks.CreateTopic(1, 1), asks.CreateTopic(2, 1)), PassTime(31_003)
    sequence = *both, beats(1, 2), late, beats(2), beats(1)
    assert shown(Anew(), *sequence) == shown(Subscribed(), *sequence) == []
    never = GroupCoordinatorDouble("a failed initialization is not tried again")
    assert shown(never, *sequence[:-1]) == ["NEW_IS_INITIALIZED"]


def test_an_initialization_that_is_tried_again_may_be_so_twice() -> None:
    class Retrying(GroupCoordinatorDouble):
        def _initialize(self) -> None:
            self.starts = dict.fromkeys(self.starts, 0)
            super()._initialize()

    late, waits = PassTime(31_003), (ErrorCode.PENDING,)
    subscribes = asks.CreateTopic(1, 1), asks.MemberHeartbeat(1, topics=(0, 1), answers=waits)
    again = late, asks.MemberHeartbeat(1, answers=waits), late, asks.MemberHeartbeat(1)
    assert shown(GroupCoordinatorDouble(), *subscribes, *again) == []
    assert shown(Retrying(), *subscribes, *again, asks.DescribeOffsets()) == ["FIRST_OFFSET"]


def test_an_answer_that_cannot_be_read_stops_the_run() -> None:
    class Odd(GroupCoordinatorDouble):
        def ask(self, message: dict[str, Any], /) -> dict[str, Any]:
            reply = super().ask(message)
            return {**reply, "group": {"epoch": "one"}} if message["do"] == "apply" else reply

    target = DriverTarget(Odd(), GroupCapabilities)
    with pytest.raises(TargetError, match=r"its answer to create_topic cannot be read: .*group"):
        campaign(target, Limits(sequences=1), GROUP_COORDINATORS)


def test_altered_offsets_that_waited_are_told_of_each_partition() -> None:
    waits = asks.Leave(1), asks.AlterOffsets(((0, 0, 5), (0, 7, 5)), (ErrorCode.PENDING,))
    served, failed = asks.AnswerCall(0), asks.AnswerCall(0, ErrorCode.NOT_COORDINATOR)
    done, absent = ["t0", 0, ErrorCode.NONE.name], ["t0", 7, "UNKNOWN_TOPIC_OR_PARTITION"]
    refusal = ["t0", 0, ErrorCode.NOT_COORDINATOR.name]
    for double in (GroupCoordinatorDouble(), Answering(done, absent)):
        assert shown(double, *waits, served) == []
    for double in (Answering(done), Answering(refusal, absent), Answering(done, ["t0", 7, "NONE"])):
        assert shown(double, *waits, served) == ["REQUEST_ANSWER"]
        assert shown(double, *waits, FailOver(), served) == []
    assert shown(Answering(refusal, absent), *waits, asks.RemoveTopic(0), served) == []
    assert shown(Answering(refusal, absent), *waits, failed) == []
    assert shown(Answering(done, absent), *waits, failed) == ["REQUEST_ANSWER"]
    assert shown(Answering(refusal), *waits, failed) == ["REQUEST_ANSWER"]
