"""Records of aborted transactions are kept back under read_committed."""

from impl.jit import compiled, entry_point
from impl.layout import (
    ACQUIRED,
    ARCHIVED,
    COMMITTED_ONLY,
    FIRST,
    NO_WRITE,
    NOWHERE,
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
from impl.runs import cut, join, set_state
from impl.state import State
from impl.window import finish
from impl.writes import clear
from model.guards import Guard

__all__ = ["archive_aborted"]

_NOT_COMMITTED_ONLY = verdict(Guard.ONLY_COMMITTED_IS_ASKED_FOR)


@entry_point
def archive_aborted(state: State, ranges: Ints, start: int) -> int:
    """Archive what was just acquired of aborted transactions, without a write (KIP-932).

    ``ranges``: (first, last) each, in any order; they may overlap and lie outside the window. Who
    holds a record does not matter; only those ACQUIRED change (Kafka:
    SharePartition.maybeFilterAbortedTransactionalAcquiredRecords). Returns a verdict.
    """
    h = state.header
    h[STATUS] = S_NONE
    if not h[COMMITTED_ONLY]:
        h[WHERE] = NOWHERE
        return _NOT_COMMITTED_ONLY
    for i in range(ranges.shape[0]):
        first, last = max(ranges[i, 0], h[START]), ranges[i, 1]
        if first <= last:
            _archive(h, state.runs, first, last)
    return finish(state, start)


@compiled
def _archive(header: Ints, runs: Ints, first: int, last: int) -> None:
    cut(header, runs, last + 1)
    i = cut(header, runs, first)
    while i < header[TAIL] and runs[i, FIRST] <= last:
        if runs[i, STATE] == ACQUIRED and runs[i, WRITE] == NO_WRITE:
            set_state(header, runs, i, ARCHIVED)
            clear(header, runs, i)
        i += 1
    join(header, runs, first, last)
