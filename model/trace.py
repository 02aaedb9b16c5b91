"""A recorded event of one share-partition: its operation, outcome and state after it."""

import attrs

from model.checks import member_name, non_negative, optional
from model.errors import ErrorCode, InvalidValueError
from model.operations import Operation
from model.outcome import Outcome, Write
from model.ranges import ascend
from model.snapshot import SharePartitionSnapshot


@attrs.frozen
class TraceEvent:
    """One line or row of a trace.

    ``partition`` is group:topic:partition; ``seq`` counts from 0 without holes in a partition, or
    in an ``instance`` of it, the object of a leader, of a leader epoch;
    ``time_ms`` is the clock after the event. By ``paused_ms`` a timer may be later than a profile
    allows, as its process was paused. ``after`` is the state after the event. State batches
    are in any order.
    """

    partition: str = attrs.field(validator=member_name)
    seq: int = attrs.field(validator=non_negative)
    time_ms: int = attrs.field(validator=non_negative)
    operation: Operation
    outcome: Outcome
    after: SharePartitionSnapshot
    leader_epoch: int | None = attrs.field(default=None, validator=optional(non_negative))
    instance: int | None = attrs.field(default=None, validator=optional(non_negative))
    paused_ms: int = attrs.field(default=0, validator=non_negative)

    def __attrs_post_init__(self) -> None:
        """Refuse state batches of a write that overlap, and one made before its event or never."""
        for write in self.outcome.writes:
            _check_moment(write, self.seq)
            ascend("state_batches", sorted(write.state_batches, key=lambda batch: batch.first))


def _check_moment(write: Write, seq: int) -> None:
    """Refuse a write that took its numbers before its event, or after it was answered."""
    moment = seq if write.made_after is None else write.made_after
    if moment < seq or (moment > seq and write.status is not ErrorCode.PENDING):
        allowed = f"{seq}" if moment > seq else f"at least {seq}"
        raise InvalidValueError("writes.made_after", moment, f"{allowed}, the seq of its event")
