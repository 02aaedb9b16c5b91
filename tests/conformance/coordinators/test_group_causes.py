"""What is known of Apache Kafka hides no other fault that breaks the same rule in the same request.

Each is a coordinator with another fault, and a sequence with the commands of the known one.
"""

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from conformance.campaign import alone, unknown
from conformance.coordinators import group_asks as asks
from conformance.coordinators.group_kit import GROUP_COORDINATORS
from conformance.coordinators.group_scene import GroupCapabilities
from conformance.coordinators.share_asks import FailOver, PassTime
from conformance.cores.protocol import DriverTarget
from conformance.known import KnownDeviation
from model.errors import ErrorCode
from spec.group_lifecycle import GroupPlan
from spec.share_group import CallDelete, group_of
from tests.doubles.group_coordinator import GroupCoordinatorDouble
from tools.documents.findings import known_of

KNOWN: dict[str, KnownDeviation] = {each.name: each for each in known_of("kafka-group-coordinator")}
PENDING, FAILED = ErrorCode.PENDING, ErrorCode.NOT_COORDINATOR
Double = Callable[[], GroupCoordinatorDouble]


class Falling(GroupCoordinatorDouble):
    """The group epoch falls where offsets are altered."""

    def _alter_offsets(self, request: dict[str, Any]) -> dict[str, Any]:
        reply = super()._alter_offsets(request)
        self._write(group_of(self.world).epoch - 2)
        return reply


class Starting(GroupCoordinatorDouble):
    """Every initialization that a heartbeat begins starts at one offset."""

    def __init__(self, start: int) -> None:
        super().__init__()
        self.start = start

    def _initialize(self) -> None:
        call, self.starts = self._call, {}
        self._call = lambda starts, epoch: call(dict.fromkeys(starts, self.start), epoch)  # type: ignore[method-assign]
        super()._initialize()
        self._call = call  # type: ignore[method-assign]


class Beyond(GroupCoordinatorDouble):
    """It answers a deletion of the group that waited also where another instance has been asked."""

    def _ended(self, request: dict[str, Any]) -> dict[str, Any]:
        _instance, *rest = self.ending[request["id"]]
        self.ending[request["id"]] = (self.instance, *rest)  # type: ignore[assignment]
        return super()._ended(request)


class Making(GroupCoordinatorDouble):
    """Any alteration makes the group."""

    def _alter_offsets(self, request: dict[str, Any]) -> dict[str, Any]:
        self._raise()
        return super()._alter_offsets(request)


class Nameless(GroupCoordinatorDouble):
    """It names no topic whose deletion waited."""

    def _ended(self, request: dict[str, Any]) -> dict[str, Any]:
        reply = super()._ended(request)
        return {**reply, "topics": [[None, status] for _name, status in reply["topics"]]}


class Silent(GroupCoordinatorDouble):
    """It says nothing of the topics whose offsets are deleted."""

    def _delete_offsets(self, request: dict[str, Any]) -> dict[str, Any]:
        return {**super()._delete_offsets(request), "topics": []}


class Knowing(GroupCoordinatorDouble):
    """It has deleted all offsets that are to be."""

    def _delete_offsets(self, request: dict[str, Any]) -> dict[str, Any]:
        return {"topics": [[name, "NONE"] for name in request["topics"]]}


class Refusing(GroupCoordinatorDouble):
    """It does not know what is being deleted."""

    def _delete_offsets(self, request: dict[str, Any]) -> dict[str, Any]:
        reply = super()._delete_offsets(request)
        unknown = [[name, "UNKNOWN_TOPIC_OR_PARTITION"] for name in request["topics"]]
        return {**reply, "topics": unknown}


class Failing(GroupCoordinatorDouble):
    """It deletes no group."""

    def _delete_group(self, _request: dict[str, Any]) -> dict[str, Any]:
        return {"status": ErrorCode.UNKNOWN_SERVER_ERROR.name}


class Widely(GroupCoordinatorDouble):
    """Altering offsets initializes a partition that the topic does not have."""

    def _call(self, starts: dict[Any, int], epoch: int) -> str:
        status = super()._call(starts, epoch)
        self.calls.append({**self.calls[-1], "partition": 9})
        return status


class Leaving(GroupCoordinatorDouble):
    """It leaves the durable state of partition 0."""

    def _delete(self, plan: GroupPlan) -> str:
        calls = (each for each in plan.effects if isinstance(each, CallDelete))
        kept = tuple(call for call in calls if call.topic_partition.partition)
        return super()._delete(attrs.evolve(plan, effects=kept))


def joins(*topics: int, answers: tuple[ErrorCode, ...] = ()) -> asks.MemberHeartbeat:
    return asks.MemberHeartbeat(1, asks.MemberEpoch.JOIN, topics, answers)


BEGINS, BEATS, LEAVES = asks.Begin((1, 1)), asks.MemberHeartbeat(1), asks.Leave(1)
LATE, SERVED = PassTime(31_003), asks.AnswerCall(0)
REFUSED = asks.AnswerCall(0, FAILED)
AGAIN = "a failed initialization is not tried again"
OF_STATE = "deleting a group leaves its state"
ALTERS = asks.AlterOffsets(((0, 0, 0),), (PENDING,))
DELETES_IN_VAIN = asks.DeleteOffsets((0,), (FAILED,))
WAITED = joins(0), LEAVES, asks.DeleteOffsets((0,), (PENDING,)), joins(0), LEAVES
CASES: dict[str, list[tuple[Double, tuple[asks.GroupAsk, ...]]]] = {
    "altered-offsets-keep-the-group-epoch": [
        (Falling, (joins(0), LEAVES, asks.AlterOffsets(((0, 0, 0),)))),
    ],
    "initialization-tried-again-starts-at-0": [
        (lambda: Starting(7), (joins(0), LATE, joins(1))),
        (lambda: Starting(0), (LATE, joins(0))),
    ],
    "partitions-whose-initialization-failed-start-at-0": [
        (lambda: Starting(0), (asks.AddPartitions(0, 1), joins(0))),
    ],
    "altered-offset-tried-again-becomes-0": [
        (lambda: Starting(7), (asks.AlterOffsets(((0, 0, 1),), (PENDING,)), LATE, joins(0))),
    ],
    "partitions-beside-altered-ones-start-at-0": [
        (lambda: Starting(0), (asks.AlterOffsets(((0, 0, 0),)), joins(1))),
    ],
    "topic-that-was-altered-in-vain-starts-at-0": [
        (lambda: Starting(0), (asks.AlterOffsets(((0, 1, 0),)), joins(1))),
        (lambda: Starting(7), (joins(1), LEAVES, asks.AlterOffsets(((0, 1, 0),)), joins(0))),
    ],
    "partitions-whose-offsets-were-deleted-start-at-0": [
        (lambda: Starting(0), (asks.DeleteOffsets((0,)), asks.AddPartitions(0, 1), joins(0))),
    ],
    "error-that-comes-late-leaves-state": [
        (
            lambda: GroupCoordinatorDouble(OF_STATE),
            (joins(0), joins(0, 1, answers=(PENDING,)), REFUSED, BEATS, LEAVES, asks.DeleteGroup()),
        ),
    ],
    "failed-initialization-hides-state-that-is-left": [
        (
            Leaving,
            (joins(0), LEAVES, asks.DeleteGroup((FAILED,)), joins(0), LEAVES, asks.DeleteGroup()),
        ),
    ],
    "altered-partition-hides-the-rest-of-a-topic": [
        (
            lambda: GroupCoordinatorDouble(OF_STATE),
            (joins(0), LEAVES, DELETES_IN_VAIN, ALTERS, asks.DeleteGroup()),
        ),
    ],
    "deletion-of-offsets-leaves-the-rest-of-a-topic": [
        (
            lambda: GroupCoordinatorDouble("deleting offsets leaves their state"),
            (joins(0, 1), LEAVES, ALTERS, asks.DeleteOffsets((1,))),
        ),
    ],
    "late-deletion-of-offsets-hides-that-of-the-group": [
        (
            lambda: GroupCoordinatorDouble(OF_STATE),
            (*WAITED, SERVED, asks.DeleteGroup((FAILED,)), asks.DeleteGroup()),
        ),
    ],
    "deletion-that-waited-leaves-what-came-since": [
        (
            lambda: Beyond("a deletion that waited takes what came since"),
            (
                *(joins(0), LEAVES, asks.DeleteGroup((PENDING,)), FailOver()),
                *(joins(0), LEAVES, SERVED),
            ),
        ),
    ],
    "late-answer-reaches-a-group-that-came-again": [
        (
            lambda: GroupCoordinatorDouble(AGAIN),
            (
                *(joins(0, answers=(PENDING,)), LEAVES, asks.DeleteGroup(), SERVED),
                *(joins(0, answers=(FAILED,)), LATE, BEATS),
            ),
        ),
    ],
    "late-answer-reaches-a-group-that-is-being-deleted": [
        (
            lambda: GroupCoordinatorDouble(AGAIN),
            (
                *(joins(0), LEAVES, asks.DeleteGroup((PENDING,)), SERVED),
                *(joins(0, answers=(FAILED,)), LATE, BEATS),
            ),
        ),
    ],
    "second-deletion-of-offsets-takes-an-initialization": [
        (
            lambda: GroupCoordinatorDouble(AGAIN),
            (
                *(joins(0), asks.AddPartitions(0, 1), asks.MemberHeartbeat(1, answers=(PENDING,))),
                *(LEAVES, asks.DeleteOffsets((0,), (PENDING,)), REFUSED),
                *(joins(0, answers=(FAILED,)), LATE, BEATS),
            ),
        ),
    ],
    "alteration-that-is-not-over-holds-up-an-initialization": [
        (
            lambda: GroupCoordinatorDouble(AGAIN),
            (joins(0), LEAVES, ALTERS, joins(1, answers=(FAILED,)), LATE, BEATS),
        ),
    ],
    "late-answer-shows-when-offsets-are-deleted": [
        (Knowing, (joins(1), LEAVES, asks.DeleteOffsets((0,)))),
    ],
    "deletion-of-offsets-does-not-know-what-is-left": [
        (Refusing, (joins(0), LEAVES, DELETES_IN_VAIN, asks.DeleteOffsets((0,)))),
    ],
    "late-deletion-of-offsets-hides-what-is-left": [
        (
            Refusing,
            (
                *(*WAITED, asks.AddPartitions(0, 1), SERVED),
                *(asks.DeleteGroup((FAILED,)), asks.DeleteOffsets((0,))),
            ),
        ),
    ],
    "late-answer-shows-in-the-offsets-of-the-next-group": [
        (
            lambda: GroupCoordinatorDouble("a description leaves out what was altered"),
            (
                *(joins(1, answers=(PENDING,)), LEAVES, asks.DeleteGroup()),
                *(asks.AlterOffsets(((0, 0, 1),)), SERVED, asks.DescribeOffsets()),
            ),
        ),
    ],
    "altering-nothing-creates-a-group": [
        (Making, (asks.AlterOffsets(((7, 0, 0),)),)),
    ],
    "deleting-a-group-fails-after-altering-nothing": [
        (Failing, (joins(0), LEAVES, asks.AlterOffsets(((7, 0, 0),)), asks.DeleteGroup())),
    ],
    "altering-a-partition-below-0-initializes-it": [
        (Widely, (asks.AlterOffsets(((0, 0, 0),)),)),
    ],
    "failed-deletion-of-offsets-names-no-topic": [
        (Nameless, (joins(0), LEAVES, asks.DeleteOffsets((0,), (PENDING,)), REFUSED)),
    ],
    "topics-that-are-not-there-are-not-answered": [
        (Silent, (joins(0), LEAVES, asks.DeleteOffsets((1,)))),
    ],
}


def test_there_is_a_control_of_each_known_deviation() -> None:
    assert CASES.keys() == KNOWN.keys()


@pytest.mark.parametrize("name", CASES)
def test_another_fault_of_the_same_rule_and_request_is_not_known(name: str) -> None:
    for double, sequence in CASES[name]:
        target = DriverTarget(double(), GroupCapabilities)
        faults = alone(target, (BEGINS, *sequence), GROUP_COORDINATORS).faults
        assert faults[-1].deviation.signature == KNOWN[name].signature
        assert unknown(faults, (*KNOWN.values(),)) == [*faults]
