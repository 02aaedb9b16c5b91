import asyncio
import gc
import logging
import re
import socket
import time
import warnings
from contextlib import ExitStack, suppress
from random import Random
from uuid import UUID

import pytest
from kio.index import load_request_schema
from kio.schema.errors import ErrorCode as KafkaError

from conformance.target import TargetError
from conformance.wire import messages
from conformance.wire.messages import encoded, request, response
from conformance.wire.records import record_batch
from serve.apis import APIS
from serve.limits import Maxima
from serve.node import LOOPBACK, Options
from serve.server import Server
from tests.conformance.wire.serving import framed
from tests.serve.served import client_of, clients_of, part, raw, serving


def closed(connection: socket.socket) -> bool:
    """Whether the server closes a connection without an answer."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


RUBBISH = {
    "negative size": b"\xff\xff\xff\xff",
    "huge size": b"\x7f\xff\xff\xff",
    "no header": framed(b"1234567"),
    "unknown API": framed(b"\x03\xe7\x00\x00\x00\x00\x00\x01"),
    "API without its version": framed(b"\x00\x4e\x00\x63\x00\x00\x00\x01"),
    "API that is not served": framed(b"\x00\x0b\x00\x00\x00\x00\x00\x01\x00\x00"),
    "body of noise": framed(b"\x00\x03\x00\x0c\x00\x00\x00\x01\xff\xff" + bytes(range(99))),
    "array of billions": framed(b"\x00\x03\x00\x01\x00\x00\x00\x01\xff\xff\x7f\xff\xff\xff"),
    "HTTP": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
}


@pytest.mark.parametrize("name", RUBBISH)
def test_rubbish_costs_its_connection_and_one_line(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "sharespec.serve"), serving() as address:
        with raw(address) as connection:
            connection.sendall(RUBBISH[name])
            assert closed(connection)
        with clients_of(address) as (client,):
            assert client.send(request("api_versions", 0)).error_code == 0
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 1
    assert len(lines[0]) < 250


def test_an_unknown_version_of_api_versions_is_answered_with_what_is_served() -> None:
    with serving() as address, raw(address) as connection:
        connection.sendall(framed(b"\x00\x12\x00\x63\x00\x00\x00\x07"))
        connection.shutdown(socket.SHUT_WR)
        data = b"".join(iter(lambda: connection.recv(10_000), b""))
    correlation, body = response(request("api_versions", 0), data[4:])
    assert correlation == 7
    assert body.error_code == KafkaError.unsupported_version
    assert {api.api_key for api in body.api_keys} == set(APIS)


@pytest.mark.parametrize("version", range(5))
def test_every_version_of_api_versions_is_served(version: int) -> None:
    names = {"client_software_name": "x", "client_software_version": "1"} if version > 2 else {}
    with client_of() as client:
        body = client.send(request("api_versions", version, **names))
        served = {api.api_key: (api.min_version, api.max_version) for api in body.api_keys}
        assert served == {key: (api.lowest, api.highest) for key, api in APIS.items()}


def test_requests_that_come_at_once_are_answered_in_order() -> None:
    with serving() as address, raw(address) as connection:
        asked = [framed(encoded(request("api_versions", 0), number)) for number in range(1, 31)]
        connection.sendall(b"".join(asked))
        connection.shutdown(socket.SHUT_WR)
        data = b"".join(iter(lambda: connection.recv(65_536), b""))
    numbers = []
    while data:
        size = int.from_bytes(data[:4], "big")
        numbers.append(int.from_bytes(data[4:8], "big"))
        data = data[4 + size :]
    assert numbers == list(range(1, 31))


def test_there_are_so_many_connections() -> None:
    with serving(Options(limits=Maxima(connections=1))) as address, raw(address) as first:
        first.sendall(framed(encoded(request("api_versions", 0), 1)))
        assert first.recv(1)
        with raw(address) as second:
            assert closed(second)


def test_a_request_may_be_so_long() -> None:
    limits = Maxima(request_bytes=2000)
    with client_of(Options(limits=limits)) as client:
        client.topic("t")
        with pytest.raises(TargetError):
            client.fill("t", 1000)
        client.fill("t", 1)


def test_a_client_that_does_not_read_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    limits = Maxima(stalled_seconds=0.2)
    with serving(Options(limits=limits)) as address, clients_of(address) as (client,):
        client.topic("t")
        big = record_batch(5000)
        for _ in range(10):
            assert client.produce("t", big).error_code == 0
        wanted = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 2**30}
        topics = [{"topic": "t", "partitions": [wanted]}]
        asked = request("fetch", 4, min_bytes=1, max_bytes=2**30, topics=topics)
        with raw(address) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(framed(encoded(asked, 1)) * 24)
            for _ in range(6000):
                if any("read nothing" in record.getMessage() for record in caplog.records):
                    break
                time.sleep(0.05)
    assert any("read nothing" in record.getMessage() for record in caplog.records)


def altered(frame: bytes, dice: Random) -> bytes:
    """Return a request of which some bytes are others, or which ends too early."""
    data = bytearray(frame)
    for _ in range(dice.randrange(1, 6)):
        data[dice.randrange(4, len(data))] = dice.choice((0, 1, 2, 255, dice.randrange(256)))
    return bytes(data[: dice.choice((len(data), dice.randrange(8, len(data) + 1)))])


def test_no_altered_request_costs_more_than_its_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    topics = [{"topic_id": None, "name": "t"}]
    whole = [
        encoded(asked, 1)
        for asked in (
            request("metadata", 12, topics=topics, allow_auto_topic_creation=True),
            request("share_group_heartbeat", 1, group_id="g", member_id="m",
                    subscribed_topic_names=["t"]),
            request("describe_share_group_offsets", 1, groups=[{"group_id": "g", "topics": None}]),
            request("delete_topics", 6, topics=topics, timeout=1),
            request("share_acknowledge", 2, group_id="g", member_id="m", share_session_epoch=1),
        )
    ]  # fmt: skip
    dice = Random(1)  # noqa: S311 - no secret
    with serving() as address:
        for number in range(150):
            frame = altered(whole[number % len(whole)], dice)
            with raw(address) as connection:
                connection.sendall(framed(frame))
                connection.shutdown(socket.SHUT_WR)
                with suppress(ConnectionResetError):
                    while connection.recv(65_536):
                        pass
        with clients_of(address) as (client,):
            assert client.send(request("api_versions", 0)).error_code == 0
    lines = [record.getMessage() for record in caplog.records]
    assert 10 < len(lines) <= 150
    assert all(len(line) < 250 and line.isprintable() for line in lines)


def sparse(kind: type, *, null: bool) -> dict[str, object]:
    """Return values of a request: one of each list, 1, no bytes, and null where it may be."""
    values: dict[str, object] = {}
    for field in messages._fields(kind):
        if field.entity:
            value: object = sparse(field.entity, null=null)
        else:
            value = PLAIN.get(field.primitive, 1)
        values[field.name] = None if null and field.optional else [value] if field.array else value
    return values


PLAIN = {"string": "zq", "bool": False, "bytes": b"", "records": b"", "uuid": UUID(int=7)}
NULLS = ((b"\x03zq", b"\x00"), (b"\x00\x02zq", b"\xff\xff"))
"""The text of ``sparse``, and what stands for null: in flexible versions, and in others."""


@pytest.mark.parametrize("key", APIS)
@pytest.mark.parametrize("null", ["where it may be", "text"])
def test_null_has_its_meaning_or_closes_the_connection(
    key: int, null: str, caplog: pytest.LogCaptureFixture
) -> None:
    api, closes = APIS[key], 0
    with serving() as address:
        for version in range(api.lowest, api.highest + 1):
            kind = load_request_schema(key, version)
            frame = encoded(messages.built(kind, sparse(kind, null=null != "text")), 1)
            for text, nothing in NULLS if null == "text" else ():
                frame = frame.replace(text, nothing)
            with raw(address) as connection:
                connection.sendall(framed(frame))
                connection.shutdown(socket.SHUT_WR)
                closes += connection.recv(1) == b""
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == closes
    assert not re.search(r"\wError ", "\n".join(lines))
    assert closes == 0 or (null == "text" and "not null" in lines[0])


def test_who_asks_nothing_makes_room() -> None:
    asked = framed(encoded(request("api_versions", 0), 1))
    with serving(Options(limits=Maxima(connections=2))) as address, raw(address) as first:
        first.sendall(asked)
        assert first.recv(1)
        with ExitStack() as stack:
            silent = [stack.enter_context(raw(address)) for _ in range(20)]
            third = stack.enter_context(raw(address))
            assert all(map(closed, silent))
            third.sendall(asked)
            assert third.recv(1)
            first.sendall(asked)
            assert first.recv(1)


@pytest.mark.parametrize("room", [40_000, 80_000])
def test_who_sends_half_of_much_makes_room(room: int, caplog: pytest.LogCaptureFixture) -> None:
    options = Options(limits=Maxima(traffic_bytes=room))
    with serving(options) as address, raw(address) as half:
        half.sendall((30_000).to_bytes(4, "big") + bytes(20_000))
        with clients_of(address) as (client,):
            client.topic("t")
            assert 20_000 < len(record_batch(500)) < 40_000
            client.fill("t", 500)
        if room == 40_000:
            assert closed(half)
        else:
            half.settimeout(0.05)
            with pytest.raises(TimeoutError):
                half.recv(1)
    others = [each for each in caplog.records if "closed, others need" in each.getMessage()]
    assert len(others) == (room == 40_000)


@pytest.mark.parametrize(
    ("sent", "idle"), [(0.0, 60.0), (0.1, 60.0), (0.5, 60.0), (1.0, 0.2), (1.1, 60.0), (1.5, 60.0)]
)
def test_what_is_not_sent_is_not_waited_for(
    sent: float, idle: float, caplog: pytest.LogCaptureFixture
) -> None:
    asked = framed(encoded(request("api_versions", 0), 1))
    limits = Maxima(stalled_seconds=0.1, idle_seconds=idle)
    with serving(Options(limits=limits)) as address, raw(address) as connection:
        connection.settimeout(10)
        connection.sendall((asked + asked)[: int(sent * len(asked))])
        while connection.recv(65_536):
            pass
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.endswith("closed, no request came, or not all of one")


@pytest.mark.parametrize("sent", [0, 1, 4, 5])
def test_a_client_that_goes_within_a_request_is_noticed(
    sent: int, caplog: pytest.LogCaptureFixture
) -> None:
    asked = framed(encoded(request("api_versions", 0), 1))
    with serving(Options()) as address, raw(address) as connection:
        connection.sendall(asked[:sent])
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b""
    lines = [record.getMessage() for record in caplog.records]
    assert [line.endswith("closed, it ended within a request") for line in lines] == [True] * bool(
        sent
    )


def test_who_sends_a_byte_at_a_time_is_dropped_and_others_are_served() -> None:
    with serving(Options(limits=Maxima(stalled_seconds=1.5))) as address, ExitStack() as stack:
        (client,) = stack.enter_context(clients_of(address))
        left = [stack.enter_context(raw(address)) for _ in range(20)]
        for connection in left:
            connection.sendall((1000).to_bytes(4, "big"))
            connection.settimeout(0)
        until = time.monotonic() + 10
        while left and time.monotonic() < until:
            assert client.send(request("api_versions", 0)).error_code == 0
            left = [connection for connection in left if still_open(connection)]
            time.sleep(0.05)
        assert not left


def still_open(connection: socket.socket) -> bool:
    """Send a byte, and return whether the server has not closed the connection."""
    try:
        connection.send(b"\0")
        return connection.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def test_a_session_and_a_subscription_have_their_limits() -> None:
    limits = Maxima(session_partitions=1, subscription_characters=5, members=1)
    with client_of(Options(limits=limits)) as client:
        topic = client.topic("t")
        invalid = KafkaError.invalid_request
        assert client.beat(0, ["t" * 6]).error_code == invalid
        assert client.beat(0, ["t"]).error_code == 0
        assert client.beat(0, ["t"], "n", "h").error_code == KafkaError.group_max_size_reached
        client.fetch(0, part(topic))
        more = client.fetch(1, part(topic, partition=1))
        assert more.response.error.value == invalid


@pytest.mark.parametrize("turns", range(12))
def test_a_connection_that_comes_as_the_broker_stops_is_closed(turns: int) -> None:
    async def run() -> None:
        server = Server(Options())
        [at] = await server.start(LOOPBACK)
        with socket.create_connection((at.host, at.port)):
            for _ in range(turns):
                await asyncio.sleep(0)
            await server.stop()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        asyncio.run(run())
        gc.collect()
    assert [str(warning.message) for warning in caught] == []
