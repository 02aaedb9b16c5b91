"""Serving MarkInProgress at a broker: which marks of a request reach which share-partition.

KAFKA-20458, a draft: the request mirrors a ShareAcknowledge, and nothing of it is written.
"""

import attrs

from model.errors import ErrorCode
from model.operations import MarkInProgress
from model.share_messages import (
    FINAL_EPOCH,
    MarkedPartition,
    MarkResponse,
    PartitionMarks,
    ShareAcknowledge,
    ShareMark,
)
from spec.share_broker import ShareBroker, advance, apply_to, locate
from spec.share_session import begin

NONE = ErrorCode.NONE


def handle_mark(
    broker: ShareBroker, request: ShareMark, now: int
) -> tuple[ShareBroker, MarkResponse]:
    """Serve a MarkInProgress request that came at ``now`` (ms).

    Guard: that of the session, as for a ShareAcknowledge; a mark neither opens nor closes one,
    INVALID_SHARE_SESSION_EPOCH. A request that is refused changes nothing.
    Effect: in each share-partition as ``mark_in_progress``. It is answered at once.
    Records: in progress, or as they were; each batch by itself.
    Persistence: none.

    Raises InvalidValueError under a profile without records in progress, as the operation does.
    """
    broker = advance(broker, now)
    if request.session_epoch == FINAL_EPOCH:
        return broker, MarkResponse(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
    mirrored = ShareAcknowledge(request.group_id, request.member_id, request.session_epoch)
    error, sessions = begin(broker.sessions, mirrored, request.member_id, broker.most_sessions)
    if error is not NONE:
        return broker, MarkResponse(error)
    broker, marked = attrs.evolve(broker, sessions=sessions), []
    for asked in request.partitions:
        broker, answer = _mark(broker, request, asked)
        marked.append(answer)
    return broker, MarkResponse(partitions=tuple(marked))


def _mark(
    broker: ShareBroker, request: ShareMark, asked: PartitionMarks
) -> tuple[ShareBroker, MarkedPartition]:
    """Mark the records of one share-partition, which must be in memory: nobody else holds any."""
    error, key = locate(broker, asked.topic_partition), (request.group_id, asked.topic_partition)
    partition = broker.partitions.get(key)
    if error is NONE and (partition is None or not partition.ready):
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if error is not NONE:
        return broker, MarkedPartition(asked.topic_partition, error)
    broker, outcome = apply_to(broker, key, MarkInProgress(request.member_id, asked.batches))
    return broker, MarkedPartition(asked.topic_partition, batches=outcome.marked)
