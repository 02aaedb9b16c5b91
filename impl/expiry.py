"""Time passes, and acquisition locks that are due expire."""

from typing import NamedTuple

from impl.jit import compiled, entry_point
from impl.layout import (
    AVAILABLE,
    DEADLINE,
    FINE,
    FIRST,
    FIRST_GROUP,
    HEAD,
    LAST,
    MAX,
    NEVER,
    NEXT_DEADLINE,
    NOW,
    RANGES_TAIL,
    S_NONE,
    START,
    STATUS,
    TAIL,
    TIME_OVERFLOW,
    UNSET,
    WHERE,
    verdict,
)
from impl.rows import Ints
from impl.runs import cut, is_held
from impl.state import State
from impl.window import finish, move_start
from impl.writes import Change, begin_change, send_anyway, transition
from model.guards import Guard

__all__ = ["Expiries", "advance_time"]

_TOO_EARLY = verdict(Guard.LOCK_LASTS_ITS_DURATION)
_TOO_LATE = verdict(Guard.LOCK_ENDS_ON_TIME)
_TIME_OVERFLOW = verdict(TIME_OVERFLOW)


class Expiries(NamedTuple):
    """Groups of locks that expire, one write each, if ``given``; otherwise all that are due.

    Group i has rows ``bounds[i, 0]`` to ``bounds[i, 1]`` of ``ranges`` (first, last, ...),
    ascending; before it the start offset moves to ``starts[i]``.
    """

    given: int
    starts: Ints
    bounds: Ints
    ranges: Ints


@entry_point
def advance_time(
    state: State, milliseconds: int, expiries: Expiries, answers: Ints, start: int
) -> int:
    """Move the clock and expire locks (KIP-932, Acquisition lock; Kafka: the timer task).

    ``answers``: (id or -1, status) for the write of each group, as far as they go. Returns a
    verdict.
    """
    h = state.header
    h[STATUS] = S_NONE
    if milliseconds > MAX - h[NOW]:
        return _TIME_OVERFLOW
    h[NOW] += milliseconds
    result = FINE
    if expiries.given:
        result = _expire_groups(state, expiries, answers)
    elif _find_due(state):
        move_start(state, UNSET)
        result = _expire(state, state.ranges[: h[RANGES_TAIL]], answers, FIRST_GROUP)
    return result if result != FINE else finish(state, start)


@compiled
def _expire_groups(state: State, expiries: Expiries, answers: Ints) -> int:
    """Expire one group after the other; no lock may be due after that."""
    for group in range(expiries.starts.shape[0]):
        low, high = expiries.bounds[group, 0], expiries.bounds[group, 1]
        result = move_start(state, expiries.starts[group])
        if result == FINE:
            result = _expire(state, expiries.ranges[low:high], answers, group)
        if result != FINE:
            return result
    if _find_due(state):
        state.header[WHERE] = state.ranges[0, 0]
        return _TOO_LATE
    return FINE


@compiled
def _find_due(state: State) -> bool:
    """Put the ranges that are due in ``state.ranges``, and find out the deadline after that."""
    h, runs = state.header, state.runs
    if h[NEXT_DEADLINE] >= h[NOW]:
        return False
    h[RANGES_TAIL], h[NEXT_DEADLINE] = 0, NEVER
    for i in range(h[HEAD], h[TAIL]):
        if not is_held(runs, i):
            continue
        if runs[i, DEADLINE] >= h[NOW]:
            h[NEXT_DEADLINE] = min(h[NEXT_DEADLINE], runs[i, DEADLINE])
        else:
            row = h[RANGES_TAIL]
            state.ranges[row, 0], state.ranges[row, 1] = runs[i, FIRST], runs[i, LAST]
            h[RANGES_TAIL] = row + 1
    found: bool = h[RANGES_TAIL] > 0
    return found


@compiled
def _expire(state: State, ranges: Ints, answers: Ints, group: int) -> int:
    """Expire the locks of a group and write it; what lies below the start offset is ignored.

    A group that lies there whole still writes the start offset and the delivery complete count.
    """
    h = state.header
    serial = begin_change(h)
    low, high = MAX, -1
    for i in range(ranges.shape[0]):
        # A group is a set: what an earlier range of it expired is not expired again.
        first, last = max(ranges[i, 0], h[START], high + 1), ranges[i, 1]
        if first > last:
            continue
        result = _expire_range(state, Change(serial, first, last))
        if result != FINE:
            return result
        low, high = min(low, first), last
    if ranges.shape[0] == 0:
        return FINE
    return send_anyway(state, Change(serial, low, high), answers, group)


@compiled
def _expire_range(state: State, part: Change) -> int:
    h, runs = state.header, state.runs
    cut(h, runs, part.last + 1)
    i, at = cut(h, runs, part.first), part.first
    while at <= part.last:
        if (
            i == h[TAIL]
            or runs[i, FIRST] > at
            or not is_held(runs, i)
            or runs[i, DEADLINE] >= h[NOW]
        ):
            h[WHERE] = at
            return _TOO_EARLY
        transition(h, runs, i, AVAILABLE, part.serial)
        at = runs[i, LAST] + 1
        i += 1
    return FINE
