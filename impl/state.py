"""The arrays of one share-partition, and room in them."""

from typing import NamedTuple

import numpy as np

from impl import layout as at
from impl.jit import by_reference, entry_point
from impl.rows import Ints, move_rows
from model.profile import Profile

_INITIAL_ROWS = 128


@by_reference
class State(NamedTuple):
    """The state of a share-partition. Rows, one range of offsets each, ascending by offset.

    ``header``: single values, by the names of ``impl.layout``. ``runs``: the tracked records.
    ``holes``: (first, last) known not to be in the log. ``log``: (first, last) of the batches that
    were produced. ``outstanding``: writes without an answer
    in the order they were made, and in the same order their state batches in ``pending``.
    ``durable`` and ``journal``: what the share coordinator holds, and what is still to be merged
    in it. ``waiting``: (first, last, fetches) of the available records that fetches passed over.
    ``acquired``, ``writes``, ``batches``: what the latest operation answered and wrote.
    ``ranges``: scratch, and the statuses that a mark answered. ``written``: the state batches of
    the writes that were seen, by the bounds that the answers have.
    """

    header: Ints
    runs: Ints
    holes: Ints
    log: Ints
    outstanding: Ints
    pending: Ints
    durable: Ints
    journal: Ints
    waiting: Ints
    acquired: Ints
    writes: Ints
    batches: Ints
    ranges: Ints
    written: Ints


def _rows(columns: int) -> Ints:
    return np.zeros((_INITIAL_ROWS, columns), np.int64)


def new_state(profile: Profile) -> State:
    """Return the state of a share-partition that no leader has initialized."""
    header = np.zeros(at.HEADER_SIZE, np.int64)
    header[at.DURABLE_START] = header[at.DURABLE_COMPLETE] = -1
    header[at.STUCK_OFFSET] = at.NOWHERE
    header[at.MARKS] = profile.in_progress
    header[at.RENEWAL_SURVIVES] = profile.renewal_survives_refusal
    header[at.SHARED_OFFSET] = profile.batches_may_share_an_offset
    header[at.MAY_OVERSHOOT] = profile.window_may_overshoot
    header[at.FREE_GAP] = profile.gap_at_the_end_is_free
    header[at.COUNTS_DURABLE] = profile.coordinator_counts_complete
    header[at.MAY_EXCEED] = profile.window_may_exceed_maximum
    header[at.PASSED_RELEASED] = profile.passed_records_are_released
    header[at.OFFERED_WITHIN] = profile.offered_within
    header[at.LATE_WRITE] = header[at.LATE_LETTER] = header[at.LATE_LOG] = at.NOWHERE
    header[at.ANSWERED_WITHIN] = profile.answered_within
    header[at.ANSWERED_WITHIN_MS] = profile.answered_within_ms
    header[at.SWEEP], header[at.GRANT] = profile.sweep_ms, profile.grant_ms
    header[at.CLAIM] = at.UNSET
    header[at.DURABLE_WHOLE] = 1
    header[at.KEPT_LOSES_COUNT] = profile.defect_start_offset_kept_loses_count
    header[at.UNKNOWN_KEEPS_COUNT] = profile.defect_unknown_count_keeps_the_former
    return State(
        header,
        runs=_rows(at.MARKED_RUN_COLUMNS if profile.in_progress else at.RUN_COLUMNS),
        holes=_rows(2),
        log=_rows(2),
        outstanding=_rows(at.OUTSTANDING_COLUMNS),
        pending=_rows(4),
        durable=_rows(4),
        journal=_rows(4),
        waiting=_rows(3),
        acquired=_rows(3),
        writes=_rows(at.WRITE_COLUMNS),
        batches=_rows(4),
        ranges=_rows(2),
        written=np.zeros((0, 4), np.int64),
    )


_IN_USE: tuple[tuple[int | None, int], ...] = (
    (at.HEAD, at.TAIL),
    (at.HOLES_HEAD, at.HOLES_TAIL),
    (at.LOG_HEAD, at.LOG_TAIL),
    (None, at.OUTSTANDING_TAIL),
    (None, at.PENDING_TAIL),
    (None, at.DURABLE_TAIL),
    (None, at.JOURNAL_TAIL),
    (None, at.WAITING_TAIL),
)
"""Where the header says which rows of the first arrays are in use; the others hold answers only."""


def copy_of(state: State, spare: State | None = None) -> State:
    """Return a copy without the latest answers, in the arrays of ``spare`` where they are as large.

    Only rows in use are copied, so that the cost does not grow with the room in the arrays.
    """
    header, arrays = state.header.copy(), state[1:]
    if spare is None:
        copies = [np.zeros(array.shape, np.int64) for array in arrays]
    else:
        pairs = zip(arrays, spare[1:], strict=True)
        copies = [own if len(own) >= len(a) else np.zeros(a.shape, np.int64) for a, own in pairs]
    for place, (head, tail) in enumerate(_IN_USE):
        rows = slice(0 if head is None else header[head], header[tail])
        copies[place][rows] = arrays[place][rows]
    return State(header, *copies)


@entry_point
def rows_needed(header: Ints, ranges: int) -> int:
    """Return how many rows an operation that names this many ranges may add to any array.

    Each range adds at most two runs where it cuts others, one for each gap between runs, and two
    for the hole before it; each hole known so far may cut out two.
    """
    present = header[at.TAIL] - header[at.HEAD] + header[at.HOLES_TAIL] - header[at.HOLES_HEAD]
    return int(2 * present + 6 * ranges + 16)


@entry_point
def _rows_waiting(header: Ints, rows: int) -> int:
    """Return how many rows what waits needs at most, before and after an operation.

    Each range that waits, is acquired or lies between others cuts one that waits.
    """
    holes = header[at.HOLES_TAIL] - header[at.HOLES_HEAD]
    return int(3 * header[at.WAITING_TAIL] + 2 * (holes + rows))


@entry_point
def has_room(state: State, rows: int) -> bool:
    """Tell whether every array has room for so many more rows; forget the latest answers.

    Runs, holes and the log move to the front of their arrays where that makes the room.
    """
    h = state.header
    h[at.ACQUIRED_TAIL] = h[at.MARKED_TAIL] = h[at.RANGES_TAIL] = 0
    h[at.WRITES_TAIL] = h[at.BATCHES_TAIL] = 0
    h[at.NUMBER] = at.NO_NUMBER
    if h[at.TAIL] + rows > state.runs.shape[0]:
        move_rows(state.runs, h[at.HEAD], h[at.TAIL], -h[at.HEAD])
        h[at.HEAD], h[at.TAIL] = 0, h[at.TAIL] - h[at.HEAD]
        if h[at.TAIL] + 2 * rows > state.runs.shape[0]:
            return False  # Otherwise every operation would move a full array.
    if h[at.HOLES_TAIL] + rows > state.holes.shape[0]:
        move_rows(state.holes, h[at.HOLES_HEAD], h[at.HOLES_TAIL], -h[at.HOLES_HEAD])
        h[at.HOLES_HEAD], h[at.HOLES_TAIL] = 0, h[at.HOLES_TAIL] - h[at.HOLES_HEAD]
    if h[at.LOG_TAIL] + rows > state.log.shape[0]:
        if 2 * h[at.LOG_HEAD] < state.log.shape[0]:
            return False  # As with the runs: what moves is at most half of an array.
        move_rows(state.log, h[at.LOG_HEAD], h[at.LOG_TAIL], -h[at.LOG_HEAD])
        h[at.LOG_HEAD], h[at.LOG_TAIL] = 0, h[at.LOG_TAIL] - h[at.LOG_HEAD]
    return bool(
        h[at.LOG_TAIL] + rows <= state.log.shape[0]
        and h[at.HOLES_TAIL] + rows <= state.holes.shape[0]
        and h[at.OUTSTANDING_TAIL] + rows <= state.outstanding.shape[0]
        and h[at.PENDING_TAIL] + rows <= state.pending.shape[0]
        and 2 * (h[at.DURABLE_TAIL] + h[at.JOURNAL_TAIL] + rows) <= state.durable.shape[0]
        and h[at.JOURNAL_TAIL] + rows <= state.journal.shape[0]
        and _rows_waiting(h, rows) <= state.waiting.shape[0]
        and rows <= min(state.acquired.shape[0], state.writes.shape[0])
        and rows <= min(state.batches.shape[0], state.ranges.shape[0])
    )


def with_room(state: State, rows: int) -> State:
    """Return the state, in larger arrays if these have not enough room."""
    if has_room(state, rows):
        return state
    h = state.header
    durable = 2 * (h[at.DURABLE_TAIL] + h[at.JOURNAL_TAIL] + rows)
    return State(
        h,
        runs=_wider(state.runs, h[at.TAIL] + 2 * rows),
        holes=_wider(state.holes, h[at.HOLES_TAIL] + rows),
        log=_wider(state.log, h[at.LOG_TAIL] + rows),
        outstanding=_wider(state.outstanding, h[at.OUTSTANDING_TAIL] + rows),
        pending=_wider(state.pending, h[at.PENDING_TAIL] + rows),
        durable=_wider(state.durable, durable),
        journal=_wider(state.journal, h[at.JOURNAL_TAIL] + rows),
        waiting=_wider(state.waiting, _rows_waiting(h, rows)),
        acquired=_wider(state.acquired, rows),
        writes=_wider(state.writes, rows),
        batches=_wider(state.batches, rows),
        ranges=_wider(state.ranges, rows),
        written=state.written,
    )


def _wider(array: Ints, rows: int) -> Ints:
    if rows <= len(array):
        return array
    wider = np.zeros((2 * rows, array.shape[1]), np.int64)
    wider[: len(array)] = array
    return wider
