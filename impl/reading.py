"""A fetch reads the log: what it claims is checked by what was produced, and then learnt."""

from typing import NamedTuple

from impl import layout as at
from impl.jit import compiled
from impl.log import first_existing, learn_hole, readable_end, seek_batch, seek_hole
from impl.policy import MemberFetch
from impl.rows import Ints
from impl.runs import cut_out, join, set_state
from impl.state import State
from model.guards import Guard

_LOST = at.verdict(Guard.NO_RECORD_LOST)
_OTHER_LOG = at.verdict(Guard.READ_IS_OF_THE_LOG)
_NOT_READABLE = at.verdict(Guard.WITHIN_READABLE_LOG)


class Reach(NamedTuple):
    """The first and last offset that a fetch read from the log; empty if it read nothing."""

    first: int
    last: int


class Noticed(NamedTuple):
    """Rows (first, last, state, delivery count, ...), of which the ARCHIVED count, if ``given``."""

    given: int
    rows: Ints


@compiled
def check_read(state: State, fetch: MemberFetch) -> int:
    """Return the verdict on what a read claims of the log; an empty read claims nothing."""
    h, batches = state.header, fetch.batches
    number = batches.shape[0]
    end = readable_end(h)
    if h[at.LOG_KNOWN]:
        for i in range(number):
            if batches[i, 1] >= end:
                h[at.WHERE] = max(batches[i, 0], end)
                return _NOT_READABLE
    if h[at.LOG_HEAD] == h[at.LOG_TAIL]:
        return at.FINE
    for i in range(number):
        if not _is_of_one_batch(state, batches[i, 0], batches[i, 1]):
            h[at.WHERE] = batches[i, 0]
            return _OTHER_LOG
    offset = _learnt_from(h, fetch)
    for i in range(number):
        lost = first_existing(state, offset, batches[i, 0])
        if lost < batches[i, 0]:
            h[at.WHERE] = lost
            return _LOST
        offset = max(offset, batches[i, 1] + 1)
    return at.FINE


@compiled
def _is_of_one_batch(state: State, first: int, last: int) -> bool:
    """Tell whether a read batch lies within the produced batch that it overlaps, if any."""
    batch = seek_batch(state, first)
    if batch == state.header[at.LOG_TAIL] or state.log[batch, 0] > last:
        return True
    return bool(state.log[batch, 0] <= first and last <= state.log[batch, 1])


@compiled
def _learnt_from(header: Ints, fetch: MemberFetch) -> int:
    """Return the offset from which a read tells what the log lacks."""
    offset: int = max(fetch.offset, header[at.START], header[at.LOG_START])
    return offset


@compiled
def learn_read(state: State, fetch: MemberFetch, noticed: Noticed, start: int) -> Reach:
    """Learn from a read which offsets hold no record: gaps, and available records that vanished.

    A read tells where the log ends only where nobody recorded what was produced. What ``noticed``
    and ``start`` are is said at ``notice``.
    """
    h, batches = state.header, fetch.batches
    number = batches.shape[0]
    if number == 0:
        notice(state, noticed, start)
        return Reach(at.MAX, -1)
    first, last, offset = batches[0, 0], batches[number - 1, 1], _learnt_from(h, fetch)
    learn_hole(h, state.holes, h[at.START], h[at.LOG_START] - 1)
    for i in range(number):
        learn_hole(h, state.holes, offset, batches[i, 0] - 1)
        offset = max(offset, batches[i, 1] + 1)
    if not h[at.LOG_KNOWN] and offset > h[at.LOG_END]:
        h[at.LOG_END], h[at.STABLE] = offset, max(h[at.STABLE], offset)
    if noticed.given:
        notice(state, noticed, start)
    elif fetch.offset < first:
        _vanish(h, state.runs, fetch.offset, first - 1)
    return Reach(first, last)


@compiled
def notice(state: State, noticed: Noticed, start: int) -> None:
    """Archive the available records that are noticed to be absent from the log.

    These are the ``noticed`` ones, if they are given, and those that ``start`` passes.
    """
    h = state.header
    if not noticed.given or h[at.COUNTS + at.AVAILABLE] == 0:
        return
    _notice(state, h[at.START], start - 1)
    for row in range(noticed.rows.shape[0]):
        if noticed.rows[row, 2] == at.ARCHIVED:
            _notice(state, noticed.rows[row, 0], noticed.rows[row, 1])


@compiled
def _notice(state: State, low: int, high: int) -> None:
    h, holes = state.header, state.holes
    hole = seek_hole(h, holes, low)
    while hole < h[at.HOLES_TAIL] and holes[hole, 0] <= high:
        _vanish(h, state.runs, max(low, holes[hole, 0]), min(high, holes[hole, 1]))
        hole += 1


@compiled
def _vanish(header: Ints, runs: Ints, first: int, last: int) -> None:
    """Archive the available records of a range, without a write (compaction).

    A record with an outstanding write stays pending until the answer, and is ARCHIVED then.
    """
    i = cut_out(header, runs, first, last)
    while i < header[at.TAIL] and runs[i, at.FIRST] <= last:
        if runs[i, at.STATE] == at.AVAILABLE:
            set_state(header, runs, i, at.ARCHIVED)
            if runs[i, at.WRITE] != at.NO_WRITE:
                runs[i, at.RESTORE] = at.VANISHED
        i += 1
    join(header, runs, first, last)
