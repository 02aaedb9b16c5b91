import pytest

from replay.request_log.bodies import APIS
from replay.request_log.entry import Entry, Other, Unusable, entries

HEAD = '"requestHeader":{"requestApiVersion":2,"requestApiKeyName":"SHARE_FETCH"}'
REST = '"request":{},"response":{},"connection":"10.0.0.1:9092-10.0.0.2:5000-0-0"'
LINE = f'[2026-11-22 02:20:57,364] DEBUG Completed request:{{{HEAD},{REST},"totalTimeMs":4.5}} (k)'


def entry(line: str) -> Entry | Other | Unusable:
    [one] = entries(line.encode(), APIS)
    return one


def test_a_line_is_a_request_with_its_times() -> None:
    one = entry(LINE)
    assert isinstance(one, Entry)
    assert (one.api, one.version, one.end - one.begin, one.local) == (
        "SHARE_FETCH",
        2,
        4.5,
        "10.0.0.1",
    )
    assert one.end % 60_000 == 57_364


@pytest.mark.parametrize("stamp", ["2026-11-22T02:20:57.364Z INFO", "2026-11-22 02:20:57,364000"])
def test_other_patterns_of_the_time_are_read(stamp: str) -> None:
    one = entry(LINE.replace("2026-11-22 02:20:57,364", stamp))
    assert isinstance(one, Entry)
    assert one.end % 60_000 == 57_364


def test_a_line_without_a_request_holds_nothing() -> None:
    assert list(entries(b"[2026-11-22 02:20:57,364] INFO something else", APIS)) == []


def test_requests_of_other_kinds_are_not_decoded() -> None:
    one = entry(LINE.replace("SHARE_FETCH", "HEARTBEAT").replace('"totalTimeMs"', "cut here"))
    assert isinstance(one, Other)
    assert one.api == "HEARTBEAT"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (LINE[:120], "cut"),
        (LINE.replace("2026-11-22 02:20:57,364", "then"), "no time"),
        (LINE.replace("4.5", "NaN"), "not a duration"),
        (LINE.replace("4.5", "-1"), "not a duration"),
        (LINE.replace("4.5", "true"), "not a duration"),
        (LINE.replace("4.5", "1" + 400 * "0"), "cut or"),
        (LINE.replace('"request":{}', '"request":[]'), "not an object"),
        (LINE.replace('"connection"', '"connected"'), "connection"),
        (LINE.replace("{}", "[" * 100_000), "cut"),
    ],
    ids=["cut", "time", "NaN", "negative", "true", "huge", "list", "missing", "deep"],
)
def test_a_line_that_is_not_as_it_should_be_is_unusable(line: str, message: str) -> None:
    one = entry(line)
    assert isinstance(one, Unusable)
    assert message in one.message
    assert one.api in ("SHARE_FETCH", None)


def test_lines_that_have_run_together_each_keep_their_time() -> None:
    first, second = entries((LINE + LINE.replace("57,364", "58,000")).encode(), APIS)
    assert isinstance(first, Entry)
    assert isinstance(second, Entry)
    assert second.end - first.end == 636
