"""Serving ShareFetch and ShareAcknowledge: what a request does to which share-partition."""

from collections.abc import Iterable
from itertools import islice

import attrs

from model.config import IsolationLevel
from model.errors import ErrorCode, InvalidValueError
from model.operations import Acknowledge, Acquire, ArchiveAborted, EntryPoint
from model.outcome import Outcome
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
    Waiting,
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

    Raises IllegalChoiceError where ``conduct`` chooses what no rule allows, and InvalidValueError
    where time goes back or the order is not one of the session's share-partitions.
    """
    broker = advance(broker, now)
    seq, broker = broker.next_seq, attrs.evolve(broker, next_seq=broker.next_seq + 1)
    source = request.member_id if connection is None else connection
    error, sessions = begin(broker.sessions, request, source, broker.most_sessions)
    if error is not NONE:
        refused = Waiting(request.group_id, ShareResponse(error), frozenset())
        return collect(settle(broker, seq, refused), seq)
    broker, responses = _acknowledge(attrs.evolve(broker, sessions=sessions), request, conduct, seq)
    pending = ErrorCode.PENDING
    left = frozenset(at for at, part in responses.items() if part.acknowledge_error is pending)
    if isinstance(request, ShareFetch) and request.session_epoch != FINAL_EPOCH:
        broker, responses = _fetch(broker, request, conduct, responses)
    response = ShareResponse(partitions=tuple(responses.values()))
    broker = settle(broker, seq, Waiting(request.group_id, response, left))
    if request.session_epoch == FINAL_EPOCH:
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
        error = _fault(broker, request, asked)
        if error is NONE:
            if not asked.batches:
                continue
            chosen = conduct.of(asked.at)
            way = chosen.acknowledge, (chosen.acknowledge_answer,)
            key = (request.group_id, asked.at)
            broker, outcome = apply_to(broker, key, _operation(request, asked), way, seq)
            error = outcome.status
        responses[asked.at] = PartitionResponse(asked.at, acknowledge_error=error)
    return broker, responses


def _fault(broker: ShareBroker, request: ShareRequest, asked: PartitionRequest) -> ErrorCode:
    """Return the error that keeps acknowledgements from their records, or NONE.

    Kafka: handleAcknowledgements.
    """
    if asked.at.topic_id not in broker.topics:
        return ErrorCode.UNKNOWN_TOPIC_ID
    renews = any(AcknowledgeType.RENEW in batch.types for batch in asked.batches)
    malformed = validate(_operation(request, asked), broker.profile) is not NONE
    if malformed or (renews and not request.is_renew_ack):
        return ErrorCode.INVALID_REQUEST
    partition = broker.partitions.get((request.group_id, asked.at))
    if asked.batches and (partition is None or not partition.ready):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return locate(broker, asked.at)


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
    due = {part.at for part in session.partitions if first or part.answer_due}
    fetched: Responses = {}
    left = request.max_records
    for at in _order(session, request, conduct):
        broker, answer = _fetch_one(broker, request, at, conduct.of(at), left)
        left -= sum(part.last - part.first + 1 for part in answer.acquired)
        if at in responses:
            answer = attrs.evolve(answer, acknowledge_error=responses[at].acknowledge_error)
        if at in due or at in responses or answer.acquired or answer.error is not NONE:
            fetched[at] = answer
    if not first:
        sessions = broker.sessions.set(key, after_response(session, fetched))
        broker = attrs.evolve(broker, sessions=sessions)
    return broker, responses | fetched


def _order(
    session: ShareSession, request: ShareFetch, conduct: Conduct
) -> tuple[TopicPartition, ...]:
    if conduct.order is None:
        return rotated(session, request.session_epoch)
    if sorted(conduct.order) != sorted(part.at for part in session.partitions):
        allowed = "the share-partitions of the session, each once"
        raise InvalidValueError("order", conduct.order, allowed)
    return conduct.order


def _fetch_one(
    broker: ShareBroker,
    request: ShareFetch,
    at: TopicPartition,
    chosen: PartitionConduct,
    left: int,
) -> tuple[ShareBroker, PartitionResponse]:
    """Fetch from one share-partition at most ``left`` records, as the acquire mode takes it."""
    key = (request.group_id, at)
    error = locate(broker, at)
    if error is NONE:
        error, broker = load(broker, key, chosen.reset_offset, chosen.read)
    if error is not NONE or left <= 0:
        return broker, PartitionResponse(at, error)
    batches = chosen.log_batches
    if batches is None:
        batches = readable(broker.partitions[key], left)
    first = batches[0].first if batches else 0
    operation = Acquire(
        request.member_id,
        request.acquire_mode,
        request.batch_size,
        left,
        first if chosen.fetch_offset is None else chosen.fetch_offset,
        batches,
    )
    broker, outcome = apply_to(broker, key, operation, (chosen.acquire, ()))
    config = broker.partitions[key].config
    response = PartitionResponse(
        at, acquired=outcome.acquired, token=_token(broker.partitions[key], outcome)
    )
    if config.isolation_level is IsolationLevel.READ_UNCOMMITTED or not chosen.aborted:
        return broker, response
    broker, _ = apply_to(broker, key, ArchiveAborted(chosen.aborted), (chosen.acquire, ()))
    kept = committed(outcome.acquired, chosen.aborted)
    return broker, attrs.evolve(response, acquired=kept)


def _token(partition: SharePartition, outcome: Outcome) -> tuple[int, int] | None:
    if outcome.acquisition is None:
        return None
    return partition.durable.leader_epoch, outcome.acquisition


def readable(partition: SharePartition, most: int) -> tuple[OffsetRange, ...]:
    """Return the log batches that a broker reads by default, one record to a batch.

    From the first acquirable record up to the last of the first ``most`` acquirable ones; under
    read_committed nothing from an open transaction on.
    """
    free = list(islice(_acquirable(partition), most))
    if not free:
        return ()
    present = (o for o in range(free[0], free[-1] + 1) if hole_end(partition.log, o) is None)
    return tuple(OffsetRange(offset, offset) for offset in present)


def _acquirable(partition: SharePartition) -> Iterable[int]:
    log, window = partition.log, partition.window
    end = readable_end(log, partition.config.isolation_level)
    for offset in range(max(log.start_offset, window.start_offset), end):
        free = is_acquirable(window.records.get(offset, UNDELIVERED))
        if free and hole_end(log, offset) is None:
            yield offset
