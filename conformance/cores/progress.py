"""How a share-partition came to a stand: a full window, a record or a dead letter that waits.

The rules about progress are broken many fetches after a mistake, by an answer that is the same for
every mistake. What tells them apart is how the state came about in which the fetches found it.
"""

from collections.abc import Mapping, Sequence
from itertools import chain

import attrs

from model import operations as ops
from model.errors import ErrorCode
from model.guards import Guard
from model.trace import TraceEvent
from spec.log import hole_end
from spec.partition import SharePartition, is_being_written
from spec.record import (
    Record,
    commit,
    finish_dead_letter,
    is_dead_letter,
    is_finished,
    is_held,
    is_lock_over,
    roll_back,
)
from spec.window import first_unfinished, tracked

STAYS_FULL = "a full window stays full"
READ_FIRST = "its start was finished when the leader took over, which began with it"
READ_GAP = "its start was a gap before finished records when the leader took over"
READ_BEHIND = "its start was finished when the leader took over, behind others"
READ_OPEN = "its start was a gap before others when the leader took over"
GIVEN_AGAIN = "its start was a gap when the leader took over, which has delivered it twice"
SINCE = "its start was finished since the leader took over"
WRITE_FAILED = "a write failed that finished its start, or what was deleted before it"
LACKED = "the log lacks its start"
ABORTED = "its start is of an aborted transaction"
LOG_START = "the log start offset passed what was before its start"
LOG_START_IN_GAP = "its start is the log start offset, in a gap"
GAP = "its start is in a gap"
UNFINISHED_BELOW = "what the log start offset passed is not finished"

NOT_QUEUED = "a dead letter is not queued"
STARTED_IN_GAP = "the log start offset came to a gap"

WAITS = "an available record waits"
READ_AGAIN = "fetches from a gap read what was finished when the leader took over"
WENT_BACK = "fetches begin again at a gap behind which this leader has acquired"
BEGAN_BELOW = "fetches begin at a gap that the log start offset has passed"


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
    if rule == Guard.RECORD_IS_OFFERED.name:
        causes = (
            (_began_below(past), BEGAN_BELOW),
            (_reads_again(past), READ_AGAIN),
            (_went_back(past), WENT_BACK),
        )
        return next(((WAITS, words) for holds, words in causes if holds), ())
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
    read = past[led + 1].before.window
    was_gap = start == read.start_offset and bool(read.records) and start not in read.records
    causes = (
        (isinstance(cause, ops.Initialize) and is_gap, READ_GAP),
        (isinstance(cause, ops.Initialize), READ_FIRST),
        (isinstance(cause, ops.ArchiveAborted), ABORTED),
        (isinstance(cause, ops.CompleteWrite) and cause.status is not ErrorCode.NONE, WRITE_FAILED),
        (isinstance(cause, ops.Acquire) and is_lacking, LACKED),
        (is_gap and _came_with_the_log(past[led + 1 :], start), LOG_START_IN_GAP),
        (isinstance(cause, ops.AdvanceLogStart), LOG_START),
        (_is_unfinished_below(past[led + 1 :]), UNFINISHED_BELOW),
        (_failed_below(past[led + 1 :], past[max(since - 1, led + 1) :]), WRITE_FAILED),
        (came_later and _was_finished(past[led + 1].before, first), READ_BEHIND),
        (is_gap and was_gap, READ_OPEN),
        (is_gap, GAP),
        (was_gap and _times_given(past[led + 1 :], start) > 1, GIVEN_AGAIN),
    )
    return next((words for holds, words in causes if holds), SINCE)


def _times_given(past: Sequence[Standing], offset: int) -> int:
    given = chain.from_iterable(each.event.outcome.acquired for each in past)
    return sum(part.first <= offset <= part.last for part in given)


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


def _is_unfinished_below(past: Sequence[Standing]) -> bool:
    """Return whether a record that the log start offset passed is held, written or ARCHIVING.

    It is so before the last event.
    """
    passed: dict[int, Record] = {}
    for each in past[:-1]:
        passed |= _passed_in(each, passed)
    now = past[-1].before
    return any(
        is_dead_letter(record)
        or is_being_written(now, offset)
        or (is_held(record) and not is_lock_over(record, now.now))
        for offset, record in passed.items()
    )


def _failed_below(past: Sequence[Standing], since: Sequence[Standing]) -> bool:
    """Return whether a write that failed has finished the last record that the log passed.

    ``since``: what of it happened when the start of the window was to leave it, and later.
    """
    ends = range(len(past), 0, -1)
    last = next((nth for nth in ends if _is_unfinished_below(past[:nth])), 0)
    ended = past[last - 1].event.operation if last > len(past) - len(since) else None
    return isinstance(ended, ops.CompleteWrite) and ended.status is not ErrorCode.NONE


def _passed_in(then: Standing, passed: Mapping[int, Record]) -> dict[int, Record]:
    """Return what an event changes of the records that the log start offset passed, or passes."""
    operation, before = then.event.operation, then.before
    if isinstance(operation, ops.AdvanceLogStart):
        low = operation.log_start_offset
        return {o: record for o, record in before.window.records.items() if o < low}
    if isinstance(operation, ops.FinishDeadLetter):
        ended = (range(part.first, part.last + 1) for part in operation.ranges)
        named = {*chain.from_iterable(ended)} or {*passed}
        letters = {o: r for o, r in passed.items() if o in named and is_dead_letter(r)}
        return {o: finish_dead_letter(record) for o, record in letters.items()}
    if isinstance(operation, ops.CompleteWrite) and operation.id in before.outstanding:
        sent = before.outstanding[operation.id]
        written = {o: record for o, record in passed.items() if o in sent.offsets}
        if operation.status is ErrorCode.NONE:
            return {o: commit(record) for o, record in written.items()}
        return {o: roll_back(record, before.now) for o, record in written.items()}
    return {}


def _was_finished(partition: SharePartition, offsets: Sequence[int]) -> bool:
    """Return whether there are offsets, and a state has each as a finished record."""
    records = partition.window.records
    return bool(offsets) and all(o in records and is_finished(records[o]) for o in offsets)


def _began_below(past: Sequence[Standing]) -> bool:
    """Return whether the fetch begins before the log, in a gap that the leader has read."""
    fetch, now = past[-1].event.operation, past[-1].before
    if not isinstance(fetch, ops.Acquire) or fetch.fetch_offset >= now.log.start_offset:
        return False
    read = past[_led(past) + 1].before.window
    return bool(read.records) and fetch.fetch_offset not in read.records


def _reads_again(past: Sequence[Standing]) -> bool:
    """Return whether the fetch begins at a gap and reads nothing that this leader may deliver.

    All that it reads was finished, as far as the window reaches from the start offset that it has.
    """
    fetch, now = past[-1].event.operation, past[-1].before
    if not isinstance(fetch, ops.Acquire) or not _is_in_gap(now, fetch.fetch_offset):
        return False
    room = now.window.start_offset + now.config.partition_max_record_locks
    read = [o for each in fetch.log_batches for o in range(each.first, min(each.last + 1, room))]
    return _was_finished(past[_led(past) + 1].before, read)


def _went_back(past: Sequence[Standing]) -> bool:
    """Return whether the fetch begins at a gap behind which this leader acquired, and then before.

    It does so at each record that is acquired before the gap, also one that is delivered again.
    """
    fetch = past[-1].event.operation
    if not isinstance(fetch, ops.Acquire) or not _is_in_gap(past[-1].before, fetch.fetch_offset):
        return False
    given = [part.last for each in past[_led(past) :] for part in each.event.outcome.acquired]
    behind = [nth for nth, last in enumerate(given) if last > fetch.fetch_offset]
    return bool(behind) and any(last < fetch.fetch_offset for last in given[behind[0] :])


def _is_in_gap(partition: SharePartition, offset: int) -> bool:
    return offset not in partition.window.records and hole_end(partition.log, offset) is not None


def _starts_in_gap(then: Standing) -> bool:
    moved = then.event.operation
    if not isinstance(moved, ops.AdvanceLogStart):
        return False
    return hole_end(then.before.log, moved.log_start_offset) is not None
