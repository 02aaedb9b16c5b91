"""State writes: made, answered at once or later, committed or rolled back."""

from typing import NamedTuple

from impl.durable import merge_write, note_batch
from impl.jit import compiled, entry_point
from impl.layout import (
    ACQUIRED,
    ACQUISITION,
    ANSWERED_CALL,
    ANSWERED_STATUS,
    AVAILABLE,
    BATCHES_TAIL,
    CALL,
    COUNT,
    DEADLINE,
    DELIVERY_LIMIT,
    DOWN,
    FINE,
    FIRST,
    FIRST_GROUP,
    GIVEN_UP,
    IN_PROGRESS,
    LAST,
    LAST_PROGRESS,
    MARKS,
    NEXT_DEADLINE,
    NEXT_SERIAL,
    NEXT_WRITE,
    NO_CALL,
    NO_WRITE,
    NOBODY,
    NOT_MARKED,
    NOTHING,
    NOW,
    O_BATCHES,
    O_CALL,
    O_COMPLETE,
    O_ID,
    O_SERIAL,
    O_START,
    OUTSTANDING_TAIL,
    OWNER,
    PENDING_TAIL,
    PROGRESS_START,
    RESTORE,
    S_NONE,
    S_PENDING,
    START,
    STATE,
    STATUS,
    TAIL,
    TO_AVAILABLE,
    TO_GIVEN_UP,
    VANISHED,
    W_COMPLETE,
    W_FROM,
    W_GROUP,
    W_ID,
    W_START,
    W_STATUS,
    W_TO,
    WHERE,
    WRITE,
    WRITE_TWICE,
    WRITES_TAIL,
    numbers,
    verdict,
)
from impl.rows import Ints, copy_row, move_rows
from impl.runs import join, seek, set_state
from impl.state import State
from impl.window import complete_count, finish
from model.guards import Guard

__all__ = [
    "COMMIT",
    "ROLL_BACK",
    "UNDO",
    "Change",
    "begin_change",
    "clear",
    "complete_write",
    "send",
    "send_anyway",
    "settle",
    "transition",
]

COMMIT, ROLL_BACK, UNDO = numbers(3)

_WRITE_TWICE = verdict(WRITE_TWICE)
_NOT_OUTSTANDING = verdict(Guard.WRITE_IS_OUTSTANDING)


class Change(NamedTuple):
    """Runs that one write reports: those marked with ``serial``, from ``first`` to ``last``."""

    serial: int
    first: int
    last: int


@compiled
def begin_change(header: Ints) -> int:
    """Return a fresh number to mark runs with."""
    serial: int = header[NEXT_SERIAL]
    header[NEXT_SERIAL] = serial + 1
    return serial


@compiled
def transition(header: Ints, runs: Ints, index: int, to: int, serial: int) -> None:
    """Start the transition of a held run to ``to``, under a write marked ``serial``.

    A record that would become AVAILABLE is given up at the delivery count limit: ARCHIVED, or
    ARCHIVING where there is a dead-letter queue (KIP-932, In-flight records; KIP-1191; Kafka:
    InFlightState.startStateTransition).
    """
    at_limit = runs[index, COUNT] >= header[DELIVERY_LIMIT]
    if to == AVAILABLE and at_limit:
        to = header[GIVEN_UP]
    set_state(header, runs, index, to)
    runs[index, WRITE] = serial
    runs[index, RESTORE] = TO_GIVEN_UP if at_limit else TO_AVAILABLE


@compiled
def clear(header: Ints, runs: Ints, index: int) -> None:
    """Forget who held a run, until when, under which write and with what progress."""
    runs[index, OWNER] = NOBODY
    runs[index, DEADLINE] = 0
    runs[index, WRITE] = NO_WRITE
    runs[index, RESTORE] = 0
    if header[MARKS]:
        runs[index, ACQUISITION] = 0
        runs[index, PROGRESS_START] = runs[index, LAST_PROGRESS] = 0


@compiled
def _restore(header: Ints, runs: Ints, index: int) -> None:
    marked = header[MARKS] and runs[index, PROGRESS_START] != NOT_MARKED
    set_state(header, runs, index, IN_PROGRESS if marked else ACQUIRED)
    runs[index, WRITE] = NO_WRITE
    runs[index, RESTORE] = 0
    header[NEXT_DEADLINE] = min(header[NEXT_DEADLINE], runs[index, DEADLINE])


@compiled
def settle(header: Ints, runs: Ints, change: Change, how: int) -> None:
    """End a transition: COMMIT it, ROLL_BACK after a write that failed, or UNDO it untold.

    After a roll back a record whose lock has expired meanwhile is as if it had just expired, and
    one that has vanished from the log stays ARCHIVED.
    """
    i = seek(header, runs, change.first)
    while i < header[TAIL] and runs[i, FIRST] <= change.last:
        if runs[i, WRITE] == change.serial:
            restore = runs[i, RESTORE]
            if how == COMMIT or restore == VANISHED:
                clear(header, runs, i)
            elif how == UNDO or runs[i, DEADLINE] >= header[NOW]:
                _restore(header, runs, i)
            else:
                exhausted = restore == TO_GIVEN_UP
                set_state(header, runs, i, header[GIVEN_UP] if exhausted else AVAILABLE)
                clear(header, runs, i)
        i += 1
    join(header, runs, change.first, change.last)


@compiled
def _collect(state: State, change: Change) -> None:
    """Append the state batches of a change to those of this operation, joined where equal."""
    h, runs, batches = state.header, state.runs, state.batches
    begin = row = h[BATCHES_TAIL]
    i = seek(h, runs, change.first)
    while i < h[TAIL] and runs[i, FIRST] <= change.last:
        if runs[i, WRITE] == change.serial:
            last = row - 1
            if (
                row > begin
                and batches[last, 1] + 1 == runs[i, FIRST]
                and batches[last, 2] == runs[i, STATE]
                and batches[last, 3] == runs[i, COUNT]
            ):
                batches[last, 1] = runs[i, LAST]
            else:
                batches[row, 0], batches[row, 1] = runs[i, FIRST], runs[i, LAST]
                batches[row, 2], batches[row, 3] = runs[i, STATE], runs[i, COUNT]
                row += 1
        i += 1
    h[BATCHES_TAIL] = row


@compiled
def _make_write(state: State, change: Change, answers: Ints, group: int) -> int:
    """Append the write of a change to those of this operation; return a verdict.

    A write that ``answers`` has no row for gets the next id and succeeds.
    """
    h, writes = state.header, state.writes
    row, name, status = h[WRITES_TAIL], h[NEXT_WRITE], S_NONE
    if group < answers.shape[0]:
        name = answers[group, 0] if answers[group, 0] >= 0 else name
        status = answers[group, 1]
    if status == S_PENDING and _find_outstanding(state, name) < h[OUTSTANDING_TAIL]:
        h[WHERE] = name
        return _WRITE_TWICE
    h[NEXT_WRITE] = max(h[NEXT_WRITE], name + 1)
    writes[row, W_ID], writes[row, W_STATUS] = name, status
    writes[row, W_START], writes[row, W_COMPLETE] = h[START], complete_count(state)
    writes[row, W_GROUP], writes[row, W_FROM] = group, h[BATCHES_TAIL]
    _collect(state, change)
    writes[row, W_TO] = h[BATCHES_TAIL]
    h[WRITES_TAIL] = row + 1
    return FINE


@compiled
def _persist_or_keep(state: State, serial: int, call: int) -> None:
    """Merge the latest write in the durable state, or keep it while it has no answer."""
    h, writes, kept = state.header, state.writes, state.outstanding
    write = h[WRITES_TAIL] - 1
    start, complete = writes[write, W_START], writes[write, W_COMPLETE]
    begin, end = writes[write, W_FROM], writes[write, W_TO]
    if writes[write, W_STATUS] == S_NONE:
        merge_write(h, start, complete)
        for batch in range(begin, end):
            note_batch(h, state.journal, state.batches, batch)
    elif writes[write, W_STATUS] == S_PENDING:
        row = h[OUTSTANDING_TAIL]
        kept[row, O_ID], kept[row, O_SERIAL] = writes[write, W_ID], serial
        kept[row, O_CALL], kept[row, O_BATCHES] = call, end - begin
        kept[row, O_START], kept[row, O_COMPLETE] = start, complete
        h[OUTSTANDING_TAIL] += 1
        for batch in range(begin, end):
            copy_row(state.pending, h[PENDING_TAIL], state.batches, batch)
            h[PENDING_TAIL] += 1


@compiled
def send(state: State, change: Change, answers: Ints) -> int:
    """Write a change that a member asked for; return a verdict.

    ``answers`` has (id or -1, status) of the write. The status of the operation is that of the
    write. A failed write takes the change back.
    """
    result = _make_write(state, change, answers, FIRST_GROUP)
    if result != FINE:
        return result
    h = state.header
    h[STATUS] = status = state.writes[0, W_STATUS]
    if status != S_PENDING:
        settle(h, state.runs, change, COMMIT if status == S_NONE else ROLL_BACK)
    _persist_or_keep(state, change.serial, h[CALL])
    return FINE


@compiled
def send_anyway(state: State, change: Change, answers: Ints, group: int) -> int:
    """Write a change that holds whatever the answer; return a verdict.

    Such are locks that expired, and records that the dead-letter queue is done with.
    """
    result = _make_write(state, change, answers, group)
    if result == FINE:
        settle(state.header, state.runs, change, COMMIT)
        _persist_or_keep(state, NO_WRITE, NO_CALL)
    return result


@compiled
def _find_outstanding(state: State, name: int) -> int:
    """Return the row of the outstanding write with this id, or the number of rows."""
    tail: int = state.header[OUTSTANDING_TAIL]
    for row in range(tail):
        if state.outstanding[row, O_ID] == name:
            return row
    return tail


@entry_point
def complete_write(state: State, name: int, status: int, start: int) -> int:
    """Answer an outstanding write, commit or roll back its records; return a verdict.

    ``start``: the start offset chosen after it.
    """
    h = state.header
    row = _find_outstanding(state, name)
    if row == h[OUTSTANDING_TAIL]:
        return _NOT_OUTSTANDING
    kept, begin = state.outstanding, NOTHING
    for earlier in range(row):
        begin += kept[earlier, O_BATCHES]
    end = begin + kept[row, O_BATCHES]
    h[STATUS], h[ANSWERED_CALL], h[ANSWERED_STATUS] = status, kept[row, O_CALL], status
    if kept[row, O_SERIAL] != NO_WRITE:
        change = Change(kept[row, O_SERIAL], state.pending[begin, 0], state.pending[end - 1, 1])
        settle(h, state.runs, change, COMMIT if status == S_NONE else ROLL_BACK)
    if status == S_NONE:
        merge_write(h, kept[row, O_START], kept[row, O_COMPLETE])
        for batch in range(begin, end):
            note_batch(h, state.journal, state.pending, batch)
    _forget_outstanding(state, row, begin, end)
    return finish(state, start)


@compiled
def _forget_outstanding(state: State, row: int, begin: int, end: int) -> None:
    h = state.header
    move_rows(state.outstanding, row + 1, h[OUTSTANDING_TAIL], DOWN)
    move_rows(state.pending, end, h[PENDING_TAIL], begin - end)
    h[OUTSTANDING_TAIL] -= 1
    h[PENDING_TAIL] -= end - begin
