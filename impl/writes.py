"""State writes: make them, answer them at once or later, commit them or roll them back."""

from typing import NamedTuple

from impl import layout as at
from impl.durable import Batches, merge_journal, merge_write, note_batch, would_change
from impl.jit import compiled, entry_point
from impl.locks import TOO_LATE
from impl.rows import Ints, copy_row, move_rows
from impl.runs import cut, join, seek, set_state
from impl.state import State
from impl.window import complete_count, finish
from model.guards import Guard

COMMIT, ROLL_BACK, UNDO = at.numbers(3)

_MANY = 64
"""How many writes may wait for an answer, or be in doubt, before the redundant are looked for."""

_WRITE_TWICE = at.verdict(at.WRITE_TWICE)
_NOT_OUTSTANDING = at.verdict(Guard.WRITE_IS_OUTSTANDING)


class Reported(NamedTuple):
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
def settle(header: Ints, runs: Ints, change: Reported, how: int) -> None:
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
def _hold(state: State, change: Reported, held: Ints) -> None:
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
def _collect(state: State, change: Reported) -> None:
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
def _make_write(state: State, change: Reported, answers: Ints, group: int) -> int:
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
def _persist_or_keep(state: State, serial: int, call: int, change: Reported, answers: Ints) -> None:
    """Merge the latest write in the durable state, or keep it while it has no answer.

    A write that was seen is what an implementation made of it. One that is kept may be made after
    a later call, whose numbers it then has.
    """
    h, writes = state.header, state.writes
    write = h[at.WRITES_TAIL] - 1
    group = writes[write, at.W_GROUP]
    start, complete = writes[write, at.W_START], writes[write, at.W_COMPLETE]
    source, begin, end = state.batches, writes[write, at.W_FROM], writes[write, at.W_TO]
    later = said = at.UNSAID
    if group < answers.shape[0]:
        later, said = answers[group, at.A_MADE_AFTER], answers[group, at.A_SAID_START]
    if said != at.UNSAID:
        source, begin, end = state.written, answers[group, at.A_FROM], answers[group, at.A_TO]
        start = said if later < 0 else start
        if later < 0 and answers[group, at.A_SAID_COMPLETE] != at.UNSAID:
            complete = answers[group, at.A_SAID_COMPLETE]
    if writes[write, at.W_STATUS] == at.S_NONE:
        _merge(state, start, complete, Batches(source, begin, end))
    elif writes[write, at.W_STATUS] == at.S_PENDING or said != at.UNSAID:
        row = _keep(state, start, complete, Batches(source, begin, end))
        kept = state.outstanding[row]
        kept[at.O_SAID_START] = said
        if writes[write, at.W_STATUS] != at.S_PENDING:
            return
        kept[at.O_ID], kept[at.O_SERIAL], kept[at.O_CALL] = writes[write, at.W_ID], serial, call
        kept[at.O_FIRST], kept[at.O_LAST] = change.first, change.last
        if later >= 0:
            kept[at.O_MADE_AFTER] = later
            kept[at.O_SAID_COMPLETE] = answers[group, at.A_SAID_COMPLETE]
            h[at.UNMADE] += 1


@compiled
def _merge(state: State, start: int, complete: int, batches: Batches) -> None:
    merge_write(state.header, start, complete)
    for row in range(batches.begin, batches.end):
        note_batch(state.header, state.journal, batches.rows, row)


@compiled
def _keep(state: State, start: int, complete: int, batches: Batches) -> int:
    """Keep a write that may be durable, and that nothing waits for; return its row."""
    h, rows = state.header, state.outstanding
    if h[at.OUTSTANDING_TAIL] >= _MANY and h[at.OUTSTANDING_TAIL] % _MANY == 0:
        forget_redundant(state)
    row = int(h[at.OUTSTANDING_TAIL])
    rows[row, at.O_ID], rows[row, at.O_SERIAL] = at.DOUBTFUL, at.NO_WRITE
    rows[row, at.O_CALL], rows[row, at.O_MADE_AFTER] = at.NO_CALL, at.MADE
    rows[row, at.O_START], rows[row, at.O_COMPLETE] = start, complete
    rows[row, at.O_SAID_START], rows[row, at.O_SAID_COMPLETE] = start, at.UNSAID
    rows[row, at.O_FIRST], rows[row, at.O_LAST] = at.NOWHERE, at.NOWHERE
    rows[row, at.O_BATCHES] = batches.end - batches.begin
    h[at.OUTSTANDING_TAIL] += 1
    for batch in range(batches.begin, batches.end):
        copy_row(state.pending, h[at.PENDING_TAIL], batches.rows, batch)
        h[at.PENDING_TAIL] += 1
    return row


@entry_point
def write_besides(state: State, answers: Ints) -> int:
    """Take note of the writes that were seen beside those that the operation made.

    Returns a verdict.
    """
    h = state.header
    for i in range(answers.shape[0]):
        start, complete = answers[i, at.A_SAID_START], answers[i, at.A_SAID_COMPLETE]
        if start == at.UNSAID or _is_made(state, answers[i, at.A_ID]):
            continue
        h[at.NEXT_WRITE] = max(h[at.NEXT_WRITE], answers[i, at.A_ID] + 1)
        complete = at.NOTHING if complete == at.UNSAID else complete
        seen = Batches(state.written, answers[i, at.A_FROM], answers[i, at.A_TO])
        if answers[i, at.A_STATUS] == at.S_NONE:
            _merge(state, start, complete, seen)
            continue
        if answers[i, at.A_STATUS] == at.S_PENDING:
            if _find_outstanding(state, answers[i, at.A_ID]) < h[at.OUTSTANDING_TAIL]:
                h[at.WHERE] = answers[i, at.A_ID]
                return _WRITE_TWICE
            row = _keep(state, start, complete, seen)
            state.outstanding[row, at.O_ID] = answers[i, at.A_ID]
        else:
            _keep(state, start, complete, seen)
    return at.FINE


@compiled
def _is_made(state: State, name: int) -> bool:
    for row in range(state.header[at.WRITES_TAIL]):  # noqa: SIM110 - Numba compiles no generators
        if state.writes[row, at.W_ID] == name:
            return True
    return False


@entry_point
def forget_redundant(state: State) -> None:
    """Forget the doubtful writes of which all is durable by now."""
    h, rows = state.header, state.outstanding
    merge_journal(state)
    row, begin = 0, 0
    while row < h[at.OUTSTANDING_TAIL]:
        end = begin + rows[row, at.O_BATCHES]
        if rows[row, at.O_ID] == at.DOUBTFUL and not would_change(
            state,
            rows[row, at.O_START],
            rows[row, at.O_COMPLETE],
            Batches(state.pending, begin, end),
        ):
            _forget_outstanding(state, row, begin, end)
        else:
            row, begin = row + 1, end


@entry_point
def leave_in_doubt(state: State) -> None:
    """Let all outstanding writes be doubtful, as far as they were seen; forget the others."""
    h, rows = state.header, state.outstanding
    row, begin = 0, 0
    while row < h[at.OUTSTANDING_TAIL]:
        end = begin + rows[row, at.O_BATCHES]
        if rows[row, at.O_SAID_START] == at.UNSAID:
            _forget_outstanding(state, row, begin, end)
        else:
            _doubt(rows, row)
            row, begin = row + 1, end


@compiled
def first_written(state: State, low: int, high: int) -> int:
    """Return the first offset of [low, high) that a write without an answer reports, or high."""
    begin = 0
    for row in range(state.header[at.OUTSTANDING_TAIL]):
        end = begin + state.outstanding[row, at.O_BATCHES]
        if state.outstanding[row, at.O_ID] == at.DOUBTFUL:
            begin = end
        while begin < end:
            if state.pending[begin, at.LAST] >= low:
                high = min(high, max(low, state.pending[begin, at.FIRST]))
            begin += 1
    return high


@compiled
def is_written(state: State, offset: int) -> bool:
    """Tell whether a write without an answer reports the record."""
    return bool(first_written(state, offset, offset + 1) == offset)


@entry_point
def fence(state: State) -> None:
    """Let no outstanding write say anything any more, whatever its answer will be."""
    h, rows, kept = state.header, state.outstanding, 0
    for row in range(h[at.OUTSTANDING_TAIL]):
        if rows[row, at.O_ID] == at.DOUBTFUL:
            continue
        rows[kept, at.O_ID], rows[kept, at.O_CALL] = rows[row, at.O_ID], at.NO_CALL
        rows[kept, at.O_SERIAL], rows[kept, at.O_MADE_AFTER] = at.NO_WRITE, at.MADE
        rows[kept, at.O_START], rows[kept, at.O_COMPLETE] = at.NOWHERE, at.NOTHING
        rows[kept, at.O_SAID_START], rows[kept, at.O_SAID_COMPLETE] = at.UNSAID, at.UNSAID
        rows[kept, at.O_FIRST], rows[kept, at.O_LAST] = at.NOWHERE, at.NOWHERE
        rows[kept, at.O_BATCHES] = at.NOTHING
        kept += 1
    h[at.OUTSTANDING_TAIL], h[at.PENDING_TAIL] = kept, 0


@compiled
def _doubt(rows: Ints, row: int) -> None:
    rows[row, at.O_ID], rows[row, at.O_SERIAL] = at.DOUBTFUL, at.NO_WRITE
    rows[row, at.O_CALL], rows[row, at.O_MADE_AFTER] = at.NO_CALL, at.MADE


@compiled
def send(state: State, change: Reported, answers: Ints) -> int:
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
    _persist_or_keep(state, change.serial, h[at.CALL], change, answers)
    return at.FINE


@compiled
def send_anyway(state: State, change: Reported, answers: Ints, group: int) -> int:
    """Write a change that no failure takes back; return a verdict.

    Locks expire and the dead-letter queue finishes records whatever the answer. Until it comes the
    records may be kept back: they are pending, with nothing to roll back.
    """
    result = _make_write(state, change, answers, group)
    if result != at.FINE:
        return result
    settle(state.header, state.runs, change, COMMIT)
    keeps = group < answers.shape[0] and answers[group, at.A_KEEPS_BACK]
    keeps = keeps and answers[group, at.A_STATUS] == at.S_PENDING
    kept = _keep_back(state, change.serial) if keeps else False
    serial = change.serial if kept else at.NO_WRITE
    _persist_or_keep(state, serial, at.NO_CALL, change, answers)
    return result


@compiled
def _keep_back(state: State, serial: int) -> bool:
    """Mark what the latest write reports as pending on it; tell whether it reports any record."""
    h, runs, write = state.header, state.runs, state.header[at.WRITES_TAIL] - 1
    begin, end = state.writes[write, at.W_FROM], state.writes[write, at.W_TO]
    for batch in range(begin, end):
        first, last = state.batches[batch, 0], state.batches[batch, 1]
        cut(h, runs, last + 1)
        i = cut(h, runs, first)
        while i < h[at.TAIL] and runs[i, at.FIRST] <= last:
            runs[i, at.WRITE], runs[i, at.RESTORE] = serial, at.VANISHED
            i += 1
    return bool(begin < end)


@compiled
def _find_outstanding(state: State, name: int) -> int:
    """Return the row of the outstanding write with this id, or the number of rows."""
    tail: int = state.header[at.OUTSTANDING_TAIL]
    for row in range(tail):
        if state.outstanding[row, at.O_ID] == name:
            return row
    return tail


@entry_point
def complete_write(  # noqa: PLR0913, PLR0917 - what a recording says of an answer
    state: State, name: int, status: int, held: Ints, overtaken: int, start: int
) -> int:
    """Answer an outstanding write, commit or roll back its records; return a verdict.

    ``held``: ranges of its records that no timer has released, though their locks are over.
    ``overtaken``: the next object of the leader has read already, perhaps without this write.
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
        return TOO_LATE
    end = begin + rows[row, at.O_BATCHES]
    h[at.STATUS], h[at.ANSWERED_CALL], h[at.ANSWERED_STATUS] = status, rows[row, at.O_CALL], status
    if rows[row, at.O_SERIAL] != at.NO_WRITE:
        change = Reported(rows[row, at.O_SERIAL], rows[row, at.O_FIRST], rows[row, at.O_LAST])
        if status != at.S_NONE:
            _hold(state, change, held)
        settle(h, state.runs, change, COMMIT if status == at.S_NONE else ROLL_BACK)
    if status == at.S_NONE and not overtaken:
        wrote = Batches(state.pending, begin, end)
        _merge(state, rows[row, at.O_START], rows[row, at.O_COMPLETE], wrote)
        _forget_outstanding(state, row, begin, end)
    elif status != at.S_NONE and rows[row, at.O_SAID_START] == at.UNSAID:
        _forget_outstanding(state, row, begin, end)
    else:
        rows[row, at.O_SAID_START] = rows[row, at.O_START]
        _doubt(rows, row)
    return finish(state, start)


@entry_point
def call_answered(header: Ints, recorded: int) -> int:
    """Return the call that the latest answer completes, or NO_CALL; ``recorded`` if untold."""
    call = int(header[at.ANSWERED_CALL])
    if call > at.UNTOLD:
        return call
    return recorded if 0 <= recorded < at.UNTOLD - call else int(at.NO_CALL)


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
