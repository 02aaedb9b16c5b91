"""Batches of acknowledgements: how one is malformed, and which records it names."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum

import attrs

from model.operations import AcknowledgementBatch
from model.states import AcknowledgeType
from spec.record import Record, is_acquirable, is_finished, is_held
from spec.window import Window


class Malformed(StrEnum):
    """What can be wrong with a batch by itself."""

    NEGATIVE = "a negative offset"
    REVERSED = "its range ends before it begins"
    NO_TYPES = "no types"
    NUMBER_OF_TYPES = "too few or too many types"
    UNKNOWN_TYPE = "a type that does not exist"


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


def malformed(batch: AcknowledgementBatch) -> Malformed | None:
    """Return what is wrong with a batch by itself; None if nothing is."""
    if batch.first < 0:
        return Malformed.NEGATIVE
    if batch.last < batch.first:
        return Malformed.REVERSED
    if not batch.types:
        return Malformed.NO_TYPES
    if len(batch.types) not in (1, batch.last - batch.first + 1):
        return Malformed.NUMBER_OF_TYPES
    exist = all(0 <= type_ < len(AcknowledgeType) for type_ in batch.types)
    return None if exist else Malformed.UNKNOWN_TYPE


def typed(batch: AcknowledgementBatch) -> Iterator[tuple[int, int]]:
    """Yield each offset of a batch with the acknowledge type for it; none if it is malformed."""
    if malformed(batch):
        return
    for offset in range(batch.first, batch.last + 1):
        yield offset, batch.types[0 if len(batch.types) == 1 else offset - batch.first]


@attrs.frozen
class Named:
    """A member's well-formed batch, and the window in which its offsets are.

    ``offsets`` are those in the window, ``records`` the ones of these that were in flight.
    """

    window: Window
    batch: AcknowledgementBatch
    member: str
    offsets: range
    records: tuple[Record, ...]

    @property
    def below(self) -> bool:
        """Whether every offset is below the start offset."""
        return self.batch.last < self.window.start_offset

    @property
    def across(self) -> bool:
        """Whether some offsets are below the start offset, and others not."""
        return self.batch.first < self.window.start_offset <= self.batch.last

    @property
    def past(self) -> bool:
        """Whether some offsets are at or after the end offset."""
        return self.batch.last >= self.window.end_offset and not self.below

    @property
    def typed_each(self) -> bool:
        """Whether the batch has a type for each offset, and not only passed ones."""
        return len(self.batch.types) > 1 and not self.below


def named(window: Window, batches: Iterable[AcknowledgementBatch], member: str) -> Iterator[Named]:
    """Yield what a member's batches name; nothing if one of them is malformed."""
    batches = tuple(batches)
    if any(map(malformed, batches)):
        return
    for batch in batches:
        first, end = max(batch.first, window.start_offset), min(batch.last + 1, window.end_offset)
        inside = range(first, end)
        records = tuple(window.records[offset] for offset in inside if offset in window.records)
        yield Named(window, batch, member, inside, records)


BATCH_SITUATIONS: Mapping[str, Callable[[Named], bool]] = {
    "an acknowledgement of a record that another member holds": lambda n: any(
        is_held(record) and record.owner != n.member for record in n.records
    ),
    "an acknowledgement of a record that is available": lambda n: any(
        map(is_acquirable, n.records)
    ),
    "an acknowledgement of a record that is finished": lambda n: any(map(is_finished, n.records)),
    "an acknowledgement wholly below the start offset": lambda n: n.below,
    "an acknowledgement across the start offset": lambda n: n.across,
    "an acknowledgement past the end offset": lambda n: n.past,
    "an acknowledgement with a type for each offset": lambda n: n.typed_each,
}
"""The situations of one batch that every kit looks for, each with its predicate."""
