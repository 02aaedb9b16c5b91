"""A share coordinator made of the specification, behind the kit's protocol, with one fault.

``serve`` has none: it keeps what is durable where it leads.
"""

from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

import attrs
from immutables import Map

from conformance.coordinators.share_messages import APIS, camel
from model.errors import ErrorCode
from model.profile import profile_named
from model.ranges import StateBatch
from model.share_state_requests import (
    DeleteState,
    InitializeState,
    ReadState,
    ReadStateSummary,
    StateRequest,
    WriteState,
)
from model.state_topic import (
    SharePartitionKey,
    ShareSnapshot,
    ShareUpdate,
    StateRecord,
    state_partition,
)
from model.state_topic_codec import _batches_from, batch_values, record_from_json, record_to_json
from model.wire import _uuid_from
from spec.share_coordinator import (
    Reply,
    ShareCoordinator,
    due_for_snapshot,
    forget_topic,
    serve,
    snapshot_again,
)
from spec.state_topic import StateTopicPartition, append, recover, redundant_below
from tools.promises.altering import Value, change, to

Alter = Callable[[ShareCoordinator, StateRequest, Reply], Reply]
_KINDS = {name: kind for kind, name in APIS.items()}


def _refused_anyway(status: ErrorCode) -> Alter:
    """Serve with the present epochs a request that is refused with a status."""

    def alter(coordinator: ShareCoordinator, request: StateRequest, reply: Reply) -> Reply:
        if reply.status is not status or (held := coordinator.held.get(request.key)) is None:
            return reply
        if isinstance(request, WriteState):
            request = attrs.evolve(
                request, leader_epoch=held.leader_fence, state_epoch=held.durable.state_epoch
            )
        elif isinstance(request, ReadState):
            request = attrs.evolve(request, leader_epoch=held.leader_fence)
        return serve(coordinator, request, held.written_ms)

    return alter


def _absent_is_served(_before: ShareCoordinator, request: StateRequest, reply: Reply) -> Reply:
    absent = reply.status is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and isinstance(request, ReadState)
    if not absent or request.key in reply.coordinator.held:
        return reply
    empty = serve(reply.coordinator, ReadStateSummary(request.key), 0)
    return attrs.evolve(reply, status=ErrorCode.NONE, state=empty.state) if empty.state else reply


def _record(
    requests: Any,  # noqa: ANN401 - a class, or a union of some
    kind: type[ShareUpdate] | type[ShareSnapshot],
    of: Callable[[Any], Value],
) -> Alter:
    """Alter the record of this kind that such a request appends, as ``of`` says of the request."""

    def alter(_before: ShareCoordinator, request: StateRequest, reply: Reply) -> Reply:
        record = reply.record
        if not isinstance(request, requests) or record is None:
            return reply
        if not isinstance(record.value, kind):
            return reply
        value = of(request)(record.value)
        return attrs.evolve(reply, record=attrs.evolve(record, value=value))

    return alter


_update = partial(_record, WriteState, ShareUpdate)
"""Alter the update that a write appends."""


def _snapshot(requests: Any, **fields: Value) -> Alter:  # noqa: ANN401 - as of ``_record``
    """Alter the snapshot that such a request appends."""
    return _record(requests, ShareSnapshot, lambda _request: change(**fields))


def _unwritten(kind: type[StateRequest]) -> Alter:
    return lambda _before, request, reply: (
        attrs.evolve(reply, record=None) if isinstance(request, kind) else reply
    )


def _told(kind: type[StateRequest], **fields: Value) -> Alter:
    """Alter the state that the answer to such a request tells."""
    return lambda _before, request, reply: (
        attrs.evolve(reply, state=change(**fields)(reply.state))
        if isinstance(request, kind) and reply.state
        else reply
    )


_FOLLOWING = WriteState | ReadState
ANSWERS: dict[str, Alter] = {
    "older leaders are served": _refused_anyway(ErrorCode.FENCED_LEADER_EPOCH),
    "older state epochs are served": _refused_anyway(ErrorCode.FENCED_STATE_EPOCH),
    "absent state is read": _absent_is_served,
    "a late write takes the start offset back": _update(
        lambda request: change(start_offset=to(request.start_offset))
    ),
    "a late write takes the count back": _update(
        lambda request: change(delivery_complete_count=to(request.delivery_complete_count))
    ),
    "updates lose their leader": _update(to(change(leader_epoch=to(0)))),
    "an update loses a batch": _update(to(change(state_batches=lambda batches: batches[1:]))),
    "a new leader is not written": _unwritten(ReadState),
    "a deletion is not written": _unwritten(DeleteState),
    "a read answers no batches": _told(ReadState, state_batches=to(())),
    "a summary answers no leader": _told(ReadStateSummary, leader_epoch=to(0)),
    "snapshots lose what is in flight": _snapshot(_FOLLOWING, state=change(state_batches=to(()))),
    "snapshots lose the state epoch": _snapshot(_FOLLOWING, state=change(state_epoch=to(0))),
    "snapshots have no times": _snapshot(StateRequest, write_timestamp=to(0)),
    "snapshot epochs stand still": _snapshot(StateRequest, snapshot_epoch=to(0)),
    "a start offset has no count": _snapshot(
        InitializeState, state=change(delivery_complete_count=to(-1))
    ),
}
OTHERS = (
    "one update more before a snapshot",
    "idle share-partitions get no snapshot",
    "state of deleted topics stays",
    "needed records are pruned",
    "nothing is pruned",
    "a group id with a colon is refused",
    "a failover passes over tombstones",
    "a failover passes over updates",
    "an exception instead of an answer",
)
FAULTS = (*ANSWERS, *OTHERS)
"""The faults that can be planted."""


class DoubleCoordinator:
    """A driver in this process.

    ``lacks`` names the capabilities that it has not, ``says`` a profile other than its own. If it
    is ``varied`` it chooses otherwise: every other record is a snapshot, an update says -1 of a
    start offset that is kept, and each batch is of one offset.
    """

    def __init__(
        self,
        fault: str = "",
        profile: str = "kip",
        lacks: tuple[str, ...] = (),
        says: str = "",
        *,
        varied: bool = False,
    ) -> None:
        assert fault in ("", *FAULTS)
        self._says, self._varied, self._asked = says or profile, varied, 0
        self._fault, self._profile, self._lacks = fault, profile, lacks
        self._coordinator = ShareCoordinator(profile_named(profile))
        self._topic = StateTopicPartition()
        self._settings: dict[str, Any] = {}

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """Answer a message."""
        answer: Callable[[dict[str, Any]], dict[str, Any]] = getattr(self, f"_{message['do']}")
        return answer(message)

    def close(self) -> None:
        """Do nothing."""

    def _hello(self, _message: dict[str, Any]) -> dict[str, Any]:
        said = {"name": "double", "version": "1", "profile": self._says, "protocol": 1}
        return {**said, "capabilities": dict.fromkeys(self._lacks, False)}

    def _reset(self, message: dict[str, Any]) -> dict[str, Any]:
        self._settings = message
        updates = message["updates_per_snapshot"] + ("one update more" in self._fault)
        self._coordinator = ShareCoordinator(
            profile_named(self._profile),
            Map({_topic(text): partitions for text, partitions in message["topics"].items()}),
            updates_per_snapshot=updates,
        )
        self._topic = StateTopicPartition()
        return {}

    def _recover(self, message: dict[str, Any]) -> dict[str, Any]:
        records = [record_from_json(plain["key"], plain["value"]) for plain in message["records"]]
        gone = {"tombstones": type(None), "updates": ShareUpdate}
        for word, kind in gone.items():
            if self._fault == f"a failover passes over {word}":
                records = [record for record in records if not isinstance(record.value, kind)]
        self._topic = StateTopicPartition(message["offset"], tuple(records))
        self._coordinator = recover(self._topic, self._coordinator)
        return {}

    def _request(self, message: dict[str, Any]) -> dict[str, Any]:
        request = request_from(message["api"], message["body"])
        if self._fault == "an exception instead of an answer" and isinstance(request, WriteState):
            return {"error": "java.lang.NullPointerException: null"}
        before = self._coordinator
        self._asked += 1
        chosen = True if self._varied and self._asked % 2 else None
        reply = serve(before, request, message["now"], snapshot=chosen)
        if self._varied:
            reply = _cut(request, reply)
        if self._fault in ANSWERS:
            reply = ANSWERS[self._fault](before, request, reply)
        self._coordinator = reply.coordinator
        records = self._appended(*([reply.record] if reply.record else []))
        return {"response": _response(request, reply), **records}

    def _snapshots(self, message: dict[str, Any]) -> dict[str, Any]:
        if self._fault == "idle share-partitions get no snapshot":
            return {"records": []}
        now, records = message["now"], []
        interval = self._settings["snapshot_interval_ms"]
        for key in list(due_for_snapshot(self._coordinator, now, interval)):
            reply = snapshot_again(self._coordinator, key, now)
            self._coordinator = reply.coordinator
            records += [reply.record] if reply.record else []
        return self._appended(*records)

    def _forget(self, message: dict[str, Any]) -> dict[str, Any]:
        records: tuple[StateRecord, ...] = ()
        for text in message["topics"]:
            after, gone = forget_topic(self._coordinator, _topic(text))
            if self._fault == "state of deleted topics stays":
                after, gone = self._coordinator, ()
            self._coordinator = attrs.evolve(after, topics=after.topics.delete(_topic(text)))
            records += gone
        return self._appended(*records)

    def _redundant(self, _message: dict[str, Any]) -> dict[str, Any]:
        limit = redundant_below(self._topic)
        if self._fault == "needed records are pruned":
            limit = self._topic.first_offset + len(self._topic.records)
        return {"offset": None if self._fault == "nothing is pruned" else limit}

    def _find(self, message: dict[str, Any]) -> dict[str, Any]:
        group, topic, partition = message["key"].rsplit(":", 2)
        if ":" in group and self._fault == "a group id with a colon is refused":
            return {"error": "java.lang.IllegalArgumentException: invalid key format"}
        key = SharePartitionKey(group, _topic(topic), int(partition))
        return {"partition": state_partition(key, self._settings["partitions"])}

    def _appended(self, *records: StateRecord) -> dict[str, Any]:
        self._topic = append(self._topic, *records)
        return {"records": [record_to_json(record) for record in records]}


def request_from(api: str, body: dict[str, Any]) -> StateRequest:
    """Return the request in Kafka's JSON."""
    kind = _KINDS[api]
    (topic,) = body["topics"]
    (part,) = topic["partitions"]
    key = SharePartitionKey(body["groupId"], _topic(topic["topicId"]), part["partition"])
    names = [field.name for field in attrs.fields(kind) if field.name != "key"]
    values = {name: part[camel(name)] for name in names}
    if "state_batches" in values:
        values["state_batches"] = _batches_from({"stateBatches": values["state_batches"]})
    return kind(key, **values)


def _cut(request: StateRequest, reply: Reply) -> Reply:
    """Return the reply with a batch for each offset, and -1 for a start offset that is kept."""
    state, record = reply.state, reply.record
    if state is not None:
        state = attrs.evolve(state, state_batches=_singles(state.state_batches))
    if record is not None and isinstance(record.value, ShareUpdate):
        kept = isinstance(request, WriteState) and request.start_offset == -1
        start = -1 if kept else record.value.start_offset
        batches = _singles(record.value.state_batches)
        value = attrs.evolve(record.value, start_offset=start, state_batches=batches)
        record = attrs.evolve(record, value=value)
    return attrs.evolve(reply, state=state, record=record)


def _singles(batches: tuple[StateBatch, ...]) -> tuple[StateBatch, ...]:
    return tuple(
        attrs.evolve(batch, first=offset, last=offset)
        for batch in batches
        for offset in range(batch.first, batch.last + 1)
    )


def _response(request: StateRequest, reply: Reply) -> dict[str, Any]:
    part: dict[str, Any] = {"partition": request.key.partition, "errorCode": reply.status.value}
    if reply.state is not None:
        names = ["state_epoch", "start_offset", "leader_epoch", "delivery_complete_count"]
        part |= {camel(name): getattr(reply.state, name) for name in names}
        if isinstance(request, ReadState):
            part["stateBatches"] = batch_values(reply.state.state_batches)
    return {"results": [{"topicId": "", "partitions": [part]}]}


def _topic(text: str) -> UUID:
    topic = _uuid_from(text, "topic")
    assert isinstance(topic, UUID)
    return topic
