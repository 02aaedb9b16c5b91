"""Serving ShareFetch and ShareAcknowledge: what a request does to which share-partition."""

from collections.abc import Iterable
from itertools import islice

import attrs

from model.config import IsolationLevel
from model.errors import ErrorCode, InvalidValueError
from model.operations import Acknowledge, Acquire, ArchiveAborted, EntryPoint
from model.ranges import OffsetRange
from model.share_messages import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    Conduct,
    PartitionConduct,
    PartitionRequest,
    PartitionResponse,
    ShareFetch,
    ShareRequest,
    ShareResponse,
    TopicPartition,
)
from model.states import AcknowledgeType
from spec.aborted import committed
from spec.log import hole_end, readable_end
from spec.partition import SharePartition
from spec.record import UNDELIVERED, is_acquirable
from spec.share_broker import (
    Handled,
    ShareBroker,
    WaitingResponse,
    advance,
    apply_to,
    collect,
    end_session,
    load,
    locate,
    settle,
)
from spec.share_session import ShareSession, after_response, begin, key_of, rotated
from spec.validation import validate

NONE = ErrorCode.NONE
_FREE = Conduct()
Responses = dict[TopicPartition, PartitionResponse]


def handle(
    broker: ShareBroker,
    request: ShareRequest,
    now: int,
    conduct: Conduct = _FREE,
    connection: str | None = None,
) -> Handled:
    """Serve a request that came at ``now`` (ms) over a connection, by default the member's own.

    Guard: the session's (``share_session.begin``); a request that it refuses changes nothing.
    Effect: first the acknowledgements, then the fetch, which does not wait for their writes, then
    the end of the session if the request closes it. The response waits for the writes of the
    acknowledgements (KIP-932, ShareFetch).
    Records: as ``acknowledge_records``, ``acquire_records`` and ``release_member`` say.
    Persistence: one write for each share-partition that acknowledges, and that releases.
    """
    return complete(receive(broker, request, now, conduct, connection), now, conduct)


@attrs.frozen
class Received:
    """A request that waits for records: its acknowledgements are applied, it has not fetched yet.

    ``refusal`` is the error of the session; ``responses`` are those of the acknowledgements.
    ``opened`` tells the session of the request from others of the member.
    """

    broker: ShareBroker
    request: ShareRequest
    seq: int
    refusal: ErrorCode = NONE
    responses: tuple[PartitionResponse, ...] = ()
    opened: int = 0

    @property
    def fetches(self) -> bool:
        """Whether the request goes on with a fetch."""
        fetch = isinstance(self.request, ShareFetch) and self.request.session_epoch != FINAL_EPOCH
        return fetch and self.refusal is NONE


def receive(
    broker: ShareBroker,
    request: ShareRequest,
    now: int,
    conduct: Conduct = _FREE,
    connection: str | None = None,
) -> Received:
    """Begin to serve a request: its fetch may then wait for records (KIP-932, ShareFetch).

    Guard, Effect, Records, Persistence: as ``handle``, of the session and the acknowledgements.
    """
    broker = advance(broker, now)
    seq, broker = broker.next_seq, attrs.evolve(broker, next_seq=broker.next_seq + 1)
    source = request.member_id if connection is None else connection
    error, sessions = begin(broker.sessions, request, source, broker.most_sessions)
    if error is not NONE:
        return Received(broker, request, seq, error)
    session = sessions[key_of(request)]
    if request.session_epoch == INITIAL_EPOCH:
        session = attrs.evolve(session, opened=seq)
    broker = attrs.evolve(broker, sessions=sessions.set(key_of(request), session))
    broker, responses = _acknowledge(broker, request, conduct, seq)
    return Received(broker, request, seq, NONE, tuple(responses.values()), session.opened)


def complete(received: Received, now: int, conduct: Conduct = _FREE) -> Handled:
    """Finish a request at ``now`` (ms): its fetch, and the end of the session if it closes it.

    Guard: no write of its acknowledgements was answered while it waited. If its session has ended
    meanwhile, or was replaced, nothing is fetched and no session ends.
    Effect, Records, Persistence: as ``handle``, of the fetch and the end of the session (KIP-932,
    ShareFetch and ShareAcknowledge).
    """
    broker, request, seq = advance(received.broker, now), received.request, received.seq
    if received.refusal is not NONE:
        refused = WaitingResponse(request.group_id, ShareResponse(received.refusal), frozenset())
        return collect(settle(broker, seq, refused), seq)
    responses = {part.topic_partition: part for part in received.responses}
    awaited = frozenset(
        topic_partition
        for topic_partition, part in responses.items()
        if part.acknowledge_error is ErrorCode.PENDING
    )
    session = broker.sessions.get(key_of(request))
    lives = session is not None and session.opened == received.opened
    if isinstance(request, ShareFetch) and received.fetches and lives:
        broker, responses = _fetch(broker, request, conduct, responses)
    response = ShareResponse(partitions=tuple(responses.values()))
    broker = settle(broker, seq, WaitingResponse(request.group_id, response, awaited))
    if request.session_epoch == FINAL_EPOCH and lives:
        broker = end_session(broker, key_of(request), conduct)
    return collect(broker, seq)


def _acknowledge(
    broker: ShareBroker, request: ShareRequest, conduct: Conduct, seq: int
) -> tuple[ShareBroker, Responses]:
    """Apply the acknowledgements of a request, one share-partition after the other.

    A share-partition need not be in the session: its records stay acquired when the session forgets
    it. The response names one without batches in a ShareAcknowledge only if it does not exist.
    """
    responses: Responses = {}
    for asked in request.partitions:
        if not asked.batches and isinstance(request, ShareFetch):
            continue
        place, error = asked.topic_partition, _fault(broker, request, asked)
        if error is NONE:
            if not asked.batches:
                continue
            chosen, key = conduct.of(place), (request.group_id, place)
            how = chosen.acknowledge, (chosen.acknowledge_answer,)
            broker, outcome = apply_to(broker, key, _operation(request, asked), how, seq)
            error = outcome.status
        responses[place] = PartitionResponse(place, acknowledge_error=error)
    return broker, responses


def _fault(broker: ShareBroker, request: ShareRequest, asked: PartitionRequest) -> ErrorCode:
    """Return the error that keeps acknowledgements from their records, or NONE.

    Kafka: handleAcknowledgements.
    """
    if asked.topic_partition.topic_id not in broker.topics:
        return ErrorCode.UNKNOWN_TOPIC_ID
    renews = any(AcknowledgeType.RENEW in batch.types for batch in asked.batches)
    malformed = validate(_operation(request, asked), broker.profile) is not NONE
    if malformed or (renews and not request.is_renew_ack):
        return ErrorCode.INVALID_REQUEST
    partition = broker.partitions.get((request.group_id, asked.topic_partition))
    if asked.batches and (partition is None or not partition.ready):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return locate(broker, asked.topic_partition)


def _operation(request: ShareRequest, asked: PartitionRequest) -> Acknowledge:
    return Acknowledge(request.member_id, asked.batches, EntryPoint.REQUEST)


def _fetch(
    broker: ShareBroker, request: ShareFetch, conduct: Conduct, responses: Responses
) -> tuple[ShareBroker, Responses]:
    """Fetch from the share-partitions of the session, in turn, until there are enough records.

    The response names those with records or an error, those that were acknowledged, and those of
    which an answer is due; the first of a session names all.
    """
    if request.max_records == 0 or request.max_bytes == 0:
        return broker, responses
    key, first = key_of(request), request.session_epoch == INITIAL_EPOCH
    session = broker.sessions[key]
    due = {part.topic_partition for part in session.partitions if first or part.answer_due}
    fetched: Responses = {}
    remaining = request.max_records
    for place in _order(session, request, conduct):
        broker, answer = _fetch_one(broker, request, place, conduct.of(place), remaining)
        remaining -= sum(part.last - part.first + 1 for part in answer.acquired)
        if place in responses:
            error = responses[place].acknowledge_error
            answer = attrs.evolve(answer, acknowledge_error=error)
        if place in due or place in responses or answer.acquired or answer.error is not NONE:
            fetched[place] = answer
    if not first:
        sessions = broker.sessions.set(key, after_response(session, fetched))
        broker = attrs.evolve(broker, sessions=sessions)
    return broker, responses | fetched


def _order(
    session: ShareSession, request: ShareFetch, conduct: Conduct
) -> tuple[TopicPartition, ...]:
    if conduct.order is None:
        return rotated(session, request.session_epoch)
    if sorted(conduct.order) != sorted(part.topic_partition for part in session.partitions):
        allowed = "the share-partitions of the session, each once"
        raise InvalidValueError("order", conduct.order, allowed)
    return conduct.order


def _fetch_one(
    broker: ShareBroker,
    request: ShareFetch,
    topic_partition: TopicPartition,
    chosen: PartitionConduct,
    remaining: int,
) -> tuple[ShareBroker, PartitionResponse]:
    """Fetch from one share-partition at most ``remaining`` records, as the acquire mode says."""
    key = (request.group_id, topic_partition)
    error = locate(broker, topic_partition)
    if error is NONE:
        error, broker = load(broker, key, chosen.reset_offset, chosen.read)
    if error is not NONE or remaining <= 0:
        return broker, PartitionResponse(topic_partition, error)
    batches, at = chosen.log_batches, chosen.fetch_offset
    if batches is None:
        batches = readable(broker.partitions[key], remaining)
    if at is None:
        at = batches[0].first if batches else 0
    how = request.acquire_mode, request.batch_size, remaining
    operation = Acquire(request.member_id, *how, at, batches)
    broker, outcome = apply_to(broker, key, operation, (chosen.acquire, ()))
    acquired, number, partition = outcome.acquired, outcome.acquisition, broker.partitions[key]
    token = None if number is None else (partition.durable.leader_epoch, number)
    if partition.config.isolation_level is IsolationLevel.READ_COMMITTED and chosen.aborted:
        broker, _ = apply_to(broker, key, ArchiveAborted(chosen.aborted), (chosen.acquire, ()))
        acquired = committed(acquired, chosen.aborted)
    return broker, PartitionResponse(topic_partition, acquired=acquired, token=token)


def readable(partition: SharePartition, most: int) -> tuple[OffsetRange, ...]:
    """Return the log batches that a broker reads by default, one record to a batch.

    From the first acquirable record up to the last of the first ``most`` acquirable ones; under
    read_committed nothing from an open transaction on.
    """
    free = list(islice(acquirable(partition), most))
    if not free:
        return ()
    present = (o for o in range(free[0], free[-1] + 1) if hole_end(partition.log, o) is None)
    return tuple(OffsetRange(offset, offset) for offset in present)


def acquirable(partition: SharePartition) -> Iterable[int]:
    """Yield the offsets that are available, whether the window has room for them or not."""
    log, window = partition.log, partition.window
    end = readable_end(log, partition.config.isolation_level)
    for offset in range(max(log.start_offset, window.start_offset), end):
        free = is_acquirable(window.records.get(offset, UNDELIVERED))
        if free and hole_end(log, offset) is None:
            yield offset
