from typing import Any

import pytest

from model.errors import InvalidValueError
from replay.observed.observation import (
    Kind,
    ListedBroker,
    NamedTopic,
    SessionChange,
    SessionEvent,
    SettingEvent,
)
from replay.request_log.bodies import MOST_BATCHES, observed
from replay.request_log.entry import Entry

VERSIONS = {"PRODUCE": 13, "FETCH": 18, "LIST_OFFSETS": 11, "DELETE_RECORDS": 2, "METADATA": 13}


def seen(api: str, request: dict[str, Any], response: dict[str, Any]) -> list[Any]:
    version = VERSIONS.get(api, 1)
    return observed(Entry(100, 10, api, version, request, response, "h:1-h:2-0"))


def acknowledge(types: list[int], first: int = 5, last: int = 5, **more: Any) -> list[Any]:  # noqa: ANN401 - parts of a request
    batch = {"firstOffset": first, "lastOffset": last, "acknowledgeTypes": types}
    part = {"partitionIndex": 0, "acknowledgementBatches": [batch, *more.get("batches", ())]}
    request = {
        "groupId": "g",
        "memberId": "m",
        "shareSessionEpoch": more.get("epoch", 3),
        "topics": [{"topicId": "t", "partitions": [part]}],
    }
    answer = {"partitionIndex": 0, "errorCode": 0}
    answers = [{"topicId": "t", "partitions": [answer]}] if more.get("answered", True) else []
    response = {"errorCode": more.get("error", 0), "responses": answers}
    return seen("SHARE_ACKNOWLEDGE", request, response)


def test_types_are_runs_of_offsets() -> None:
    [one] = acknowledge([1, 1, 2, 1], 5, 8)
    assert one.ranges == ((5, 6, 1), (7, 7, 2), (8, 8, 1))
    assert (one.kind, one.status, one.member, one.epoch) == (Kind.ACKNOWLEDGE, 0, "m", 3)


@pytest.mark.parametrize(
    ("types", "last", "batches"),
    [
        ([1, 1], 5, ()),
        ([9], 5, ()),
        ([], 5, ()),
        ([1], 4, ()),
        ([1], 5, ({"firstOffset": 4, "lastOffset": 4, "acknowledgeTypes": [1]},)),
    ],
    ids=["types", "type", "none", "range", "order"],
)
def test_batches_that_the_protocol_does_not_have_are_marked(
    types: list[int], last: int, batches: tuple[dict[str, Any], ...]
) -> None:
    [one] = acknowledge(types, 5, last, batches=batches)
    assert one.malformed


def test_a_partition_that_is_not_answered_has_no_status() -> None:
    [one] = acknowledge([1], answered=False)
    assert one.status is None


def test_an_error_of_the_whole_request_has_no_effect() -> None:
    [one] = acknowledge([1], error=123)
    assert one.change is SessionChange.REFUSED
    changes = [one.change for one in acknowledge([1], epoch=-1) if isinstance(one, SessionEvent)]
    assert changes == [SessionChange.CLOSED]


def test_what_was_produced_shows_where_the_log_starts_and_where_a_batch_begins() -> None:
    answer = {"index": 0, "errorCode": 0, "baseOffset": 8, "logStartOffset": 2}
    response = {"responses": [{"topicId": "t", "partitionResponses": [answer]}]}
    appended, start = seen("PRODUCE", {"transactionalId": "x"}, response)
    assert (appended.kind, appended.offset, appended.exact) == (Kind.APPENDED, 8, False)
    assert (start.kind, start.offset, start.exact) == (Kind.LOG_START, 2, True)


@pytest.mark.parametrize(("timestamp", "kind"), [(-1, Kind.LOG_END), (-2, Kind.LOG_START)])
def test_list_offsets_names_the_topic(timestamp: int, kind: Kind) -> None:
    asked = {"name": "t", "partitions": [{"partitionIndex": 0, "timestamp": timestamp}]}
    answer = {"partitionIndex": 0, "errorCode": 0, "offset": 9}
    response = {"topics": [{"name": "t", "partitions": [answer]}]}
    [one] = seen("LIST_OFFSETS", {"isolationLevel": 0, "topics": [asked]}, response)
    assert (one.kind, one.named, one.offset) == (kind, True, 9)


def test_deleted_records_and_names_and_brokers_are_seen() -> None:
    answer = {"partitionIndex": 0, "errorCode": 0, "lowWatermark": 4}
    [one] = seen("DELETE_RECORDS", {}, {"topics": [{"name": "t", "partitions": [answer]}]})
    assert one.kind is Kind.DELETED_RECORDS
    topic = {"errorCode": 0, "name": "t", "topicId": "id"}
    assert seen("METADATA", {}, {"brokers": [{"nodeId": 3}], "topics": [topic]}) == [
        NamedTopic("id", "t"),
        ListedBroker(3),
    ]


def test_settings_of_groups_are_seen_unless_they_were_refused() -> None:
    config = {"name": "share.delivery.count.limit", "configOperation": 0, "value": "3"}
    resource = {"resourceType": 32, "resourceName": "g", "configs": [config]}
    other = {"resourceType": 2, "resourceName": "t", "configs": [config]}
    answer = {"resourceType": 32, "resourceName": "g", "errorCode": 0}
    request = {"resources": [resource, other], "validateOnly": False}
    [one] = seen("INCREMENTAL_ALTER_CONFIGS", request, {"responses": [answer]})
    assert one == SettingEvent("g", "share.delivery.count.limit", "3", 90, 100)
    refused = {**answer, "errorCode": 40}
    assert seen("INCREMENTAL_ALTER_CONFIGS", request, {"responses": [refused]}) == []
    asked = {**request, "validateOnly": True}
    assert seen("INCREMENTAL_ALTER_CONFIGS", asked, {"responses": [answer]}) == []


def test_a_member_that_leaves_is_seen() -> None:
    request = {"groupId": "g", "memberId": "m", "memberEpoch": -1}
    [one] = seen("SHARE_GROUP_HEARTBEAT", request, {"errorCode": 0})
    assert one.change is SessionChange.LEFT
    assert seen("SHARE_GROUP_HEARTBEAT", {**request, "memberEpoch": 2}, {"errorCode": 0}) == []


@pytest.mark.parametrize(
    ("first", "last", "state"),
    [(5, 4, 2), (0, 1 << 20, 2), (-1, 4, 2), (0, 4, -1), (0, 2**63, 2), ("0", 4, 2)],
    ids=str,
)
def test_ranges_are_bounded(first: int, last: int, state: int) -> None:
    batch = {"firstOffset": first, "lastOffset": last, "deliveryState": state, "deliveryCount": 1}
    part: dict[str, Any] = {"partition": 0, "stateEpoch": 1, "leaderEpoch": 0, "startOffset": 0}
    part |= {"deliveryCompleteCount": 0, "stateBatches": [batch]}
    request = {"groupId": "g", "topics": [{"topicId": "t", "partitions": [part]}]}
    with pytest.raises(InvalidValueError):
        seen("WRITE_SHARE_GROUP_STATE", request, {"results": []})


def test_lists_are_bounded() -> None:
    part = {"partition": 0, "stateBatches": [None] * (MOST_BATCHES + 1)}
    request = {"groupId": "g", "topics": [{"topicId": "t", "partitions": [part]}]}
    with pytest.raises(InvalidValueError, match="a list of at most"):
        seen("WRITE_SHARE_GROUP_STATE", request, {"results": []})
