"""The default choices of this project: which records an acquire takes."""

from collections.abc import Iterator

from model.operations import Acquire
from model.ranges import OffsetRange
from model.states import AcquireMode
from spec.kafka import takes_whole_batch
from spec.partition import SharePartition
from spec.record import is_acquirable
from spec.window import first_unfinished


def chosen_offsets(partition: SharePartition, operation: Acquire) -> list[int]:
    """Return the offsets, ascending, that the policy takes: whole log batches, up to the maximum.

    With record_limit no more than the maximum (KIP-1206); else the last batch may go beyond it and,
    where the profile lets the window overshoot its limit, beyond that where it begins within.
    """
    window, most = partition.window, operation.max_fetch_records
    limited = operation.acquire_mode is AcquireMode.RECORD_LIMIT
    whole = takes_whole_batch(partition.profile, operation.acquire_mode)
    taken: list[int] = []
    cap = _capacity_end(partition, operation)
    for batch in operation.log_batches:
        if len(taken) >= most:
            break
        offsets = list(_acquirable(partition, batch))
        new = next((o for o in offsets if o >= window.end_offset), cap)
        room = whole and new < cap
        taken += [o for o in offsets if room or o < cap or o < window.end_offset]
    while limited and len(taken) > most:
        taken.pop()
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
