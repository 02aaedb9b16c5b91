"""ShareFetch and ShareAcknowledge: requests as values of ``spec``, its answers with the records."""

from collections.abc import Iterable
from types import SimpleNamespace
from uuid import UUID

import attrs
from kio.schema.errors import ErrorCode as KafkaError

from model.config import AutoOffsetReset
from model.errors import ErrorCode, IllegalChoiceError, InvalidValueError
from model.operations import AcknowledgementBatch
from model.ranges import OffsetRange
from model.share_messages import (
    INITIAL_EPOCH,
    Conduct,
    PartitionConduct,
    PartitionRequest,
    PartitionResponse,
    ShareAcknowledge,
    ShareFetch,
    ShareResponse,
    TopicPartition,
)
from model.states import AcquireMode
from serve.asked import Call, Values
from serve.batches import Stored
from serve.coordination import setting
from serve.leaders import current_leader, endpoints
from serve.node import Node, log_of
from serve.rare import ACQUIRING, THROTTLE_MS, Habit, with_acquired
from serve.record_log import RecordLog, batches_from, batches_within, offset_at
from serve.settings import reset_duration_ms
from serve.topics import settings_of
from serve.waiting import wait_until
from spec.share_broker import Handled, ShareBroker, advance, load, locate
from spec.share_request import Received, complete, readable, receive
from spec.share_session import key_of, rotated

_NO_ID = UUID(int=0)
_MODES = (AcquireMode.BATCH_OPTIMIZED, AcquireMode.RECORD_LIMIT)


async def share_fetch(node: Node, asked: Call) -> Values:
    """Serve ShareFetch: acknowledge at once, then wait for records as long as the client says."""
    try:
        request = _fetch_request(asked)
        _check_session(node, request)
    except InvalidValueError as error:
        return _response(node, asked, ShareResponse(ErrorCode.INVALID_REQUEST), str(error))
    if request.session_epoch == INITIAL_EPOCH and node.cluster.rare.is_full():
        await wait_until(lambda: False, request.max_wait_ms, node, asked)  # As Apache Kafka does.
        return _response(node, asked, ShareResponse(ErrorCode.SHARE_SESSION_LIMIT_REACHED))
    group, share = request.group_id, _with_room(node, request)
    received = receive(share, request, node.cluster.clock(), connection=asked.connection)
    node.put(group, received.broker)
    if received.fetches and request.max_records and request.max_bytes:
        await wait_until(lambda: _enough(node, request), request.max_wait_ms, node, asked, group)
    received = attrs.evolve(received, broker=node.share(group))
    return _response(node, asked, _completed(node, request, received))


def share_acknowledge(node: Node, asked: Call) -> Values:
    """Serve ShareAcknowledge."""
    try:
        request = ShareAcknowledge(
            **_head(asked.body), is_renew_ack=_renews(asked), version=asked.version
        )
    except InvalidValueError as error:
        return _response(node, asked, ShareResponse(ErrorCode.INVALID_REQUEST), str(error))
    share, now = node.share(request.group_id), node.cluster.clock()
    handled = complete(receive(share, request, now, connection=asked.connection), now)
    node.put(request.group_id, handled.broker)
    return _response(node, asked, handled.response or ShareResponse())


def _head(body: SimpleNamespace) -> Values:
    return {
        "group_id": body.group_id,
        "member_id": body.member_id,
        "session_epoch": body.share_session_epoch,
        "partitions": tuple(_partitions(body)),
    }


def _partitions(body: SimpleNamespace) -> Iterable[PartitionRequest]:
    """Return each share-partition of a request once: the last counts, as Apache Kafka 4.4.0 does.

    librdkafka 2.16.0 names one twice that is new in its session and has acknowledgements.
    """
    parts: dict[TopicPartition, PartitionRequest] = {}
    for topic in body.topics:
        for part in topic.partitions:
            place = TopicPartition(str(topic.topic_id or _NO_ID), part.partition_index)
            batches = (
                AcknowledgementBatch(
                    batch.first_offset, batch.last_offset, tuple(batch.acknowledge_types)
                )
                for batch in part.acknowledgement_batches
            )
            parts[place] = PartitionRequest(place, tuple(batches))
    return parts.values()


def _renews(asked: Call) -> bool:
    return bool(getattr(asked.body, "is_renew_ack", False))


def _fetch_request(asked: Call) -> ShareFetch:
    body = asked.body
    mode = getattr(body, "share_acquire_mode", 0)
    if mode not in (0, 1):
        raise InvalidValueError("share_acquire_mode", mode, "0 or 1")
    return ShareFetch(
        **_head(body),
        forgotten=tuple(
            TopicPartition(str(topic.topic_id or _NO_ID), partition)
            for topic in body.forgotten_topics_data
            for partition in topic.partitions
        ),
        max_records=body.max_records,
        batch_size=body.batch_size,
        max_bytes=body.max_bytes,
        min_bytes=body.min_bytes,
        max_wait_ms=body.max_wait,
        acquire_mode=_MODES[mode],
        is_renew_ack=_renews(asked),
        version=asked.version,
    )


def _enough(node: Node, request: ShareFetch) -> bool:
    """Whether the response need not wait; share-partitions come into memory where they are not.

    A response with an error does not wait, and of a session without partitions none is due.
    """
    broker = advance(node.share(request.group_id), node.cluster.clock())
    session, available, failed = broker.sessions.get(key_of(request)), 0, False
    for part in session.partitions if session else ():
        place = part.topic_partition
        error = locate(broker, place)
        if error is ErrorCode.NONE:
            reset = _reset_offset(node, request.group_id, place)
            error, broker = load(broker, (request.group_id, place), reset)
        failed = failed or error is not ErrorCode.NONE
        if error is ErrorCode.NONE and available < request.min_bytes:
            available += sum(len(b.data) for b in _acquirable(node, broker, request, place))
    node.put_quietly(request.group_id, broker)
    return failed or not session or not session.partitions or available >= request.min_bytes


def _with_room(node: Node, request: ShareFetch) -> ShareBroker:
    """Return what the broker has of a group, with the room for sessions that others leave it."""
    share, every = node.share(request.group_id), node.shares.values()
    if request.session_epoch != INITIAL_EPOCH:
        return share
    others = sum(len(other.sessions) for other in every) - len(share.sessions)
    return attrs.evolve(share, most_sessions=node.blank.most_sessions - others)


def _check_session(node: Node, request: ShareFetch) -> None:
    """Refuse a session of more partitions than there may be."""
    session, most = (
        node.share(request.group_id).sessions.get(key_of(request)),
        node.cluster.options.limits.session_partitions,
    )
    count = len(request.partitions) + (len(session.partitions) if session else 0)
    if count > most:
        raise InvalidValueError("partitions", count, f"at most {most} in a session")


def _reset_offset(node: Node, group: str, place: TopicPartition) -> int | None:
    """Return what by_duration resolves to, or None for another strategy."""
    partition = node.share(group).partitions.get((group, place))
    if partition is None or partition.ready:
        return None
    if partition.config.auto_offset_reset is not AutoOffsetReset.BY_DURATION:
        return None
    log = _log(node, place)
    duration = reset_duration_ms(settings_of(node.cluster, group)) or 0
    known = offset_at(log, node.cluster.wall_clock() - duration) if log else None
    return known[0] if known else (log.end if log else 0)


def _log(node: Node, place: TopicPartition) -> RecordLog | None:
    return log_of(node.cluster.topic_of(place.topic_id), place.partition)[0]


def _acquirable(
    node: Node, broker: ShareBroker, request: ShareFetch, place: TopicPartition
) -> list[Stored]:
    """Return the batches that a fetch would read: from the first acquirable record on.

    The window may have no room: then nothing is acquired before a record in it is finished.
    """
    partition, log = broker.partitions[request.group_id, place], _log(node, place)
    first = readable(partition, 1)
    if not first or log is None:
        return []
    window, limit = partition.window, partition.config.partition_max_record_locks
    full = window.end_offset - window.start_offset >= limit
    if full and first[0].first >= window.end_offset:
        return []
    batches: list[Stored] = []
    records = 0
    for batch in batches_from(log, first[0].first):
        if records >= max(limit, request.max_records):
            break
        batches.append(batch)
        records += batch.last - batch.first + 1
    return batches


def _completed(node: Node, request: ShareFetch, received: Received) -> ShareResponse:
    """Fetch what fits the sizes of the request; a share-partition may not be passed over often."""
    now = node.cluster.clock()
    broker = advance(received.broker, now)
    try:
        handled = complete(received, now, _conduct(node, broker, request, request.max_bytes))
    except IllegalChoiceError:
        most = node.cluster.options.limits.response_bytes
        handled = complete(received, now, _conduct(node, broker, request, most))
    handled = _rarely(node, request, attrs.evolve(received, broker=broker), handled)
    node.put(request.group_id, handled.broker)
    return handled.response or ShareResponse()


def _rarely(node: Node, request: ShareFetch, received: Received, usual: Handled) -> Handled:
    """Acquire what ``rare`` has it, in place of the usual, where the rules allow that."""
    habit = node.cluster.rare.next_of(ACQUIRING)
    if habit is None or usual.response is None:
        return usual
    acquired = node.cluster.rare.acquired(habit, usual.response)
    if not acquired:
        return usual
    node.cluster.rare.happened(habit)
    conduct = _conduct(node, received.broker, request, request.max_bytes)
    try:
        handled = complete(received, node.cluster.clock(), with_acquired(conduct, acquired))
        node.cluster.rare.refuse(habit, acquired)
        return handled  # noqa: TRY300 - what may fail is above
    except IllegalChoiceError:
        return usual


def _conduct(node: Node, broker: ShareBroker, request: ShareFetch, most: int) -> Conduct:
    """Read batches from the partitions in their turn, up to so many bytes and at least one."""
    session = broker.sessions.get(key_of(request))
    if session is None:
        return Conduct()
    most, size, chosen = min(most, node.cluster.options.limits.response_bytes), 0, []
    for place in rotated(session, request.session_epoch):
        reset = _reset_offset(node, request.group_id, place)
        partition = broker.partitions.get((request.group_id, place))
        read: list[OffsetRange] = []
        log = _log(node, place)
        if partition is not None and partition.ready:
            for batch in _acquirable(node, broker, request, place):
                size += len(batch.data)
                if size > most and size > len(batch.data):
                    break
                first = max(batch.first, partition.log.start_offset)
                read.append(OffsetRange(first, batch.last))
        aborted = tuple(part for part in log.aborted if _within(part, read)) if log else ()
        conduct = PartitionConduct(log_batches=tuple(read), reset_offset=reset, aborted=aborted)
        chosen.append((place, conduct))
    return Conduct(tuple(chosen))


def _within(part: OffsetRange, read: list[OffsetRange]) -> bool:
    """Whether a read reached a part of the log."""
    return bool(read) and read[0].first <= part.last and part.first <= read[-1].last


def _response(node: Node, asked: Call, response: ShareResponse, why: str | None = None) -> Values:
    """Return a response with the batches that hold what was acquired."""
    topics: dict[str, list[Values]] = {}
    moved: list[Values] = []
    told = {part.topic_partition: part for part in response.partitions}
    refused = {place: PartitionResponse(place) for place in node.cluster.rare.refusals}
    for part in {**refused, **told}.values():
        parts = topics.setdefault(part.topic_partition.topic_id, [])
        parts.append(_partition(node, part, fetch=hasattr(asked.body, "max_wait")))
        if ErrorCode.NOT_LEADER_OR_FOLLOWER in (part.error, part.acknowledge_error):
            moved.append(parts[-1]["current_leader"])
    group = asked.body.group_id
    known = group if isinstance(group, str) else ""
    throttled = hasattr(asked.body, "max_wait") and node.cluster.rare.takes(Habit.THROTTLE)
    return {
        "throttle_time": THROTTLE_MS if throttled else 0,
        "error_code": _code(response.error),
        "error_message": why,
        "acquisition_lock_timeout": setting(node.cluster, known, "record.lock.duration.ms"),
        "responses": [
            {"topic_id": UUID(topic), "partitions": parts} for topic, parts in topics.items()
        ],
        "node_endpoints": endpoints(node, moved),
    }


def _partition(node: Node, part: PartitionResponse, *, fetch: bool) -> Values:
    values = {
        "partition_index": part.topic_partition.partition,
        "current_leader": current_leader(node, node.cluster.leader(part.topic_partition)),
    }
    if not fetch:
        return {**values, "error_code": _code(part.acknowledge_error)}
    return {
        **values,
        "error_code": node.cluster.rare.refusals.pop(part.topic_partition, _code(part.error)),
        "acknowledge_error_code": _code(part.acknowledge_error).value,
        "records": b"".join(_records(node, part)),
        "acquired_records": [
            {"first_offset": r.first, "last_offset": r.last, "delivery_count": r.delivery_count}
            for r in part.acquired
        ],
    }


def _records(node: Node, part: PartitionResponse) -> Iterable[bytes]:
    """Yield each batch once that holds an acquired record."""
    log, last = _log(node, part.topic_partition), -1
    if log is None:
        return
    for acquired in part.acquired:
        for batch in batches_within(log, acquired.first, acquired.last):
            if batch.last > last:
                yield batch.data
                last = batch.last


def _code(error: ErrorCode) -> KafkaError:
    return KafkaError(error.value)
