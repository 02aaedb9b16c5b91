"""Requests and responses in a few words."""

from collections.abc import Mapping, Sequence

from conformance.wire.target import Described, Exchange
from judge.words import span
from model.errors import ErrorCode
from model.operations import AcknowledgementBatch
from model.ranges import AcquiredRange
from model.share_messages import (
    PartitionRequest,
    PartitionResponse,
    ShareFetch,
    ShareRequest,
    ShareResponse,
)

_TYPES = ("gap", "accept", "release", "reject", "renew")


def acquired_text(acquired: Sequence[AcquiredRange]) -> str:
    """Return acquired records with their delivery counts, such as ``0–3 (1), 4 (2)``."""
    return ", ".join(f"{span(r.first, r.last)} ({r.delivery_count})" for r in acquired) or "nothing"


def request_text(request: ShareRequest, names: Mapping[str, str]) -> str:
    """Return a request in one line; ``names`` has the members' names by their ids."""
    who = names.get(request.member_id, request.member_id)
    kind = "fetch" if isinstance(request, ShareFetch) else "acknowledge"
    parts = [f"{kind} by {who}, epoch {request.session_epoch}"]
    if isinstance(request, ShareFetch):
        parts.append(f"{request.acquire_mode.value}, at most {request.max_records}")
    if request.is_renew_ack:
        parts.append("renews")
    parts += [text for part in request.partitions if (text := _asked_text(part))]
    if isinstance(request, ShareFetch) and request.forgotten:
        forgotten = ", ".join(str(forgotten.partition) for forgotten in request.forgotten)
        parts.append(f"forgets {forgotten}")
    return "; ".join(parts)


def response_text(response: ShareResponse) -> str:
    """Return a response in one line."""
    if response.error is not ErrorCode.NONE:
        return response.error.name
    return "; ".join(_answer_text(part) for part in response.partitions) or "nothing"


def _asked_text(asked: PartitionRequest) -> str:
    batches = ", ".join(_batch_text(batch) for batch in asked.batches)
    return f"partition {asked.topic_partition.partition}" + (f": {batches}" if batches else "")


def _batch_text(batch: AcknowledgementBatch) -> str:
    types = [_TYPES[t] if 0 <= t < len(_TYPES) else str(t) for t in batch.types]
    return f"{span(batch.first, batch.last)} {'/'.join(types) or 'nothing'}"


def _answer_text(answer: PartitionResponse) -> str:
    parts = [f"partition {answer.topic_partition.partition}"]
    if answer.error is not ErrorCode.NONE:
        parts.append(answer.error.name)
    if answer.acknowledge_error is not ErrorCode.NONE:
        parts.append(f"acknowledgement {answer.acknowledge_error.name}")
    if answer.acquired:
        parts.append(f"acquired {acquired_text(answer.acquired)}")
    return " ".join(parts)


def status_of(exchange: Exchange) -> ErrorCode:
    """Return the first error in a response; NONE without one."""
    response = exchange.response
    parts = (
        error for part in response.partitions for error in (part.error, part.acknowledge_error)
    )
    errors = (response.error, *parts)
    return next((error for error in errors if error is not ErrorCode.NONE), ErrorCode.NONE)


def described_text(described: Described) -> str:
    """Return a description of a share-partition in a few words."""
    lag = "unknown" if described.lag is None else str(described.lag)
    if described.error is not ErrorCode.NONE:
        return described.error.name
    return f"start offset {described.start_offset}, lag {lag}"
