"""Generated tests fail where the fault is: with the newest release, or before one mended it."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from conformance.coordinators.group_scene import GroupCapabilities
from conformance.coordinators.share_scene import ShareCapabilities
from conformance.cores.java_test import SHARE_PARTITION
from conformance.cores.kafka import KNOWN
from conformance.cores.kit import CORES
from conformance.cores.protocol import DriverTarget
from conformance.java import JavaWriter
from conformance.known import read_known
from conformance.releases import NEWEST
from conformance.subjects import TargetChoice
from tests.conformance.unbuilt import skipping_unbuilt
from tests.doubles.group_coordinator import FAULTS as GROUP_FAULTS
from tests.doubles.group_coordinator import GroupCoordinatorDouble
from tests.doubles.share_coordinator import FAULTS as SHARE_FAULTS
from tests.doubles.share_coordinator import DoubleCoordinator
from tests.kafka.generated import PROJECT, methods_of, planted, project_with, ran
from tools.documents.findings import FOLDER, PAGES, known_of
from tools.documents.recall import HISTORY

pytestmark = pytest.mark.slow

RELEASE_OF = {fault["id"]: fault["in"] for fault in tomllib.loads(HISTORY.read_text())["fault"]}

SHOWN_ON = FOLDER / PAGES["kafka"].name
MESSAGES = {
    "StartGoesBackOnExpiry": (
        "the start offset is 2 at least, and it is 1 ==> expected: <true> but was: <false>"
    ),
    "AcquireBelowStartOffset": (
        "2 may be acquired, and what is acquired is [1, 2] ==> expected: <[]> but was: <[1]>"
    ),
    "AcquireInFullWindowWithGap": (
        "Unexpected exception thrown: java.lang.IllegalArgumentException: inconsistent range"
    ),
    "CompleteCountOfLostRecord": ("the delivery complete count ==> expected: <0> but was: <1>"),
    "DeadLetterSkippedWhenWriteFails": (
        "offset 0 ==> expected: <ARCHIVING(2)> but was: <ARCHIVED(2)>"
    ),
}
"""What some of the tests of known deviations say."""


@pytest.mark.parametrize("version", ["4.1.2", pytest.param("4.1.0", marks=pytest.mark.long)])
def test_they_fail_where_the_fault_is_and_pass_where_it_is_mended(
    version: str, tmp_path: Path
) -> None:
    mended = read_known(PROJECT / "mended.toml", CORES.read)
    mended = tuple(fault for fault in mended if RELEASE_OF[fault.name] == version)
    known = read_known(KNOWN, CORES.read)
    with skipping_unbuilt():
        older, _ = methods_of(TargetChoice("kafka", version=version), mended)
        newest, _ = methods_of(TargetChoice("kafka"), known)
        assert (len(older), len(newest)) == (len(mended), len(known))
        results = {
            release: results_of(tmp_path / release, release, classes)
            for release, classes in (
                (version, {"MendedTest": older}),
                (NEWEST, {"MendedTest": older, "KnownTest": newest}),
            )
        }
    assert set(results[version]) == {f"MendedTest.{name}" for name in older}
    assert all(results[version].values())
    passed = [name for name, failure in results[NEWEST].items() if not failure]
    assert sorted(passed) == sorted(results[version])
    failed = results[NEWEST].keys() - set(passed)
    assert failed == {f"KnownTest.{name}" for name in newest}
    assert newest["testStartGoesBackOnExpiry"].partition("*/")[2].strip() in SHOWN_ON.read_text()
    for name, message in MESSAGES.items():
        assert results[NEWEST][f"KnownTest.test{name}"] == message


def results_of(
    folder: Path,
    version: str,
    classes: dict[str, dict[str, str]],
    java: JavaWriter = SHARE_PARTITION,
) -> dict[str, str]:
    """Write the classes with these methods for a release, and run them. Raises TargetError."""
    folder.mkdir()
    sources = {
        name: java.source(name, tuple(methods.values()), version)
        for name, methods in classes.items()
    }
    return ran(project_with(folder, version, sources))


@attrs.frozen
class Coordinator:
    """What the tests of a coordinator are generated from, and what they say.

    ``doubles`` have faults that Apache Kafka has not, so that their tests pass. ``refused`` are
    the known deviations of which there is no test.
    """

    name: str
    doubles: Mapping[str, DriverTarget[Any]]
    messages: Mapping[str, str]
    refused: Mapping[str, str] = {}


ALIKE = (
    "older state epochs are served",
    "the group epoch stays when offsets are altered",
    "a deletion that waited takes what came since",
)
"""The faults of doubles that Apache Kafka has too."""

COORDINATORS = (
    Coordinator(
        "kafka-coordinator",
        {
            fault: DriverTarget(DoubleCoordinator(fault, "kafka"), ShareCapabilities)
            for fault in SHARE_FAULTS
            if fault not in ALIKE
        },
        {
            "RepeatedInitializeDiscards": (
                "what is appended to the state topic"
                " ==> expected: <no record> but was: <a snapshot>"
            ),
            "NewerStateEpochIsMerged": (
                "the answer to WriteShareGroupState"
                " ==> expected: <FENCED_STATE_EPOCH> but was: <NONE>"
            ),
            "KeptStartOffsetLosesTheCount": (
                "the delivery complete count that is durable ==> expected: <7> but was: <3>"
            ),
        },
    ),
    Coordinator(
        "kafka-group-coordinator",
        {
            fault: DriverTarget(GroupCoordinatorDouble(fault), GroupCapabilities)
            for fault in GROUP_FAULTS
            if fault not in ALIKE
        },
        {
            "AlteredOffsetsKeepTheGroupEpoch": (
                "the group epoch was 3 and is 3 ==> expected: <true> but was: <false>"
            ),
            "InitializationTriedAgainStartsAt0": (
                "the start offset of t0.1:0 ==> expected: <-1> but was: <0>"
            ),
            "DeletionThatWaitedLeavesWhatCameSince": (
                "the deletion of a group that has the state of t0.1:0"
                " ==> expected: not equal but was: <NONE>"
            ),
            "TopicThatWasAlteredInVainStartsAt0": (
                "the start offset of t0.1:0 ==> expected: <-1> but was: <0>"
            ),
            "AlteredPartitionHidesTheRestOfATopic": (
                "the state of t0.1:1 is to be deleted, and the calls are [t0.1:0]"
                " ==> expected: <true> but was: <false>"
            ),
            "TopicsThatAreNotThereAreNotAnswered": (
                "the answer about t0 ==> expected: <UNKNOWN_TOPIC_OR_PARTITION> but was: <NONE>"
            ),
        },
        {
            "failed-deletion-of-offsets-names-no-topic": (
                "GroupCoordinatorService answers what waited, and not the class"
            ),
            "deleting-a-group-fails-after-altering-nothing": (
                "DefaultStatePersister refuses the deletion, and not the class"
            ),
        },
    ),
)


@pytest.mark.parametrize("coordinator", COORDINATORS, ids=lambda each: each.name)
def test_those_of_coordinators_fail_where_the_fault_is_and_pass_elsewhere(
    coordinator: Coordinator, tmp_path: Path
) -> None:
    subject, known = TargetChoice(coordinator.name), known_of(coordinator.name)
    assert subject.java
    others = planted(subject, coordinator.doubles)
    with skipping_unbuilt():
        methods, refused = methods_of(subject, known)
        classes = {"KnownTest": methods, "PlantedTest": others}
        results = results_of(tmp_path / NEWEST, NEWEST, classes, subject.java)
    assert refused == coordinator.refused
    assert len(methods) == len(known) - len(refused)
    assert len(others) > len(coordinator.doubles) / 2
    failed = {name for name, failure in results.items() if failure}
    assert failed == {f"KnownTest.{name}" for name in methods}
    assert all(" ==> " in results[name] for name in failed)
    for name, message in coordinator.messages.items():
        assert results[f"KnownTest.test{name}"] == message
