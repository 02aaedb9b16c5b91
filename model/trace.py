"""A recorded event of one share-partition: what was done, and what was seen of it."""

import attrs

from model.checks import member_name, non_negative
from model.operations import Operation
from model.outcome import Outcome
from model.snapshot import SharePartitionSnapshot

__all__ = ["TraceEvent"]


@attrs.frozen
class TraceEvent:
    """One line or row of a trace.

    ``partition`` is group:topic:partition; ``seq`` counts from 0 without holes in a partition;
    ``time_ms`` is the clock after the event. ``after`` is the state after the event.
    """

    partition: str = attrs.field(validator=member_name)
    seq: int = attrs.field(validator=non_negative)
    time_ms: int = attrs.field(validator=non_negative)
    operation: Operation
    outcome: Outcome
    after: SharePartitionSnapshot
