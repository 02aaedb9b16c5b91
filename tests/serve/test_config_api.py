from kio.schema.errors import ErrorCode as KafkaError

from serve.node import Options
from serve.running import EARLIEST
from tests.serve.served import Client, acquired, client_of, part

GROUP, BROKER, TOPIC = 32, 4, 2


def alter(client: Client, name: str, value: str | None, **how: object) -> int:
    config = {"name": name, "config_operation": 1 if value is None else 0, "value": value}
    resource = {"resource_type": GROUP, "resource_name": "g", "configs": [config], **how}
    return int(client.admin.one("incremental_alter_configs", resources=[resource]).error_code)


def described(client: Client, kind: int, name: str, *keys: str) -> dict[str, str] | int:
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": keys or None}
    result = client.admin.one("describe_configs", resources=[resource])
    return result.error_code or {config.name: config.value for config in result.configs}


def test_the_settings_of_a_group_hold_at_once() -> None:
    with client_of(Options(group=EARLIEST)) as client:
        topic = client.join(1)
        assert acquired(client.fetch(0, part(topic))) == [(0, 0, 1)]
        assert acquired(client.fetch(1, part(topic, (0, 0, 2)))) == [(0, 0, 2)]
        assert alter(client, "share.delivery.count.limit", "2") == 0
        assert acquired(client.fetch(2, part(topic, (0, 0, 2)))) == []
        name = "share.delivery.count.limit"
        assert described(client, GROUP, "g", name) == {name: "2"}
        assert alter(client, name, None) == 0
        assert described(client, GROUP, "g", name) == {name: "5"}


def test_what_a_group_cannot_have_is_refused(client: Client) -> None:
    wrong = KafkaError.invalid_config
    assert alter(client, "share.nothing", "2") == wrong
    assert alter(client, "share.record.lock.duration.ms", "1") == wrong
    assert alter(client, "errors.deadletterqueue.topic.name", "q") == wrong
    assert alter(client, "share.isolation.level", "x") == wrong
    assert alter(client, "x", "1", resource_type=TOPIC) == KafkaError.invalid_request


def test_the_broker_and_topics_describe_their_settings(client: Client) -> None:
    client.topic("t")
    name = "group.share.min.record.lock.duration.ms"
    assert described(client, BROKER, "1", name) == {name: "15000"}
    assert described(client, BROKER, "2") == KafkaError.invalid_request
    assert described(client, TOPIC, "t") == {}
    assert described(client, TOPIC, "u") == KafkaError.unknown_topic_or_partition
    assert described(client, 99, "u") == KafkaError.invalid_request
