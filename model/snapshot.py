"""The observable state of a share-partition."""

import attrs

from model.checks import any_number, from_minus_one, non_negative, offset
from model.errors import InvalidValueError
from model.ranges import RecordRange, StateBatch, ascend


@attrs.frozen
class SharePartitionSnapshot:
    """A leader's view of the window.

    ``start_offset`` is inclusive and ``end_offset`` exclusive; ``records`` is None where a trace
    did not record it, and ascending. Adjacent equal ranges are one range. A recording may claim
    any ``delivery_complete_count``: a wrong one is a difference.
    """

    start_offset: int = attrs.field(validator=offset)
    end_offset: int = attrs.field(validator=offset)
    delivery_complete_count: int = attrs.field(validator=any_number)
    records: tuple[RecordRange, ...] | None = None

    def __attrs_post_init__(self) -> None:
        """Refuse a window that ends before it starts, and records that do not ascend."""
        if self.end_offset < self.start_offset:
            allowed = f"at least start_offset, which is {self.start_offset}"
            raise InvalidValueError("end_offset", self.end_offset, allowed)
        ascend("records", self.records or ())


@attrs.frozen
class DurableState:
    """What the share coordinator holds for a share-partition (ReadShareGroupState).

    ``start_offset`` −1 means that it was initialized without one; ``delivery_complete_count`` −1
    that the writer did not know it (KIP-1226).
    """

    start_offset: int = attrs.field(validator=from_minus_one)
    delivery_complete_count: int = attrs.field(validator=from_minus_one)
    state_batches: tuple[StateBatch, ...] = ()
    state_epoch: int = attrs.field(default=0, validator=non_negative)
    leader_epoch: int = attrs.field(default=0, validator=non_negative)
