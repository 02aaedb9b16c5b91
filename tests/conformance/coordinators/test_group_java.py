"""Deviations of a group coordinator as JUnit tests, and what cannot be expressed."""

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from conformance.campaign import alone
from conformance.coordinators import group_asks as asks
from conformance.coordinators.group_java import GROUP_COORDINATOR
from conformance.coordinators.group_kit import GROUP_COORDINATORS
from conformance.coordinators.group_scene import GroupCapabilities
from conformance.coordinators.share_asks import FailOver, PassTime
from conformance.cores.protocol import DriverTarget
from conformance.java import JavaCase, NoTestError
from model.errors import ErrorCode
from tests.conformance.java_source import method_of, source_with
from tests.doubles.group_coordinator import GroupCoordinatorDouble

FAILED, WAITS = (ErrorCode.NOT_COORDINATOR,), (ErrorCode.PENDING,)
JOIN = asks.MemberHeartbeat(1, asks.MemberEpoch.JOIN, (0,))
STAY, LEAVE = asks.MemberHeartbeat(1), asks.Leave(1)
BEGIN = (asks.Begin((1, 1)), JOIN)
EMPTY = (*BEGIN, LEAVE)
ALTER = asks.AlterOffsets(((0, 0, 5),))
CASES: dict[str, tuple[tuple[asks.GroupAsk, ...], str]] = {
    "the group epoch stays when a member leaves": (
        EMPTY,
        "int before = described().groupEpoch();\n        leave(",
    ),
    "the group epoch rises with every heartbeat": (
        (*BEGIN, *[STAY] * 4),
        'stay("m1");\n        assertEquals(before, described().groupEpoch(), "the group epoch");',
    ),
    "added partitions start at the latest offset": (
        (*BEGIN, asks.AddPartitions(0, 1), STAY),
        'assertEquals(0L, initializing.getOrDefault("t0.1:1", 0L), "the start offset of t0.1:1");',
    ),
    "altered offsets are off by one": (
        (asks.Begin((1,)), attrs.evolve(ALTER, answers=WAITS), ALTER),
        'alter("t0:0 at 5");\n        assertEquals(5L, initializing.getOrDefault("t0.1:0", 5L),',
    ),
    "deleting a group leaves its state": (
        (*EMPTY, asks.DeleteGroup()),
        'assertTrue(deleting.contains("t0.1:0"),',
    ),
    "deleting offsets leaves their state": (
        (*EMPTY, asks.DeleteOffsets((0,))),
        'askToDeleteOffsets("t0");\n        assertTrue(deleting.contains("t0.1:0"),',
    ),
    "a deletion that waited takes what came since": (
        (*EMPTY, asks.DeleteGroup(WAITS), JOIN, LEAVE, asks.AnswerCall(0)),
        "deleteGroup();\n        assertNotEquals(Errors.NONE, status,",
    ),
    "no member epoch is fenced": (
        (*BEGIN, attrs.evolve(STAY, epoch=asks.MemberEpoch.AHEAD, topics=(0, 1))),
        'errorOf(() -> heartbeat("m1", epochs.get("m1") + 1, List.of("t0", "t1")));',
    ),
    "a group is never full": (
        (attrs.evolve(BEGIN[0], max_members=1), JOIN, attrs.evolve(JOIN, member=2)),
        "assertEquals(Errors.GROUP_MAX_SIZE_REACHED, answer,",
    ),
    "offsets of a group with members are altered": (
        (*BEGIN, ALTER),
        "assertEquals(Errors.NON_EMPTY_GROUP, answer,",
    ),
    "a partition below 0 is altered": (
        (asks.Begin((1,)), asks.AlterOffsets(((0, -1, 5),))),
        'answers.getOrDefault("t0:-1", status),',
    ),
    "sessions end early": (
        (*BEGIN, PassTime(31_003)),
        'passTime(31_003);\n        assertEquals(Set.of("m1"), members(), "the members");',
    ),
    "members get the default interval": (
        BEGIN,
        'assertEquals(7_000, join("m1", "t0").heartbeatIntervalMs(),',
    ),
    "a failed initialization is not tried again": (
        (*BEGIN[:1], attrs.evolve(JOIN, answers=WAITS), PassTime(31_003), STAY),
        'assertTrue(initializing.containsKey("t0.1:0"),',
    ),
    "what is initialized is initialized again": (
        (*BEGIN, attrs.evolve(STAY, topics=(0,))),
        'subscribe("m1", "t0");\n        assertFalse(initializing.containsKey("t0.1:0"),',
    ),
    "a description leaves out what was altered": (
        (asks.Begin((1,)), ALTER, asks.DescribeOffsets()),
        'assertEquals(Set.of("t0.1:0"), listed(), "whose offsets are described");',
    ),
    "a group has no interval of its own": (
        (*BEGIN[:1], asks.ConfigureGroup(9_000, 50_000), JOIN),
        'configure(9_000, 50_000);\n        assertEquals(9_000, join("m1", "t0").',
    ),
    "a group has no session timeout of its own": (
        (*BEGIN[:1], asks.ConfigureGroup(9_000, 50_000), JOIN, PassTime(46_004)),
        'passTime(46_004);\n        assertEquals(Set.of("m1"), members(), "the members");',
    ),
    "share-partitions are assigned before they are initialized": (
        (*BEGIN[:1], attrs.evolve(JOIN, answers=WAITS)),
        'assertFalse(assigned("m1").contains("t0.1:0"),',
    ),
    "the last share-partition is not assigned": (
        (*BEGIN, *[STAY] * 3),
        'assertTrue(assigned().contains("t0.1:0"),',
    ),
    "one member is assigned everything": (
        (
            asks.Begin((2,)),
            JOIN,
            attrs.evolve(JOIN, member=2),
            *[STAY] * 3,
            *[attrs.evolve(STAY, member=2)] * 3,
        ),
        'assertTrue(assigned("m1").size() <= assigned("m2").size() + 1,',
    ),
    "the state epoch lags behind": (
        BEGIN,
        'stateEpochs.getOrDefault("t0.1:0", epoch), "the state epoch of t0.1:0"',
    ),
    "taking over raises the group epoch": (
        (*BEGIN, FailOver()),
        "failOver();\n        assertEquals(before, groupText(),",
    ),
    "a member epoch goes ahead": (
        BEGIN,
        'assertTrue(before <= memberEpoch("m1") && memberEpoch("m1") <= described().groupEpoch(),',
    ),
    "a member is not told what it is assigned later": (
        (*BEGIN, STAY),
        'stay("m1");\n        assertEquals(assigned("m1"), told("m1"),',
    ),
    "altering offsets answers nothing of unknown partitions": (
        (asks.Begin((1,)), asks.AlterOffsets(((0, 0, 5), (0, 3, 5)))),
        'assertTrue(answers.containsKey("t0:3"),',
    ),
    "joining throws": (
        (*BEGIN, attrs.evolve(JOIN, member=2), attrs.evolve(JOIN, member=3)),
        'assertDoesNotThrow(() -> join("m3", "t0"));',
    ),
}


def written(double: GroupCoordinatorDouble, sequence: tuple[asks.GroupAsk, ...]) -> str:
    """Return the test of what a faulty coordinator shows."""
    target = DriverTarget(double, GroupCapabilities)
    return method_of(GROUP_COORDINATOR, GROUP_COORDINATORS, target, sequence)


@pytest.mark.parametrize("fault", CASES)
def test_a_test_asserts_what_the_rules_expect(fault: str) -> None:
    sequence, assertion = CASES[fault]
    method = written(GroupCoordinatorDouble(fault), sequence)
    assert assertion in method
    source = source_with(GROUP_COORDINATOR, method)
    assert ("timeouts" in source) == ("passTime" in method)


def test_what_share_coordinators_answer_is_statements_of_its_own() -> None:
    wrong = attrs.evolve(STAY, epoch=asks.MemberEpoch.AHEAD)
    begun = (*BEGIN[:1], attrs.evolve(JOIN, answers=WAITS), wrong, asks.AnswerCall(0, *FAILED))
    topics = (asks.DescribeOffsets(), asks.CreateTopic(2, 1), asks.RemoveTopic(2), LEAVE)
    offsets = (asks.DeleteOffsets((0,), WAITS), asks.AnswerCall(0), JOIN, LEAVE)
    lost = (asks.DeleteGroup(WAITS), FailOver(), asks.AnswerCall(0))
    deletion = (asks.DeleteGroup(FAILED), JOIN, LEAVE, asks.DeleteGroup(WAITS), JOIN, LEAVE)
    before = (*begun, PassTime(31_003), STAY, *topics, *offsets, *lost)
    sequence = (*before, *deletion, asks.AnswerCall(0))
    double = GroupCoordinatorDouble("a deletion that waited takes what came since")
    method = written(double, sequence)
    lines = method.partition("{")[2].splitlines()
    calls = [line.split("  //")[0].strip() for line in lines]
    again = ['join("m1", "t0");', 'initialized("t0.1:0");', 'leave("m1");']
    assert calls[1:-3] == [
        *("open(6);", 'createTopic("t0", 1);', 'createTopic("t1", 1);', 'join("m1", "t0");'),
        *('uninitialized("t0.1:0");', "passTime(31_003);", 'stay("m1");', 'initialized("t0.1:0");'),
        *('createTopic("t2", 1);', 'deleteTopic("t2");', 'leave("m1");'),
        *('askToDeleteOffsets("t0");', 'deleteOffsets("t0.1");', *again),
        *("askToDeleteGroup();", "failOver();", "askToDeleteGroup();", *again),
        *("askToDeleteGroup();", *again, "deleteGroup();"),
    ]


def test_epochs_are_relative_to_what_the_member_was_given() -> None:
    joins = attrs.evolve(JOIN, member=2, topics=())
    double = GroupCoordinatorDouble("the group epoch rises with every heartbeat")
    assert 'heartbeat("m2", 0, List.of());' in written(double, (*BEGIN, joins, STAY))


Change = Callable[[dict[str, Any], dict[str, Any]], object]


class Otherwise(GroupCoordinatorDouble):
    """It answers operations of one kind as a function changes the answer."""

    def __init__(self, op: str, change: Change) -> None:
        super().__init__()
        self.op, self.change = op, change

    def ask(self, message: dict[str, Any], /) -> dict[str, Any]:
        reply = super().ask(message)
        operation = message.get("operation", {})
        if operation.get("op") == self.op:
            self.change(operation, reply)
        return reply


def _fences_unknown(_operation: dict[str, Any], reply: dict[str, Any]) -> None:
    if reply["result"]["status"] == ErrorCode.UNKNOWN_MEMBER_ID.name:
        reply["result"]["status"] = ErrorCode.FENCED_MEMBER_EPOCH.name


def _fails_when_naming(operation: dict[str, Any], reply: dict[str, Any]) -> None:
    if operation["epoch"] > 0 and operation["topics"] is not None:
        reply["result"] = {"status": ErrorCode.UNKNOWN_SERVER_ERROR.name}


def _shifts(_operation: dict[str, Any], reply: dict[str, Any]) -> None:
    for call in reply["calls"]:
        call["start_offset"] += 7


def _is_there(_operation: dict[str, Any], reply: dict[str, Any]) -> None:
    reply["group"] = {"status": "NONE", "epoch": 1, "assignment_epoch": 0, "members": []}


def _lags(operation: dict[str, Any], reply: dict[str, Any]) -> None:
    if operation["member"] == "m1":
        reply["result"]["member_epoch"] = 1
    for member in reply["group"]["members"]:
        member["epoch"] = 1 if member["member"] == "m1" else member["epoch"]


def _moves_the_first(operation: dict[str, Any], reply: dict[str, Any]) -> None:
    for member in reply["group"]["members"]:
        member["epoch"] += operation["member"] != member["member"]


BEFORE = attrs.evolve(STAY, epoch=asks.MemberEpoch.BEFORE, topics=(0,))


@pytest.mark.parametrize(
    ("double", "sequence", "asserted"),
    [
        (
            Otherwise("heartbeat", _fences_unknown),
            (*BEGIN, attrs.evolve(STAY, member=3, epoch=asks.MemberEpoch.OLD)),
            'Errors answer = errorOf(() -> heartbeat("m3", 1, null));',
        ),
        (
            Otherwise("heartbeat", _fails_when_naming),
            (*BEGIN, attrs.evolve(STAY, topics=())),
            'errorOf(() -> heartbeat("m1", epochs.get("m1"), List.of()));',
        ),
        (
            Otherwise("heartbeat", _fails_when_naming),
            (*BEGIN, attrs.evolve(JOIN, member=2), STAY, BEFORE),
            "List.of(Errors.FENCED_MEMBER_EPOCH, Errors.NONE).contains(answer),",
        ),
        (
            Otherwise("heartbeat", _shifts),
            (asks.Begin((1,)), attrs.evolve(ALTER, answers=WAITS), PassTime(31_003), JOIN),
            'assertTrue(List.of(-1L, 5L).contains(initializing.getOrDefault("t0.1:0", -1L)),',
        ),
        (
            Otherwise("alter_offsets", _is_there),
            (asks.Begin((1,)), asks.AlterOffsets(((0, 2, 0),))),
            "assertEquals(Errors.GROUP_ID_NOT_FOUND,",
        ),
        (
            Otherwise("heartbeat", lambda _asked, reply: reply["group"].update(members=[])),
            (*BEGIN[:1], attrs.evolve(JOIN, topics=(1, 0))),
            'assertEquals(Map.of("m1", Set.of("t0", "t1")), subscriptions(), "who names what");',
        ),
        (
            Otherwise("heartbeat", _lags),
            (*BEGIN, attrs.evolve(JOIN, member=2), *[STAY, attrs.evolve(STAY, member=2)] * 2),
            'assertEquals(described().groupEpoch(), memberEpoch("m1"), "the epoch of m1");',
        ),
        (
            Otherwise("heartbeat", _moves_the_first),
            (*BEGIN, attrs.evolve(JOIN, member=2)),
            'assertTrue(0 <= memberEpoch("m1") && memberEpoch("m1") <= described().groupEpoch(),',
        ),
    ],
    ids=("a status", "no topics", "statuses", "offsets", "a group", "members", "late", "others"),
)
def test_a_test_asserts_each_of_what_may_be(
    double: GroupCoordinatorDouble, sequence: tuple[asks.GroupAsk, ...], asserted: str
) -> None:
    assert asserted in written(double, sequence)


DELETES = {"id": 9, "call": "delete", "status": "NONE", "topic": "t0.1", "partition": 0}


@pytest.mark.parametrize(
    ("double", "sequence", "rule"),
    [
        (
            Otherwise("advance_time", lambda _asked, reply: reply["calls"].append(DELETES)),
            (*BEGIN, PassTime(1)),
            "NEW_IS_INITIALIZED",
        ),
        (
            Otherwise(
                "describe_offsets",
                lambda _asked, reply: reply["result"].update(offsets=[["t0.1", 0, 9]]),
            ),
            (*BEGIN, asks.DescribeOffsets()),
            "OFFSETS_DESCRIBED",
        ),
        (
            Otherwise("describe_offsets", lambda _asked, reply: reply.update(error="no answer")),
            (*BEGIN, asks.DescribeOffsets()),
            "CRASHED",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_the_class_does_not_show_is_refused(
    double: GroupCoordinatorDouble, sequence: tuple[asks.GroupAsk, ...], rule: str
) -> None:
    with pytest.raises(NoTestError, match=f"no assertion in Java is known for the rule {rule}"):
        written(double, sequence)


def test_what_does_not_show_again_is_refused() -> None:
    target = DriverTarget(GroupCoordinatorDouble("joining throws"), GroupCapabilities)
    (found,) = alone(target, CASES["joining throws"][0], GROUP_COORDINATORS).faults
    mended = DriverTarget(GroupCoordinatorDouble(), GroupCapabilities)
    with pytest.raises(NoTestError, match="a fault did not show when it was played again"):
        GROUP_COORDINATOR.method(mended, GROUP_COORDINATORS, JavaCase("a fault", found))


def test_what_the_service_answers_late_is_refused() -> None:
    class Forgetful(GroupCoordinatorDouble):
        def _ended(self, request: dict[str, Any]) -> dict[str, Any]:
            self.ending.pop(request["id"])
            return {"status": ErrorCode.NOT_COORDINATOR.name}

    sequence = (*EMPTY, asks.DeleteGroup(WAITS), asks.AnswerCall(0))
    with pytest.raises(NoTestError, match="GroupCoordinatorService answers what waited, and not"):
        written(Forgetful(), sequence)
