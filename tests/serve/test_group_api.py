from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode as KafkaError

from clients.broker import running
from conformance.target import TargetError
from conformance.wire.messages import Message
from serve.coordination import move_coordinator
from serve.limits import Maxima
from serve.node import Options
from serve.running import EARLIEST
from tests.serve.served import Client, acquired, client_of, clients_of, part

Assigned = dict[str, list[int]]


def assigned(body: Message) -> Message:
    """Return the partitions of the only topic that a member got; None if it was told nothing."""
    if body.assignment is None:
        return None
    return [p for topic in body.assignment.topic_partitions for p in topic.partitions]


def offsets(client: Client, group: str = "g") -> tuple[int, list[tuple[int, int, int]]]:
    body = client.ask("describe_share_group_offsets", groups=[{"group_id": group, "topics": None}])
    (answer,) = body.groups
    parts = [
        (one.partition_index, one.start_offset, one.lag)
        for topic in answer.topics
        for one in topic.partitions
    ]
    return answer.error_code, parts


def test_members_share_the_partitions_of_their_topics() -> None:
    with client_of(Options(partitions=4)) as client:
        client.topic("t")
        first = client.beat(0, ["t"], "a")
        assert (first.error_code, assigned(first)) == (0, [0, 1, 2, 3])
        second = client.beat(0, ["t"], "b")
        assert second.member_epoch > first.member_epoch
        again = client.beat(first.member_epoch, None, "a")
        assert again.member_epoch == second.member_epoch
        assert sorted(assigned(again) + assigned(second)) == [0, 1, 2, 3]
        assert len(assigned(again)) == 2
        assert assigned(client.beat(again.member_epoch, None, "a")) is None
        assert client.beat(-1, None, "b").member_epoch == -1
        assert assigned(client.beat(again.member_epoch, None, "a")) == [0, 1, 2, 3]


def test_more_members_than_partitions_have_one_each(client: Client) -> None:
    client.topic("t")
    for member in "abc":
        assert assigned(client.beat(0, ["t"], member)) == [0]


def test_a_topic_that_comes_later_is_assigned_then(client: Client) -> None:
    first = client.beat(0, ["t"])
    assert assigned(first) == []
    client.topic("t")
    later = client.beat(first.member_epoch)
    assert assigned(later) == [0]
    assert later.member_epoch > first.member_epoch


def test_a_heartbeat_that_does_not_fit_is_refused() -> None:
    with client_of(Options(limits=Maxima(groups=1), broker={"group.share.max.size": 1})) as client:
        assert client.beat(1).error_code == KafkaError.group_id_not_found
        assert client.beat(0).error_code == KafkaError.invalid_request
        assert client.beat(-2).error_code == KafkaError.invalid_request
        assert client.beat(0, ["t"], member="").error_code == KafkaError.invalid_request
        assert client.beat(0, ["t"], group="").error_code == KafkaError.invalid_request
        epoch = client.beat(0, ["t"]).member_epoch
        assert client.beat(epoch + 1).error_code == KafkaError.fenced_member_epoch
        assert client.beat(epoch, member="x").error_code == KafkaError.unknown_member_id
        assert client.beat(0, ["t"], "n").error_code == KafkaError.group_max_size_reached
        assert client.beat(0, ["t"], group="h").error_code == KafkaError.policy_violation


def test_a_member_that_stops_is_removed() -> None:
    broker = {
        f"group.share.{limit}{name}.ms": ms
        for name, ms in (("session.timeout", 2), ("heartbeat.interval", 1))
        for limit in ("min.", "")
    }
    with client_of(Options(broker=broker)) as client:
        client.topic("t")
        client.beat(0, ["t"])
        for _ in range(200):
            if client.ask("list_groups", states_filter=["empty"], types_filter=[]).groups:
                break
            client.fetch(0, part(client.topic("t")), max_wait_ms=50)
        assert client.beat(1).error_code == KafkaError.unknown_member_id


def test_groups_are_described_listed_and_deleted(client: Client, topic: UUID) -> None:
    epoch = client.beat(0, ["t"]).member_epoch
    body = client.ask("share_group_describe", group_ids=["g", "x"])
    known, missing = body.groups
    assert (known.group_state, known.group_epoch, known.assignor_name) == (
        "Stable",
        epoch,
        "simple",
    )
    (member,) = known.members
    assert member.assignment.topic_partitions[0].topic_id == topic
    assert missing.error_code == KafkaError.group_id_not_found
    assert (
        client.ask("delete_groups", groups_names=["g"]).results[0].error_code
        == KafkaError.non_empty_group
    )
    client.beat(-1)
    results = client.ask("delete_groups", groups_names=["g", "g"]).results
    assert [one.error_code for one in results] == [0, KafkaError.group_id_not_found]
    assert client.ask("list_groups", states_filter=[], types_filter=["share"]).groups == ()


def test_offsets_are_described_altered_and_deleted() -> None:
    with client_of(Options(partitions=2, group=EARLIEST)) as client:
        topic = client.join(3, 2)
        client.fetch(0, part(topic))
        client.acknowledge(1, part(topic, (0, 2, 1)))
        client.acknowledge(2, part(topic, (3, 3, 1)))
        assert offsets(client) == (0, [(0, 3, 1), (1, -1, -1)])
        with pytest.raises(TargetError, match="NON_EMPTY_GROUP"):
            client.admin.alter_offset("g", "t", 0, 1)
        client.acknowledge(-1)
        client.beat(-1)
        client.admin.alter_offset("g", "t", 0, 1)
        assert offsets(client)[1][0] == (0, 1, 4)
        client.beat(0, ["t"])
        assert acquired(client.fetch(0, part(topic))) == [(1, 4, 1)]
        client.acknowledge(-1)
        client.beat(-1)
        deleted = client.ask(
            "delete_share_group_offsets", group_id="g", topics=[{"topic_name": "t"}]
        )
        assert deleted.responses[0].error_code == 0
        assert offsets(client) == (0, [])
        assert offsets(client, "x")[0] == KafkaError.group_id_not_found


@pytest.mark.parametrize("key_type", [0, 1])
def test_groups_have_a_coordinator_and_transactions_have_none(
    client: Client, key_type: int
) -> None:
    answer = client.admin.one("find_coordinator", key_type=key_type, coordinator_keys=["k"])
    assert answer.error_code == (KafkaError.invalid_request if key_type else 0)
    assert (answer.node_id == 1) is (key_type == 0)


def test_a_topic_that_is_deleted_leaves_the_group(client: Client, topic: UUID) -> None:
    epoch = client.beat(0, ["t"]).member_epoch
    client.admin.delete_topic("t")
    assert assigned(client.beat(epoch)) == []
    answer = client.fetch(0, part(topic))
    assert answer.response.partitions[0].error.name == "UNKNOWN_TOPIC_ID"
    assert client.topic("t") != topic != UUID(int=0)


def test_a_group_has_one_coordinator_which_every_broker_names_and_which_moves() -> None:
    with running(Options(brokers=2)) as broker, clients_of(broker.served.address) as clients:

        def named() -> list[int]:
            return [client.admin.find_coordinator("g") for client in clients]

        def errors() -> list[int]:
            """Ask everything of the broker that is not the coordinator."""
            other = clients[2 - named()[0]]
            return [
                other.beat(0, ["t"]).error_code,
                other.ask("share_group_describe", group_ids=["g"]).groups[0].error_code,
                offsets(other)[0],
                other.ask("alter_share_group_offsets", group_id="g", topics=[]).error_code,
                other.ask("delete_share_group_offsets", group_id="g", topics=[]).error_code,
                other.ask("delete_groups", groups_names=["g"]).results[0].error_code,
            ]

        def listed() -> list[int]:
            return [len(client.ask("list_groups").groups) for client in clients]

        first, second = named()
        assert first == second
        assert errors() == [KafkaError.not_coordinator.value] * 6
        epoch = clients[first - 1].beat(0, ["t"]).member_epoch
        assert (sum(listed()), listed()[first - 1]) == (1, 1)
        broker.do(lambda cluster: move_coordinator(cluster, "g", 3 - first))
        assert named() == [3 - first] * 2
        assert errors() == [KafkaError.not_coordinator.value] * 6
        assert clients[2 - first].beat(epoch).error_code == 0
        assert listed()[2 - first] == 1
