import gc
import tracemalloc
from contextlib import suppress

import pytest

import serve.record_log
from conformance.wire.records import record_batch
from serve.batches import RefusedError, produced_batch
from serve.limits import Limits
from serve.node import Cluster, Options
from serve.topics import create_topic, produce

LOG_BYTES = 1 << 20


def test_logs_requests_and_responses_take_less_than_a_gibibyte_together() -> None:
    assert Limits().most_bytes < 1 << 30


def filled() -> int:
    """Fill a log with the smallest batches, and return how many bytes that took."""
    cluster = Cluster(Options(limits=Limits(log_bytes=LOG_BYTES)), int, int, int)
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


def test_small_batches_take_no_more_than_they_are_counted() -> None:
    assert filled() < LOG_BYTES


def test_batches_that_counted_only_their_bytes_would_take_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serve.record_log, "BATCH_BYTES", 0)
    assert filled() > LOG_BYTES
