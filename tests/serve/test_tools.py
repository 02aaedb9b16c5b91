"""Apache Kafka's command line tools do against the broker what they do against Kafka's own."""

from collections.abc import Iterator

import pytest

from conformance.wire.kafka_broker import kafka_broker
from serve.node import Options
from tests.conformance.unbuilt import built_or_skipped
from tests.recorder.released import eventually
from tests.serve.kafka_tools import Tools, fetched
from tests.serve.served import serving
from tests.serve.test_tracing import judged

# On one worker: a broker of which a worker asks topics alone has no share-partition to judge.
pytestmark = [pytest.mark.slow, pytest.mark.broker, pytest.mark.xdist_group("tools")]


@pytest.fixture(scope="module", params=["serve", pytest.param("kafka", marks=pytest.mark.long)])
def tools(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Tools]:
    """Yield the tools against a broker; what ours did must conform in the end."""
    trace = tmp_path_factory.mktemp("served") / "t.jsonl"
    if request.param == "kafka":
        with built_or_skipped(kafka_broker()) as broker:
            yield fetched(str(broker.address))
        return
    with serving(Options(), trace=trace) as address:
        yield fetched(address)
    status, output = judged(trace)
    assert status == 0, output
    assert "conform" in output


def lags(tools: Tools, group: str) -> list[str]:
    """Return the lag of each share-partition that is described."""
    return [row[-1] for row in tools.offsets(group)]


def test_topics_are_created_listed_described_and_deleted(tools: Tools) -> None:
    topic, _ = tools.start_afresh("three", "t")
    create = ("--create", "--topic", topic, "--partitions", "3")
    ran = tools.topics(*create)
    assert (ran.status, ran.output) == (0, f"Created topic {topic}.\n"), ran
    ran = tools.topics(*create)
    assert ran.status == 1
    assert f"Topic '{topic}' already exists." in ran.output
    assert [topic] in tools.topics("--list").rows()
    described = tools.topics("--describe", "--topic", topic)
    assert described.status == 0
    header, *rows = described.rows()
    assert header[:2] == ["Topic:", topic]
    assert header[4:8] == ["PartitionCount:", "3", "ReplicationFactor:", "1"]
    assert [row[2:10] for row in rows] == [
        ["Partition:", str(number), "Leader:", "1", "Replicas:", "1", "Isr:", "1"]
        for number in range(3)
    ]
    assert tools.topics("--delete", "--topic", topic).status == 0
    assert [topic] not in tools.topics("--list").rows()
    ran = tools.topics("--describe", "--topic", topic)
    assert ran.status == 1
    assert f"Topic '{topic}' does not exist as expected" in ran.output


def test_what_is_accepted_released_and_rejected_is_counted(tools: Tools) -> None:
    topic, group = tools.start_afresh("orders", "g")
    produced = tools.fill(topic, 30)
    assert produced.status == 0, produced.errors
    assert "30 records sent" in produced.output
    accepted = tools.consume(group, topic, "--max-messages", "10")
    assert accepted == [(offset, 1) for offset in range(10)]
    assert tools.offsets(group) == [[topic, "0", "10", "20"]]
    assert tools.state(group) == ("Empty", 0)
    released = tools.consume(group, topic, "--release", "--max-messages", "20")
    assert released == [(offset, 2) for offset in range(10, 30)]
    assert tools.offsets(group) == [[topic, "0", "10", "20"]]
    rejected = tools.consume(group, topic, "--reject", "--max-messages", "5")
    assert rejected == [(offset, 3) for offset in range(10, 15)]
    assert tools.offsets(group) == [[topic, "0", "15", "15"]]
    # The last delivery of five is the last, though it is released.
    released = tools.consume(group, topic, "--release", "--timeout-ms", "5000")
    assert sorted(released) == [(offset, count) for offset in range(15, 30) for count in (4, 5)]
    assert lags(tools, group) == ["0"]


def test_a_group_with_a_member_is_stable_and_keeps_its_offsets(tools: Tools) -> None:
    topic, group = tools.start_afresh("busy", "h")
    tools.fill(topic, 8)
    asked = ("--group", group, "--topic", topic)
    with tools.running("consumer.ConsoleShareConsumer", *asked) as process:
        eventually(lambda: tools.state(group) == ("Stable", 1))
        eventually(lambda: lags(tools, group) == ["0"])
        listed = tools.groups("--list", "--state").rows()
        assert [group, "Stable"] in listed
        header, row = tools.groups("--describe", "--group", group, "--members").rows()
        assert header == ["GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "ASSIGNMENT"]
        assert (row[0], row[-2:]) == (group, ["1", f"{topic}:0"])
        reset = ("--reset-offsets", *asked, "--to-earliest", "--execute")
        for refused in (reset, ("--delete-offsets", *asked), ("--delete", "--group", group)):
            ran = tools.groups(*refused)
            assert "not empty" in (ran.output + ran.errors).lower(), ran
        assert lags(tools, group) == ["0"]
        assert process.poll() is None
    eventually(lambda: tools.state(group) == ("Empty", 0))
    assert [group, "Empty"] in tools.groups("--list", "--state").rows()


def test_offsets_are_reset_and_deleted_and_groups_deleted(tools: Tools) -> None:
    topic, group = tools.start_afresh("again", "i")
    tools.fill(topic, 12)
    assert len(tools.consume(group, topic, "--max-messages", "12")) == 12
    assert lags(tools, group) == ["0"]
    scope = ("--group", group, "--topic", topic)
    header = ["GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"]
    ran = tools.groups("--reset-offsets", *scope, "--to-earliest", "--dry-run")
    assert ran.rows() == [header, [group, topic, "0", "0"]]
    assert lags(tools, group) == ["0"]
    ran = tools.groups("--reset-offsets", *scope, "--to-earliest", "--execute")
    assert ran.rows() == [header, [group, topic, "0", "0"]]
    assert tools.offsets(group) == [[topic, "0", "0", "12"]]
    assert tools.consume(group, topic, "--max-messages", "4") == [(n, 1) for n in range(4)]
    ran = tools.groups("--reset-offsets", *scope, "--to-latest", "--execute")
    assert ran.rows() == [header, [group, topic, "0", "12"]]
    assert tools.offsets(group) == [[topic, "0", "12", "0"]]
    ran = tools.groups("--delete-offsets", *scope)
    assert ran.rows() == [["TOPIC", "STATUS"], [topic, "Successful"]], ran
    ran = tools.groups("--describe", "--group", group)
    assert f"Share group '{group}' has no offset information." in ran.output
    ran = tools.groups("--delete", "--group", group)
    assert f"Deletion of requested share groups ('{group}') was successful." in ran.output
    assert [group] not in tools.groups("--list").rows()
    ran = tools.groups("--describe", "--group", group)
    assert f"Group {group} not found." in ran.output
