"""What lines of any kind show: how far a broker's log goes on, and what no log has."""

from collections.abc import Iterator

import pytest

from replay.observed.gaps import gaps_of, missing_of
from replay.observed.observation import Lapse, LogExtent, SentRun, of_kind
from replay.observed.settings import Assumed
from replay.request_log import scan as module
from replay.request_log.scan import FileTally, scan
from replay.sources import Line

STATE, READ, OTHER = "_SHARE_GROUP_STATE", "SHARE_FETCH", "API_VERSIONS"
WRITE = f"WRITE{STATE}"
QUIET_S = round(Assumed().quiet_ms / 1000)
HERE, THERE = "10.0.0.1", "10.0.0.2"
FETCH = '{"groupId":"g","memberId":"m","shareSessionEpoch":0,"topics":[],"forgottenTopicsData":[]}'


def line(second: int, api: str, host: str = HERE) -> str:
    """Return a line of a broker that answered at a second of an hour."""
    stamp = f"[2026-11-22 02:{second // 60:02}:{second % 60:02},000]"
    header = f'"requestHeader":{{"requestApiVersion":1,"requestApiKeyName":"{api}"}}'
    answer = '"response":{"errorCode":0,"responses":[],"nodeEndpoints":[]}'
    rest = f'"connection":"{host}:9092-10.0.0.9:5000-0-0","totalTimeMs":1'
    return f'{stamp} DEBUG Completed request:{{{header},"request":{FETCH},{answer},{rest}}} (k)'


def sent(number: int, api: str = OTHER, client: str = "Persister-client-1") -> str:
    """Return a line of a request with a correlation id, of the leader that is this client."""
    body = '"request":{"groupId":"g","topics":[]},"response":{"results":[]}'
    text = line(number, api).replace(f'"request":{FETCH}', body.partition(',"resp')[0])
    text = text.replace('"errorCode":0,"responses":[],"nodeEndpoints":[]', '"results":[]')
    identity = f'"correlationId":{number},"clientId":"{client}"}}'
    return text.replace(f'"{api}"}}', f'"{api}",{identity}')


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
    assert gaps(*lines[:500], *lines[499 + QUIET_S :]) == []
    (gap,) = gaps(*lines[:500], *lines[500 + QUIET_S :])
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


def missing(*logs: tuple[str, ...]) -> list[str]:
    facts = [fact for lines in logs for fact in scanned(*lines).facts]
    return [gap.reason for gap in missing_of(of_kind(SentRun, facts))]


def test_what_a_leader_asks_brokers_that_coordinate_nothing_is_in_their_logs() -> None:
    coordinator = sent(0), sent(2, WRITE), sent(3, WRITE)
    assert missing(coordinator, (sent(1), *(sent(n, client="rdkafka") for n in (5, 9)))) == []
    assert missing(coordinator) == ["1 requests to share coordinators are in no log"]
    assert missing((sent(5), sent(9))) == []


def test_a_coordinator_is_asked_for_a_summary_too() -> None:
    assert missing((sent(0, WRITE), sent(1, f"READ{STATE}_SUMMARY"), sent(2, WRITE))) == []


def test_only_so_many_clients_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CLIENTS", 3)
    lines = [sent(n, client=f"client {n}") for n in range(9)]
    assert len(of_kind(SentRun, scanned(*lines).facts)) == 3
    of_leaders = of_kind(SentRun, scanned(*lines, sent(9, WRITE)).facts)
    assert [run.first for run in of_leaders if run.to_coordinator] == [9]
