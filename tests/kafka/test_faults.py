"""Each fault between the parts of a cluster shows in Apache Kafka as it is released."""

import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from conformance.build import Recipe, build
from conformance.target import TargetError
from tests.conformance.unbuilt import skip_unbuilt

pytestmark = pytest.mark.broker

PROJECT = Path(__file__).parent
_REPORTS = PROJECT / "target" / "surefire-reports"
_MAVEN = ("mvn", "--quiet", "--batch-mode")
_SOURCES = ("pom.xml", "src/**/*.java")
_RECIPE = Recipe(
    "the tests of Apache Kafka",
    "Maven",
    (*_MAVEN, "test-compile"),
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
    "ShareConsumerRenewalTest.testPollReturnsRecordsWhenRenewingNodeAnswersFirst": (
        "what polls return ==> expected: <[renewed, new]> but was: <[]>"
    ),
}
"""For each test that fails with Apache Kafka 4.4.0 the assertion's message."""

CONTROLS = {
    "SharePartitionGapWindowTest": 3,
    "SharePartitionDeletedGapTest": 2,
    "SharePartitionFencedReadTest": 3,
    "SharePartitionLogStartInGapTest": 2,
    "ShareCoordinatorServiceMergedWritesTest": 1,
    "PersisterStateManagerMergedWritesTest": 1,
    "SharePartitionManagerLateFailureTest": 2,
    "ShareConsumerRenewalTest": 1,
}
"""For each class how many tests pass: nearly the same steps, without what makes the fault."""


def test_each_fault_shows_and_its_controls_pass() -> None:
    try:
        build(PROJECT, _RECIPE)
    except TargetError as error:
        skip_unbuilt(error)
    shutil.rmtree(_REPORTS, ignore_errors=True)
    subprocess.run([*_MAVEN, "test"], cwd=PROJECT, capture_output=True, timeout=600, check=False)
    reports = [ET.parse(report) for report in _REPORTS.glob("TEST-*.xml")]  # noqa: S314 - our own
    cases = [case for report in reports for case in report.iter("testcase")]
    assert {_name(case): _failure(case) for case in cases if len(case)} == SHOWN
    passed = [_name(case).partition(".")[0] for case in cases if not len(case)]
    assert {name: passed.count(name) for name in passed} == CONTROLS


def _name(case: ET.Element) -> str:
    return f"{case.attrib['classname'].rpartition('.')[2]}.{case.attrib['name']}"


def _failure(case: ET.Element) -> str:
    """Return the message of the assertion that failed, or all of what else went wrong."""
    failure = case.find("failure")
    return ET.tostring(case).decode() if failure is None else failure.attrib["message"]
