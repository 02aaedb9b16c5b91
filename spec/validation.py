"""Validation of a request, before any record is examined."""

from model.errors import ErrorCode
from model.operations import Acknowledge, AcknowledgementBatch, EntryPoint
from model.profile import Profile
from model.states import AcknowledgeType
from spec.kafka import first_free_offset

_TYPES = frozenset(AcknowledgeType)


def validate(operation: Acknowledge, profile: Profile) -> ErrorCode:
    """Return INVALID_REQUEST for malformed acknowledgement batches, otherwise NONE.

    In order, batch by batch (Kafka: KafkaApis.validateAcknowledgementBatches): the range, its
    place after the previous one (only for a request), the number of types, each type.
    """
    previous = -1
    for batch in operation.batches:
        if not _is_well_formed(batch):
            return ErrorCode.INVALID_REQUEST
        is_request = operation.entry is EntryPoint.REQUEST
        if is_request and batch.first < first_free_offset(profile, previous):
            return ErrorCode.INVALID_REQUEST
        previous = batch.last
    return ErrorCode.NONE


def _is_well_formed(batch: AcknowledgementBatch) -> bool:
    return (
        0 <= batch.first <= batch.last
        and len(batch.types) in (1, batch.last - batch.first + 1)
        and _TYPES.issuperset(batch.types)
    )
