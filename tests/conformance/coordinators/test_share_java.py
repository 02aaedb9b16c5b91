"""Deviations of a share coordinator as JUnit tests, and what cannot be expressed."""

from functools import partial
from typing import Any

import attrs
import pytest

from conformance.campaign import alone
from conformance.coordinators import share_asks as asks
from conformance.coordinators.share_java import SHARE_COORDINATOR
from conformance.coordinators.share_kit import SHARE_COORDINATORS
from conformance.coordinators.share_scene import ShareCapabilities
from conformance.cores.protocol import DriverTarget
from conformance.java import JavaCase, NoTestError
from model.ranges import StateBatch
from model.share_state_requests import (
    DeleteState,
    InitializeState,
    ReadState,
    ReadStateSummary,
    WriteState,
)
from model.state_topic import SharePartitionKey
from model.states import RecordState
from tests.conformance.java_source import method_of, source_with
from tests.doubles.share_coordinator import DoubleCoordinator
from tools.documents.findings import known_of

KEY = SharePartitionKey("g", next(iter(asks.TOPICS)), 0)
OTHER = SharePartitionKey("a:b", list(asks.TOPICS)[1], 2)
BEGIN = (asks.OpenCoordinator(2, 1000), InitializeState(KEY, 1, 0))
WRITE = WriteState(KEY, 1, 0, 0, 4, (StateBatch(0, 3, RecordState.ACKNOWLEDGED, 1),))
CASES: dict[str, tuple[tuple[asks.StateAsk, ...], str]] = {
    "older leaders are served": (
        (*BEGIN, ReadState(KEY, 2), attrs.evolve(WRITE, leader_epoch=1)),
        "assertEquals(Errors.FENCED_LEADER_EPOCH,",
    ),
    "an update loses a batch": (
        (*BEGIN, WRITE),
        'assertEquals("ACKNOWLEDGED(1)", stateOf(0, held(KEY).stateBatches().stream()),',
    ),
    "a read answers no batches": (
        (*BEGIN, WRITE, ReadState(KEY, 0)),
        "stateOf(0, read(KEY, 0).stateBatches().stream().map(PersisterStateBatch::from)),",
    ),
    "a summary answers no leader": (
        (*BEGIN, ReadState(KEY, 2), asks.FindPartition(KEY), ReadStateSummary(KEY, 2)),
        "assertEquals(2, readSummary(KEY, 2).leaderEpoch(),",
    ),
    "snapshots lose the state epoch": (
        (*BEGIN, *[WRITE] * 3),
        "assertEquals(1, held(KEY).stateEpoch(),",
    ),
    "one update more before a snapshot": (
        (*BEGIN, *[WRITE] * 3),
        'assertEquals("a snapshot", appended(),',
    ),
    "a deletion is not written": (
        (BEGIN[0], InitializeState(OTHER, 1, 1 << 31), DeleteState(OTHER)),
        'delete(key("a:b", 2, 2));\n        assertEquals("a tombstone", appended(),',
    ),
    "nothing is pruned": (
        (*BEGIN, asks.PassTime(1000), asks.TakeSnapshots(), WRITE, asks.PruneTopic()),
        "nowMs += 1000;\n        takeSnapshots();\n        write(KEY, ",
    ),
    "a failover passes over updates": (
        (*BEGIN, WRITE, asks.FailOver()),
        "failOver();\n        assertEquals(",
    ),
    "an exception instead of an answer": ((*BEGIN, WRITE), "assertDoesNotThrow(() -> write(KEY, "),
}


def target_of(fault: str, profile: str = "kafka") -> DriverTarget[ShareCapabilities]:
    return DriverTarget(DoubleCoordinator(fault, profile, says="kafka"), ShareCapabilities)


written = partial(method_of, SHARE_COORDINATOR, SHARE_COORDINATORS)


@pytest.mark.parametrize("fault", CASES)
def test_a_test_asserts_what_the_rules_expect(fault: str) -> None:
    sequence, assertion = CASES[fault]
    method = written(target_of(fault), sequence)
    assert assertion in method
    source = source_with(SHARE_COORDINATOR, method)
    assert source.startswith("package org.apache.kafka.coordinator.share;\n")


@pytest.mark.parametrize("fault", ["older leaders are served", "older state epochs are served"])
def test_what_is_refused_leaves_the_state_as_it_was(fault: str) -> None:
    newer = (InitializeState(KEY, 2, 7), ReadState(KEY, 2))
    older = attrs.evolve(WRITE, state_epoch=2 - ("state" in fault), leader_epoch=2)
    if "leaders" in fault:
        older = attrs.evolve(older, leader_epoch=1)
    lines = written(target_of(fault), (*BEGIN, *newer, older)).splitlines()
    body = [line.strip() for line in lines if "(" in line or "before" in line]
    assert "ShareGroupOffset before = held(KEY);" in body
    *_, state, topic = body
    assert state == 'assertEquals(before, held(KEY), "what is durable after a refusal");'
    told = "what a refusal appends to the state topic"
    assert topic == f'assertEquals("no record", appended(), "{told}");'


class Refusing(DoubleCoordinator):
    """It refuses each deletion, and an initialization in state epoch 3."""

    def _request(self, message: dict[str, Any]) -> dict[str, Any]:
        reply = super()._request(message)
        (part,) = reply["response"]["results"][0]["partitions"]
        (asked,) = message["body"]["topics"][0]["partitions"]
        if message["api"].startswith("Delete") or asked.get("stateEpoch") == 3:
            part["errorCode"] = 42
        return reply


@pytest.mark.parametrize(
    ("last", "asserted"),
    [
        (InitializeState(KEY, 3, 9), ["assertEquals(3, held(KEY).stateEpoch(),",
                                      "assertEquals(9, held(KEY).startOffset(),"]),
        (DeleteState(KEY), ["assertNull(held(KEY),"]),
    ],
)  # fmt: skip
def test_what_is_taken_leaves_the_state_that_it_asks_for(
    last: asks.StateAsk, asserted: list[str]
) -> None:
    method = written(DriverTarget(Refusing("", "kafka"), ShareCapabilities), (*BEGIN, last))
    assert "assertEquals(Errors.NONE," in method
    assert all(line in method for line in asserted)
    assert "before" not in method.partition("{")[2]


def test_each_known_deviation_of_several_at_the_end_of_a_sequence_has_its_own_assertion() -> None:
    target = target_of("", "kafka_4_4")
    hello = target.hello()
    merged = WriteState(KEY, 2, 0, -1, 7)
    faults = alone(target, (*BEGIN, WRITE, merged), SHARE_COORDINATORS).faults
    cases = [JavaCase(f"number {number}", fault) for number, fault in enumerate(faults)]
    methods = [SHARE_COORDINATOR.method(target, SHARE_COORDINATORS, case)[1] for case in cases]
    assert hello.profile == "kafka"
    assert len(methods) == 2
    assert "FENCED_STATE_EPOCH" in methods[0] + methods[1]


def test_what_is_known_has_the_calls_of_its_sequence() -> None:
    target = target_of("", "kafka_4_4")
    for known in known_of("kafka-coordinator"):
        found = alone(target, known.sequence, SHARE_COORDINATORS).faults
        (fault,) = (f for f in found if f.deviation.probable_cause == known.difference)
        case = JavaCase(known.name, fault)
        method = SHARE_COORDINATOR.method(target, SHARE_COORDINATORS, case)[1]
        assert "        open(500, 300_000);\n        initialize(KEY, 1, -1);\n" in method


@pytest.mark.parametrize(
    ("fault", "last", "reason"),
    [
        ("idle share-partitions get no snapshot", asks.TakeSnapshots(), "IDLE_GETS_SNAPSHOT"),
        ("state of deleted topics stays", asks.DeleteTopic(KEY.topic_id), "STATE_IS_WRITTEN"),
    ],
)
def test_what_cannot_be_expressed_is_refused(fault: str, last: asks.StateAsk, reason: str) -> None:
    with pytest.raises(NoTestError, match=f"no assertion in Java is known for the rule {reason}"):
        written(target_of(fault), (*BEGIN, asks.PassTime(1000), last))


def test_an_answer_that_cannot_be_read_is_refused() -> None:
    class Odd(DoubleCoordinator):
        def _request(self, message: dict[str, Any]) -> dict[str, Any]:
            return {**super()._request(message), "response": None}

    target = DriverTarget(Odd("", "kafka"), ShareCapabilities)
    with pytest.raises(NoTestError, match="no assertion in Java is known for the rule UNREADABLE_"):
        written(target, BEGIN)
