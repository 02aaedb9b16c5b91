"""Share sessions: what a broker keeps between requests of one member (KIP-932, ShareFetch).

Transitions read Guard, Effect, Records (what becomes of those that the member holds), Persistence.
"""

from collections.abc import Mapping
from typing import TypeAlias

import attrs
from immutables import Map

from model.errors import ErrorCode
from model.share_messages import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    MAX_EPOCH,
    PartitionResponse,
    ShareAcknowledge,
    ShareRequest,
    TopicPartition,
)

NONE = ErrorCode.NONE


@attrs.frozen
class SessionPartition:
    """A share-partition in a session.

    ``answer_due``: the next response names it even without records, because it is new in the
    session or because its last answer was an error.
    """

    topic_partition: TopicPartition
    answer_due: bool = False


@attrs.frozen
class ShareSession:
    """The session of one member of one group with this broker.

    ``epoch`` is the one that the next request must carry. ``partitions`` are in the order in
    which they are fetched. The session ends with ``connection``, over which it was opened.
    ``opened`` is the number of the request that opened it: another session of the member has
    another.
    """

    epoch: int
    connection: str
    partitions: tuple[SessionPartition, ...] = ()
    opened: int = 0


SessionKey: TypeAlias = tuple[str, str]
"""The group and the member."""

Sessions: TypeAlias = Map[SessionKey, ShareSession]


def key_of(request: ShareRequest) -> SessionKey:
    """Return whose session a request belongs to."""
    return request.group_id, request.member_id


def next_epoch(epoch: int) -> int:
    """Return the epoch after ``epoch``; after the largest comes 1, as 0 would open a session."""
    return 1 if epoch == MAX_EPOCH else epoch + 1


def begin(
    sessions: Sessions, request: ShareRequest, connection: str, most: int
) -> tuple[ErrorCode, Sessions]:
    """Check a request against the sessions; the first error is answered and changes nothing.

    A request that closes the session leaves it as it is until the request has been served.
    """
    if not is_renewal_well_formed(request):
        return ErrorCode.INVALID_REQUEST, sessions
    if request.session_epoch == INITIAL_EPOCH:
        return _open(sessions, request, connection, most)
    session = sessions.get(key_of(request))
    if session is None:
        return ErrorCode.SHARE_SESSION_NOT_FOUND, sessions
    if request.session_epoch == FINAL_EPOCH:
        return NONE, sessions
    if request.session_epoch != session.epoch:
        return ErrorCode.INVALID_SHARE_SESSION_EPOCH, sessions
    return NONE, sessions.set(key_of(request), _continued(session, request))


def is_renewal_well_formed(request: ShareRequest) -> bool:
    """Whether a request may renew locks (KIP-1222): only if it fetches nothing."""
    if not request.is_renew_ack:
        return True
    if isinstance(request, ShareAcknowledge):
        return request.version > 1
    sizes = (request.max_wait_ms, request.min_bytes, request.max_bytes, request.max_records)
    return request.version > 1 and not any(sizes)


def _open(
    sessions: Sessions, request: ShareRequest, connection: str, most: int
) -> tuple[ErrorCode, Sessions]:
    """Open a session, replacing the member's former one (Kafka: newContext).

    Guard: INVALID_SHARE_SESSION_EPOCH for a ShareAcknowledge; INVALID_REQUEST if a fetch
    acknowledges; SHARE_SESSION_LIMIT_REACHED if there are ``most`` sessions of other members.
    Effect: a session with the share-partitions of the request; the next epoch is 1.
    Records: those that the member holds stay acquired, and it may still acknowledge them.
    Persistence: none.
    """
    if isinstance(request, ShareAcknowledge):
        return ErrorCode.INVALID_SHARE_SESSION_EPOCH, sessions
    if any(partition.batches for partition in request.partitions):
        return ErrorCode.INVALID_REQUEST, sessions
    key = key_of(request)
    if len(sessions) - (key in sessions) >= most:
        return ErrorCode.SHARE_SESSION_LIMIT_REACHED, sessions
    partitions = tuple(SessionPartition(part.topic_partition) for part in request.partitions)
    session = ShareSession(next_epoch(INITIAL_EPOCH), connection, partitions)
    return NONE, sessions.set(key, session)


def _continued(session: ShareSession, request: ShareRequest) -> ShareSession:
    """Continue a session (Kafka: ShareSession.update).

    Guard: the request carries the epoch that the session expects.
    Effect: the epoch moves on. A fetch adds the share-partitions that it names, then removes
    those that it forgets.
    Records: those of a share-partition that is forgotten stay acquired until their lock is over.
    Persistence: none.
    """
    session = attrs.evolve(session, epoch=next_epoch(session.epoch))
    if isinstance(request, ShareAcknowledge):
        return session
    known = {part.topic_partition for part in session.partitions}
    new = (part.topic_partition for part in request.partitions)
    added = (SessionPartition(each, answer_due=True) for each in new if each not in known)
    every = (*session.partitions, *added)
    kept = (part for part in every if part.topic_partition not in request.forgotten)
    return attrs.evolve(session, partitions=tuple(kept))


def rotated(session: ShareSession, epoch: int) -> tuple[TopicPartition, ...]:
    """Return the share-partitions of the session, each first in its turn.

    ``epoch`` is the one that the request carried (Kafka: PartitionRotateStrategy).
    """
    topic_partitions = tuple(partition.topic_partition for partition in session.partitions)
    first = epoch % len(topic_partitions) if topic_partitions else 0
    return topic_partitions[first:] + topic_partitions[:first]


def after_response(
    session: ShareSession, responses: Mapping[TopicPartition, PartitionResponse]
) -> ShareSession:
    """Return the session after a fetch: partitions that gave records move to the end."""
    every = [part.topic_partition for part in session.partitions]
    served = [each for each in every if each in responses and responses[each].acquired]
    others = [each for each in every if each not in served]
    failed = {each for each, response in responses.items() if response.error is not NONE}
    answered = (SessionPartition(each, each in failed) for each in (*others, *served))
    return attrs.evolve(session, partitions=tuple(answered))
