"""Whether the writes of a recorded event make durable what they have to, whatever their form.

A write may carry the start offset of before its event, or of after it, or that which its success
leads to, or -1, which keeps the durable one; below a later start offset it needs no state batches;
and it may repeat what is held of other records.
"""

from typing import NamedTuple

from impl import events as event
from impl import layout as at
from impl.durable import Batches
from impl.events import Events
from impl.jit import compiled
from impl.rows import seek_range
from impl.runs import is_held, seek
from impl.state import State
from impl.window import complete_count, furthest_written
from model.guards import Difference

WRITTEN_STATE = at.verdict(Difference.WRITTEN_STATE)
WRITTEN_START = at.verdict(Difference.WRITTEN_START_OFFSET)
WRITTEN_COMPLETE = at.verdict(Difference.WRITTEN_DELIVERY_COMPLETE_COUNT)


class Earlier(NamedTuple):
    """The start offset and the delivery complete count before an event."""

    start: int
    complete: int


@compiled
def compare_writes(state: State, events: Events, row: int, before: Earlier) -> int:
    """Return the verdict on the writes of an event that has been applied."""
    h, f = state.header, events.fields
    if f[event.OP, row] == event.INITIALIZE or f[event.OP, row] == event.RESET_OFFSET:
        before = Earlier(h[at.START], complete_count(state))  # The window of before is gone.
    begin, end = f[event.WRITES_FROM, row], f[event.WRITES_TO, row]
    for i in range(begin, end):
        where = _first_false(state, events, row, i, before.start)
        if where != at.MAX:
            h[at.WHERE] = where
            return WRITTEN_STATE
    where = at.MAX
    for write in range(h[at.WRITES_TAIL]):
        if not _is_recorded(state, events, row, write):
            where = min(where, _first_batch(_own(state, write), before.start))
    if where != at.MAX:
        h[at.WHERE] = where
        return WRITTEN_STATE
    for i in range(begin, end):
        write = _expected(state, events, row, i)
        later = events.answers[i, at.A_MADE_AFTER] >= 0
        if later and write >= 0 and state.writes[write, at.W_STATUS] == at.S_PENDING:
            continue
        result = _compare_numbers(state, events, row, i, before)
        if result != at.FINE:
            return result
    return at.FINE


@compiled
def _expected(state: State, events: Events, row: int, index: int) -> int:
    """Return the write that a recorded one stands for, or -1: by its id, or the first."""
    f, h = events.fields, state.header
    if f[event.OP, row] != event.ADVANCE_TIME:
        is_first = index == f[event.WRITES_FROM, row] and h[at.WRITES_TAIL] > 0
        return 0 if is_first else at.NOWHERE
    for write in range(h[at.WRITES_TAIL]):
        if state.writes[write, at.W_ID] == events.answers[index, at.A_ID]:
            return write
    return at.NOWHERE


@compiled
def _is_recorded(state: State, events: Events, row: int, write: int) -> bool:
    begin, end = events.fields[event.WRITES_FROM, row], events.fields[event.WRITES_TO, row]
    if events.fields[event.OP, row] != event.ADVANCE_TIME:
        return bool(write == 0 and begin < end)
    for i in range(begin, end):
        if events.answers[i, at.A_ID] == state.writes[write, at.W_ID]:
            return True
    return False


@compiled
def _first_batch(batches: Batches, floor: int) -> int:
    """Return the first offset from ``floor`` on that batches tell of, or MAX."""
    where: int = at.MAX
    for i in range(batches.begin, batches.end):
        if batches.rows[i, 1] >= floor:
            where = min(where, max(batches.rows[i, 0], floor))
    return where


@compiled
def _own(state: State, write: int) -> Batches:
    """Return the state batches of an expected write; none of none."""
    if write < 0:
        return Batches(state.batches, at.NOTHING, at.NOTHING)
    return Batches(state.batches, state.writes[write, at.W_FROM], state.writes[write, at.W_TO])


@compiled
def _first_false(state: State, events: Events, row: int, index: int, start: int) -> int:
    """Return the first offset of which a write says what is not so, or lacks what it must say.

    MAX if there is none.
    """
    write = _expected(state, events, row, index)
    own, base, floor = _own(state, write), _own(state, _base(state, events, row, index)), start
    if _is_same(own, events, index):
        return at.MAX
    if write >= 0 and events.fields[event.OP, row] == event.ADVANCE_TIME:
        floor = state.writes[write, at.W_START]
    where: int = at.MAX
    for i in range(events.write_bounds[index, 0], events.write_bounds[index, 1]):
        offset, last = max(events.written[i, 0], floor), events.written[i, 1]
        while offset <= last:
            true = _true_to(state, base, events, i, offset)
            if true < offset:
                where = min(where, offset)
                break
            offset = true + 1
    for i in range(own.begin, own.end):
        offset, last = own.rows[i, 0], own.rows[i, 1]
        if own.rows[i, 2] == at.ACKNOWLEDGED or own.rows[i, 2] == at.ARCHIVED:
            offset = max(offset, events.starts[index])
        while offset <= last:
            told = _told_to(events, row, offset)
            if told < offset:
                where = min(where, offset)
                break
            offset = told + 1
    return where


@compiled
def _is_same(own: Batches, events: Events, index: int) -> bool:
    """Tell whether a recorded write has the state batches of an expected one, one by one."""
    begin = events.write_bounds[index, 0]
    if events.write_bounds[index, 1] - begin != own.end - own.begin:
        return False
    for i in range(own.end - own.begin):
        for column in range(4):
            if events.written[begin + i, column] != own.rows[own.begin + i, column]:
                return False
    return True


@compiled
def _true_to(state: State, own: Batches, events: Events, index: int, offset: int) -> int:
    """Return up to where a recorded batch says what is so from an offset on, or -1."""
    i = seek_range(own.rows, own.begin, own.end, offset)
    if i == own.end:
        return _held_to(state, events, index, offset)
    if own.rows[i, 0] > offset:
        return min(int(own.rows[i, 0]) - 1, _held_to(state, events, index, offset))
    same = own.rows[i, 2] == events.written[index, 2]
    same = same and own.rows[i, 3] == events.written[index, 3]
    return int(own.rows[i, 1]) if same else at.NOWHERE


@compiled
def _held_to(state: State, events: Events, index: int, offset: int) -> int:
    """Return up to where a recorded batch says from an offset on what is held already, or -1."""
    h, runs, told = state.header, state.runs, events.written[index]
    if offset < h[at.START]:
        is_finished = told[2] == at.ACKNOWLEDGED or told[2] == at.ARCHIVED
        return int(h[at.START] - 1) if is_finished else at.NOWHERE
    i = seek(h, runs, offset)
    if i == h[at.TAIL] or runs[i, at.FIRST] > offset:
        return at.NOWHERE
    same = runs[i, at.STATE] == told[2] and runs[i, at.COUNT] == told[3] != 0
    same = same and runs[i, at.WRITE] == at.NO_WRITE and not is_held(runs, i)
    return int(runs[i, at.LAST]) if same else at.NOWHERE


@compiled
def _told_to(events: Events, row: int, offset: int) -> int:
    """Return up to where some write of an event tells of an offset, or -1."""
    for write in range(events.fields[event.WRITES_FROM, row], events.fields[event.WRITES_TO, row]):
        end = events.write_bounds[write, 1]
        i = seek_range(events.written, events.write_bounds[write, 0], end, offset)
        if i < end and events.written[i, 0] <= offset:
            return int(events.written[i, 1])
    return at.NOWHERE


@compiled
def _compare_numbers(state: State, events: Events, row: int, index: int, before: Earlier) -> int:
    """Return the verdict on the start offset and the delivery complete count of a write."""
    h, write = state.header, _base(state, events, row, index)
    start, count = events.starts[index], events.completes[index]
    usual = before.start if write < 0 else state.writes[write, at.W_START]
    lowest, highest = _usual_counts(state, events, row, index, before)
    if start == at.NOWHERE:
        highest += max(0, usual - h[at.DURABLE_START])
    elif start != usual:
        own = _own(state, write)
        if not h[at.START] <= start <= furthest_written(state, own.rows[own.begin : own.end]):
            return WRITTEN_START
        lowest = highest = _count_from(state, start, own)
    if count != event.MISSING and not lowest <= count <= highest:
        return WRITTEN_COMPLETE
    return at.FINE


@compiled
def _base(state: State, events: Events, row: int, index: int) -> int:
    """Return the expected write with whose numbers those of a recorded one are compared, or -1."""
    if events.fields[event.OP, row] == event.ADVANCE_TIME:
        return _expected(state, events, row, index)
    return 0 if state.header[at.WRITES_TAIL] > 0 else at.NOWHERE


@compiled
def _usual_counts(
    state: State, events: Events, row: int, index: int, before: Earlier
) -> tuple[int, int]:
    """Return the least and the largest delivery complete count from the usual start offset on.

    Of several writes of an event each may have been made before or after the others, but the last
    has all of it, unless they are of expired locks.
    """
    h, f, write = state.header, events.fields, _base(state, events, row, index)
    if write < 0:
        complete = complete_count(state)
        if before.start != h[at.START]:
            return before.complete, before.complete
        return min(complete, before.complete), complete
    complete = state.writes[write, at.W_COMPLETE]
    is_last = index == f[event.WRITES_TO, row] - 1 and f[event.OP, row] != event.ADVANCE_TIME
    if is_last or not _has_others(events, row, index):
        return complete, complete
    lowest = min(complete, before.complete)
    for i in range(h[at.WRITES_TAIL]):
        if state.writes[i, at.W_START] == state.writes[write, at.W_START]:
            complete = max(complete, state.writes[i, at.W_COMPLETE])
    return lowest, complete


@compiled
def _has_others(events: Events, row: int, index: int) -> bool:
    """Tell whether another write of an event has state batches."""
    f, number = events.fields, 0
    for i in range(f[event.WRITES_FROM, row], f[event.WRITES_TO, row]):
        if i != index:
            number += events.write_bounds[i, 1] - events.write_bounds[i, 0]
    return bool(number > 0)


@compiled
def _count_from(state: State, start: int, own: Batches) -> int:
    """Return the delivery complete count from a later start offset on, once a write succeeds."""
    h, runs, count = state.header, state.runs, complete_count(state)
    for i in range(h[at.HEAD], h[at.TAIL]):
        first, last = runs[i, at.FIRST], runs[i, at.LAST]
        count -= max(0, min(last, start - 1) - first + 1)
        if runs[i, at.STATE] == at.ACKNOWLEDGED or runs[i, at.STATE] == at.ARCHIVED:
            continue
        for row in range(own.begin, own.end):
            if own.rows[row, 2] == at.ACKNOWLEDGED or own.rows[row, 2] == at.ARCHIVED:
                low, high = max(first, own.rows[row, 0]), min(last, own.rows[row, 1])
                count += max(0, high - low + 1)
    return int(count)
