"""In which state a core failed instead of answering, where its text fits several states."""

from collections.abc import Iterable

from conformance.cores.target import Request
from judge.finding import CRASHED
from spec.partition import SharePartition
from spec.record import is_acquirable

NOTHING_AT_START = "a request across the start offset, and nothing in flight at it"
LACKS_AVAILABLE = "a full window, and the log lacks all that is available in it"
LACKS_GAP = "a full window, and the log lacks all of a gap in it, and nothing else is available"


def nothing_at_start(partition: SharePartition, extents: Iterable[tuple[int, int]]) -> bool:
    """Whether a batch of acknowledgements is across the start offset, with nothing in flight there.

    ``extents``: the first and the last offset of each batch.
    """
    start = partition.window.start_offset
    is_across = any(first < start <= last for first, last in extents)
    return is_across and start not in partition.window.records


def cause_of_crash(request: Request, partition: SharePartition) -> tuple[str, ...]:
    """Return the state in which a request met the share-partition; nothing where it is no other."""
    window = partition.window
    start = window.start_offset
    if request["op"] == "acknowledge":
        extents = ((first, last) for first, last, _types in request["batches"])
        return (CRASHED, NOTHING_AT_START) if nothing_at_start(partition, extents) else ()
    if request["op"] != "acquire":
        return ()
    limit = partition.config.partition_max_record_locks
    records = window.records.items()
    available = [offset for offset, record in records if is_acquirable(record)]
    gap = [offset for offset in range(start, window.end_offset) if offset not in window.records]
    wanted = available or gap
    held = any(first <= offset <= last for first, last in request["log"] for offset in wanted)
    if window.end_offset - start < limit or not wanted or held:
        return ()
    return CRASHED, LACKS_AVAILABLE if available else LACKS_GAP
