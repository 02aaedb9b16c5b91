"""Batches of acknowledgements: how one is malformed, and the type for each of its offsets."""

from collections.abc import Iterator
from enum import StrEnum

import attrs

from model.errors import ErrorCode
from model.operations import Acknowledge, AcknowledgementBatch
from model.profile import KIP
from model.states import AcknowledgeType
from spec.validation import validate


class Shape(StrEnum):
    """How the kit makes a batch malformed, as sequences have it."""

    WELL_FORMED = ""
    REVERSED = "reversed"
    NEGATIVE = "negative"
    NO_TYPE = "no type"
    TOO_MANY_TYPES = "too many types"
    UNKNOWN_TYPE = "unknown type"


MISSHAPEN = tuple(filter(None, Shape))
"""All but the shape that is well formed."""


def misshapen(batch: AcknowledgementBatch, shape: Shape) -> AcknowledgementBatch:
    """Return a batch that is malformed as the shape says."""
    match shape:
        case Shape.REVERSED:
            return attrs.evolve(batch, first=batch.last + 1)
        case Shape.NEGATIVE:
            return attrs.evolve(batch, first=-1)
        case Shape.NO_TYPE:
            return attrs.evolve(batch, types=())
        case Shape.TOO_MANY_TYPES:
            return attrs.evolve(batch, types=(1,) * (batch.last - batch.first + 2))
        case Shape.UNKNOWN_TYPE:
            return attrs.evolve(batch, types=(len(AcknowledgeType),))
    return batch


def malformed(batch: AcknowledgementBatch) -> bool:
    """Return whether a batch is malformed by itself."""
    return validate(Acknowledge("m", (batch,)), KIP) is not ErrorCode.NONE


def typed(batch: AcknowledgementBatch) -> Iterator[tuple[int, int]]:
    """Yield each offset of a batch with the acknowledge type for it; none if it is malformed."""
    if malformed(batch):
        return
    for offset in range(batch.first, batch.last + 1):
        yield offset, batch.types[0 if len(batch.types) == 1 else offset - batch.first]
