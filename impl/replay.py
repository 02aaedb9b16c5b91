"""The replay of recorded events, compiled: each is checked, applied and compared."""

from typing import NamedTuple

from impl import events as event
from impl import layout as at
from impl.aborted import archive_aborted
from impl.acknowledge import AcknowledgedRuns, acknowledge, release
from impl.acquire import Taken, acquire, skip_acquire
from impl.awaited import forget_awaited, note_awaited
from impl.compare import compare, compare_composed, differs_from_durable
from impl.dead_letter import finish_dead_letter
from impl.durable import merge_journal, note_shown
from impl.events import Events
from impl.expiry import Expiries, advance_time, expire
from impl.jit import compiled, entry_point, inlined
from impl.leadership import (
    NOT_INITIALIZED,
    LeaderSettings,
    LeaderStart,
    advance_log_start,
    alter_config,
    compact,
    initialize,
    produce,
    reset_offset,
)
from impl.locks import pass_time
from impl.policy import MemberFetch
from impl.progress import Mark, mark_in_progress
from impl.reading import Noticed
from impl.rows import Ints, copy_row, seek_range, sort_rows
from impl.state import State, has_room, rows_needed
from impl.window import complete_count
from impl.writes import complete_write, compose, write_besides
from impl.written import Earlier
from model.guards import Difference

_PERSISTED = at.verdict(Difference.PERSISTED)
_THREW = at.verdict(Difference.EXCEPTION)
_SEQ_GAP = at.verdict(at.SEQ_GAP)
_OTHER_CLOCK = at.verdict(at.OTHER_CLOCK)

# Columns of the results: the state after each event, and how many records are in each state.
R_START, R_END, R_LAG, R_COUNTS = range(4)
RESULTS = R_COUNTS + at.STATES

# The last columns of the leaders, after the settings and the other single values.
_BATCHES_FROM, _BATCHES_TO = 21, 22
LEADER_COLUMNS = 23

# The position of a replay, and what it is at the start.
# ROW is that of the next event, NEXT before the first one of a share-partition; TAKEN says that the
# checkpoint in that row has been taken, and PART which of the share-partitions it is.
P_ROW, P_LEADER, P_SEQ, P_CLOCK, P_TAKEN, P_PART = range(6)
POSITION = (0, 0, -1, 0, 0, 0)
NEXT = at.number(-1)
TAKE = at.number(-1)

_LONG_JOURNAL = 4096


class Leaders(NamedTuple):
    """What the leaders of these events read, and altered settings, in order.

    ``values``: the single values of ``LeaderStart``, one row each, of which the first are its
    settings, and the bounds of its ``batches``.
    """

    values: Ints
    batches: Ints


class PartitionBounds(NamedTuple):
    """Share-partitions to replay one after another in the arrays of one state.

    ``rows``: of each the first row, the row behind the last, and the first of its leaders.
    ``fresh``: the header of a state that no leader has initialized.
    """

    rows: Ints
    fresh: Ints


class Stop(NamedTuple):
    """Where a replay stopped.

    ``row``: the first event that was not replayed. Why: the ``verdict`` on it, or that the state
    has no ``room`` for so many rows, TAKE for a checkpoint to be taken; both are 0 at the end.
    """

    row: int
    verdict: int
    room: int


@entry_point
def replay_rows(  # noqa: PLR0913, PLR0917 - compiled code takes each array by itself
    state: State,
    events: Events,
    leaders: Leaders,
    results: Ints,
    position: Ints,
    partitions: PartitionBounds,
) -> Stop:
    """Replay events from ``position`` up to the first that is refused or differs.

    ``position`` has the next row, the next of the leaders, the next seq (-1: any), the clock (ms)
    and the share-partition; it is moved on. ``results`` (events, RESULTS) receives a row for each
    replayed event.
    """
    h, f, bounds = state.header, events.fields, partitions.rows
    for part in range(position[P_PART], bounds.shape[0]):
        position[P_PART] = part
        if position[P_ROW] == NEXT:
            for column in range(at.HEADER_SIZE):
                h[column] = partitions.fresh[column]
            position[P_ROW], position[P_LEADER] = bounds[part, 0], bounds[part, 2]
            position[P_SEQ], position[P_CLOCK], position[P_TAKEN] = -1, 0, 0
        for row in range(position[P_ROW], bounds[part, 1]):
            if not position[P_TAKEN]:
                reason = _check(state, events, row, position)
                if reason != at.FINE:
                    return Stop(row, reason, at.NOTHING)
                if f[event.OP, row] == event.CHECKPOINT:
                    return Stop(row, at.FINE, TAKE)
            rows = rows_needed(h, _ranges_named(h, events, leaders, position))
            if not has_room(state, rows):
                return Stop(row, at.FINE, rows)
            position[P_TAKEN] = 0
            reason = _apply(state, events, leaders, position)
            if reason != at.FINE:
                return Stop(row, reason, at.NOTHING)
            _note(h, results, row, complete_count(state))
            position[P_ROW], position[P_SEQ] = row + 1, f[event.SEQ, row] + 1
            position[P_CLOCK] = f[event.TIME, row]
        position[P_ROW] = NEXT
    return Stop(bounds[bounds.shape[0] - 1, 1], at.FINE, at.NOTHING)


@inlined
def _apply(state: State, events: Events, leaders: Leaders, position: Ints) -> int:
    """Apply the event at ``position`` and compare it; return a verdict."""
    h, f, row = state.header, events.fields, position[P_ROW]
    before, log_end = Earlier(h[at.START], complete_count(state)), h[at.LOG_END]
    reason = _step(state, events, leaders, position)
    if reason != at.FINE or f[event.OP, row] == event.GAP:
        return reason
    begin, end = f[event.WRITES_FROM, row], f[event.WRITES_TO, row]
    if (
        end - begin > h[at.WRITES_TAIL]
        and h[at.INITIALIZED]
        and f[event.OP, row] != event.CHECKPOINT
    ):
        reason = write_besides(state, events.answers[begin:end])
        if reason != at.FINE:
            return reason
    reason = compare(state, events, row, before, complete_count(state))
    if h[at.INITIALIZED] and not (h[at.TIMED] and f[event.OP, row] == event.ADVANCE_TIME):
        h[at.LAST_EVENT] = h[at.NOW]
        compose(state)
        if reason == at.FINE:
            reason = compare_composed(state)
    if reason == at.FINE and h[at.INITIALIZED]:
        reason = note_awaited(state, events, row, log_end)
    return reason


@inlined
def _check(state: State, events: Events, row: int, position: Ints) -> int:
    """Return the verdict on a row before it is applied: whether it is the next event.

    A virtual clock moves where time passes, a real one between any two events, and never back. It
    moves before a checkpoint is taken.
    """
    h, f = state.header, events.fields
    op = f[event.OP, row]
    anew = op == event.INITIALIZE or (op == event.CHECKPOINT and not h[at.INITIALIZED])
    begins = anew and (not h[at.INITIALIZED] or f[event.SEQ, row] == 0)
    if op == event.GAP:
        return at.FINE
    if position[P_SEQ] >= 0 and f[event.SEQ, row] != position[P_SEQ] and not begins:
        return _SEQ_GAP
    if anew:
        return at.FINE
    passed = f[event.MS, row] if op == event.ADVANCE_TIME else 0
    before = f[event.TIME, row] - passed
    if before != position[P_CLOCK] and not (h[at.TIMED] and before > position[P_CLOCK]):
        return _OTHER_CLOCK
    if op == event.CHECKPOINT and h[at.TIMED]:
        h[at.WHERE] = at.NOWHERE
        return _follow_clock(state, events, row)
    return at.FINE


@inlined
def _note(header: Ints, results: Ints, row: int, complete: int) -> None:
    results[row, R_START], results[row, R_END] = header[at.START], header[at.END]
    results[row, R_LAG] = header[at.LOG_END] - header[at.START] - complete
    for state in range(at.STATES):
        results[row, R_COUNTS + state] = header[at.COUNTS + state]


@compiled
def _ranges_named(header: Ints, events: Events, leaders: Leaders, position: Ints) -> int:
    """Return how many ranges of offsets an event names at most."""
    f, row = events.fields, position[P_ROW]
    number = f[event.LOG_TO, row] - f[event.LOG_FROM, row]
    number += f[event.ACQUIRED_TO, row] - f[event.ACQUIRED_FROM, row]
    number += f[event.RECORDS_TO, row] - f[event.RECORDS_FROM, row]
    is_mark = f[event.OP, row] == event.MARK_IN_PROGRESS
    for i in range(f[event.ACKS_FROM, row], f[event.ACKS_TO, row]):
        number += 1 if is_mark else events.acks[i, 3] - events.acks[i, 2]
    number += f[event.WRITES_TO, row] - f[event.WRITES_FROM, row]
    for i in range(f[event.WRITES_FROM, row], f[event.WRITES_TO, row]):
        number += events.write_bounds[i, 1] - events.write_bounds[i, 0]
    if f[event.OP, row] == event.INITIALIZE:
        leader = position[P_LEADER]
        number += header[at.PENDING_TAIL] + header[at.DURABLE_TAIL] + header[at.JOURNAL_TAIL]
        number += leaders.values[leader, _BATCHES_TO] - leaders.values[leader, _BATCHES_FROM]
    return int(number)


@compiled
def _settings(leaders: Leaders, index: int) -> LeaderSettings:
    v = leaders.values[index]
    return LeaderSettings(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9])


@compiled
def _leader(leaders: Leaders, index: int) -> LeaderStart:
    v = leaders.values[index]
    batches = leaders.batches[v[_BATCHES_FROM] : v[_BATCHES_TO]]
    settings = _settings(leaders, index)
    log = v[10], v[11], v[12], v[13]
    return LeaderStart(settings, *log, v[14], v[15], v[16], v[17], v[18], v[19], v[20], batches)


@compiled
def take_over(state: State, events: Events, leaders: Leaders, position: Ints) -> int:
    """Initialize; return a verdict, also on what the leader read from the share coordinator.

    It may read what outstanding writes wrote; and anything where it was reset meanwhile.
    """
    leader = _leader(leaders, position[P_LEADER])
    position[P_LEADER] += 1
    state.header[at.ANSWERED_CALL] = at.NO_CALL
    h = state.header
    differs = False
    merge_journal(state)
    before, rows = (h[at.DURABLE_START], h[at.DURABLE_COMPLETE]), h[at.DURABLE_TAIL]
    aside = state.durable.shape[0] - rows
    for i in range(rows):
        copy_row(state.durable, aside + i, state.durable, i)
    if leader.state_epoch <= h[at.STATE_EPOCH]:
        note_shown(state, leader.start, leader.complete, leader.batches)
        merge_journal(state)
        differs = differs_from_durable(state, leader)
    f, row = events.fields, position[P_ROW]
    lenient = f[event.RESULT, row] == at.S_NONE
    result = initialize(state, leader, lenient, f[event.AFTER_START, row])
    if not h[at.INITIALIZED]:  # A leader that failed leaves what is durable as it was.
        h[at.DURABLE_START], h[at.DURABLE_COMPLETE] = before
        h[at.DURABLE_TAIL] = rows
        for i in range(rows):
            copy_row(state.durable, i, state.durable, aside + i)
    return _PERSISTED if result == at.FINE and differs else result


@inlined
def _step(state: State, events: Events, leaders: Leaders, position: Ints) -> int:  # noqa: C901, PLR0911, PLR0912 - one case for each operation
    """Apply the event at ``position`` with what was chosen in it; return a verdict."""
    h, f, row = state.header, events.fields, position[P_ROW]
    h[at.WHERE] = at.NOWHERE
    if f[event.THREW, row]:
        return _THREW
    if f[event.OP, row] == event.INITIALIZE:
        forget_awaited(h)
        return take_over(state, events, leaders, position)
    if f[event.OP, row] == event.GAP:
        forget_awaited(h)
        h[at.INITIALIZED] = h[at.DURABLE_WHOLE] = h[at.UNMADE] = 0
        return at.FINE
    if not h[at.INITIALIZED]:
        return NOT_INITIALIZED
    if h[at.JOURNAL_TAIL] > _LONG_JOURNAL:
        merge_journal(state)
    h[at.CALL], h[at.ANSWERED_CALL] = f[event.SEQ, row], at.NO_CALL
    h[at.CLAIM] = at.UNSET if f[event.CLAIM, row] < 0 else f[event.CLAIM, row]
    if f[event.OP, row] == event.CHECKPOINT:
        h[at.STATUS] = at.S_NONE
        return at.FINE
    if h[at.TIMED]:
        result = _follow_clock(state, events, row)
        if result != at.FINE:
            return result
    op, start = f[event.OP, row], f[event.AFTER_START, row]
    if op == event.ACQUIRE:
        return _acquire(state, events, row)
    if op == event.ACKNOWLEDGE:
        return _acknowledge(state, events, row)
    if op == event.ADVANCE_TIME:
        return _advance_time(state, events, row)
    if op == event.EXPIRE:
        return _expire(state, events, row)
    if op == event.PRODUCE:
        batches = events.log_batches[f[event.LOG_FROM, row] : f[event.LOG_TO, row]]
        end, stable = f[event.ARG_LOG_END, row], f[event.ARG_STABLE, row]
        return produce(state, batches, end, end if stable == event.MISSING else stable, start)
    if op == event.RELEASE:
        return _release(state, events, row)
    if op == event.COMPLETE_WRITE:
        held = events.log_batches[f[event.LOG_FROM, row] : f[event.LOG_TO, row]]
        name, overtaken = f[event.WRITE_ID, row], int(f[event.OVERTAKEN, row] == 1)
        return complete_write(state, name, f[event.RESULT, row], held, overtaken, start)
    if op == event.ADVANCE_LOG_START:
        return advance_log_start(state, f[event.ARG_LOG_START, row], start)
    if op == event.RESET_OFFSET:
        return reset_offset(state, f[event.ARG_OFFSET, row], start)
    if op == event.MARK_IN_PROGRESS:
        batches = events.acks[f[event.ACKS_FROM, row] : f[event.ACKS_TO, row]]
        return mark_in_progress(state, Mark(f[event.MEMBER, row], batches), start)
    if op == event.FINISH_DEAD_LETTER:
        return _finish_dead_letter(state, events, row)
    if op == event.ARCHIVE_ABORTED:
        ranges = events.log_batches[f[event.LOG_FROM, row] : f[event.LOG_TO, row]]
        return archive_aborted(state, ranges, _noticed(events, row), start)
    if op == event.COMPACT:
        ranges = events.log_batches[f[event.LOG_FROM, row] : f[event.LOG_TO, row]]
        return compact(state, ranges, _noticed(events, row), start)
    if op == event.ALTER_CONFIG:
        position[P_LEADER] += 1
        return alter_config(state, _settings(leaders, position[P_LEADER] - 1), start)
    return skip_acquire(state, start)


@compiled
def _acquire(state: State, events: Events, row: int) -> int:
    return acquire(state, _fetch(events, row), _taken(state, events, row))


@compiled
def _fetch(events: Events, row: int) -> MemberFetch:
    f = events.fields
    return MemberFetch(
        f[event.MEMBER, row],
        f[event.MODE, row],
        f[event.MAX_RECORDS, row],
        f[event.FETCH_OFFSET, row],
        events.log_batches[f[event.LOG_FROM, row] : f[event.LOG_TO, row]],
    )


@compiled
def _taken(state: State, events: Events, row: int) -> Taken:
    """Return the recorded choice; the records that were read and never delivered have entered."""
    f = events.fields
    sort_rows(events.acquired, f[event.ACQUIRED_FROM, row], f[event.ACQUIRED_TO, row])
    acquired = events.acquired[f[event.ACQUIRED_FROM, row] : f[event.ACQUIRED_TO, row]]
    has_entered = 1 if f[event.RECORDS_FROM, row] >= 0 else 0
    number = 0
    if f[event.LOG_FROM, row] < f[event.LOG_TO, row]:
        low, high = (
            events.log_batches[f[event.LOG_FROM, row], 0],
            events.log_batches[f[event.LOG_TO, row] - 1, 1],
        )
        for i in range(f[event.RECORDS_FROM, row], f[event.RECORDS_TO, row]):
            first, last = max(events.records[i, 0], low), min(events.records[i, 1], high)
            if first <= last and _never_delivered(events.records, i):
                state.ranges[number, 0], state.ranges[number, 1] = first, last
                number += 1
    entered = state.ranges[:number]
    end, start = f[event.AFTER_END, row], f[event.AFTER_START, row]
    return Taken(1, acquired, has_entered, entered, end, start, _noticed(events, row))


@compiled
def _noticed(events: Events, row: int) -> Noticed:
    low, high = events.fields[event.RECORDS_FROM, row], events.fields[event.RECORDS_TO, row]
    return Noticed(int(low >= 0), events.records[low:high])


@compiled
def _never_delivered(records: Ints, index: int) -> bool:
    state, count, pending = records[index, 2], records[index, 3], records[index, 5]
    return bool(state == at.AVAILABLE and count == 0 and not pending)


@compiled
def _acknowledge(state: State, events: Events, row: int) -> int:
    f = events.fields
    batches = events.acks[f[event.ACKS_FROM, row] : f[event.ACKS_TO, row]]
    sent = AcknowledgedRuns(f[event.MEMBER, row], f[event.ENTRY, row], batches, events.types)
    status = f[event.RESULT, row]
    if status not in (at.S_INVALID_REQUEST, at.S_INVALID_RECORD_STATE):
        status = at.S_NONE
    answers = events.answers[f[event.WRITES_FROM, row] : f[event.WRITES_TO, row]]
    return acknowledge(state, sent, status, answers, f[event.AFTER_START, row])


@compiled
def _release(state: State, events: Events, row: int) -> int:
    f = events.fields
    answers = events.answers[f[event.WRITES_FROM, row] : f[event.WRITES_TO, row]]
    written = 0
    if answers.shape[0] > 0:
        written = int(answers[0, at.A_STATUS] == f[event.RESULT, row])  # Another is besides.
    return release(state, f[event.MEMBER, row], answers, written, f[event.AFTER_START, row])


@compiled
def _advance_time(state: State, events: Events, row: int) -> int:
    f = events.fields
    begin, end = f[event.WRITES_FROM, row], f[event.WRITES_TO, row]
    groups = Expiries(1, events.starts[begin:end], events.write_bounds[begin:end], events.written)
    _note_kept_back(events, row)
    answers, start = events.answers[begin:end], f[event.AFTER_START, row]
    return advance_time(state, f[event.MS, row], groups, answers, start)


@compiled
def _note_kept_back(events: Events, row: int) -> None:
    """Note of which writes of an event a record is recorded as pending.

    Below its start offset a write needs no batches of what it finishes; a record below the start
    offset after the event is kept back by another.
    """
    f = events.fields
    start = f[event.AFTER_START, row]
    low, high = f[event.RECORDS_FROM, row], f[event.RECORDS_TO, row]
    for write in range(f[event.WRITES_FROM, row], f[event.WRITES_TO, row]):
        keeps = _is_any_pending(events.records, low, high, start, events.starts[write] - 1)
        for batch in range(events.write_bounds[write, 0], events.write_bounds[write, 1]):
            first, last = events.written[batch, 0], events.written[batch, 1]
            keeps = keeps or _is_any_pending(events.records, low, high, first, last)
        events.answers[write, at.A_KEEPS_BACK] = keeps


@compiled
def _is_any_pending(records: Ints, low: int, high: int, first: int, last: int) -> bool:
    """Tell whether a recorded record between two offsets is pending; with ``low`` -1 none is."""
    record = seek_range(records, low, high, first) if low >= 0 else high
    while record < high and records[record, 0] <= last:
        if records[record, 5]:
            return True
        record += 1
    return False


@compiled
def _follow_clock(state: State, events: Events, row: int) -> int:
    """Move a real clock to the time of an event, before it happens; return a verdict."""
    f, h = events.fields, state.header
    passed = f[event.MS, row] if f[event.OP, row] == event.ADVANCE_TIME else 0
    h[at.PAUSED] = f[event.PAUSED, row]
    return pass_time(state, f[event.TIME, row] - passed - h[at.NOW])


@compiled
def _expire(state: State, events: Events, row: int) -> int:
    f = events.fields
    begin, end = f[event.LOG_FROM, row], f[event.LOG_TO, row]
    sort_rows(events.log_batches, begin, end)
    _note_kept_back(events, row)
    answers = events.answers[f[event.WRITES_FROM, row] : f[event.WRITES_TO, row]]
    due = at.UNSET if f[event.DUE, row] < 0 else f[event.DUE, row]
    start = f[event.AFTER_START, row]
    return expire(state, events.log_batches[begin:end], due, answers, start)


@compiled
def _finish_dead_letter(state: State, events: Events, row: int) -> int:
    f = events.fields
    begin, end = f[event.LOG_FROM, row], f[event.LOG_TO, row]
    sort_rows(events.log_batches, begin, end)
    _note_kept_back(events, row)
    answers = events.answers[f[event.WRITES_FROM, row] : f[event.WRITES_TO, row]]
    start = f[event.AFTER_START, row]
    return finish_dead_letter(state, events.log_batches[begin:end], answers, start)


LONGEST = ((_acquire, _expire, _finish_dead_letter), (_advance_time, _acknowledge))
"""What takes longest to compile, in two parts: functions of a state, events and a row of them."""
