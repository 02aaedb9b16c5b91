"""A request and its response as observations of share-partitions, and facts about many.

Which fields mean what is the protocol's; only these versions are read.
"""

from collections.abc import Callable, Iterator
from typing import Any

from model.checks import MAX_INT64, MAX_RANGE, whole
from model.errors import InvalidValueError
from model.ranges import runs
from replay.observed.observation import (
    Fact,
    Kind,
    ListedBroker,
    NamedTopic,
    Observation,
    Ranges,
    SessionChange,
    SessionEvent,
    SettingEvent,
)
from replay.request_log.entry import Entry

Seen = Observation | Fact
"""What a request shows."""

MOST_BATCHES = 100_000
"""How many ranges one partition of a request may have."""

_GROUP_CONFIG = 32
_EARLIEST, _LATEST = -2, -1
_READ_COMMITTED = 1


def observed(entry: Entry) -> list[Seen]:
    """Return what an entry shows. Raises InvalidValueError where it is not as the protocol is."""
    known, read = _READERS[entry.api]
    if entry.version not in known:
        allowed = f"{known.start} to {known.stop - 1}"
        raise InvalidValueError(f"version of {entry.api}", entry.version, allowed)
    return list(read(entry))


def _index_in(partition: dict[str, Any]) -> str:
    """Return under which name a partition has its index. Raises InvalidValueError."""
    names = ("partitionIndex", "partition", "index")
    for name in names:
        if name in partition:
            return name
    raise InvalidValueError("partition", partition, f"an object with {', '.join(names)}")


def _base(entry: Entry, item: dict[str, Any], partition: dict[str, Any]) -> dict[str, Any]:
    """Return what every observation of a partition of a request has."""
    index = _index_in(partition)
    topic = item.get("topicId") or item.get("name") or item.get("topic")
    return {
        "topic": _string("topic", topic),
        "named": not item.get("topicId"),
        "partition": whole("partition", partition[index], 0, 2**31 - 1),
        "source": entry.source,
        "line": entry.line,
        "begin": entry.begin,
        "end": entry.end,
        "late": entry.late,
        "broker": entry.broker,
    }


def _partitions(
    topics: list[dict[str, Any]] | None, name: str = "partitions"
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for topic in _list("topics", topics):
        for partition in _list(name, topic[name]):
            yield topic, partition


def _answers(
    topics: list[dict[str, Any]] | None, name: str = "partitions"
) -> dict[tuple[str, int], dict[str, Any]]:
    answers = {}
    for topic, partition in _partitions(topics, name):
        index = _index_in(partition)
        answers[topic.get("topicId") or topic.get("name") or "", partition[index]] = partition
    return answers


def _share_fetch(entry: Entry) -> Iterator[Seen]:
    request, response = entry.request, entry.response
    yield from _session(entry)
    if response["errorCode"]:
        return
    yield from _acknowledgements(entry, "acknowledgeErrorCode")
    member = _member(request)
    for topic, partition in _partitions(response["responses"]):
        ranges = tuple(
            _range(batch, "deliveryCount")
            for batch in _list("acquired", partition["acquiredRecords"])
        )
        if ranges:
            yield Observation(
                Kind.ACQUIRE,
                **_base(entry, topic, partition),
                **member,
                lock_ms=_lock(response),
                status=_error(partition["errorCode"]),
                offset=whole("maxRecords", request.get("maxRecords", MAX_INT64), -1),
                exact=request.get("shareAcquireMode") == 1,
                ranges=ranges,
            )


def _share_acknowledge(entry: Entry) -> Iterator[Seen]:
    yield from _session(entry)
    if not entry.response["errorCode"]:
        yield from _acknowledgements(entry, "errorCode")


def _acknowledgements(entry: Entry, code: str) -> Iterator[Observation]:
    """Yield the acknowledgements of each partition; ``code`` names the answer's error."""
    answers = _answers(entry.response["responses"])
    for topic, partition in _partitions(entry.request["topics"]):
        answer = answers.get((topic["topicId"], partition["partitionIndex"]))
        yield from _acknowledged(entry, topic, partition, answer[code] if answer else None)


def _acknowledged(
    entry: Entry, topic: dict[str, Any], partition: dict[str, Any], status: int | None
) -> Iterator[Observation]:
    batches = _list("acknowledgementBatches", partition.get("acknowledgementBatches"))
    if not batches:
        return
    ranges: list[tuple[int, ...]] = []
    malformed, reached = False, -1
    for batch in batches:
        typed = _typed(batch)
        malformed |= typed is None or batch["firstOffset"] <= reached
        reached = batch["lastOffset"]
        ranges += typed or ()
    yield Observation(
        Kind.ACKNOWLEDGE,
        **_base(entry, topic, partition),
        **_member(entry.request),
        lock_ms=_lock(entry.response),
        status=None if status is None else _error(status),
        exact=bool(entry.request.get("isRenewAck")),
        malformed=malformed,
        ranges=tuple(ranges),
    )


def _typed(batch: dict[str, Any]) -> list[tuple[int, int, int]] | None:
    """Return runs of one acknowledge type; None if the batch is malformed."""
    first, last, types = batch["firstOffset"], batch["lastOffset"], batch["acknowledgeTypes"]
    numbers = (first, last, *types)
    if not all(type(number) is int for number in numbers):
        raise InvalidValueError("acknowledgement batch", numbers, "integers")
    in_order = 0 <= first <= last < MAX_INT64 and all(0 <= kind <= 4 for kind in types)  # noqa: PLR2004 - the acknowledge types
    if not in_order or len(types) not in (1, last - first + 1):
        return None
    if len(types) == 1:
        return [(first, _last(first, last), types[0])]
    return list(runs(enumerate(types, start=first)))


def _session(entry: Entry) -> Iterator[SessionEvent]:
    epoch = whole("shareSessionEpoch", entry.request["shareSessionEpoch"], -1, 2**31 - 1)
    error = _error(entry.response["errorCode"])
    if epoch > 0 and not error:
        return
    change = SessionChange.CLOSED if epoch == -1 else SessionChange.OPENED
    if error:
        change = SessionChange.REFUSED
    yield _session_event(entry, change)


def _heartbeat(entry: Entry) -> Iterator[Seen]:
    if entry.request["memberEpoch"] == -1 and not entry.response["errorCode"]:
        yield _session_event(entry, SessionChange.LEFT)


def _session_event(entry: Entry, change: SessionChange) -> SessionEvent:
    group = _string("groupId", entry.request["groupId"])
    member = _string("memberId", entry.request["memberId"])
    return SessionEvent(group, member, entry.broker, change, entry.begin - entry.late, entry.end)


_OF_STATE: dict[str, tuple[Kind, tuple[str, ...], tuple[str, ...]]] = {
    "INITIALIZE_SHARE_GROUP_STATE": (Kind.INITIALIZE, ("stateEpoch", "startOffset"), ()),
    "READ_SHARE_GROUP_STATE": (Kind.READ, ("leaderEpoch",), ("stateEpoch", "startOffset")),
    "WRITE_SHARE_GROUP_STATE": (
        Kind.WRITE,
        ("leaderEpoch", "stateEpoch", "startOffset", "deliveryCompleteCount"),
        (),
    ),
    "DELETE_SHARE_GROUP_STATE": (Kind.DELETE, (), ()),
    "READ_SHARE_GROUP_STATE_SUMMARY": (
        Kind.SUMMARY,
        (),
        ("stateEpoch", "leaderEpoch", "startOffset", "deliveryCompleteCount"),
    ),
}
"""What each request to a share coordinator is, and the numbers in its request and its answer."""


def _share_group_state(entry: Entry) -> Iterator[Seen]:
    kind, of_request, of_answer = _OF_STATE[entry.api]
    answers = _answers(entry.response["results"])
    for topic, partition in _partitions(entry.request["topics"]):
        answer = answers.get((topic["topicId"], partition["partition"]))
        told = answer or {}
        batches = partition["stateBatches"] if kind is Kind.WRITE else told.get("stateBatches")
        yield Observation(
            kind,
            **_base(entry, topic, partition),
            group=_string("groupId", entry.request["groupId"]),
            status=None if answer is None else _error(answer["errorCode"]),
            **_numbers(partition, *of_request),
            **_numbers(told, *of_answer),
            ranges=_states(batches),
        )


def _produce(entry: Entry) -> Iterator[Seen]:
    plain = entry.request.get("transactionalId") is None
    for partition, base in _served(entry, "responses", "partitionResponses"):
        yield from _offset(Kind.APPENDED, partition, "baseOffset", base, exact=plain)
        yield from _offset(Kind.LOG_START, partition, "logStartOffset", base, exact=True)


def _fetch(entry: Entry) -> Iterator[Seen]:
    for partition, base in _served(entry, "responses"):
        yield from _offset(Kind.LOG_START, partition, "logStartOffset", base)


def _list_offsets(entry: Entry) -> Iterator[Seen]:
    asked = {
        key: partition["timestamp"] for key, partition in _answers(entry.request["topics"]).items()
    }
    committed = entry.request.get("isolationLevel") == _READ_COMMITTED
    for partition, base in _served(entry, "topics"):
        timestamp = asked.get((base["topic"], base["partition"]))
        if timestamp == _EARLIEST:
            yield from _offset(Kind.LOG_START, partition, "offset", base, exact=True)
        elif timestamp == _LATEST and not committed:
            yield from _offset(Kind.LOG_END, partition, "offset", base)


def _delete_records(entry: Entry) -> Iterator[Seen]:
    for partition, base in _served(entry, "topics"):
        yield from _offset(Kind.DELETED_RECORDS, partition, "lowWatermark", base)


def _served(
    entry: Entry, topics: str, partitions: str = "partitions"
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield each partition that was answered without an error, and what its observations have."""
    for topic, partition in _partitions(entry.response[topics], partitions):
        if not partition["errorCode"]:
            yield partition, _base(entry, topic, partition)


def _offset(
    kind: Kind, partition: dict[str, Any], name: str, base: dict[str, Any], *, exact: bool = False
) -> Iterator[Observation]:
    """Yield what an offset of a log shows, if there is one; -1 is none."""
    offset = whole(name, partition[name], -1)
    if offset >= 0:
        yield Observation(kind, **base, offset=offset, exact=exact)


def _alter_configs(entry: Entry) -> Iterator[Seen]:
    refused = {
        (answer["resourceType"], answer["resourceName"])
        for answer in _list("responses", entry.response["responses"])
        if answer["errorCode"]
    }
    if entry.request.get("validateOnly"):
        return
    for resource in _list("resources", entry.request["resources"]):
        key = resource["resourceType"], resource["resourceName"]
        if key[0] != _GROUP_CONFIG or key in refused:
            continue
        for config in _list("configs", resource["configs"]):
            deleted = config["configOperation"] == 1
            value = None if deleted else config["value"]
            begin = entry.begin - entry.late
            yield SettingEvent(key[1], config["name"], value, begin, entry.end)


def _names(entry: Entry) -> Iterator[Seen]:
    for topic in _list("topics", entry.response["topics"]):
        if topic.get("topicId") and topic.get("name") and not topic["errorCode"]:
            names = _string("topicId", topic["topicId"]), _string("name", topic["name"])
            yield NamedTopic(*names)
    for node in _list("brokers", entry.response.get("brokers")):
        yield ListedBroker(whole("nodeId", node["nodeId"], 0, 2**31 - 1))


def _member(request: dict[str, Any]) -> dict[str, Any]:
    return {
        "group": _string("groupId", request["groupId"]),
        "member": _string("memberId", request["memberId"]),
        "epoch": whole("shareSessionEpoch", request["shareSessionEpoch"], -1, 2**31 - 1),
    }


def _lock(response: dict[str, Any]) -> int | None:
    value = response.get("acquisitionLockTimeoutMs")
    return None if value is None else whole("acquisitionLockTimeoutMs", value, 0, 2**31 - 1)


_FIELDS = {
    "leaderEpoch": "leader_epoch",
    "stateEpoch": "state_epoch",
    "startOffset": "start_offset",
    "deliveryCompleteCount": "complete_count",
}


def _numbers(data: dict[str, Any], *names: str) -> dict[str, Any]:
    return {_FIELDS[name]: whole(name, data[name], -1) if name in data else None for name in names}


def _states(batches: list[dict[str, Any]] | None) -> Ranges:
    return tuple(
        _range(batch, "deliveryState", "deliveryCount") for batch in _list("batches", batches)
    )


def _range(batch: dict[str, Any], *names: str) -> tuple[int, ...]:
    first = whole("firstOffset", batch["firstOffset"], 0)
    last = _last(first, batch["lastOffset"])
    return (first, last, *(whole(name, batch[name], 0, 2**15 - 1) for name in names))


def _last(first: int, last: object) -> int:
    return whole("lastOffset", last, first, min(first + MAX_RANGE - 1, MAX_INT64 - 2))


def _error(value: object) -> int:
    return whole("errorCode", value, -1, 2**15 - 1)


def _string(name: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidValueError(name, value, "a string that is not empty")
    return value


def _list(name: str, value: object) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > MOST_BATCHES:
        raise InvalidValueError(name, value, f"a list of at most {MOST_BATCHES}")
    return value


_READERS: dict[str, tuple[range, Callable[[Entry], Iterator[Seen]]]] = {
    "PRODUCE": (range(3, 15), _produce),
    "FETCH": (range(4, 20), _fetch),
    "LIST_OFFSETS": (range(1, 13), _list_offsets),
    "METADATA": (range(10, 15), _names),
    "CREATE_TOPICS": (range(7, 9), _names),
    "DELETE_RECORDS": (range(3), _delete_records),
    "INCREMENTAL_ALTER_CONFIGS": (range(2), _alter_configs),
    "SHARE_GROUP_HEARTBEAT": (range(3), _heartbeat),
    "SHARE_FETCH": (range(3), _share_fetch),
    "SHARE_ACKNOWLEDGE": (range(3), _share_acknowledge),
    **{name: (range(2), _share_group_state) for name in _OF_STATE},
}

APIS = frozenset(_READERS)
"""The requests that are read; others are counted."""

NEEDED = frozenset(name for name in APIS if "SHARE_" in name)
"""The requests without which nothing is known of a share-partition at that time."""

OF_COORDINATOR = frozenset(_OF_STATE)
"""The requests of leaders and group coordinators to share coordinators."""
