"""Generated tests of coordinators fail where a fault is that no release of Apache Kafka has."""

from pathlib import Path

import pytest

from conformance.releases import NEWEST
from conformance.subjects import TargetChoice
from conformance.target import TargetError
from tests.conformance.unbuilt import skip_unbuilt
from tests.kafka.generated import methods_of, project_with, ran
from tools.documents.findings import known_of

pytestmark = pytest.mark.slow

REFUSING = (
    ("initializeState", "InitializeShareGroupState", "startOffset == 5", "INVALID_REQUEST"),
    ("writeState", "WriteShareGroupState", "stateEpoch == 2", "FENCED_STATE_EPOCH"),
)
"""Calls of the class, and when a coordinator otherwise as Apache Kafka's refuses them by what."""
AFTER_REFUSALS = {"testInitializeBeyondIsNoRepetition", "testNewerStateEpochIsMerged"}


def refusing(source: str, name: str, *, serves: bool) -> str:
    """Return a class of tests of a coordinator that refuses, and ``serves`` all the same or not."""
    for call, api, when, error in REFUSING:
        code = f".setErrorCode({when} ? Errors.{error}.code() : 0)"
        head, begins, rest = source.partition(f"return applied(shard.{call}(")
        if serves:
            served, ends, after = rest.partition(".partitions().get(0)")
            source = f"{head}{begins}{served}{ends}{code}{after}"
        else:
            answer = f"new {api}ResponseData.PartitionResult()"
            refuses = f"if ({when}) return {answer}.setErrorCode(Errors.{error}.code());"
            source = f"{head}{refuses}\n        {begins}{rest}"
    return source.replace("class KnownTest", f"class {name}")


def test_a_coordinator_that_refuses_and_serves_all_the_same_is_shown(tmp_path: Path) -> None:
    subject = TargetChoice("kafka-coordinator")
    assert subject.java
    try:
        methods, _ = methods_of(subject, known_of("kafka-coordinator"))
        kept = [text for name, text in methods.items() if name in AFTER_REFUSALS]
        source = subject.java.source("KnownTest", kept, NEWEST)
        sources = {
            name: refusing(source, name, serves=name == "ServingTest")
            for name in ("ServingTest", "RefusingTest")
        }
        results = ran(project_with(tmp_path, NEWEST, sources))
    except TargetError as error:
        skip_unbuilt(error)
    failed = {name for name, failure in results.items() if failure}
    assert failed == {f"ServingTest.{name}" for name in AFTER_REFUSALS}
    assert all("what is durable after a refusal ==> " in results[name] for name in failed)
