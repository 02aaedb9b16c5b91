from uuid import UUID

from kio.schema.errors import ErrorCode as KafkaError

from serve.limits import Maxima
from serve.node import Options
from tests.serve.served import Client, client_of

UNKNOWN = KafkaError.unknown_topic_or_partition


def described(client: Client, *names: str, create: bool = False) -> list[tuple[int, int]]:
    """Return (error, number of partitions) of topics."""
    body = client.ask(
        "metadata",
        topics=[{"topic_id": None, "name": name} for name in names] if names else None,
        allow_auto_topic_creation=create,
    )
    return [(topic.error_code, len(topic.partitions)) for topic in body.topics]


def created(client: Client, name: str, **how: object) -> tuple[int, str | None]:
    topic = {"name": name, "num_partitions": 2, "replication_factor": 1, **how}
    answer = client.admin.one("create_topics", topics=[topic], timeout=100)
    return answer.error_code, answer.error_message


def listed(client: Client, timestamp: int, name: str = "t") -> tuple[int, int]:
    wanted = {"partition_index": 0, "timestamp": timestamp}
    topics = [{"name": name, "partitions": [wanted]}]
    answer = client.admin.one("list_offsets", replica_id=-1, topics=topics)
    return answer.error_code, answer.offset


def test_a_topic_is_created_when_a_client_asks_for_it() -> None:
    with client_of(Options(partitions=3)) as client:
        assert described(client, "t") == [(UNKNOWN, 0)]
        assert described(client, "t", create=True) == [(0, 3)]
        assert described(client) == [(0, 3)]
        assert described(client, "a b", create=True) == [(KafkaError.invalid_topic_exception, 0)]


def test_no_topic_is_created_where_that_is_off() -> None:
    with client_of(Options(auto_create=False)) as client:
        assert described(client, "t", create=True) == [(UNKNOWN, 0)]


def test_a_topic_is_found_by_its_id(client: Client, topic: UUID) -> None:
    for wanted, error in ((topic, 0), (UUID(int=7), KafkaError.unknown_topic_id)):
        body = client.ask(
            "metadata", topics=[{"topic_id": wanted, "name": None}], allow_auto_topic_creation=False
        )
        assert body.topics[0].error_code == error


def test_topics_are_created_and_deleted(client: Client) -> None:
    assert created(client, "t") == (0, None)
    assert created(client, "t")[0] == KafkaError.topic_already_exists
    assert described(client, "t") == [(0, 2)]
    topics = [{"name": name, "topic_id": None} for name in ("t", "t")]
    body = client.ask("delete_topics", topics=topics, timeout=100)
    assert [answer.error_code for answer in body.responses] == [0, UNKNOWN]
    assert described(client, "t") == [(UNKNOWN, 0)]


def test_what_a_topic_cannot_be_is_refused() -> None:
    with client_of(Options(limits=Maxima(topics=1))) as client:
        assert created(client, "t", num_partitions=0)[0] == KafkaError.invalid_partitions
        replicas = created(client, "t", replication_factor=3)[0]
        assert replicas == KafkaError.invalid_replication_factor
        config = {"name": "retention.ms", "value": "1"}
        assert created(client, "t", configs=[config])[0] == KafkaError.invalid_config
        assert created(client, "..")[0] == KafkaError.invalid_topic_exception
        assert created(client, "t", num_partitions=-1) == (0, None)
        assert created(client, "u")[0] == KafkaError.policy_violation


def test_a_topic_that_is_only_checked_is_not_created(client: Client) -> None:
    topic = {"name": "t", "num_partitions": 1, "replication_factor": 1}
    answer = client.admin.one("create_topics", topics=[topic], timeout=1, validate_only=True)
    assert answer.error_code == 0
    assert described(client, "t") == [(UNKNOWN, 0)]


def test_offsets_of_a_log_are_listed_and_its_start_moves(client: Client) -> None:
    client.topic("t")
    client.fill("t", 3, 2)
    offsets = [listed(client, timestamp)[1] for timestamp in (-2, -1, -3, 0, 2**60)]
    newest = offsets.pop(2)
    assert offsets == [0, 5, 0, -1]
    assert newest in (2, 4)  # Both batches may be of the same millisecond.
    assert listed(client, -1, "u") == (UNKNOWN, -1)
    for offset, answer in ((4, (0, 4)), (9, (1, -1)), (-1, (0, 5))):
        wanted = {"partition_index": 0, "offset": offset}
        topics = [{"name": "t", "partitions": [wanted]}]
        moved = client.admin.one("delete_records", topics=topics, timeout=100)
        assert (moved.error_code, moved.low_watermark) == answer
    assert listed(client, -2) == (0, 5)


def test_the_cluster_is_one_broker(client: Client) -> None:
    asked = {"include_cluster_authorized_operations": False, "include_fenced_brokers": False}
    body = client.ask("describe_cluster", **asked, endpoint_type=1)
    (broker,) = body.brokers
    assert (broker.broker_id, broker.port) == (1, client.wire.address.port)
    assert client.ask("describe_cluster", **asked, endpoint_type=2).error_code
