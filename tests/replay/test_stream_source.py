"""What names a topic, and what is told where none can be read. Streams: test_stream, test_topic."""

import socket

import pyspark
import pytest

from replay.sources import NoSuchTraceError
from replay.stream_source import StreamTopic, check_answers, kafka_package, topic_of


@pytest.mark.parametrize(
    ("source", "topic"),
    [
        ("kafka:host:9092/events", StreamTopic("host:9092", "events")),
        ("kafka://a:1,b:2/share.events_1", StreamTopic("a:1,b:2", "share.events_1")),
        ("kafka:[::1]:9092/t", StreamTopic("[::1]:9092", "t")),
        ("folder/kafka:x", None),
        ("/kafka", None),
    ],
)
def test_a_source_is_a_topic_or_a_folder(source: str, topic: StreamTopic | None) -> None:
    assert topic_of(source) == topic


@pytest.mark.parametrize(
    "source", ["kafka:", "kafka:host:9092", "kafka:host:9092/", "kafka:/t", "kafka:h:1/a,b"]
)
def test_a_topic_that_is_named_badly_is_one_line(source: str) -> None:
    with pytest.raises(NoSuchTraceError, match=r" names no topic; allowed: kafka:HOST:PORT/TOPIC$"):
        topic_of(source)


def test_a_broker_that_is_not_there_is_one_line_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        check_answers(StreamTopic(f"127.0.0.1:1,127.0.0.1:{port}", "t"))
    for servers in ("127.0.0.1:1", f"127.0.0.1:{port}", "127.0.0.1:x", "127.0.0.1"):
        with pytest.raises(NoSuchTraceError, match=rf"^no broker answers at {servers}: .+$"):
            check_answers(StreamTopic(servers, "t"))


def test_the_package_is_that_of_this_spark() -> None:
    assert kafka_package().endswith(f"_2.13:{pyspark.__version__}")
