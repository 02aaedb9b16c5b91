"""Deviations of a group coordinator as JUnit tests, and what cannot be expressed."""

import re
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
from conformance.releases import NEWEST
from model.errors import ErrorCode
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
    "joining throws": (
        (*BEGIN, attrs.evolve(JOIN, member=2), attrs.evolve(JOIN, member=3)),
        'assertDoesNotThrow(() -> join("m3", "t0"));',
    ),
}


def written(fault: str, sequence: tuple[asks.GroupAsk, ...]) -> str:
    """Return the test of what a faulty coordinator shows."""
    return written_of(GroupCoordinatorDouble(fault), sequence, fault)


def written_of(
    double: GroupCoordinatorDouble, sequence: tuple[asks.GroupAsk, ...], fault: str = "a fault"
) -> str:
    target = DriverTarget(double, GroupCapabilities)
    (found,) = alone(target, sequence, GROUP_COORDINATORS).faults
    return GROUP_COORDINATOR.method(target, GROUP_COORDINATORS, JavaCase(fault, found))[1]


@pytest.mark.parametrize("fault", CASES)
def test_a_test_asserts_what_the_rules_expect(fault: str) -> None:
    sequence, assertion = CASES[fault]
    method = written(fault, sequence)
    assert assertion in method
    source = GROUP_COORDINATOR.source("FoundTest", [method], NEWEST)
    code = re.sub(r'"(?:\\.|[^"\\])*"', "", source)
    assert code.count("{") == code.count("}")
    assert "  // with" not in source
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
    method = written("a deletion that waited takes what came since", sequence)
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


class Fencing(GroupCoordinatorDouble):
    """It answers a member that it does not know that its epoch is fenced."""

    def ask(self, message: dict[str, Any], /) -> dict[str, Any]:
        reply = super().ask(message)
        if reply.get("result", {}).get("status") == ErrorCode.UNKNOWN_MEMBER_ID.name:
            reply["result"]["status"] = ErrorCode.FENCED_MEMBER_EPOCH.name
        return reply


def test_epochs_are_relative_to_what_the_member_was_given() -> None:
    guess = attrs.evolve(STAY, member=3, epoch=asks.MemberEpoch.OLD)
    joins = attrs.evolve(JOIN, member=2, topics=())
    fault = "the group epoch rises with every heartbeat"
    assert 'heartbeat("m2", 0, List.of());' in written(fault, (*BEGIN, joins, STAY))
    unknown = written_of(Fencing(), (*BEGIN, guess))
    assert 'errorOf(() -> heartbeat("m3", 1, null));' in unknown


@pytest.mark.parametrize(
    ("fault", "sequence", "reason"),
    [
        ("the state epoch lags behind", BEGIN, "no assertion in Java is known for the rule STATE_"),
        (
            "the group epoch stays when a member leaves",
            (*BEGIN, asks.ConfigureGroup(9_000, 50_000), LEAVE),
            "it needs a group with settings of its own",
        ),
    ],
)
def test_what_cannot_be_expressed_is_refused(
    fault: str, sequence: tuple[asks.GroupAsk, ...], reason: str
) -> None:
    with pytest.raises(NoTestError, match=reason):
        written(fault, sequence)


def test_what_the_service_answers_late_is_refused() -> None:
    class Forgetful(GroupCoordinatorDouble):
        def _ended(self, request: dict[str, Any]) -> dict[str, Any]:
            self.ending.pop(request["id"])
            return {"status": ErrorCode.NOT_COORDINATOR.name}

    sequence = (*EMPTY, asks.DeleteGroup(WAITS), asks.AnswerCall(0))
    with pytest.raises(NoTestError, match="GroupCoordinatorService answers what waited, and not"):
        written_of(Forgetful(), sequence)
