import gc
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress

import pytest

import serve.record_log
from conformance.wire.records import record_batch
from serve.batches import RefusedError, produced_batch
from serve.limits import BATCH_BYTES, SMALL_BYTES, Maxima
from serve.node import Cluster, Options
from serve.record_log import RecordLog
from serve.topics import create_topic, delete_records, produce

LOG_BYTES = 1 << 20


def test_logs_requests_and_responses_take_less_than_a_gibibyte_together() -> None:
    """Each connection has small ones besides, and what is read ahead of them."""
    limits, small = Maxima(), 5 * SMALL_BYTES + (128 << 10)
    assert limits.log_bytes + limits.traffic_bytes + limits.connections * small < 1 << 30


def filled() -> int:
    """Fill a log with the smallest batches, and return how many bytes that took."""
    cluster = Cluster(Options(limits=Maxima(log_bytes=LOG_BYTES)), int, int, int)
    topic, data = create_topic(cluster, "t", 1), record_batch(1)
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        with suppress(RefusedError):
            while True:
                produce(cluster, topic, 0, produced_batch(data, cluster.options.limits))
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


class Counted(list[RecordLog]):
    times = 0

    def __iter__(self) -> Iterator[RecordLog]:
        self.times += 1
        return super().__iter__()


def test_logs_are_counted_where_there_may_be_no_room_and_deleted_records_make_some() -> None:
    data = record_batch(1)
    limits = Maxima(log_bytes=9 * (len(data) + BATCH_BYTES))
    cluster = Cluster(Options(limits=limits), int, int, int)
    topic, batch = create_topic(cluster, "t", 2), produced_batch(data, limits)
    topic.logs = logs = Counted(topic.logs)
    assert [produce(cluster, topic, nth % 2, batch) for nth in range(9)][-1] == 4
    assert logs.times == 1
    with pytest.raises(RefusedError, match="the broker is full"):
        produce(cluster, topic, 1, batch)
    delete_records(cluster.nodes[0], topic, 0, 2)
    assert [produce(cluster, topic, 0, batch) for _ in range(2)] == [5, 6]
    assert logs.times == 3
    with pytest.raises(RefusedError, match="the broker is full"):
        produce(cluster, topic, 1, batch)


def test_small_batches_take_no_more_than_they_are_counted() -> None:
    assert filled() < LOG_BYTES


def test_batches_that_counted_only_their_bytes_would_take_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serve.record_log, "BATCH_BYTES", 0)
    assert filled() > LOG_BYTES
