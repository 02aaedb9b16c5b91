"""The default choices of this project: which records an acquire takes."""

from collections.abc import Iterator

from model.operations import Acquire
from model.ranges import OffsetRange
from model.states import AcquireMode
from spec.partition import SharePartition
from spec.record import is_acquirable
from spec.window import first_unfinished


def chosen_offsets(partition: SharePartition, operation: Acquire) -> list[int]:
    """Return the offsets, ascending, that the policy of the acquire mode takes (KIP-1206)."""
    if operation.acquire_mode is AcquireMode.RECORD_LIMIT:
        return record_limit(partition, operation)
    return batch_optimized(partition, operation)


def record_limit(partition: SharePartition, operation: Acquire) -> list[int]:
    """Take the first records that may be taken, at most the maximum and within the window."""
    taken: list[int] = []
    cap = _capacity_end(partition, operation)
    for batch in operation.log_batches:
        for offset in _acquirable(partition, batch):
            new = offset >= partition.window.end_offset
            if len(taken) >= operation.max_fetch_records or (new and offset >= cap):
                return taken
            taken.append(offset)
    return taken


def batch_optimized(partition: SharePartition, operation: Acquire) -> list[int]:
    """Take whole log batches until the maximum is reached.

    The last batch may go beyond the maximum and, where the profile lets the window overshoot its
    limit, beyond that where it begins within.
    """
    window, whole = partition.window, partition.profile.window_may_overshoot
    taken: list[int] = []
    cap = _capacity_end(partition, operation)
    for batch in operation.log_batches:
        if len(taken) >= operation.max_fetch_records:
            break
        offsets = list(_acquirable(partition, batch))
        new = next((o for o in offsets if o >= window.end_offset), cap)
        room = whole and new < cap
        taken += [o for o in offsets if room or o < cap or o < window.end_offset]
    return taken


def _acquirable(partition: SharePartition, batch: OffsetRange) -> Iterator[int]:
    window = partition.window
    lowest = max(window.start_offset, partition.log.start_offset)
    for offset in range(max(batch.first, lowest), batch.last + 1):
        record = window.records.get(offset)
        if record is None or is_acquirable(record):
            yield offset


def _capacity_end(partition: SharePartition, operation: Acquire) -> int:
    window = partition.window
    start = first_unfinished(window, partition.log)
    if not window.records:
        offsets = (o for batch in operation.log_batches for o in _acquirable(partition, batch))
        start = max(start, next(offsets, start))
    return start + partition.config.partition_max_record_locks
