"""Acquire: a fetch takes records, and the window grows over what it read."""

from typing import NamedTuple

from impl.jit import compiled, entry_point
from impl.layout import (
    ACQUIRED,
    ACQUIRED_TAIL,
    ACQUISITION,
    ARCHIVED,
    AVAILABLE,
    BATCH_OPTIMIZED,
    COUNT,
    COUNTS,
    DEADLINE,
    END,
    FINE,
    FIRST,
    FREE_GAP,
    HEAD,
    LAST,
    LAST_PROGRESS,
    LOCK_DURATION,
    LOG_END,
    MARKS,
    MAX,
    MAX_LOCKS,
    MAY_OVERSHOOT,
    NEXT_ACQUISITION,
    NEXT_DEADLINE,
    NO_WRITE,
    NOT_MARKED,
    NOW,
    NUMBER,
    OWNER,
    PROGRESS_START,
    RECORD_LIMIT,
    RESTORE,
    S_NONE,
    START,
    STATE,
    STATUS,
    TAIL,
    UNSET,
    VANISHED,
    WHERE,
    WRITE,
    verdict,
)
from impl.policy import Fetch, choose_acquired, window_limit
from impl.rows import Ints
from impl.runs import cut, is_free, join, put, seek, set_state
from impl.state import State
from impl.window import finish, first_unknown, later, learn_hole
from model.guards import Guard

__all__ = ["Fetch", "Taken", "acquire", "skip_acquire"]

_ONLY_AVAILABLE = verdict(Guard.ONLY_AVAILABLE_IS_ACQUIRED)
_DURING_WRITE = verdict(Guard.NO_ACQUIRE_DURING_WRITE)
_ONLY_READ = verdict(Guard.ONLY_READ_IS_ACQUIRED)
_RECORD_LIMIT = verdict(Guard.WITHIN_RECORD_LIMIT)
_WINDOW_LIMIT = verdict(Guard.WITHIN_WINDOW_LIMIT)
_SKIPPED = verdict(Guard.NO_RECORD_SKIPPED)
_CAN_ACQUIRE = verdict(Guard.CAN_ACQUIRE)


class Taken(NamedTuple):
    """What an implementation chose: ranges (first, last, ...), ascending by their first offset.

    ``acquired`` and ``entered`` hold only if the flags before them say so, ``end`` and ``start``
    (the window's offsets after it) unless they are UNSET.
    """

    has_acquired: int
    acquired: Ints
    has_entered: int
    entered: Ints
    end: int
    start: int


class _Reach(NamedTuple):
    """The first and last offset that a fetch read from the log; empty if it read nothing."""

    first: int
    last: int


@entry_point
def acquire(state: State, fetch: Fetch, taken: Taken) -> int:
    """Acquire records for a member (KIP-932, ShareFetch; Kafka: SharePartition.acquire).

    Returns a verdict; ``state.acquired`` then has (first, last, delivery count) of what was taken.
    """
    h = state.header
    h[STATUS] = S_NONE
    reach = _learn(state, fetch)
    ranges = taken.acquired
    if not taken.has_acquired:
        ranges = state.ranges[: choose_acquired(state, fetch)]
    result = _check_acquired(state, ranges, reach)
    if result == FINE:
        result = _check_limit(h, fetch, ranges)
    if result != FINE:
        return result
    end = h[END]
    _take_all(state, fetch.member, ranges)
    result = _enter_all(state, fetch, taken, reach)
    if result == FINE:
        result = _grow(state)
    if result == FINE:
        result = finish(state, taken.start)
    if result == FINE and h[END] > end:
        result = _check_width(state, fetch, ranges, end)
    return result


@compiled
def _learn(state: State, fetch: Fetch) -> _Reach:
    """Learn from a read what is not in the log: gaps, and available records that vanished."""
    h, batches = state.header, fetch.batches
    number = batches.shape[0]
    if number == 0:
        return _Reach(MAX, -1)
    first, last, at = batches[0, 0], batches[number - 1, 1], fetch.offset
    for i in range(number):
        learn_hole(h, state.holes, at, batches[i, 0] - 1)
        at = max(at, batches[i, 1] + 1)
    h[LOG_END] = max(h[LOG_END], at)
    if fetch.offset < first:
        _vanish(h, state.runs, fetch.offset, first - 1)
    return _Reach(first, last)


@compiled
def _vanish(header: Ints, runs: Ints, first: int, last: int) -> None:
    """Archive the available records of a range, without a write (compaction).

    One with an outstanding write stays pending until that write ends, and ARCHIVED after it.
    """
    cut(header, runs, last + 1)
    i = cut(header, runs, first)
    while i < header[TAIL] and runs[i, FIRST] <= last:
        if runs[i, STATE] == AVAILABLE:
            set_state(header, runs, i, ARCHIVED)
            if runs[i, WRITE] != NO_WRITE:
                runs[i, RESTORE] = VANISHED
        i += 1
    join(header, runs, first, last)


@compiled
def _check_acquired(state: State, ranges: Ints, reach: _Reach) -> int:
    """Return the verdict on the lowest offset that may not be acquired."""
    lowest, result, covered = MAX, FINE, -1
    for i in range(ranges.shape[0]):
        first, last = ranges[i, 0], ranges[i, 1]
        at, refused = _check_range(state, first, last, reach)
        if at < lowest:
            lowest, result = at, refused
        if first <= covered and first < lowest:
            lowest, result = first, _ONLY_AVAILABLE
        covered = max(covered, last)
    state.header[WHERE] = lowest
    return result


@compiled
def _check_range(state: State, first: int, last: int, reach: _Reach) -> tuple[int, int]:
    """Return the first offset that may not be acquired and why; MAX if all of them may."""
    h, runs = state.header, state.runs
    if first < h[START]:
        return first, _ONLY_AVAILABLE
    if first < reach.first or first > reach.last:
        return first, _ONLY_READ
    beyond = reach.last + 1
    i = seek(h, runs, first)
    while i < h[TAIL] and runs[i, FIRST] <= last and runs[i, FIRST] < beyond:
        if not is_free(runs, i):
            pending = runs[i, WRITE] != NO_WRITE
            return max(first, runs[i, FIRST]), _DURING_WRITE if pending else _ONLY_AVAILABLE
        i += 1
    if beyond <= last:
        return beyond, _ONLY_READ
    return MAX, FINE


@compiled
def _check_limit(header: Ints, fetch: Fetch, ranges: Ints) -> int:
    number = 0
    for i in range(ranges.shape[0]):
        number += ranges[i, 1] - ranges[i, 0] + 1
    limited = fetch.mode == RECORD_LIMIT or fetch.max_records == 0
    if not limited or number <= fetch.max_records:
        return FINE
    header[WHERE] = ranges[0, 0]
    return _RECORD_LIMIT


@compiled
def _take_all(state: State, member: int, ranges: Ints) -> None:
    """Take all ranges under one acquisition number, where a mark has to name it."""
    h = state.header
    if h[MARKS] and ranges.shape[0] > 0:
        h[NUMBER] = h[NEXT_ACQUISITION]
        h[NEXT_ACQUISITION] += 1
    deadline = later(h[NOW], h[LOCK_DURATION])
    for i in range(ranges.shape[0]):
        h[NEXT_DEADLINE] = min(h[NEXT_DEADLINE], deadline)
        _take(state, ranges[i, 0], ranges[i, 1], member, deadline)


@compiled
def _take(state: State, first: int, last: int, member: int, deadline: int) -> None:
    """Acquire a range, all of it free: one more delivery, a new owner and a new deadline."""
    h, runs = state.header, state.runs
    at = first
    cut(h, runs, last + 1)
    i = cut(h, runs, at)
    while at <= last:
        if i == h[TAIL] or runs[i, FIRST] > at:
            i = put(h, runs, i, at, last if i == h[TAIL] else min(last, runs[i, FIRST] - 1))
        set_state(h, runs, i, ACQUIRED)
        runs[i, COUNT] += 1
        runs[i, OWNER], runs[i, DEADLINE] = member, deadline
        if h[MARKS]:
            runs[i, ACQUISITION] = h[NUMBER]
            runs[i, PROGRESS_START] = runs[i, LAST_PROGRESS] = NOT_MARKED
        _answer(h, state.acquired, runs, i)
        at = runs[i, LAST] + 1
        i += 1
    join(h, runs, first, last)


@compiled
def _answer(header: Ints, acquired: Ints, runs: Ints, index: int) -> None:
    """Append a run to what was acquired, joined to the latest range if it continues it."""
    row, latest = header[ACQUIRED_TAIL], header[ACQUIRED_TAIL] - 1
    first, last, count = runs[index, FIRST], runs[index, LAST], runs[index, COUNT]
    if row > 0 and acquired[latest, 1] + 1 == first and acquired[latest, 2] == count:
        acquired[latest, 1] = last
        return
    acquired[row, 0], acquired[row, 1], acquired[row, 2] = first, last, count
    header[ACQUIRED_TAIL] = row + 1


@compiled
def _enter_all(state: State, fetch: Fetch, taken: Taken, reach: _Reach) -> int:
    """Let offsets enter the window available: those given, or those read that it grows over."""
    h = state.header
    if taken.has_entered:
        result = FINE
        for i in range(taken.entered.shape[0]):
            first = max(taken.entered[i, 0], h[START])
            if result == FINE:
                result = _enter(state, first, taken.entered[i, 1], reach)
        return result
    end = taken.end
    if end == UNSET:
        end = _tracked_end(h, state.runs)
    for i in range(fetch.batches.shape[0]):
        first, last = max(fetch.batches[i, 0], h[END]), min(fetch.batches[i, 1], end - 1)
        _enter(state, first, last, reach)
    return FINE


@compiled
def _enter(state: State, first: int, last: int, reach: _Reach) -> int:
    """Track what is untracked from ``first`` to ``last``, never delivered; return a verdict."""
    h, runs = state.header, state.runs
    i, at = seek(h, runs, first), first
    while at <= last:
        if i < h[TAIL] and runs[i, FIRST] <= at:
            at = runs[i, LAST] + 1
        else:
            end = last if i == h[TAIL] else min(last, runs[i, FIRST] - 1)
            if at < reach.first or end > reach.last:
                h[WHERE] = at if at < reach.first else max(at, reach.last + 1)
                return _ONLY_READ
            i = put(h, runs, i, at, end)
            at = end + 1
        i += 1
    join(h, runs, first, last)
    return FINE


@compiled
def _tracked_end(header: Ints, runs: Ints) -> int:
    """Return the offset after the last tracked record; the end offset, if there is none."""
    end: int = header[END]
    if header[TAIL] > header[HEAD]:
        end = runs[header[TAIL] - 1, LAST] + 1
    return end


@compiled
def _grow(state: State) -> int:
    """Move the end offset past the last record; what it passes must be tracked or in a hole."""
    h = state.header
    end = _tracked_end(h, state.runs)
    unknown = first_unknown(state, h[END], end)
    if unknown < end:
        h[WHERE] = unknown
        return _SKIPPED
    h[END] = end
    return FINE


@compiled
def _check_width(state: State, fetch: Fetch, ranges: Ints, old_end: int) -> int:
    """Check a window that grew: it may end past its limit with the log batch that crosses it.

    Under record_limit, if at all, the records beyond the limit are then available ones. Apache
    Kafka does not count the gap between the old end and the first record that entered.
    """
    h, batches = state.header, fetch.batches
    counted_from = h[START]
    if h[FREE_GAP]:
        entered = max(old_end, state.runs[seek(h, state.runs, old_end), FIRST])
        counted_from = entered - max(0, old_end - h[START])
    limit = window_limit(state, counted_from)
    if h[END] <= limit:
        return FINE
    h[WHERE] = h[END] - 1
    number = ranges.shape[0]
    taken_beyond = number > 0 and ranges[number - 1, 1] >= max(limit, old_end)
    if fetch.mode != BATCH_OPTIMIZED and (taken_beyond or not h[MAY_OVERSHOOT]):
        return _WINDOW_LIMIT
    for i in range(batches.shape[0]):
        if batches[i, 0] < h[END] <= batches[i, 1] + 1 and max(batches[i, 0], old_end) < limit:
            return FINE
    return _WINDOW_LIMIT


@entry_point
def skip_acquire(state: State, start: int) -> int:
    """Judge the answer that nothing can be acquired (Kafka: canAcquireRecords)."""
    h, runs = state.header, state.runs
    h[STATUS] = S_NONE
    full = h[END] - h[START] >= h[MAX_LOCKS]
    if h[COUNTS + AVAILABLE] > 0:
        for i in range(h[HEAD], h[TAIL]):
            if is_free(runs, i):
                h[WHERE] = runs[i, FIRST]
                return _CAN_ACQUIRE
    if not full:
        h[WHERE] = h[END]
        return _CAN_ACQUIRE
    return finish(state, start)
