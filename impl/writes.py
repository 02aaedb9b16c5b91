"""State writes: make them, answer them at once or later, commit them or roll them back."""

from typing import NamedTuple

from impl import layout as at
from impl.durable import merge_write, note_batch
from impl.jit import compiled, entry_point
from impl.rows import Ints, copy_row, move_rows
from impl.runs import cut, join, seek, set_state
from impl.state import State
from impl.window import complete_count, finish
from model.guards import Guard

COMMIT, ROLL_BACK, UNDO = at.numbers(3)

_WRITE_TWICE = at.verdict(at.WRITE_TWICE)
_NOT_OUTSTANDING = at.verdict(Guard.WRITE_IS_OUTSTANDING)
_NOT_ON_TIME = at.verdict(Guard.LOCK_ENDS_ON_TIME)


class Change(NamedTuple):
    """Runs that one write reports: those marked with ``serial``, from ``first`` to ``last``."""

    serial: int
    first: int
    last: int


@compiled
def begin_change(header: Ints) -> int:
    """Return a fresh number to mark runs with."""
    serial: int = header[at.NEXT_SERIAL]
    header[at.NEXT_SERIAL] = serial + 1
    return serial


@compiled
def transition(header: Ints, runs: Ints, index: int, to: int, serial: int) -> None:
    """Start the transition of a held run to ``to``, under a write marked ``serial``.

    A record that would become AVAILABLE is given up at the delivery count limit: ARCHIVED, or
    ARCHIVING where there is a dead-letter queue (KIP-932, In-flight records; KIP-1191; Kafka:
    InFlightState.startStateTransition).
    """
    at_limit = runs[index, at.COUNT] >= header[at.DELIVERY_LIMIT]
    if to == at.AVAILABLE and at_limit:
        to = header[at.GIVEN_UP]
    set_state(header, runs, index, to)
    runs[index, at.WRITE] = serial
    runs[index, at.RESTORE] = at.TO_GIVEN_UP if at_limit else at.TO_AVAILABLE


@compiled
def clear(header: Ints, runs: Ints, index: int) -> None:
    """Forget the owner, deadline, write and progress of a run."""
    runs[index, at.OWNER] = at.NOBODY
    runs[index, at.DEADLINE] = 0
    runs[index, at.WRITE] = at.NO_WRITE
    runs[index, at.RESTORE] = 0
    if header[at.MARKS]:
        runs[index, at.ACQUISITION] = 0
        runs[index, at.PROGRESS_START] = runs[index, at.LAST_PROGRESS] = 0


@compiled
def _restore(header: Ints, runs: Ints, index: int) -> None:
    marked = header[at.MARKS] and runs[index, at.PROGRESS_START] != at.NOT_MARKED
    set_state(header, runs, index, at.IN_PROGRESS if marked else at.ACQUIRED)
    runs[index, at.WRITE] = at.NO_WRITE
    runs[index, at.RESTORE] = 0
    header[at.NEXT_DEADLINE] = min(header[at.NEXT_DEADLINE], runs[index, at.DEADLINE])


@compiled
def settle(header: Ints, runs: Ints, change: Change, how: int) -> None:
    """End a transition: COMMIT it, ROLL_BACK after a failed write, or UNDO it without a write.

    After a roll back, a lock that would have expired meanwhile expires, and a record that has
    vanished from the log stays ARCHIVED.
    """
    i = seek(header, runs, change.first)
    while i < header[at.TAIL] and runs[i, at.FIRST] <= change.last:
        if runs[i, at.WRITE] == change.serial:
            restore = runs[i, at.RESTORE]
            if how == COMMIT or restore == at.VANISHED:
                clear(header, runs, i)
            elif how == UNDO or runs[i, at.DEADLINE] >= header[at.NOW]:
                _restore(header, runs, i)
            else:
                exhausted = restore == at.TO_GIVEN_UP
                set_state(header, runs, i, header[at.GIVEN_UP] if exhausted else at.AVAILABLE)
                clear(header, runs, i)
        i += 1
    join(header, runs, change.first, change.last)


@compiled
def _hold(state: State, change: Change, held: Ints) -> None:
    """Restore the records of a change that are held although their locks are over."""
    h, runs = state.header, state.runs
    for row in range(held.shape[0]):
        first = max(held[row, 0], change.first, h[at.START])
        last = min(held[row, 1], change.last, h[at.END] - 1)
        if first > last:
            continue
        cut(h, runs, last + 1)
        i = cut(h, runs, first)
        while i < h[at.TAIL] and runs[i, at.FIRST] <= last:
            if runs[i, at.WRITE] == change.serial and runs[i, at.RESTORE] != at.VANISHED:
                _restore(h, runs, i)
            i += 1


@compiled
def _collect(state: State, change: Change) -> None:
    """Append the state batches of a change to those of this operation, joined where equal."""
    h, runs, batches = state.header, state.runs, state.batches
    begin = row = h[at.BATCHES_TAIL]
    i = seek(h, runs, change.first)
    while i < h[at.TAIL] and runs[i, at.FIRST] <= change.last:
        if runs[i, at.WRITE] == change.serial:
            last = row - 1
            if (
                row > begin
                and batches[last, 1] + 1 == runs[i, at.FIRST]
                and batches[last, 2] == runs[i, at.STATE]
                and batches[last, 3] == runs[i, at.COUNT]
            ):
                batches[last, 1] = runs[i, at.LAST]
            else:
                batches[row, 0], batches[row, 1] = runs[i, at.FIRST], runs[i, at.LAST]
                batches[row, 2], batches[row, 3] = runs[i, at.STATE], runs[i, at.COUNT]
                row += 1
        i += 1
    h[at.BATCHES_TAIL] = row


@compiled
def _make_write(state: State, change: Change, answers: Ints, group: int) -> int:
    """Append the write of a change to those of this operation; return a verdict.

    A write that ``answers`` has no row for gets the next id and succeeds.
    """
    h, writes = state.header, state.writes
    row, name, status = h[at.WRITES_TAIL], h[at.NEXT_WRITE], at.S_NONE
    if group < answers.shape[0]:
        name = answers[group, at.A_ID] if answers[group, at.A_ID] >= 0 else name
        status = answers[group, at.A_STATUS]
    if status == at.S_PENDING and _find_outstanding(state, name) < h[at.OUTSTANDING_TAIL]:
        h[at.WHERE] = name
        return _WRITE_TWICE
    h[at.NEXT_WRITE] = max(h[at.NEXT_WRITE], name + 1)
    writes[row, at.W_ID], writes[row, at.W_STATUS] = name, status
    writes[row, at.W_START], writes[row, at.W_COMPLETE] = h[at.START], complete_count(state)
    writes[row, at.W_GROUP], writes[row, at.W_FROM] = group, h[at.BATCHES_TAIL]
    _collect(state, change)
    writes[row, at.W_TO] = h[at.BATCHES_TAIL]
    h[at.WRITES_TAIL] = row + 1
    return at.FINE


@compiled
def _persist_or_keep(state: State, serial: int, call: int, answers: Ints) -> None:
    """Merge the latest write in the durable state, or keep it while it has no answer.

    A write that is kept may be made after a later call, whose numbers it then has.
    """
    h, writes, rows = state.header, state.writes, state.outstanding
    write = h[at.WRITES_TAIL] - 1
    start, complete = writes[write, at.W_START], writes[write, at.W_COMPLETE]
    begin, end = writes[write, at.W_FROM], writes[write, at.W_TO]
    if writes[write, at.W_STATUS] == at.S_NONE:
        merge_write(h, start, complete)
        for batch in range(begin, end):
            note_batch(h, state.journal, state.batches, batch)
    elif writes[write, at.W_STATUS] == at.S_PENDING:
        row = h[at.OUTSTANDING_TAIL]
        rows[row, at.O_ID], rows[row, at.O_SERIAL] = writes[write, at.W_ID], serial
        rows[row, at.O_CALL], rows[row, at.O_BATCHES] = call, end - begin
        rows[row, at.O_START], rows[row, at.O_COMPLETE] = start, complete
        group = writes[write, at.W_GROUP]
        rows[row, at.O_MADE_AFTER] = at.MADE
        if group < answers.shape[0] and answers[group, at.A_MADE_AFTER] >= 0:
            rows[row, at.O_MADE_AFTER] = answers[group, at.A_MADE_AFTER]
            rows[row, at.O_SAID_START] = answers[group, at.A_SAID_START]
            rows[row, at.O_SAID_COMPLETE] = answers[group, at.A_SAID_COMPLETE]
            h[at.UNMADE] += 1
        h[at.OUTSTANDING_TAIL] += 1
        for batch in range(begin, end):
            copy_row(state.pending, h[at.PENDING_TAIL], state.batches, batch)
            h[at.PENDING_TAIL] += 1


@compiled
def send(state: State, change: Change, answers: Ints) -> int:
    """Write a change that a member asked for; return a verdict.

    ``answers`` has (id or -1, status) of the write. The status of the operation is that of the
    write. A failed write takes the change back.
    """
    result = _make_write(state, change, answers, at.FIRST_GROUP)
    if result != at.FINE:
        return result
    h = state.header
    h[at.STATUS] = status = state.writes[0, at.W_STATUS]
    if status != at.S_PENDING:
        settle(h, state.runs, change, COMMIT if status == at.S_NONE else ROLL_BACK)
    _persist_or_keep(state, change.serial, h[at.CALL], answers)
    return at.FINE


@compiled
def send_anyway(state: State, change: Change, answers: Ints, group: int) -> int:
    """Write a change that no failure takes back; return a verdict.

    Locks expire and the dead-letter queue finishes records whatever the answer.
    """
    result = _make_write(state, change, answers, group)
    if result == at.FINE:
        settle(state.header, state.runs, change, COMMIT)
        _persist_or_keep(state, at.NO_WRITE, at.NO_CALL, answers)
    return result


@compiled
def _find_outstanding(state: State, name: int) -> int:
    """Return the row of the outstanding write with this id, or the number of rows."""
    tail: int = state.header[at.OUTSTANDING_TAIL]
    for row in range(tail):
        if state.outstanding[row, at.O_ID] == name:
            return row
    return tail


@entry_point
def complete_write(state: State, name: int, status: int, held: Ints, start: int) -> int:
    """Answer an outstanding write, commit or roll back its records; return a verdict.

    ``held``: ranges of its records that no timer has released, though their locks are over.
    ``start``: the start offset chosen after it.
    """
    h = state.header
    row = _find_outstanding(state, name)
    if row == h[at.OUTSTANDING_TAIL]:
        return _NOT_OUTSTANDING
    rows, begin = state.outstanding, at.NOTHING
    if rows[row, at.O_MADE_AFTER] >= 0:
        return _NOT_OUTSTANDING
    for earlier in range(row):
        begin += rows[earlier, at.O_BATCHES]
    if held.shape[0] and not h[at.TIMED]:
        return _NOT_ON_TIME
    end = begin + rows[row, at.O_BATCHES]
    h[at.STATUS], h[at.ANSWERED_CALL], h[at.ANSWERED_STATUS] = status, rows[row, at.O_CALL], status
    if rows[row, at.O_SERIAL] != at.NO_WRITE and begin < end:
        change = Change(rows[row, at.O_SERIAL], state.pending[begin, 0], state.pending[end - 1, 1])
        if status != at.S_NONE:
            _hold(state, change, held)
        settle(h, state.runs, change, COMMIT if status == at.S_NONE else ROLL_BACK)
    if status == at.S_NONE:
        merge_write(h, rows[row, at.O_START], rows[row, at.O_COMPLETE])
        for batch in range(begin, end):
            note_batch(h, state.journal, state.pending, batch)
    _forget_outstanding(state, row, begin, end)
    return finish(state, start)


@entry_point
def compose(state: State) -> None:
    """Let the writes take their numbers that are made after the call which has just been done."""
    h, rows = state.header, state.outstanding
    if h[at.UNMADE] == 0:
        return
    h[at.UNMADE] = 0
    for row in range(h[at.OUTSTANDING_TAIL]):
        if rows[row, at.O_MADE_AFTER] == at.MADE_NOW:
            rows[row, at.O_MADE_AFTER] = at.MADE
        elif rows[row, at.O_MADE_AFTER] == h[at.CALL]:
            rows[row, at.O_MADE_AFTER] = at.MADE_NOW
            rows[row, at.O_START], rows[row, at.O_COMPLETE] = h[at.START], complete_count(state)
        if rows[row, at.O_MADE_AFTER] != at.MADE:
            h[at.UNMADE] += 1


@compiled
def _forget_outstanding(state: State, row: int, begin: int, end: int) -> None:
    h = state.header
    move_rows(state.outstanding, row + 1, h[at.OUTSTANDING_TAIL], at.DOWN)
    move_rows(state.pending, end, h[at.PENDING_TAIL], begin - end)
    h[at.OUTSTANDING_TAIL] -= 1
    h[at.PENDING_TAIL] -= end - begin
