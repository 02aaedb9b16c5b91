"""A whole Apache Kafka broker: what was recorded of it is what the specification says."""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from immutables import Map

from conformance.cores import kafka
from conformance.target import TargetError
from conformance.wire import kafka_broker as module
from conformance.wire.kafka_broker import kafka_broker
from conformance.wire.target import BatchOrigin, Exchange, GroupTopic, WireTarget
from model.config import IsolationLevel
from model.errors import ErrorCode
from model.operations import Produce
from model.outcome import Choice
from model.profile import KAFKA
from model.ranges import AcquiredRange, OffsetRange
from model.share_messages import Conduct, PartitionConduct, ShareRequest, TopicPartition
from report.scratch import LOCK, PREFIX
from spec.coordinator import Durable
from spec.log import Log
from spec.share_broker import ShareBroker, append, disconnect, lead
from spec.share_request import handle
from tests.conformance.unbuilt import skip_unbuilt
from tests.conformance.wire import recorded
from tests.conformance.wire.recorded import CONFIG, answer, asked, play, scenarios

TOPIC = "t"
LIVE = [
    "a session opens, goes on and closes",
    "which error an acknowledgement has",
    "renewals",
    "forgotten partitions",
    "partitions that are not there",
    "nothing is in flight",
    "batches: offset -1",
    "a limit of records",
    "locks that are over",
    "a lock that is renewed",
]
"""Enough to notice that a broker does not do what was recorded."""


def specified(scenario: recorded.Scenario) -> list[dict[str, Any] | None]:
    """Return what the specification answers to each step, with the refusals that it allows."""
    broker, now = ShareBroker(KAFKA, Map({TOPIC: recorded.PARTITIONS})), 0
    places = [TopicPartition(TOPIC, nth) for nth in range(recorded.PARTITIONS)]
    for at in places:
        broker = lead(broker, ("g", at), CONFIG, Log(0, 0), Durable(0, 0))
    broker = handle(broker, asked({"fetch": recorded.WARM}, "g", TOPIC), now).broker
    for at in places:
        log = Produce((OffsetRange(0, 1), OffsetRange(2, 3)), 4)
        broker = append(broker, at, log)
    found: list[dict[str, Any] | None] = []
    for step in scenario["steps"]:
        now += step.get("wait_ms", 0)
        if "disconnect" in step:
            broker = disconnect(broker, step["disconnect"], now).broker
        if "answer" not in step:
            found.append(None)
            continue
        request = asked(step, "g", TOPIC)
        connection = step.get("connection", request.member_id)
        handled = handle(broker, request, now, chosen(request, step["answer"]), connection)
        assert handled.response is not None
        broker = handled.broker
        found.append(answer(handled.response, TOPIC))
    return found


def chosen(request: ShareRequest, said: dict[str, Any]) -> Conduct:
    """Return the refusals that were recorded, where the rules leave them to a broker."""
    free = {"NONE", "INVALID_REQUEST", "INVALID_RECORD_STATE"}
    conducts = []
    for one in request.partitions:
        told = said.get("partitions", {}).get(
            f"{one.topic_partition.topic_id}:{one.topic_partition.partition}", {}
        )
        name = told.get("acknowledge_error", "NONE")
        if said.get("partitions") and one.batches and name in free:
            refusal = Choice(refusal=ErrorCode[name])
            conducts.append((one.topic_partition, PartitionConduct(acknowledge=refusal)))
    return Conduct(tuple(conducts))


@pytest.mark.parametrize("scenario", scenarios(), ids=lambda scenario: scenario["name"])
def test_the_specification_answers_what_was_recorded(scenario: recorded.Scenario) -> None:
    expected = [step.get("expected", step.get("answer")) for step in scenario["steps"]]
    assert specified(scenario) == expected


def test_where_they_differ_a_reason_is_given() -> None:
    steps = [step for scenario in scenarios() for step in scenario["steps"]]
    assert len(steps) > 300
    differing = [step for step in steps if "expected" in step]
    assert all(step["differs"] and step["expected"] != step["answer"] for step in differing)
    assert {step["differs"].split(":")[0] for step in differing} == {
        "A batch may begin at offset -1",
        "An exception instead of a refusal",
    }


def test_an_answer_that_was_not_recorded_is_noticed() -> None:
    scenario = scenarios()[0]
    scenario["steps"][1]["fetch"]["epoch"] = 7
    with pytest.raises(AssertionError):
        test_the_specification_answers_what_was_recorded(scenario)


@pytest.fixture(scope="module")
def broker() -> Iterator[WireTarget]:
    try:
        kafka.kafka_java()
    except TargetError as missing:
        skip_unbuilt(missing)
    with kafka_broker() as target:
        yield target


@pytest.mark.broker
@pytest.mark.xdist_group("kafka-broker")
def test_it_says_what_it_can_do(broker: WireTarget) -> None:
    hello = broker.hello()
    assert (hello.name, hello.version, hello.profile) == ("Apache Kafka", "4.4.0", "kafka")
    can = hello.capabilities
    assert can.fetch_versions == can.acknowledge_versions == (1, 2)
    assert can.acquire_modes == ("batch_optimized", "record_limit")
    everything = (can.renew, can.offsets, can.lag, can.delete_records, can.gaps, can.aborted)
    assert all(everything)
    assert can.config
    assert (can.lock_ms, can.delivery_limits, can.lock_limits) == (1000, (2, 3, 5), (100, 200))


@pytest.mark.broker
@pytest.mark.xdist_group("kafka-broker")
@pytest.mark.parametrize("name", LIVE)
def test_it_still_answers_what_was_recorded(broker: WireTarget, name: str) -> None:
    (scenario,) = (one for one in scenarios() if one["name"] == name)
    assert play(broker, scenario) == [step.get("answer") for step in scenario["steps"]]


@pytest.fixture
def place(broker: WireTarget) -> Iterator[GroupTopic]:
    found = broker.open(CONFIG, 1)
    yield found
    broker.finish(found)


def fetched(broker: WireTarget, place: GroupTopic) -> Exchange:
    """Return what a member is given that opens a session."""
    step = {"member": "m", "epoch": 0, "partitions": {"t:0": []}, "max_wait_ms": 3000}
    return broker.ask(place, asked({"fetch": step}, place.group, place.topic_id), "c")


@pytest.mark.broker
@pytest.mark.xdist_group("kafka-broker")
def test_a_log_has_the_batches_and_markers_that_were_asked_for(
    broker: WireTarget, place: GroupTopic
) -> None:
    assert broker.produce(place, 0, [(0, 3), (2, 1)]) == (OffsetRange(0, 2), OffsetRange(5, 5))
    aborted = broker.produce(place, 0, [(0, 2), (1, 2)], BatchOrigin.ABORTED)
    assert aborted == (OffsetRange(6, 7), OffsetRange(9, 10))
    assert broker.produce(place, 0, [(0, 1)]) == (OffsetRange(12, 12),)
    found = fetched(broker, place)
    ((_, read),) = found.read
    assert [one.first for one in read] == [0, 3, 4, 5, 6, 8, 9, 11, 12]
    assert found.altered == ()  # Markers have no records of the kit.
    assert found.response.partitions[0].acquired == (AcquiredRange(0, 12, 1),)
    assert found.lock_timeout_ms == 1000


@pytest.mark.broker
@pytest.mark.xdist_group("kafka-broker")
def test_records_can_be_deleted_and_the_lag_is_told(broker: WireTarget, place: GroupTopic) -> None:
    broker.produce(place, 0, [(0, 2), (0, 3)])
    broker.delete_records(place, 0, 2)
    assert fetched(broker, place).response.partitions[0].acquired == (AcquiredRange(2, 4, 1),)
    step = {"member": "m", "epoch": 1, "partitions": {"t:0": [[2, 2, [1]], [4, 4, [1]]]}}
    broker.ask(place, asked({"acknowledge": step}, place.group, place.topic_id), "c")
    described = broker.describe(place, 0)
    assert (described.error, described.lag) == (ErrorCode.NONE, 1)
    assert described.start_offset == 2
    assert described.sent_ms < described.received_ms


@pytest.mark.broker
@pytest.mark.xdist_group("kafka-broker")
def test_a_group_has_its_configuration_to_itself(broker: WireTarget) -> None:
    config = attrs.evolve(CONFIG, isolation_level=IsolationLevel.READ_COMMITTED)
    place = broker.open(config, 1)
    try:
        broker.produce(place, 0, [(0, 2)], BatchOrigin.ABORTED)
        broker.produce(place, 0, [(0, 2)])
        found = fetched(broker, place).response.partitions[0]
        assert found.acquired == (AcquiredRange(2, 4, 1),)
    finally:
        broker.finish(place)


@pytest.fixture
def fake_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A command that stands in for Java; tests write what it does."""
    (tmp_path / "kafka_2.13-4.4.0.jar").touch()
    java = tmp_path / "java"
    monkeypatch.setattr(
        module, "kafka_java", lambda **_release: (str(java), f"classes:{tmp_path}/*")
    )
    monkeypatch.setattr(module, "_START_SECONDS", 1)
    return java


def test_a_release_that_speaks_early_access_alone_is_refused() -> None:
    said = "'4.0.2' cannot be driven, since it speaks version 0 of ShareFetch.*: 4.1.0, .*4.4.0$"
    with pytest.raises(TargetError, match=said), kafka_broker(version="4.0.2"):
        pass


@pytest.mark.broker
@pytest.mark.xdist_group("kafka-broker")
def test_an_older_release_is_asked_for_what_it_has() -> None:
    try:
        kafka.kafka_java(version="4.1.2")
    except TargetError as missing:
        skip_unbuilt(missing)
    with kafka_broker(version="4.1.2") as target:
        hello = target.hello()
        place = target.open(CONFIG, 1)
        target.finish(place)
    can = hello.capabilities
    assert (hello.version, can.fetch_versions, can.renew, can.lag) == (
        "4.1.2",
        (1, 1),
        False,
        False,
    )
    assert (can.delivery_limits, can.lock_limits, can.group_limits) == ((3,), (100,), False)
    assert (can.config, can.committed, len(hello.skipped)) == (True, True, 1)


def does(java: Path, script: str) -> None:
    java.write_text(f"#!{sys.executable}\n{script}\n")
    java.chmod(0o755)


def test_a_broker_that_does_not_start_is_quoted_and_what_killed_ones_left_goes(
    fake_java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = tmp_path / f"{PREFIX}killed"
    left.mkdir()
    (left / LOCK).touch()
    does(fake_java, "import sys; sys.exit('no room')")
    with (
        pytest.raises(TargetError, match="did not start, exit status 1; it said: no room"),
        kafka_broker(),
    ):
        pass
    assert list(tmp_path.glob(f"{PREFIX}*")) == []


def test_a_broker_that_does_not_answer_is_ended_through_its_input(fake_java: Path) -> None:
    ended = fake_java.with_name("ended")
    does(fake_java, f"import sys; sys.stdin.read(); open({str(ended)!r}, 'w')")
    with pytest.raises(TargetError, match="did not start, it does not answer"), kafka_broker():
        pass
    assert ended.exists()
