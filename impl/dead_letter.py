"""Records leave for the dead-letter queue."""

from impl.jit import compiled, entry_point
from impl.layout import (
    ARCHIVED,
    ARCHIVING,
    FINE,
    FIRST,
    FIRST_GROUP,
    LAST,
    MAX,
    NO_WRITE,
    S_NONE,
    START,
    STATE,
    STATUS,
    TAIL,
    WHERE,
    WRITE,
    verdict,
)
from impl.rows import Ints
from impl.runs import cut, set_state
from impl.state import State
from impl.window import finish
from impl.writes import Change, begin_change, send_anyway
from model.guards import Guard

__all__ = ["finish_dead_letter"]

_NOT_ARCHIVING = verdict(Guard.DEAD_LETTER_IS_ARCHIVING)


@entry_point
def finish_dead_letter(state: State, ranges: Ints, answers: Ints, start: int) -> int:
    """Archive records that the dead-letter queue is done with (KIP-1191), and write it.

    ``ranges``: (first, last) each, ascending by their first offset; below the start offset they
    are ignored. ``answers``: (id or -1, status) of the write. ``start``: the start offset chosen
    after it. Returns a verdict.
    """
    h = state.header
    h[STATUS] = S_NONE
    serial = begin_change(h)
    low, high = MAX, -1
    for i in range(ranges.shape[0]):
        first, last = max(ranges[i, 0], h[START], high + 1), ranges[i, 1]
        if first > last:
            continue
        result = _archive(state, Change(serial, first, last))
        if result != FINE:
            return result
        low, high = min(low, first), last
    result = FINE
    if low <= high:
        result = send_anyway(state, Change(serial, low, high), answers, FIRST_GROUP)
    return result if result != FINE else finish(state, start)


@compiled
def _archive(state: State, part: Change) -> int:
    h, runs = state.header, state.runs
    cut(h, runs, part.last + 1)
    i, at = cut(h, runs, part.first), part.first
    while at <= part.last:
        if (
            i == h[TAIL]
            or runs[i, FIRST] > at
            or runs[i, STATE] != ARCHIVING
            or runs[i, WRITE] != NO_WRITE
        ):
            h[WHERE] = at
            return _NOT_ARCHIVING
        set_state(h, runs, i, ARCHIVED)
        runs[i, WRITE] = part.serial
        at = runs[i, LAST] + 1
        i += 1
    return FINE
