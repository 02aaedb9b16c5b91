"""What else the rules would have allowed at a step: the choices that are an implementation's."""

from collections.abc import Callable
from typing import Any

import attrs

from model.errors import IllegalChoiceError
from model.operations import Acknowledge, Acquire, AdvanceTime
from model.outcome import Choice
from model.ranges import OffsetRange
from model.trace import TraceEvent
from spec.acknowledge import judge
from spec.acquire import acquire_records
from spec.partition import SharePartition
from spec.ranges import runs
from spec.validation import validate
from model.errors import ErrorCode

__all__ = ["free"]

_NO_MAXIMUM = 1 << 20


def free(before: SharePartition, event: TraceEvent, lowest_start: int) -> dict[str, Any]:
    """Return which fields of the reply may be otherwise, and how; the fields as in the schema.

    ``lowest_start`` is where the start offset may still be, if the implementation is late.
    """
    found: dict[str, Any] = {}
    match event.operation:
        case Acquire() as operation:
            found = _of_acquire(before, operation)
        case Acknowledge() as operation if validate(operation, before.profile) is ErrorCode.NONE:
            allowed = sorted(answer.name for answer in judge(before, operation).allowed)
            found = {"status": allowed} if len(allowed) > 1 else {}
        case AdvanceTime():
            expired = [b for write in event.outcome.writes for b in write.state_batches]
            if sum(batch.last - batch.first + 1 for batch in expired) > 1:
                found = {"writes": True}
    start = event.after.start_offset
    return found | ({"start_offset": [lowest_start, start]} if lowest_start < start else {})


def _of_acquire(before: SharePartition, operation: Acquire) -> dict[str, Any]:
    """Any records may be taken that can be, and others that were read may enter the window."""
    if operation.max_fetch_records:
        operation = attrs.evolve(operation, max_fetch_records=_NO_MAXIMUM)
    taken = _most(before, operation, lambda offsets: Choice(acquired=offsets, entered=()))
    entered = _most(before, operation, lambda offsets: Choice(acquired=(), entered=offsets))
    end = before.window.end_offset
    furthest = max([end, *(part.last + 1 for part in (*taken, *entered))])
    ends = {"end_offset": [end, furthest]} if end < furthest else {}
    return ({"acquired": [[part.first, part.last] for part in taken]} if taken else {}) | ends


def _most(
    before: SharePartition,
    operation: Acquire,
    choice: Callable[[tuple[OffsetRange, ...]], Choice],
) -> tuple[OffsetRange, ...]:
    """Return the most offsets of the read, from the first on, for which the choice is legal."""
    found: tuple[OffsetRange, ...] = ()
    chosen: list[int] = []
    read = operation.log_batches
    for offset in range(read[0].first, read[-1].last + 1) if read else ():
        more = ranges_of([*chosen, offset])
        try:
            acquire_records(before, operation, choice(more))
        except IllegalChoiceError:
            continue
        chosen.append(offset)
        found = more
    return found


def ranges_of(chosen: list[int]) -> tuple[OffsetRange, ...]:
    """Return ascending offsets as ranges."""
    return tuple(OffsetRange(first, last) for first, last, _ in runs((o, True) for o in chosen))
