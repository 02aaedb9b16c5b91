"""Each fault that a test shows by hand shows in Apache Kafka as it is released."""

import shutil

import pytest

from conformance.build import BuildRecipe, build
from tests.conformance.unbuilt import skipping_unbuilt
from tests.kafka.generated import MAVEN, PROJECT, ran

pytestmark = pytest.mark.broker

_REPORTS = PROJECT / "target" / "surefire-reports"
_SOURCES = ("pom.xml", "src/**/*.java")
_RECIPE = BuildRecipe(
    "the tests of Apache Kafka",
    "Maven",
    (*MAVEN, "test-compile"),
    _SOURCES,
    "target",
    600,
    "ERROR",
)

_TWICE = (
    "what m3 is given while m2 holds record 0, in the same leader epoch"
    " ==> expected: <nothing> but was: <0 with delivery count 1>"
)
SHOWN = {
    "SharePartitionGapWindowTest.testStartOffsetMovesAfterRedeliveryInGapWindow": (
        "records 0-2 are acknowledged, and no fetch may acquire more; the start offset is 0"
        " ==> expected: <true> but was: <false>"
    ),
    "SharePartitionDeletedGapTest.testRecordsAreDeliveredAfterDeletionInGap": (
        "what 5 fetches are given, with log start offset 1"
        " ==> expected: <1> but was: <nothing, as each begins at 0>"
    ),
    "SharePartitionLogStartInGapTest.testStartOffsetMovesAfterLogStartOffsetMovedIntoGap": (
        "10-24 are acknowledged and nothing is held, and a fetch may acquire more;"
        " the start offset is 5 ==> expected: <true> but was: <false>"
    ),
    "SharePartitionFencedReadTest.testFencedSharePartitionStaysFencedWhenItsStateIsRead": (
        "what is given by a share-partition that was fenced"
        " ==> expected: <nothing> but was: <0 with delivery count 1>"
    ),
    "SharePartitionFencedDeadLetterTest.testFencedLeaderGivesNothingToTheDeadLetterQueue": (
        "what a leader gives to the dead-letter queue whose write was fenced"
        " ==> expected: <[]> but was: <[0]>"
    ),
    "DelayedShareFetchDisconnectTest.testFetchOfDisconnectedMemberAcquiresNothing": (
        "who holds record 0 once the connection of m1 is gone"
        " ==> expected: <nobody, delivery count 1> but was: <m1, delivery count 2>"
    ),
    "DelayedShareFetchDisconnectTest.testReleaseIsAwaitedAfterLastSession": (
        "who holds record 0 while its release is being written"
        " ==> expected: <nobody, delivery count 1> but was: <m2, delivery count 1>"
    ),
    "ShareCoordinatorServiceMergedWritesTest.testFencedWriteIsNotAnsweredByWriteOfNextLeader": (
        "0-9 is not durable, and the answers are [NONE]; ==> expected: <true> but was: <false>"
    ),
    "ShareCoordinatorServiceMergedWritesTest.testDurableWriteIsNotAnsweredByWriteOfFormerLeader": (
        "10-19 is durable, and the answers are [FENCED_LEADER_EPOCH];"
        " ==> expected: <true> but was: <false>"
    ),
    "PersisterStateManagerMergedWritesTest.testRequestHasOneWriteOfASharePartition": (
        "the writes of one share-partition in one request"
        " ==> expected: <[partition 0, leader epoch 4]>"
        " but was: <[partition 0, leader epoch 4, partition 0, leader epoch 5]>"
    ),
    "SharePartitionManagerLateFailureTest.testLateWriteFailureKeepsNextSharePartition": _TWICE,
    "SharePartitionManagerLateFailureTest.testLateReadFailureKeepsNextSharePartition": _TWICE,
    "KafkaApisThrottledShareFetchTest.testThrottledShareFetchTellsWhatItAcquired": (
        "what a client is told that its fetch acquired ==> expected: <0-2> but was: <>"
    ),
    "ShareConsumerRenewalTest.testPollReturnsRecordsWhenRenewingNodeAnswersFirst": (
        "what polls return ==> expected: <[renewed, new]> but was: <[]>"
    ),
    "ShareConsumerRenewalTest.testPollReturnsRecordThatItRenews": (
        "what a poll returns ==> expected: <[renewed]> but was: <[]>"
    ),
    "ShareConsumerRepeatedRecordTest.testPollsGoOnAfterLockEndsWhileRenewalIsPending": (
        "what a poll throws when all records are acknowledged ==> expected: <nothing>"
        " but was: <All records must be acknowledged in explicit acknowledgement mode.>"
    ),
    "ShareConsumerRepeatedRecordTest.testNothingIsFetchedWhileRecordsWaitForRenewal": (
        "whom a poll asks for records while some wait"
        " ==> expected: <[]> but was: <[one:9092 (id: 1 rack: null isFenced: false)]>"
    ),
    "ShareConsumerMissingNodeTest.testAcknowledgementOfRecordOfMissingNodeIsCompleted": (
        "how often the application is told of the acknowledgement ==> expected: <1> but was: <0>"
    ),
    "ShareConsumerMissingNodeTest.testPollsGoOnAfterRenewalOfRecordOfMissingNode": (
        "what polls return ==> expected: <[new]> but was: <[]>"
    ),
    "ShareConsumerTopicAgainTest.testFetchesByNewTopicIdOnceMetadataHasIt": (
        "what the next ShareFetches do ==> expected: <forgets former, adds new> but was: <nothing>"
    ),
    "ShareConsumerUnreadableValueTest.testPollThatThrowsSendsAcknowledgements": (
        "the acknowledgements that are sent"
        " ==> expected: <{0=accept, 1=release}> but was: <{1=release}>"
    ),
    "ShareConsumerUnreadableValueTest.testPollsThatThrowReleaseEachRecord": (
        "the acknowledgements that are sent"
        " ==> expected: <{0=release, 1=release}> but was: <{1=release}>"
    ),
}
"""For each test that fails with Apache Kafka 4.4.0 the assertion's message."""

CONTROLS = {
    "SharePartitionGapWindowTest": 3,
    "SharePartitionDeletedGapTest": 2,
    "SharePartitionFencedReadTest": 3,
    "SharePartitionFencedDeadLetterTest": 2,
    "SharePartitionLogStartInGapTest": 2,
    "DelayedShareFetchDisconnectTest": 4,
    "ShareCoordinatorServiceMergedWritesTest": 1,
    "PersisterStateManagerMergedWritesTest": 1,
    "SharePartitionManagerLateFailureTest": 2,
    "KafkaApisThrottledShareFetchTest": 1,
    "ShareConsumerRenewalTest": 2,
    "ShareConsumerRepeatedRecordTest": 3,
    "ShareConsumerMissingNodeTest": 4,
    "ShareConsumerTopicAgainTest": 1,
    "ShareConsumerUnreadableValueTest": 3,
}
"""For each class how many tests pass: nearly the same steps, without what makes the fault."""


def test_each_fault_shows_and_its_controls_pass() -> None:
    with skipping_unbuilt():
        build(PROJECT, _RECIPE)
    shutil.rmtree(_REPORTS, ignore_errors=True)
    results = ran(PROJECT)
    assert {name: failure for name, failure in results.items() if failure} == SHOWN
    passed = [name.partition(".")[0] for name, failure in results.items() if not failure]
    assert {name: passed.count(name) for name in passed} == CONTROLS
