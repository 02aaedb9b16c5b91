"""Generated tests of coordinators fail where a fault is that no release of Apache Kafka has."""

from pathlib import Path

import pytest

from conformance.coordinators.group_java import GROUP_COORDINATOR
from conformance.coordinators.group_scene import GroupCapabilities
from conformance.cores.protocol import DriverTarget
from conformance.releases import NEWEST
from conformance.subjects import TargetChoice
from tests.conformance.unbuilt import skipping_unbuilt
from tests.doubles.group_coordinator import GroupCoordinatorDouble
from tests.kafka.generated import methods_of, planted, project_with, ran
from tools.documents.findings import known_of

pytestmark = pytest.mark.slow

REFUSING = (
    ("initializeState", "InitializeShareGroupState", "startOffset == 5", "INVALID_REQUEST"),
    ("writeState", "WriteShareGroupState", "stateEpoch == 2", "FENCED_STATE_EPOCH"),
)
"""Calls of the class, and when a coordinator otherwise as Apache Kafka's refuses them by what."""
AFTER_REFUSALS = {"testInitializeBeyondIsNoRepetition", "testNewerStateEpochIsMerged"}


REFUSALS = {"RefusingTest": "List.of()", "AppendingTest": "log.subList(0, 1)"}
"""Classes of tests of a coordinator that serves nothing of what it refuses, and what it appends."""


def refusing(source: str, name: str) -> str:
    """Return a class of tests of a coordinator that refuses; any but these serves all the same."""
    for call, api, when, error in REFUSING:
        code = f".setErrorCode({when} ? Errors.{error}.code() : 0)"
        head, begins, rest = source.partition(f"return applied(shard.{call}(")
        if name not in REFUSALS:
            served, ends, after = rest.partition(".partitions().get(0)")
            source = f"{head}{begins}{served}{ends}{code}{after}"
        else:
            answer = f"new {api}ResponseData.PartitionResult()"
            answer += f".setErrorCode(Errors.{error}.code())"
            refuses = f"if ({when}) {{ records = {REFUSALS[name]}; return {answer}; }}"
            source = f"{head}{refuses}\n        {begins}{rest}"
    return source.replace("class KnownTest", f"class {name}")


def test_a_coordinator_that_refuses_and_serves_all_the_same_is_shown(tmp_path: Path) -> None:
    subject = TargetChoice("kafka-coordinator")
    assert subject.java
    with skipping_unbuilt():
        methods, _ = methods_of(subject, known_of("kafka-coordinator"))
        kept = [text for name, text in methods.items() if name in AFTER_REFUSALS]
        source = subject.java.source("KnownTest", kept, NEWEST)
        sources = {name: refusing(source, name) for name in ("ServingTest", *REFUSALS)}
        results = ran(project_with(tmp_path, NEWEST, sources))
    failed = {name for name, failure in results.items() if failure}
    wrong = {
        "ServingTest": "what is durable after a refusal ==> ",
        "AppendingTest": "what a refusal appends to the state topic ==> ",
    }
    assert failed == {f"{of}.{name}" for of in wrong for name in AFTER_REFUSALS}
    assert all(wrong[name.split(".")[0]] in results[name] for name in failed)


ASSIGNED, TOLD = "private Set<String> assigned(String... members) {", "private Set<String> told("
BOTH = 'Set.of("t0.1:0", "t0.1:1")'
GROUP_FAULTS = {
    "a group has no interval of its own": ("groupConfig(GROUP)", 'groupConfig("another")'),
    "a group has no session timeout of its own": ("groupConfig(GROUP)", 'groupConfig("another")'),
    "the state epoch lags behind": ("part.stateEpoch()", "part.stateEpoch() - 1"),
    "a member epoch goes ahead": ("-> known.memberEpoch()", "-> known.memberEpoch() + 1"),
    "taking over raises the group epoch": (
        "log.forEach(",
        "log.stream().limit(Math.max(0, log.size() - 1)).forEach(",
    ),
    "share-partitions are assigned before they are initialized": (
        ASSIGNED,
        f'{ASSIGNED} if (true) return Set.of("t0.1:0", "t0.1:1", "t1.2:0");',
    ),
    "the last share-partition is not assigned": (
        ASSIGNED,
        f"{ASSIGNED} if (members.length == 0) return Set.of();",
    ),
    "one member is assigned everything": (
        ASSIGNED,
        f'{ASSIGNED} if (members.length == 1) return members[0].equals("m2") ? {BOTH} : Set.of();',
    ),
    "a member is not told what it is assigned later": (
        f"{TOLD}String member) {{",
        f"{TOLD}String member) {{ if (true) return Set.of();",
    ),
    "changed topics are not taken up": (
        "private Map<String, Set<String>> subscriptions() {",
        "private Map<String, Set<String>> subscriptions() { if (true) return Map.of();",
    ),
    "altering offsets answers nothing of unknown partitions": (
        "answers.put(topic.topicName() + ",
        'answers.put("of another" + topic.topicName() + ',
    ),
}
"""Faults of doubles, and how the source of their tests makes Apache Kafka's class do the same."""


def test_a_group_coordinator_with_a_fault_is_shown(tmp_path: Path) -> None:
    subject, sources = TargetChoice("kafka-group-coordinator"), {}
    for nth, (fault, (right, wrong)) in enumerate(GROUP_FAULTS.items()):
        target = DriverTarget(GroupCoordinatorDouble(fault), GroupCapabilities)
        methods = tuple(planted(subject, {fault: target}, 60).values())
        source = GROUP_COORDINATOR.source(f"Fault{nth}Test", methods, NEWEST)
        assert right in source, fault
        sources[f"Fault{nth}Test"] = source.replace(right, wrong)
    with skipping_unbuilt():
        results = ran(project_with(tmp_path, NEWEST, sources))
    failed = {name.partition(".")[0] for name, failure in results.items() if " ==> " in failure}
    assert failed == sources.keys()
