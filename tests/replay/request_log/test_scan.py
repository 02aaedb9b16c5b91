"""How far the log of a broker goes on, by its lines of any kind."""

from collections.abc import Iterator

from replay.observed.gaps import QUIET_MS, gaps_of
from replay.observed.observation import Lapse, LogExtent, of_kind
from replay.request_log.scan import FileTally, scan
from replay.sources import Line

READ, OTHER = "SHARE_FETCH", "API_VERSIONS"
HERE, THERE = "10.0.0.1", "10.0.0.2"
FETCH = '{"groupId":"g","memberId":"m","shareSessionEpoch":0,"topics":[],"forgottenTopicsData":[]}'


def line(second: int, api: str, host: str = HERE) -> str:
    """Return a line of a broker that answered at a second of an hour."""
    stamp = f"[2026-11-22 02:{second // 60:02}:{second % 60:02},000]"
    header = f'"requestHeader":{{"requestApiVersion":1,"requestApiKeyName":"{api}"}}'
    answer = '"response":{"errorCode":0,"responses":[],"nodeEndpoints":[]}'
    rest = f'"connection":"{host}:9092-10.0.0.9:5000-0-0","totalTimeMs":1'
    return f'{stamp} DEBUG Completed request:{{{header},"request":{FETCH},{answer},{rest}}} (k)'


def scanned(*lines: str) -> FileTally:
    tally = FileTally("kafka-request.log")
    numbered = (Line(number, text.encode()) for number, text in enumerate(lines, 1))
    assert list(scan(numbered, tally.source, tally)) == []
    assert not tally.unusable
    return tally


def gaps(*lines: str) -> list[Lapse]:
    return gaps_of(scanned(*lines).facts)


def hosts(*lines: str) -> list[str]:
    return [each.broker.partition("@")[0] for each in of_kind(LogExtent, scanned(*lines).facts)]


def _idle(api: str, host: str = HERE) -> Iterator[str]:
    """Yield lines of a broker that leads nothing between two fetches, 10 minutes apart."""
    yield line(0, READ)
    yield from (line(second, api, host) for second in range(1, 600))
    yield line(600, READ)


def test_a_broker_that_answers_any_request_has_lost_no_line() -> None:
    assert gaps(*_idle(OTHER)) == []
    assert hosts(*_idle(OTHER)) == [HERE]


def test_a_broker_that_answers_nothing_may_have_lost_lines() -> None:
    lines = list(_idle(OTHER))
    assert gaps(*lines[:500], *lines[499 + QUIET_MS // 1000 :]) == []
    (gap,) = gaps(*lines[:500], *lines[500 + QUIET_MS // 1000 :])
    assert "no line for 61 s" in gap.reason


def test_another_broker_says_nothing_of_lines_that_this_one_has_lost() -> None:
    (gap,) = gaps(*_idle(OTHER, THERE))
    assert "no line for 600 s" in gap.reason
    first, *between, last = _idle(OTHER)
    (gap,) = gaps(first, *(each.replace('"connection"', '"connected"') for each in between), last)
    assert "no line for 600 s" in gap.reason


def test_a_host_that_answers_no_request_of_share_groups_is_no_broker_whose_log_is_there() -> None:
    assert hosts(*_idle(OTHER, THERE)) == [HERE, HERE]
    assert hosts(line(0, READ), line(1, OTHER, THERE), line(1, READ, THERE)) == [HERE, THERE]
