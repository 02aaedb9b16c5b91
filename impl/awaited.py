"""How long a recording lets wait: a write for its answer, a dead letter, a log for its start."""

from impl import events as event
from impl import layout as at
from impl.events import Events
from impl.jit import compiled
from impl.rows import Ints
from impl.runs import seek
from impl.state import State
from model.guards import Guard

_NOT_COME = at.verdict(Guard.ANSWER_COMES)


@compiled
def forget_awaited(header: Ints) -> None:
    """Forget what is awaited: a leader begins, or events are missing."""
    header[at.LATE_WRITE] = header[at.LATE_LETTER] = header[at.LATE_LOG] = at.NOWHERE


@compiled
def note_awaited(state: State, events: Events, row: int, log_end: int) -> int:
    """Note what is awaited after an event; return the verdict on how long it has been.

    ``log_end``: the log end offset before the event. Of each kind one is awaited at a time.
    """
    h, f = state.header, events.fields
    now = f[event.TIME, row] if h[at.TIMED] else f[event.SEQ, row]
    within = h[at.ANSWERED_WITHIN_MS] if h[at.TIMED] else h[at.ANSWERED_WITHIN]
    if f[event.OP, row] == event.PRODUCE:
        h[at.LATE_LOG] = at.NOWHERE
    elif f[event.OP, row] == event.ADVANCE_LOG_START and h[at.LATE_LOG] == at.NOWHERE:
        start = f[event.ARG_LOG_START, row]
        if h[at.LOG_KNOWN] and start > log_end:
            _await(h, at.LATE_LOG, start, now)
    _await(h, at.LATE_WRITE, _first_write(state), now)
    _await(h, at.LATE_LETTER, _dead_letter(state), now)
    for place in (at.LATE_WRITE, at.LATE_LETTER, at.LATE_LOG):
        if h[place] != at.NOWHERE and now - h[place + 1] > within:
            h[at.WHERE] = at.NOWHERE
            return _NOT_COME
    return at.FINE


@compiled
def _await(header: Ints, place: int, number: int, now: int) -> None:
    if header[place] != number:
        header[place], header[place + 1] = number, now


@compiled
def _first_write(state: State) -> int:
    """Return the write that is awaited already, else that which was made first; -1 for none.

    None needs to be answered that is in doubt, or that an altered start offset has fenced.
    """
    h, rows, first = state.header, state.outstanding, -1
    for row in range(h[at.OUTSTANDING_TAIL]):
        is_fenced = rows[row, at.O_START] < 0 and rows[row, at.O_SAID_START] == at.UNSAID
        if rows[row, at.O_ID] == at.DOUBTFUL or is_fenced:
            continue
        if rows[row, at.O_ID] == h[at.LATE_WRITE]:
            return int(rows[row, at.O_ID])
        first = int(rows[row, at.O_ID]) if first < 0 else first
    return first


@compiled
def _dead_letter(state: State) -> int:
    """Return the dead letter that is awaited already, else the first one; -1 for none."""
    h, runs = state.header, state.runs
    if h[at.COUNTS + at.ARCHIVING] == 0:
        return -1
    known = seek(h, runs, h[at.LATE_LETTER])
    if h[at.LATE_LETTER] != at.NOWHERE and known < h[at.TAIL]:
        inside = runs[known, at.FIRST] <= h[at.LATE_LETTER]
        if inside and runs[known, at.STATE] == at.ARCHIVING:
            return int(h[at.LATE_LETTER])
    for i in range(h[at.HEAD], h[at.TAIL]):
        if runs[i, at.STATE] == at.ARCHIVING:
            return int(runs[i, at.FIRST])
    return -1
