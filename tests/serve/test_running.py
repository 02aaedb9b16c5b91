import gc
from pathlib import Path

import pytest
from kio.schema.errors import ErrorCode as KafkaError

from model.errors import InvalidValueError
from serve.batches import RefusedError
from serve.running import serving
from tests.serve.served import acquired, clients_of, part
from tests.serve.test_tracing import judged


def test_what_a_broker_keeps_is_collected_rarely_while_one_runs() -> None:
    before = gc.get_threshold()
    with serving():
        with serving(), serving(), serving(), serving(), serving():
            pass
        assert gc.get_threshold() == (*before[:2], 100 * before[2])
    assert gc.get_threshold() == before


def test_records_from_before_a_group_are_delivered_and_come_again(tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    with serving(trace=trace) as broker, clients_of(broker.address) as (client,):
        assert broker.lag("g", "t") is None
        assert [broker.produce("t", b"a", b"b"), broker.produce("t", b"c")] == [0, 2]
        topic = client.join()
        assert acquired(client.fetch(0, part(topic))) == [(0, 2, 1)]
        client.acknowledge(1, part(topic, (0, 0, 1)))
        assert broker.lag("g", "t") == 2
        broker.pass_time(29)
        assert acquired(client.fetch(2, part(topic))) == []
        broker.pass_time(1)
        assert acquired(client.fetch(3, part(topic))) == [(1, 2, 2)]
    assert judged(trace)[0] == 0


def test_settings_topics_and_partitions_are_as_they_are_given() -> None:
    with serving({"share.auto.offset.reset": "latest"}, partitions=2) as broker:
        assert broker.produce("t", b"a", partition=1) == 0
        broker.topic("u", 3)
        sizes = broker.do(lambda cluster: {t.name: len(t.logs) for t in cluster.topics.values()})
        assert sizes == {"t": 2, "u": 3}
        with pytest.raises(RefusedError) as refused:
            broker.topic("u")
        assert refused.value.error is KafkaError.topic_already_exists
        with pytest.raises(InvalidValueError, match="partition is 3; allowed: 0 to 2"):
            broker.produce("u", b"a", partition=3)
        with clients_of(broker.address) as (client,):
            assert acquired(client.fetch(0, part(client.join(), partition=1))) == []
        assert broker.lag("g", "t", 1) is None
    with pytest.raises(InvalidValueError, match="nothing"), serving({"share.nothing": "1"}):
        pass
