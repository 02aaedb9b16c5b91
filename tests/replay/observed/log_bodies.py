"""What the bodies of a simulated broker's requests have in its log."""

from typing import Any

import attrs

from model.errors import ErrorCode
from model.share_messages import PartitionRequest, ShareResponse

__all__ = ["answered", "asked", "settled"]


def settled(response: ShareResponse) -> ShareResponse:
    parts = tuple(
        attrs.evolve(part, acknowledge_error=ErrorCode.NONE)
        if part.acknowledge_error is ErrorCode.PENDING
        else part
        for part in response.partitions
    )
    return attrs.evolve(response, partitions=parts)


def asked(part: PartitionRequest) -> dict[str, Any]:
    batches = [
        {"firstOffset": one.first, "lastOffset": one.last, "acknowledgeTypes": list(one.types)}
        for one in part.batches
    ]
    return {"partitionIndex": part.topic_partition.partition, "acknowledgementBatches": batches}


def answered(part: Any, *, fetches: bool) -> dict[str, Any]:  # noqa: ANN401 - PartitionResponse
    if not fetches:
        return {
            "partitionIndex": part.topic_partition.partition,
            "errorCode": part.acknowledge_error.value,
        }
    return {
        "partitionIndex": part.topic_partition.partition,
        "errorCode": part.error.value,
        "acknowledgeErrorCode": part.acknowledge_error.value,
        "acquiredRecords": [
            {"firstOffset": one.first, "lastOffset": one.last, "deliveryCount": one.delivery_count}
            for one in part.acquired
        ],
    }
