"""How a share-partition came to a stand: a full window, a record or a dead letter that waits.

The rules about progress are broken many fetches after a mistake, by an answer that is the same for
every mistake. What tells them apart is how the state came about in which the fetches found it.
"""

from collections.abc import Sequence

import attrs

from model import operations as ops
from model.errors import ErrorCode
from model.guards import Guard
from model.trace import TraceEvent
from spec.log import hole_end
from spec.partition import SharePartition
from spec.record import is_finished, is_held, is_lock_over
from spec.window import first_unfinished, tracked

STAYS_FULL = "a full window stays full"
READ_FIRST = "its start was finished when the leader took over, which began with it"
READ_GAP = "its start was a gap before finished records when the leader took over"
READ_BEHIND = "its start was finished when the leader took over, behind others"
SINCE = "its start was finished since the leader took over"
WRITE_FAILED = "its start was finished when a write failed"
LACKED = "the log lacks its start"
ABORTED = "its start is of an aborted transaction"
LOG_START = "the log start offset passed what was before its start"
LOG_START_IN_GAP = "its start is the log start offset, in a gap"
GAP = "its start is in a gap"
HELD_BELOW = "a lock of what the log start offset passed goes on"

NOT_QUEUED = "a dead letter is not queued"
STARTED_IN_GAP = "the log start offset came to a gap"

WAITS = "an available record waits"
READ_AGAIN = "fetches from a gap read what was finished when the leader took over"


@attrs.frozen
class Standing:
    """An event, and the share-partition before it by the rules."""

    event: TraceEvent
    before: SharePartition


def cause_of_stand(rule: str, past: Sequence[Standing]) -> tuple[str, ...]:
    """Return how it came to a stand; nothing for another rule, or where the rule says it all.

    ``past``: all that happened, up to the fetch that breaks the rule.
    """
    if rule == Guard.FINISHED_LEAVES_FULL_WINDOW.name:
        return STAYS_FULL, _at_start(past)
    if rule == Guard.RECORD_IS_OFFERED.name and _reads_again(past):
        return WAITS, READ_AGAIN
    if rule == Guard.DEAD_LETTER_IS_QUEUED.name and any(map(_starts_in_gap, past)):
        return NOT_QUEUED, STARTED_IN_GAP
    return ()


def _at_start(past: Sequence[Standing]) -> str:
    """Return what is at the start of the window, and since when it has to leave it."""
    led, now = _led(past), past[-1].before
    start, since = now.window.start_offset, len(past) - 1
    while since > led + 1 and _has_to_leave(past[since - 1].before, start):
        since -= 1
    cause, earlier = past[since - 1].event.operation, past[since - 1].before
    is_gap = start not in now.window.records
    is_lacking = not is_gap and hole_end(now.log, start) is not None
    first = [*tracked(now.window, start, now.window.end_offset)][:1]
    came_later = earlier.window.start_offset < start
    causes = (
        (isinstance(cause, ops.Initialize) and is_gap, READ_GAP),
        (isinstance(cause, ops.Initialize), READ_FIRST),
        (isinstance(cause, ops.ArchiveAborted), ABORTED),
        (isinstance(cause, ops.CompleteWrite) and cause.status is not ErrorCode.NONE, WRITE_FAILED),
        (isinstance(cause, ops.Acquire) and is_lacking, LACKED),
        (is_gap and _came_with_the_log(past[led + 1 :], start), LOG_START_IN_GAP),
        (isinstance(cause, ops.AdvanceLogStart), LOG_START),
        (_is_held_below(past[led + 1 :], start), HELD_BELOW),
        (came_later and _was_finished(past[led + 1].before, first), READ_BEHIND),
        (is_gap, GAP),
    )
    return next((words for holds, words in causes if holds), SINCE)


def _led(past: Sequence[Standing]) -> int:
    """Return at which place the present leader took over."""
    operations = [each.event.operation for each in past]
    return max(i for i, each in enumerate(operations) if isinstance(each, ops.Initialize))


def _has_to_leave(partition: SharePartition, start: int) -> bool:
    window = partition.window
    is_there = window.start_offset == start
    return is_there and first_unfinished(window, partition.log) > start


def _came_with_the_log(past: Sequence[Standing], start: int) -> bool:
    """Return whether the log start offset is what brought the start offset there."""
    starts = [each.before.window.start_offset for each in past]
    came = max((i for i, each in enumerate(starts) if each != start), default=None)
    return came is not None and isinstance(past[came].event.operation, ops.AdvanceLogStart)


def _is_held_below(past: Sequence[Standing], start: int) -> bool:
    """Return whether the log start offset passed a record whose lock has not ended."""
    now = past[-1].before.now
    return any(
        offset < start and is_held(record) and not is_lock_over(record, now)
        for each in past
        if isinstance(each.event.operation, ops.AdvanceLogStart)
        for offset, record in each.before.window.records.items()
    )


def _was_finished(partition: SharePartition, offsets: Sequence[int]) -> bool:
    """Return whether there are offsets, and a state has each as a finished record."""
    records = partition.window.records
    return bool(offsets) and all(o in records and is_finished(records[o]) for o in offsets)


def _reads_again(past: Sequence[Standing]) -> bool:
    """Return whether the fetch begins at a gap and reads nothing that this leader may deliver."""
    fetch, now = past[-1].event.operation, past[-1].before
    if not isinstance(fetch, ops.Acquire) or fetch.fetch_offset in now.window.records:
        return False
    read = [o for batch in fetch.log_batches for o in range(batch.first, batch.last + 1)]
    is_gap = hole_end(now.log, fetch.fetch_offset) is not None
    return is_gap and _was_finished(past[_led(past) + 1].before, read)


def _starts_in_gap(then: Standing) -> bool:
    moved = then.event.operation
    if not isinstance(moved, ops.AdvanceLogStart):
        return False
    return hole_end(then.before.log, moved.log_start_offset) is not None
