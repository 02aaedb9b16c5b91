"""Which other answers the rules allow at a step: the choices of an implementation."""

from collections.abc import Callable
from typing import Any

import attrs

from model.errors import ErrorCode, IllegalChoiceError
from model.operations import Acknowledge, Acquire, AdvanceLogStart, AdvanceTime, Initialize
from model.outcome import Choice
from model.ranges import OffsetRange, number_of_offsets, ranges_of
from model.trace import TraceEvent
from spec.acknowledge import judge
from spec.acquire import acquire_records
from spec.partition import SharePartition
from spec.validation import validate

_NO_MAXIMUM = 1 << 20


def free(before: SharePartition, event: TraceEvent) -> dict[str, Any]:
    """Return the fields of a reply that may differ, and how, by their names in the schema.

    ``before`` is the share-partition before the step, ``event`` the specification's answer.
    """
    allowed_values: dict[str, Any] = {}
    match event.operation:
        case Acquire() as operation:
            allowed_values = _of_acquire(before, operation)
        case Acknowledge() as operation if validate(operation, before.profile) is ErrorCode.NONE:
            allowed = sorted(answer.name for answer in judge(before, operation).allowed)
            allowed_values = {"status": allowed} if len(allowed) > 1 else {}
        case AdvanceTime():
            expired = [batch for write in event.outcome.writes for batch in write.state_batches]
            if number_of_offsets(expired) > 1:
                allowed_values = {"writes": True}
    lowest, start = lowest_start(before, event), event.after.start_offset
    return allowed_values | ({"start_offset": [lowest, start]} if lowest < start else {})


def lowest_start(before: SharePartition, event: TraceEvent) -> int:
    """Return the lowest legal start offset: an implementation may move it late."""
    match event.operation:
        case Initialize(persisted=persisted):
            known = persisted.start_offset
            return event.after.start_offset if known == -1 else known
        case AdvanceLogStart(log_start_offset=log_start):
            return max(before.window.start_offset, log_start)
    return before.window.start_offset


def _of_acquire(before: SharePartition, operation: Acquire) -> dict[str, Any]:
    """Return the offsets that may be acquired, and the end offsets that may result."""
    taken, operation = allowed_of(before, operation), _unlimited(operation)
    entered = _most(before, operation, lambda offsets: Choice(acquired=(), entered=offsets))
    end = before.window.end_offset
    furthest = max([end, *(part.last + 1 for part in (*taken, *entered))])
    ends = {"end_offset": [end, furthest]} if end < furthest else {}
    return ({"acquired": [[part.first, part.last] for part in taken]} if taken else {}) | ends


def allowed_of(before: SharePartition, operation: Acquire) -> tuple[OffsetRange, ...]:
    """Return the offsets of a read that may be acquired, whatever the maximum."""
    unlimited = _unlimited(operation)
    return _most(before, unlimited, lambda offsets: Choice(acquired=offsets, entered=()))


def _unlimited(operation: Acquire) -> Acquire:
    if not operation.max_fetch_records:
        return operation
    return attrs.evolve(operation, max_fetch_records=_NO_MAXIMUM)


def _most(
    before: SharePartition, operation: Acquire, choice: Callable[[tuple[OffsetRange, ...]], Choice]
) -> tuple[OffsetRange, ...]:
    """Return as many offsets of the read as a legal choice can have, from the first on."""
    chosen: list[int] = []
    free: tuple[OffsetRange, ...] = ()
    read = operation.log_batches
    for offset in range(read[0].first, read[-1].last + 1) if read else ():
        more = ranges_of((*chosen, offset))
        try:
            acquire_records(before, operation, choice(more))
        except IllegalChoiceError:
            continue
        chosen.append(offset)
        free = more
    return free
