"""Records of aborted transactions are withheld under read_committed."""

from impl import layout as at
from impl.jit import compiled, entry_point
from impl.reading import Noticed
from impl.rows import Ints
from impl.runs import cut_out, is_free, join, set_state
from impl.state import State
from impl.window import finish
from impl.writes import clear
from model.guards import Guard

_NOT_COMMITTED_ONLY = at.verdict(Guard.ONLY_COMMITTED_IS_ASKED_FOR)


@entry_point
def archive_aborted(state: State, ranges: Ints, withheld: Noticed, start: int) -> int:
    """Archive the acquired records of aborted transactions, without a write (KIP-932).

    And those that were not acquired first, as they are ``withheld`` or ``start`` passes them: their
    delivery count may be one more, as if they had been, or not.

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
        if withheld.given:
            _withhold(h, state.runs, ranges[i, 0], min(ranges[i, 1], start - 1), at.NOWHERE)
            for row in range(withheld.rows.shape[0]):
                if withheld.rows[row, 2] == at.ARCHIVED:
                    first = max(ranges[i, 0], withheld.rows[row, 0])
                    last = min(ranges[i, 1], withheld.rows[row, 1])
                    _withhold(h, state.runs, first, last, withheld.rows[row, 3])
    return finish(state, start)


@compiled
def _archive(header: Ints, runs: Ints, first: int, last: int) -> None:
    """Archive the ACQUIRED runs of a range; a pending run has left that state."""
    i = cut_out(header, runs, first, last)
    while i < header[at.TAIL] and runs[i, at.FIRST] <= last:
        if runs[i, at.STATE] == at.ACQUIRED:
            set_state(header, runs, i, at.ARCHIVED)
            clear(header, runs, i)
        i += 1
    join(header, runs, first, last)


@compiled
def _withhold(header: Ints, runs: Ints, first: int, last: int, count: int) -> None:
    """Archive the free runs of a range, counting a delivery where ``count`` has it."""
    if first > last or header[at.COUNTS + at.AVAILABLE] == 0:
        return
    i = cut_out(header, runs, first, last)
    while i < header[at.TAIL] and runs[i, at.FIRST] <= last:
        if is_free(runs, i):
            set_state(header, runs, i, at.ARCHIVED)
            runs[i, at.COUNT] += runs[i, at.COUNT] + 1 == count
        i += 1
    join(header, runs, first, last)
