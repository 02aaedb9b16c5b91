"""A broker that is silent, gone, too loud or out of order is told from one that answers."""

import time
from collections.abc import Iterator

import pytest

from conformance.target import TargetError
from conformance.wire.connection import Address, Bounds, Wire
from conformance.wire.messages import request
from conformance.wire.target import UnansweredError
from tests.conformance.wire.serving import Script, framed, serving

VERSIONS = request("api_versions", 0)
NONE = b"\0\0" + b"\0\0\0\0"


def correct(frame: bytes) -> bytes:
    return framed(frame[4:8] + NONE)


@pytest.fixture
def opened() -> Iterator[list[Wire]]:
    made: list[Wire] = []
    yield made
    for wire in made:
        wire.close()


def wire(opened: list[Wire], address: str, **bounds: float) -> Wire:
    limits = Bounds(**{"seconds": 0.2, **bounds})  # type: ignore[arg-type]
    opened.append(Wire(Address.parse(address), limits))
    return opened[-1]


def test_an_answer_has_the_times_around_it(opened: list[Wire]) -> None:
    before = time.monotonic() * 1000
    with serving(correct) as address:
        made = wire(opened, address)
        answers = [made.ask("a", VERSIONS) for _ in range(3)]
    assert answers[0].body.error_code == 0
    times = [time for answer in answers for time in (answer.sent_ms, answer.received_ms)]
    assert [before, *times] == sorted([before, *times])


def half(frame: bytes) -> bytes:
    return correct(frame)[:-2]


@pytest.mark.parametrize(
    ("script", "error"),
    [
        (lambda _frame: b"", r"did not answer ApiVersions in 0\.2 s"),
        (half, r"did not answer ApiVersions in 0\.2 s"),
        (lambda _frame: None, "closed the connection instead of answering ApiVersions"),
        (lambda _frame: b"HTTP/1.1 400 Bad Request\r\n\r\n", "a frame of 1,213,486,160 bytes"),
        (lambda _frame: b"\xff\xff\xff\xff", "a frame of -1 bytes"),
        (lambda _frame: framed(b"\0" * 1001), "a frame of 1,001 bytes; at most 1,000 are read"),
        (lambda _frame: framed(b""), "is 4; allowed: at most the 0 bytes that are left"),
        (lambda _frame: framed(b"\0\0\0\x63" + NONE), "correlation id 99, not 1"),
        (lambda frame: framed(frame[4:8] + NONE + b"!"), "1 bytes are left over"),
        (lambda frame: framed(frame[4:8] + b"\0\0\x7f\xff\xff\xff"), "an array of at most 0"),
    ],
)
def test_an_invalid_answer_is_reported_in_one_line(
    opened: list[Wire], script: Script, error: str
) -> None:
    with serving(script) as address:
        made = wire(opened, address, frame_bytes=1000)
        with pytest.raises(TargetError, match=error) as told:
            made.ask("a", VERSIONS)
    assert address in str(told.value)
    assert "\n" not in str(told.value)


def test_a_connection_closed_instead_of_an_answer_is_distinguished(opened: list[Wire]) -> None:
    with serving(lambda _frame: None) as address, pytest.raises(UnansweredError):
        wire(opened, address).ask("a", VERSIONS)
    with serving(lambda _frame: b"") as address, pytest.raises(TargetError) as silent:
        wire(opened, address).ask("a", VERSIONS)
    assert not isinstance(silent.value, UnansweredError)


def test_after_an_error_the_connection_is_new(opened: list[Wire]) -> None:
    came: list[bytes] = []

    def late_once(frame: bytes) -> bytes:
        came.append(frame[4:8])
        return b"" if len(came) == 1 else correct(frame)

    with serving(late_once) as address:
        made = wire(opened, address)
        with pytest.raises(TargetError, match="did not answer"):
            made.ask("a", VERSIONS)
        made.ask("a", VERSIONS)
    assert came == [b"\0\0\0\1", b"\0\0\0\1"]


def test_each_name_is_a_connection_and_disconnecting_ends_it(opened: list[Wire]) -> None:
    came: list[bytes] = []

    def noting(frame: bytes) -> bytes:
        came.append(frame[7:8])
        return correct(frame)

    with serving(noting) as address:
        made = wire(opened, address)
        for name in ("a", "a", "b"):
            made.ask(name, VERSIONS)
        made.disconnect("a")
        made.disconnect("nobody")
        made.ask("a", VERSIONS)
    assert came == [b"\1", b"\2", b"\1", b"\1"]


def test_a_broker_may_wait_as_long_as_it_was_asked_to(opened: list[Wire]) -> None:
    def slow(frame: bytes) -> bytes:
        time.sleep(0.3)
        return correct(frame)

    with serving(slow) as address:
        wire(opened, address).ask("a", VERSIONS, wait_ms=2000)


def test_requests_and_connections_are_bounded(opened: list[Wire]) -> None:
    with serving(correct) as address:
        made = wire(opened, address, requests=3, connections=1)
        made.ask("a", VERSIONS)
        with pytest.raises(TargetError, match="more than 1 connections"):
            made.ask("b", VERSIONS)
        made.ask("a", VERSIONS)
        with pytest.raises(TargetError, match="more than 3 requests"):
            made.ask("a", VERSIONS)


def test_a_refused_connection_is_reported(opened: list[Wire]) -> None:
    with serving(correct) as address:
        pass
    with pytest.raises(TargetError, match=rf"^{address} cannot be reached: Connection refused$"):
        wire(opened, address).ask("a", VERSIONS)


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [("localhost:9092", "localhost", 9092), ("[::1]:1", "::1", 1), ("::1:65535", "::1", 65535)],
)
def test_addresses(text: str, host: str, port: int) -> None:
    assert Address.parse(text) == Address(host, port)
    assert Address.parse(str(Address(host, port))) == Address(host, port)


@pytest.mark.parametrize(
    "text", ["", "host", "host:", ":9", "h:0", "h:65536", "h:x", "h:" + "9" * 99]
)
def test_an_invalid_address_is_refused(text: str) -> None:
    with pytest.raises(TargetError, match="is not the address of a broker; allowed: HOST:PORT"):
        Address.parse(text)
