"""Time passes, and acquisition locks that are due expire."""

from typing import NamedTuple

from impl import layout as at
from impl.jit import compiled, entry_point
from impl.locks import TOO_EARLY, TOO_LATE, pass_time
from impl.rows import Ints
from impl.runs import cut, cut_out, is_held
from impl.state import State
from impl.window import finish, furthest_start, move_start
from impl.writes import Reported, begin_change, send_anyway, transition

_TIME_OVERFLOW = at.verdict(at.TIME_OVERFLOW)


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
    verdict. A real clock only moves: there ``expire`` ends locks.
    """
    h = state.header
    h[at.STATUS] = at.S_NONE
    if milliseconds > at.MAX - h[at.NOW]:
        return _TIME_OVERFLOW
    if h[at.TIMED]:
        result = pass_time(state, milliseconds)
        return result if result != at.FINE else finish(state, start)
    h[at.NOW] += milliseconds
    result = at.FINE
    if expiries.given:
        result = _expire_groups(state, expiries, answers, start)
    elif _find_due(state):
        move_start(state, at.UNSET)
        due = state.ranges[: h[at.RANGES_TAIL]]
        result = _expire(state, due, seen=False, answers=answers, group=at.FIRST_GROUP)
    return result if result != at.FINE else finish(state, start)


@entry_point
def expire(state: State, ranges: Ints, due: int, answers: Ints, start: int) -> int:
    """Expire the locks of ranges that a timer ends now (Kafka: AcquisitionLockTimerTask).

    ``ranges``: (first, last) each, ascending by their first offset. ``due``: when the timer was to
    end them, UNSET if that is not known. Returns a verdict.
    """
    h = state.header
    h[at.STATUS] = at.S_NONE
    now = h[at.NOW]
    if due > now:
        return TOO_EARLY
    if due != at.UNSET:
        h[at.NOW] = due
    result, change = _expire_ranges(state, ranges, seen=False)
    h[at.NOW] = now
    if result == at.FINE and ranges.shape[0] > 0:
        result = send_anyway(state, change, answers, at.FIRST_GROUP)
    return result if result != at.FINE else finish(state, start)


@compiled
def _expire_groups(state: State, expiries: Expiries, answers: Ints, end: int) -> int:
    """Expire one group after the other; no lock may be due after that.

    ``end``: the start offset after all of them, or UNSET.
    """
    h = state.header
    limit = at.MAX if end == at.UNSET else end
    for group in range(expiries.starts.shape[0]):
        low, high = expiries.bounds[group, 0], expiries.bounds[group, 1]
        seen = group < answers.shape[0] and answers[group, at.A_SAID_START] != at.UNSAID
        result, start = at.FINE, expiries.starts[group]
        # What a write that was seen carries need not be the start offset of its moment.
        is_told = not seen or start == at.UNSET
        if is_told or h[at.START] <= start <= min(furthest_start(state, h[at.END]), limit):
            result = move_start(state, start)
        if result == at.FINE:
            result = _expire(state, expiries.ranges[low:high], seen, answers, group)
        if result != at.FINE:
            return result
    if _find_due(state):
        h[at.WHERE] = state.ranges[0, 0]
        return TOO_LATE
    return at.FINE


@compiled
def _find_due(state: State) -> bool:
    """Put the ranges that are due in ``state.ranges``, and update the next deadline."""
    h, runs = state.header, state.runs
    if h[at.NEXT_DEADLINE] >= h[at.NOW]:
        return False
    h[at.RANGES_TAIL], h[at.NEXT_DEADLINE] = 0, at.NEVER
    for i in range(h[at.HEAD], h[at.TAIL]):
        if not is_held(runs, i):
            continue
        if runs[i, at.DEADLINE] >= h[at.NOW]:
            h[at.NEXT_DEADLINE] = min(h[at.NEXT_DEADLINE], runs[i, at.DEADLINE])
        else:
            row = h[at.RANGES_TAIL]
            state.ranges[row, 0], state.ranges[row, 1] = runs[i, at.FIRST], runs[i, at.LAST]
            h[at.RANGES_TAIL] = row + 1
    is_any_due: bool = h[at.RANGES_TAIL] > 0
    return is_any_due


@compiled
def _expire(state: State, ranges: Ints, seen: bool, answers: Ints, group: int) -> int:  # noqa: FBT001 - compiled
    """Expire the locks of a group and write them; offsets below the start offset are ignored.

    A group that lies below it whole still writes the start offset and the delivery complete count.
    """
    result, change = _expire_ranges(state, ranges, seen)
    if result != at.FINE:
        return result
    if seen and answers[group, at.A_SAID_START] > state.header[at.START]:
        change = _expire_passed(state, answers[group, at.A_SAID_START], change)
    if ranges.shape[0] == 0 and change.last == at.NOWHERE:
        return at.FINE
    return send_anyway(state, change, answers, group)


@compiled
def _expire_passed(state: State, start: int, change: Reported) -> Reported:
    """Expire what is due below the start offset of a write, which needs no batches of it."""
    h, runs = state.header, state.runs
    cut(h, runs, start)
    low, high = change.first, change.last
    for i in range(h[at.HEAD], h[at.TAIL]):
        if runs[i, at.FIRST] >= start:
            break
        if is_held(runs, i) and runs[i, at.DEADLINE] < h[at.NOW]:
            transition(h, runs, i, at.AVAILABLE, change.serial)
            low, high = min(low, runs[i, at.FIRST]), max(high, runs[i, at.LAST])
    return Reported(change.serial, low, high)


@compiled
def _expire_ranges(state: State, ranges: Ints, seen: bool) -> tuple[int, Reported]:  # noqa: FBT001 - compiled
    """Expire the locks of ranges; return a verdict, and the change that is to be written.

    A write that was ``seen`` may name records besides that nobody holds.
    """
    h = state.header
    serial = begin_change(h)
    low, high = at.MAX, at.NOWHERE
    for i in range(ranges.shape[0]):
        # The ranges are a set: an offset that two of them name expires once.
        first, last = max(ranges[i, 0], h[at.START], high + 1), ranges[i, 1]
        if first > last:
            continue
        result = _expire_range(state, Reported(serial, first, last), seen)
        if result != at.FINE:
            return result, Reported(serial, low, high)
        low, high = min(low, first), last
    return at.FINE, Reported(serial, low, high)


@compiled
def _expire_range(state: State, part: Reported, seen: bool) -> int:  # noqa: FBT001 - compiled
    h, runs = state.header, state.runs
    i, offset = cut_out(h, runs, part.first, part.last), part.first
    while offset <= part.last:
        if seen and i < h[at.TAIL] and runs[i, at.FIRST] <= offset and not is_held(runs, i):
            offset = runs[i, at.LAST] + 1
            i += 1
            continue
        if seen and (i == h[at.TAIL] or runs[i, at.FIRST] > offset):
            offset = part.last + 1 if i == h[at.TAIL] else runs[i, at.FIRST]
            continue
        if (
            i == h[at.TAIL]
            or runs[i, at.FIRST] > offset
            or not is_held(runs, i)
            or runs[i, at.DEADLINE] >= h[at.NOW]
        ):
            h[at.WHERE] = offset
            return TOO_EARLY
        transition(h, runs, i, at.AVAILABLE, part.serial)
        offset = runs[i, at.LAST] + 1
        i += 1
    return at.FINE
