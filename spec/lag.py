"""Share-partition lag (KIP-1226): the leader's, and the one that is reported.

Both are the same formula: one of the leader's memory, the other of the durable state. Where a write
fails or is lost the reported lag can stay too low (docs/findings/kip-1226.md).
"""

from model.snapshot import DurableState
from spec.logic import Term
from spec.partition import SharePartition, complete_count


def share_partition_lag(end_offset: Term, start_offset: Term, complete: Term) -> Term:
    """Return how many offsets are still to be processed.

    ``end_offset`` is the offset after the last record, read uncommitted; ``start_offset`` the
    share-partition start offset (SPSO); ``complete`` the delivery complete count. KIP-1226 writes
    it differently, with the same value: highest offset - start offset + 1 - in-flight records
    already processed.
    """
    return end_offset - start_offset - complete


def lag(partition: SharePartition) -> int:
    """Return the leader's lag. It is exact when no write is outstanding."""
    result: int = share_partition_lag(
        partition.log.end_offset, partition.window.start_offset, complete_count(partition)
    )
    return result


def durable_lag(end_offset: int, state: DurableState) -> int | None:
    """Return the reported lag: as the group coordinator answers it from the durable state.

    None where the start offset or the delivery complete count is unknown, and where the start
    offset was altered to one beyond the end of the log, which the log has not reached.
    """
    if state.start_offset == -1 or state.delivery_complete_count == -1:
        return None
    result: int = share_partition_lag(end_offset, state.start_offset, state.delivery_complete_count)
    return result if result >= 0 else None
