"""A recorded event of one share-partition: its operation, outcome and state after it."""

from itertools import chain

import attrs

from model.checks import member_name, non_negative
from model.operations import AdvanceTime, Operation
from model.outcome import Outcome
from model.ranges import ascend
from model.snapshot import SharePartitionSnapshot


@attrs.frozen
class TraceEvent:
    """One line or row of a trace.

    ``partition`` is group:topic:partition; ``seq`` counts from 0 without holes in a partition;
    ``time_ms`` is the clock after the event. ``after`` is the state after the event. State batches
    are in any order.
    """

    partition: str = attrs.field(validator=member_name)
    seq: int = attrs.field(validator=non_negative)
    time_ms: int = attrs.field(validator=non_negative)
    operation: Operation
    outcome: Outcome
    after: SharePartitionSnapshot

    def __attrs_post_init__(self) -> None:
        """Refuse state batches that overlap.

        The writes of expired locks are checked one by one, all others together.
        """
        written = [write.state_batches for write in self.outcome.writes]
        if not isinstance(self.operation, AdvanceTime):
            written = [tuple(chain.from_iterable(written))]
        for batches in written:
            ascend("state_batches", sorted(batches, key=lambda batch: batch.first))
