"""Records of aborted transactions are withheld under read_committed."""

from impl import layout as at
from impl.jit import compiled, entry_point
from impl.rows import Ints
from impl.runs import cut, join, set_state
from impl.state import State
from impl.window import finish
from impl.writes import clear
from model.guards import Guard

_NOT_COMMITTED_ONLY = at.verdict(Guard.ONLY_COMMITTED_IS_ASKED_FOR)


@entry_point
def archive_aborted(state: State, ranges: Ints, start: int) -> int:
    """Archive the acquired records of aborted transactions, without a write (KIP-932).

    ``ranges``: (first, last) each, in any order; they may overlap and lie outside the window. The
    owner of a record does not matter; only ACQUIRED ones change (Kafka:
    SharePartition.maybeFilterAbortedTransactionalAcquiredRecords). Returns a verdict.
    """
    h = state.header
    h[at.STATUS] = at.S_NONE
    if not h[at.COMMITTED_ONLY]:
        return _NOT_COMMITTED_ONLY
    for i in range(ranges.shape[0]):
        _archive(h, state.runs, ranges[i, 0], ranges[i, 1])
    return finish(state, start)


@compiled
def _archive(header: Ints, runs: Ints, first: int, last: int) -> None:
    """Archive the ACQUIRED runs of a range; a pending run has left that state."""
    cut(header, runs, last + 1)
    i = cut(header, runs, first)
    while i < header[at.TAIL] and runs[i, at.FIRST] <= last:
        if runs[i, at.STATE] == at.ACQUIRED:
            set_state(header, runs, i, at.ARCHIVED)
            clear(header, runs, i)
        i += 1
    join(header, runs, first, last)
