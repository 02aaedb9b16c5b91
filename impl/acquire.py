"""Acquire: a fetch acquires records, and the window grows over the offsets that it read."""

from typing import NamedTuple

from impl import layout as at
from impl.jit import compiled, entry_point
from impl.locks import check_claim, lock_end
from impl.log import seek_batch
from impl.policy import MemberFetch, choose_acquired, window_limit
from impl.reading import Noticed, Reach, check_read, learn_read
from impl.rows import Ints
from impl.runs import cut_out, is_free, join, put, seek, set_state
from impl.state import State
from impl.waiting import note_full, note_passed_over
from impl.window import finish, first_unknown
from model.guards import Guard

__all__ = ["MemberFetch", "Taken", "acquire", "skip_acquire"]

_ONLY_AVAILABLE = at.verdict(Guard.ONLY_AVAILABLE_IS_ACQUIRED)
_DURING_WRITE = at.verdict(Guard.NO_ACQUIRE_DURING_WRITE)
_ONLY_READ = at.verdict(Guard.ONLY_READ_IS_ACQUIRED)
_RECORD_LIMIT = at.verdict(Guard.WITHIN_RECORD_LIMIT)
_WINDOW_LIMIT = at.verdict(Guard.WITHIN_WINDOW_LIMIT)
_SKIPPED = at.verdict(Guard.NO_RECORD_SKIPPED)
_CAN_ACQUIRE = at.verdict(Guard.CAN_ACQUIRE)
_BELOW_LOG = at.verdict(Guard.NOT_BELOW_LOG_START)
_ONE_BATCH = at.verdict(Guard.WITHIN_MAXIMUM_AND_ONE_BATCH)


class Taken(NamedTuple):
    """The choice of an implementation: ranges (first, last, ...), ascending by their first offset.

    ``acquired`` and ``entered`` hold only if the flags before them say so, ``end`` and ``start``
    (the window's offsets after it) unless they are UNSET. ``noticed``: what it archives.
    """

    has_acquired: int
    acquired: Ints
    has_entered: int
    entered: Ints
    end: int
    start: int
    noticed: Noticed


@entry_point
def acquire(state: State, fetch: MemberFetch, taken: Taken) -> int:
    """Acquire records for a member (KIP-932, ShareFetch; Kafka: SharePartition.acquire).

    Returns a verdict; ``state.acquired`` then has (first, last, delivery count) of the records.
    """
    h = state.header
    h[at.STATUS] = at.S_NONE
    result = check_claim(h)
    if result == at.FINE:
        result = check_read(state, fetch)
    if result != at.FINE:
        return result
    reach = learn_read(state, fetch, taken.noticed, taken.start)
    ranges = taken.acquired
    if not taken.has_acquired:
        ranges = state.ranges[: choose_acquired(state, fetch)]
    result = _check_acquired(state, ranges, reach)
    if result == at.FINE:
        result = _check_limit(state, fetch, ranges)
    if result != at.FINE:
        return result
    end = h[at.END]
    noted, where = note_passed_over(state, fetch, ranges)
    _take_all(state, fetch.member, ranges)
    result = _enter_all(state, fetch, taken, reach)
    if result == at.FINE:
        result = _grow(state)
    if result == at.FINE:
        result = finish(state, taken.start)
    if result == at.FINE and h[at.END] > end:
        result = _check_width(state, fetch, ranges, end)
    if result != at.FINE or noted == at.FINE:
        return result
    h[at.WHERE] = where
    return noted


@compiled
def _check_acquired(state: State, ranges: Ints, reach: Reach) -> int:
    """Return the verdict on the lowest offset that may not be acquired."""
    lowest, result, covered = at.MAX, at.FINE, -1
    for i in range(ranges.shape[0]):
        first, last = ranges[i, 0], ranges[i, 1]
        offset, refused = _check_range(state, first, last, reach)
        if offset < lowest:
            lowest, result = offset, refused
        if first <= covered and first < lowest:
            lowest, result = first, _ONLY_AVAILABLE
        covered = max(covered, last)
    state.header[at.WHERE] = lowest
    return result


@compiled
def _check_range(state: State, first: int, last: int, reach: Reach) -> tuple[int, int]:
    """Return the first offset that may not be acquired and why; MAX if all of them may."""
    h, runs = state.header, state.runs
    if first < h[at.START]:
        return first, _ONLY_AVAILABLE
    if first < h[at.LOG_START]:
        return first, _BELOW_LOG
    if first < reach.first or first > reach.last:
        return first, _ONLY_READ
    beyond = reach.last + 1
    i = seek(h, runs, first)
    while i < h[at.TAIL] and runs[i, at.FIRST] <= last and runs[i, at.FIRST] < beyond:
        if not is_free(runs, i):
            pending = runs[i, at.WRITE] != at.NO_WRITE
            return max(first, runs[i, at.FIRST]), _DURING_WRITE if pending else _ONLY_AVAILABLE
        i += 1
    if beyond <= last:
        return beyond, _ONLY_READ
    return at.MAX, at.FINE


@compiled
def _check_limit(state: State, fetch: MemberFetch, ranges: Ints) -> int:
    """Check that no more is acquired than was asked for (KIP-1206)."""
    if fetch.mode == at.BATCH_OPTIMIZED and fetch.max_records > 0:
        return _check_maximum(state, fetch, ranges)
    number = 0
    for i in range(ranges.shape[0]):
        number += ranges[i, 1] - ranges[i, 0] + 1
    if number <= fetch.max_records:
        return at.FINE
    state.header[at.WHERE] = ranges[0, 0]
    return _RECORD_LIMIT


@compiled
def _check_maximum(state: State, fetch: MemberFetch, ranges: Ints) -> int:
    """Check that the maximum is reached in the log batch that ends the acquired records.

    Where a profile lets the records of the window exceed it, what enters the window does not.
    """
    h, number = state.header, ranges.shape[0]
    if number == 0 or (h[at.MAY_EXCEED] and ranges[number - 1, 1] < h[at.END]):
        return at.FINE
    first, number = _batch_start(state, fetch.batches, ranges[number - 1, 1]), 0
    for i in range(ranges.shape[0]):
        if ranges[i, 0] < first:
            number += min(ranges[i, 1], first - 1) - ranges[i, 0] + 1
    if number < fetch.max_records:
        return at.FINE
    state.header[at.WHERE] = first
    return _ONE_BATCH


@compiled
def _batch_start(state: State, read: Ints, offset: int) -> int:
    """Return the first offset of the log batch that holds an offset: as produced, else as read."""
    batch = seek_batch(state, offset)
    if batch < state.header[at.LOG_TAIL] and state.log[batch, 0] <= offset:
        first: int = state.log[batch, 0]
        return first
    for i in range(read.shape[0]):
        if read[i, 0] <= offset <= read[i, 1]:
            return int(read[i, 0])
    return offset


@compiled
def _take_all(state: State, member: int, ranges: Ints) -> None:
    """Acquire all ranges under one acquisition number, which a mark has to name."""
    h = state.header
    if h[at.MARKS] and ranges.shape[0] > 0:
        h[at.NUMBER] = h[at.NEXT_ACQUISITION]
        h[at.NEXT_ACQUISITION] += 1
    deadline = lock_end(h)
    for i in range(ranges.shape[0]):
        h[at.NEXT_DEADLINE] = min(h[at.NEXT_DEADLINE], deadline)
        _take(state, ranges[i, 0], ranges[i, 1], member, deadline)


@compiled
def _take(state: State, first: int, last: int, member: int, deadline: int) -> None:
    """Acquire a range, all of it free: one more delivery, a new owner and a new deadline."""
    h, runs = state.header, state.runs
    offset = first
    i = cut_out(h, runs, offset, last)
    while offset <= last:
        if i == h[at.TAIL] or runs[i, at.FIRST] > offset:
            end = last if i == h[at.TAIL] else min(last, runs[i, at.FIRST] - 1)
            i = put(h, runs, i, offset, end)
        set_state(h, runs, i, at.ACQUIRED)
        runs[i, at.COUNT] += 1
        runs[i, at.OWNER], runs[i, at.DEADLINE] = member, deadline
        if h[at.MARKS]:
            runs[i, at.ACQUISITION] = h[at.NUMBER]
            runs[i, at.PROGRESS_START] = runs[i, at.LAST_PROGRESS] = at.NOT_MARKED
        _answer(h, state.acquired, runs, i)
        offset = runs[i, at.LAST] + 1
        i += 1
    join(h, runs, first, last)


@compiled
def _answer(header: Ints, acquired: Ints, runs: Ints, index: int) -> None:
    """Append a run to the acquired ranges, or extend the latest one if the run continues it."""
    row, latest = header[at.ACQUIRED_TAIL], header[at.ACQUIRED_TAIL] - 1
    first, last, count = runs[index, at.FIRST], runs[index, at.LAST], runs[index, at.COUNT]
    if row > 0 and acquired[latest, 1] + 1 == first and acquired[latest, 2] == count:
        acquired[latest, 1] = last
        return
    acquired[row, 0], acquired[row, 1], acquired[row, 2] = first, last, count
    header[at.ACQUIRED_TAIL] = row + 1


@compiled
def _enter_all(state: State, fetch: MemberFetch, taken: Taken, reach: Reach) -> int:
    """Track the offsets that enter the window: those chosen, or those read that it grows over.

    Where they are chosen, it grows over what was read after the last of them as well.
    """
    h = state.header
    lowest = max(h[at.END], h[at.LOG_START])
    if taken.has_entered:
        result = at.FINE
        for i in range(taken.entered.shape[0]):
            first = max(taken.entered[i, 0], h[at.START])
            if result == at.FINE:
                result = _enter(state, first, taken.entered[i, 1], reach)
        if result != at.FINE:
            return result
        lowest = max(lowest, _tracked_end(h, state.runs))
    end = taken.end
    if end == at.UNSET:
        end = _tracked_end(h, state.runs)
    for i in range(fetch.batches.shape[0]):
        first, last = max(fetch.batches[i, 0], lowest), min(fetch.batches[i, 1], end - 1)
        _enter(state, first, last, reach)
    return at.FINE


@compiled
def _enter(state: State, first: int, last: int, reach: Reach) -> int:
    """Track the untracked offsets from ``first`` to ``last``, never delivered; return a verdict."""
    h, runs = state.header, state.runs
    i, offset = seek(h, runs, first), first
    while offset <= last:
        if i < h[at.TAIL] and runs[i, at.FIRST] <= offset:
            offset = runs[i, at.LAST] + 1
        else:
            end = last if i == h[at.TAIL] else min(last, runs[i, at.FIRST] - 1)
            if offset < reach.first or end > reach.last:
                h[at.WHERE] = offset if offset < reach.first else max(offset, reach.last + 1)
                return _ONLY_READ
            i = put(h, runs, i, offset, end)
            offset = end + 1
        i += 1
    join(h, runs, first, last)
    return at.FINE


@compiled
def _tracked_end(header: Ints, runs: Ints) -> int:
    """Return the offset after the last tracked record; the end offset, if there is none."""
    end: int = header[at.END]
    if header[at.TAIL] > header[at.HEAD]:
        end = runs[header[at.TAIL] - 1, at.LAST] + 1
    return end


@compiled
def _grow(state: State) -> int:
    """Move the end offset past the last record; each offset passed is tracked or in a hole."""
    h = state.header
    end = _tracked_end(h, state.runs)
    unknown = first_unknown(state, h[at.END], end)
    if unknown < end:
        h[at.WHERE] = unknown
        return _SKIPPED
    h[at.END] = end
    return at.FINE


@compiled
def _check_width(state: State, fetch: MemberFetch, ranges: Ints, old_end: int) -> int:
    """Check a window that grew: at most the log batch that crosses its limit ends past that.

    Under record_limit the records beyond the limit are then available ones. Apache Kafka does not
    count the gap between the old end and the first record that entered.
    """
    h, batches = state.header, fetch.batches
    counted_from = h[at.START]
    if h[at.FREE_GAP]:
        entered = max(old_end, state.runs[seek(h, state.runs, old_end), at.FIRST])
        counted_from = entered - max(0, old_end - h[at.START])
    limit = window_limit(state, counted_from)
    if h[at.END] <= limit:
        return at.FINE
    h[at.WHERE] = h[at.END] - 1
    number = ranges.shape[0]
    taken_beyond = number > 0 and ranges[number - 1, 1] >= max(limit, old_end)
    if not h[at.MAY_OVERSHOOT] or (taken_beyond and fetch.mode != at.BATCH_OPTIMIZED):
        return _WINDOW_LIMIT
    for i in range(batches.shape[0]):
        if batches[i, 0] < h[at.END] <= batches[i, 1] + 1 and max(batches[i, 0], old_end) < limit:
            return at.FINE
    return _WINDOW_LIMIT


@entry_point
def skip_acquire(state: State, start: int) -> int:
    """Judge the answer that nothing can be acquired (Kafka: canAcquireRecords).

    What is finished at the start of the window leaves it within a number of such answers.
    """
    h, runs = state.header, state.runs
    h[at.STATUS] = at.S_NONE
    full = h[at.END] - h[at.START] >= h[at.MAX_LOCKS]
    if h[at.COUNTS + at.AVAILABLE] > 0:
        for i in range(h[at.HEAD], h[at.TAIL]):
            if is_free(runs, i):
                h[at.WHERE] = runs[i, at.FIRST]
                return _CAN_ACQUIRE
    if not full:
        h[at.WHERE] = h[at.END]
        return _CAN_ACQUIRE
    result = finish(state, start)
    return result if result != at.FINE else note_full(state)
