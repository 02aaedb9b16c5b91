"""The state that the share coordinator holds: writes merged by delivery count and state."""

from typing import NamedTuple

from impl import layout as at
from impl.jit import compiled, entry_point
from impl.rows import Ints, copy_row, move_rows, seek_range
from impl.state import State


class Batches(NamedTuple):
    """State batches: rows (first, last, state, delivery count) from ``begin`` up to ``end``."""

    rows: Ints
    begin: int
    end: int


@compiled
def merge_write(header: Ints, start: int, complete: int) -> None:
    """Merge the start offset and delivery complete count of a write that succeeded.

    The coordinator never takes the start offset back; at an equal one, or with -1, it keeps the
    larger count (Kafka: ShareCoordinatorShard, which loses the count of a write with -1), or none
    where the writer knows none: the count of before is not that of after. The state batches follow
    through ``note_batch``.
    """
    if start == at.NOWHERE:
        if header[at.KEPT_LOSES_COUNT] and header[at.DURABLE_START] >= 0:
            return
        start = header[at.DURABLE_START]
    if start > header[at.DURABLE_START]:
        header[at.DURABLE_START] = start
        header[at.DURABLE_COMPLETE] = complete
    elif start == header[at.DURABLE_START]:
        unknown = complete == at.UNKNOWN and not header[at.UNKNOWN_KEEPS_COUNT]
        larger = max(header[at.DURABLE_COMPLETE], complete)
        header[at.DURABLE_COMPLETE] = at.UNKNOWN if unknown else larger


@compiled
def note_batch(header: Ints, journal: Ints, batches: Ints, index: int) -> None:
    """Put one of ``batches`` (first, last, state, delivery count) in the journal.

    Merging keeps the larger of two values for each offset, in any order, and skips batches that
    are below the start offset by then: so it is put off.
    """
    copy_row(journal, header[at.JOURNAL_TAIL], batches, index)
    header[at.JOURNAL_TAIL] += 1


@compiled
def replace_durable(header: Ints, start: int, complete: int) -> None:
    """Set the start offset and delivery complete count, and forget all state batches."""
    header[at.DURABLE_KNOWN] = 1
    header[at.DURABLE_START] = start
    header[at.DURABLE_COMPLETE] = complete
    header[at.DURABLE_TAIL] = header[at.JOURNAL_TAIL] = 0


@entry_point
def merge_journal(state: State) -> None:
    """Merge, clip and join all batches; the durable array has room for twice as many as there are.

    Where the coordinator counts what is complete, it does so then.
    Ranges of offsets have at most twice as many different pieces as there are ranges.
    """
    h, durable, journal = state.header, state.durable, state.journal
    start = h[at.DURABLE_START]
    for entry in range(h[at.JOURNAL_TAIL]):
        if journal[entry, 1] >= start:
            journal[entry, 0] = max(journal[entry, 0], start)
            _raise(h, durable, journal, entry)
    h[at.JOURNAL_TAIL] = 0
    _clip_and_join(h, durable, start)
    if h[at.COUNTS_DURABLE] and start >= 0:
        h[at.DURABLE_COMPLETE] = _offsets_complete(h, durable)


@entry_point
def merge_answered(state: State, start: int, complete: int, batches: Ints) -> None:
    """Merge one write at once: its start offset, complete count and rows of state batches."""
    merge_write(state.header, start, complete)
    for index in range(batches.shape[0]):
        note_batch(state.header, state.journal, batches, index)
    merge_journal(state)


@compiled
def _offsets_complete(header: Ints, durable: Ints) -> int:
    """Return how many offsets the share coordinator holds as ACKNOWLEDGED or ARCHIVED."""
    total = 0
    for row in range(header[at.DURABLE_TAIL]):
        if durable[row, 2] == at.ACKNOWLEDGED or durable[row, 2] == at.ARCHIVED:
            total += durable[row, 1] - durable[row, 0] + 1
    return total


@compiled
def _raise(header: Ints, durable: Ints, journal: Ints, entry: int) -> None:
    """Merge a batch: for each offset the larger of (delivery count, state) stays."""
    offset, last = journal[entry, 0], journal[entry, 1]
    _cut(header, durable, last + 1)
    row = _cut(header, durable, offset)
    while offset <= last:
        tail = header[at.DURABLE_TAIL]
        if row == tail or durable[row, 0] > offset:
            end = last if row == tail else min(last, durable[row, 0] - 1)
            _open(header, durable, row)
            copy_row(durable, row, journal, entry)
            durable[row, 0], durable[row, 1] = offset, end
        elif _is_larger(journal, entry, durable, row):
            durable[row, 2], durable[row, 3] = journal[entry, 2], journal[entry, 3]
        offset = durable[row, 1] + 1
        row += 1


@compiled
def _is_larger(rows: Ints, row: int, other: Ints, other_row: int) -> bool:
    if rows[row, 3] != other[other_row, 3]:
        return bool(rows[row, 3] > other[other_row, 3])
    return bool(rows[row, 2] > other[other_row, 2])


@compiled
def _open(header: Ints, durable: Ints, row: int) -> None:
    """Make room for a row at ``row``, which is a copy of the row after it until it is written."""
    move_rows(durable, row, header[at.DURABLE_TAIL], at.UP)
    header[at.DURABLE_TAIL] += 1


@compiled
def _cut(header: Ints, durable: Ints, offset: int) -> int:
    """Cut the batch around ``offset``; return the row of the first batch at or after it."""
    low = seek_range(durable, at.NOTHING, header[at.DURABLE_TAIL], offset)
    if low == header[at.DURABLE_TAIL] or durable[low, 0] >= offset:
        return low
    _open(header, durable, low)
    durable[low, 1], durable[low + 1, 0] = offset - 1, offset
    return low + 1


@compiled
def _clip_and_join(header: Ints, durable: Ints, start: int) -> None:
    into = -1
    for row in range(header[at.DURABLE_TAIL]):
        if durable[row, 1] < start:
            continue
        first = max(durable[row, 0], start)
        if (
            into >= 0
            and durable[into, 1] + 1 == first
            and durable[into, 2] == durable[row, 2]
            and durable[into, 3] == durable[row, 3]
        ):
            durable[into, 1] = durable[row, 1]
        else:
            into += 1
            copy_row(durable, into, durable, row)
            durable[into, 0] = first
    header[at.DURABLE_TAIL] = into + 1


@entry_point
def note_shown(state: State, start: int, complete: int, read: Ints) -> None:
    """Merge the outstanding writes of which all is in what a leader read.

    Nobody knows whether a write without an answer is durable. Where events are missing, whatever
    was read may have been written: then it is merged itself. ``read``: (first, last, state,
    delivery count), ascending; ``complete``: its delivery complete count, UNSET for any.
    """
    h, pending = state.header, state.pending
    if not h[at.DURABLE_WHOLE]:
        merge_write(h, start, complete)
        for i in range(read.shape[0]):
            note_batch(h, state.journal, read, i)
        return
    begin = at.NOTHING
    for row in range(h[at.OUTSTANDING_TAIL]):
        wrote, count = state.outstanding[row, at.O_START], state.outstanding[row, at.O_COMPLETE]
        end = begin + state.outstanding[row, at.O_BATCHES]
        to = h[at.DURABLE_START] if wrote == at.NOWHERE else wrote
        shown = to < start or not _is_further(h, wrote, count)
        shown = shown or (to == start and complete in (at.UNSET, max(complete, count)))
        for i in range(begin, end):
            shown = shown and _covers(read, start, pending, i)
        if shown:
            merge_write(h, wrote, count)
            for i in range(begin, end):
                note_batch(h, state.journal, pending, i)
        begin = end


@compiled
def _is_further(header: Ints, start: int, complete: int) -> bool:
    """Tell whether a write would raise the durable start offset or delivery complete count."""
    if start == at.NOWHERE:
        if header[at.KEPT_LOSES_COUNT] and header[at.DURABLE_START] >= 0:
            return False
        start = header[at.DURABLE_START]
    if start != header[at.DURABLE_START]:
        return bool(start > header[at.DURABLE_START])
    return bool(complete > header[at.DURABLE_COMPLETE])


@entry_point
def would_change(state: State, start: int, complete: int, batches: Batches) -> bool:
    """Tell whether a write would change the durable state, into which all has been merged."""
    h = state.header
    if h[at.COUNTS_DURABLE]:
        complete = h[at.DURABLE_COMPLETE]  # What a write says of it is not used.
    before = h[at.DURABLE_START], h[at.DURABLE_COMPLETE]
    merge_write(h, start, complete)
    changes = before != (h[at.DURABLE_START], h[at.DURABLE_COMPLETE])
    h[at.DURABLE_START], h[at.DURABLE_COMPLETE] = before
    if changes:
        return True
    held = state.durable[: h[at.DURABLE_TAIL]]
    for row in range(batches.begin, batches.end):
        if not _covers(held, h[at.DURABLE_START], batches.rows, row):
            return True
    return False


@compiled
def _covers(read: Ints, start: int, batches: Ints, index: int) -> bool:
    """Tell whether what was read has of each offset from ``start`` what a batch says, or later."""
    offset, row = max(batches[index, 0], start), 0
    while offset <= batches[index, 1]:
        while row < read.shape[0] and read[row, 1] < offset:
            row += 1
        if row == read.shape[0] or read[row, 0] > offset or _is_larger(batches, index, read, row):
            return False
        offset = read[row, 1] + 1
    return True
