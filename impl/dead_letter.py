"""Records leave for the dead-letter queue."""

from impl import layout as at
from impl.jit import compiled, entry_point
from impl.rows import Ints
from impl.runs import cut_out, set_state
from impl.state import State
from impl.window import finish
from impl.writes import Reported, begin_change, is_written, send_anyway
from model.guards import Guard

_NOT_ARCHIVING = at.verdict(Guard.DEAD_LETTER_IS_ARCHIVING)
_NOT_QUEUED = at.verdict(Guard.DEAD_LETTER_IS_QUEUED)


@entry_point
def finish_dead_letter(state: State, ranges: Ints, answers: Ints, start: int) -> int:
    """Archive records that the dead-letter queue has finished (KIP-1191), and write that.

    ``ranges``: (first, last) each, ascending by their first offset; below the start offset they
    are ignored, but the start offset and the delivery complete count are written. ``answers``:
    (id or -1, status) of the write; without ranges the queue is empty. ``start``: the start offset
    chosen after it. Returns a verdict.
    """
    h = state.header
    h[at.STATUS] = at.S_NONE
    serial = begin_change(h)
    low, high = at.MAX, -1
    for i in range(ranges.shape[0]):
        first, last = max(ranges[i, 0], h[at.START], high + 1), ranges[i, 1]
        if first > last:
            continue
        result = _archive(state, Reported(serial, first, last))
        if result != at.FINE:
            return result
        low, high = min(low, first), last
    result = at.FINE
    if ranges.shape[0] > 0:
        result = send_anyway(state, Reported(serial, low, high), answers, at.FIRST_GROUP)
    else:
        result = _none_waits(state)
    return result if result != at.FINE else finish(state, start)


@compiled
def _none_waits(state: State) -> int:
    h, runs = state.header, state.runs
    for i in range(h[at.HEAD], h[at.TAIL]):
        if runs[i, at.STATE] == at.ARCHIVING and runs[i, at.WRITE] == at.NO_WRITE:
            offset = runs[i, at.FIRST]
            while offset <= runs[i, at.LAST] and is_written(state, offset):
                offset += 1
            if offset <= runs[i, at.LAST]:
                h[at.WHERE] = offset
                return _NOT_QUEUED
    return at.FINE


@compiled
def _archive(state: State, part: Reported) -> int:
    h, runs = state.header, state.runs
    i, offset = cut_out(h, runs, part.first, part.last), part.first
    while offset <= part.last:
        if (
            i == h[at.TAIL]
            or runs[i, at.FIRST] > offset
            or runs[i, at.STATE] != at.ARCHIVING
            or runs[i, at.WRITE] != at.NO_WRITE
        ):
            h[at.WHERE] = offset
            return _NOT_ARCHIVING
        set_state(h, runs, i, at.ARCHIVED)
        runs[i, at.WRITE] = part.serial
        offset = runs[i, at.LAST] + 1
        i += 1
    return at.FINE
