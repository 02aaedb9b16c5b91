"""The replay of recorded events, compiled: each is checked, applied and compared."""

from typing import NamedTuple

from impl.aborted import archive_aborted
from impl.acknowledge import Acknowledgement, acknowledge, release
from impl.acquire import Taken, acquire, skip_acquire
from impl.compare import compare, differs_from_durable
from impl.dead_letter import finish_dead_letter
from impl.durable import merge_journal
from impl.events import (
    ACKNOWLEDGE,
    ACKS_FROM,
    ACKS_TO,
    ACQUIRE,
    ACQUIRED_FROM,
    ACQUIRED_TO,
    ADVANCE_LOG_START,
    ADVANCE_TIME,
    AFTER_END,
    AFTER_START,
    ALTER_CONFIG,
    ARCHIVE_ABORTED,
    ARG_LOG_END,
    ARG_LOG_START,
    ARG_OFFSET,
    COMPLETE_WRITE,
    ENTRY,
    FETCH_OFFSET,
    FINISH_DEAD_LETTER,
    INITIALIZE,
    LOG_FROM,
    LOG_TO,
    MARK_IN_PROGRESS,
    MAX_RECORDS,
    MEMBER,
    MODE,
    MS,
    OP,
    PRODUCE,
    RECORDS_FROM,
    RECORDS_TO,
    RELEASE,
    RESET_OFFSET,
    RESULT,
    SEQ,
    TIME,
    WRITE_ID,
    WRITES_FROM,
    WRITES_TO,
    Events,
)
from impl.expiry import Expiries, advance_time
from impl.jit import compiled, entry_point
from impl.layout import (
    ANSWERED_CALL,
    AVAILABLE,
    CALL,
    COUNTS,
    END,
    FINE,
    INITIALIZED,
    JOURNAL_TAIL,
    LOG_END,
    NO_CALL,
    NO_EVENT,
    NOTHING,
    NOWHERE,
    OTHER_CLOCK,
    S_INVALID_RECORD_STATE,
    S_INVALID_REQUEST,
    S_NONE,
    SEQ_GAP,
    START,
    STATES,
    WHERE,
    verdict,
)
from impl.leadership import (
    Leader,
    Settings,
    advance_log_start,
    alter_config,
    initialize,
    produce,
    reset_offset,
)
from impl.policy import Fetch
from impl.progress import Mark, mark_in_progress
from impl.rows import Ints, sort_rows
from impl.state import State, has_room, rows_needed
from impl.validity import is_event
from impl.window import complete_count
from impl.writes import complete_write
from model.guards import Difference, Guard

__all__ = ["LEADER_COLUMNS", "POSITION", "RESULTS", "Leaders", "Stop", "replay_rows"]

_NOT_INITIALIZED = verdict(Guard.PARTITION_IS_INITIALIZED)
_PERSISTED = verdict(Difference.PERSISTED)
_NO_EVENT = verdict(NO_EVENT)
_SEQ_GAP = verdict(SEQ_GAP)
_OTHER_CLOCK = verdict(OTHER_CLOCK)

# Columns of the results: the state after each event, and how many records are in each state.
R_START, R_END, R_LAG, R_COUNTS = range(4)
RESULTS = R_COUNTS + STATES

# The last columns of the leaders, after the settings and the other single values.
_BATCHES_FROM, _BATCHES_TO = 18, 19
LEADER_COLUMNS = 20

# Where a replay is, in the order in which it is handed over.
P_ROW, P_LEADER, P_SEQ, P_CLOCK = range(4)
POSITION = (0, 0, -1, 0)

_LONG_JOURNAL = 4096


class Leaders(NamedTuple):
    """What the leaders found that take over in these events, and altered settings, in order.

    ``values``: the single values of ``Leader``, one row each, of which the first are its settings,
    and the bounds of its ``batches``.
    """

    values: Ints
    batches: Ints


class Stop(NamedTuple):
    """Where a replay stopped.

    ``row``: the first event that was not replayed. Why: the ``verdict`` on it, or that the state
    has no ``room`` for so many rows; both are 0 at the end.
    """

    row: int
    verdict: int
    room: int


@entry_point
def replay_rows(
    state: State, events: Events, leaders: Leaders, results: Ints, position: Ints
) -> Stop:
    """Replay events from ``position`` to the first with a verdict, or to the last one.

    ``position`` has the next row, the next of the leaders, the next seq (-1: any) and the clock
    (ms); it is moved on. ``results`` (events, RESULTS) is filled for what was replayed.
    """
    h, f = state.header, events.fields
    for row in range(position[P_ROW], results.shape[0]):
        reason = _check(events, row, position)
        if reason != FINE:
            return Stop(row, reason, NOTHING)
        rows = rows_needed(h, _ranges_named(events, leaders, position))
        if not has_room(state, rows):
            return Stop(row, FINE, rows)
        before = h[START]
        reason = _step(state, events, leaders, position)
        complete = complete_count(state)
        if reason == FINE:
            reason = compare(state, events, row, before, complete)
        if reason != FINE:
            return Stop(row, reason, NOTHING)
        _note(h, results, row, complete)
        position[P_ROW], position[P_SEQ], position[P_CLOCK] = row + 1, f[SEQ, row] + 1, f[TIME, row]
    return Stop(results.shape[0], FINE, NOTHING)


@compiled
def _check(events: Events, row: int, position: Ints) -> int:
    """Return whether a row holds an event whose seq and clock follow those before it."""
    f = events.fields
    if not is_event(events, row):
        return _NO_EVENT
    if position[P_SEQ] >= 0 and f[SEQ, row] != position[P_SEQ]:
        return _SEQ_GAP
    if f[OP, row] == INITIALIZE:
        return FINE
    passed = f[MS, row] if f[OP, row] == ADVANCE_TIME else 0
    return FINE if f[TIME, row] - passed == position[P_CLOCK] else _OTHER_CLOCK


@compiled
def _note(header: Ints, results: Ints, row: int, complete: int) -> None:
    results[row, R_START], results[row, R_END] = header[START], header[END]
    results[row, R_LAG] = header[LOG_END] - header[START] - complete
    for state in range(STATES):
        results[row, R_COUNTS + state] = header[COUNTS + state]


@compiled
def _ranges_named(events: Events, leaders: Leaders, position: Ints) -> int:
    """Return how many ranges of offsets an event names at most."""
    f, row = events.fields, position[P_ROW]
    number = f[LOG_TO, row] - f[LOG_FROM, row] + f[ACQUIRED_TO, row] - f[ACQUIRED_FROM, row]
    number += f[RECORDS_TO, row] - f[RECORDS_FROM, row]
    for i in range(f[ACKS_FROM, row], f[ACKS_TO, row]):
        number += 1 if f[OP, row] == MARK_IN_PROGRESS else events.acks[i, 3] - events.acks[i, 2]
    for i in range(f[WRITES_FROM, row], f[WRITES_TO, row]):
        number += events.write_bounds[i, 1] - events.write_bounds[i, 0]
    if f[OP, row] == INITIALIZE:
        leader = position[P_LEADER]
        number += leaders.values[leader, _BATCHES_TO] - leaders.values[leader, _BATCHES_FROM]
    return int(number)


@compiled
def _settings(leaders: Leaders, index: int) -> Settings:
    v = leaders.values[index]
    return Settings(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8])


@compiled
def _leader(leaders: Leaders, index: int) -> Leader:
    v = leaders.values[index]
    batches = leaders.batches[v[_BATCHES_FROM] : v[_BATCHES_TO]]
    settings = _settings(leaders, index)
    return Leader(settings, v[9], v[10], v[11], v[12], v[13], v[14], v[15], v[16], v[17], batches)


@compiled
def _take_over(state: State, events: Events, leaders: Leaders, position: Ints) -> int:
    """Initialize, and tell whether the leader read what the share coordinator holds."""
    merge_journal(state)
    leader = _leader(leaders, position[P_LEADER])
    position[P_LEADER] += 1
    state.header[ANSWERED_CALL] = NO_CALL
    differs = differs_from_durable(state, leader)
    result = initialize(state, leader, events.fields[AFTER_START, position[P_ROW]])
    return _PERSISTED if result == FINE and differs else result


@compiled
def _step(state: State, events: Events, leaders: Leaders, position: Ints) -> int:  # noqa: C901, PLR0911, PLR0912 - one case for each operation
    """Apply the event at ``position`` with what was chosen in it; return a verdict."""
    h, f, row = state.header, events.fields, position[P_ROW]
    h[WHERE] = NOWHERE
    if f[OP, row] == INITIALIZE:
        return _take_over(state, events, leaders, position)
    if not h[INITIALIZED]:
        return _NOT_INITIALIZED
    if h[JOURNAL_TAIL] > _LONG_JOURNAL:
        merge_journal(state)
    h[CALL], h[ANSWERED_CALL] = f[SEQ, row], NO_CALL
    op, start = f[OP, row], f[AFTER_START, row]
    if op == ACQUIRE:
        return acquire(state, _fetch(events, row), _taken(state, events, row))
    if op == ACKNOWLEDGE:
        return _acknowledge(state, events, row)
    if op == ADVANCE_TIME:
        return _advance_time(state, events, row)
    if op == PRODUCE:
        batches = events.log_batches[f[LOG_FROM, row] : f[LOG_TO, row]]
        return produce(state, batches, f[ARG_LOG_END, row], start)
    if op == RELEASE:
        answers = events.answers[f[WRITES_FROM, row] : f[WRITES_TO, row]]
        return release(state, f[MEMBER, row], answers, start)
    if op == COMPLETE_WRITE:
        return complete_write(state, f[WRITE_ID, row], f[RESULT, row], start)
    if op == ADVANCE_LOG_START:
        return advance_log_start(state, f[ARG_LOG_START, row], start)
    if op == RESET_OFFSET:
        return reset_offset(state, f[ARG_OFFSET, row], start)
    if op == MARK_IN_PROGRESS:
        batches = events.acks[f[ACKS_FROM, row] : f[ACKS_TO, row]]
        return mark_in_progress(state, Mark(f[MEMBER, row], batches), start)
    if op == FINISH_DEAD_LETTER:
        return _finish_dead_letter(state, events, row)
    if op == ARCHIVE_ABORTED:
        ranges = events.log_batches[f[LOG_FROM, row] : f[LOG_TO, row]]
        return archive_aborted(state, ranges, start)
    if op == ALTER_CONFIG:
        position[P_LEADER] += 1
        return alter_config(state, _settings(leaders, position[P_LEADER] - 1), start)
    return skip_acquire(state, start)


@compiled
def _fetch(events: Events, row: int) -> Fetch:
    f = events.fields
    return Fetch(
        f[MEMBER, row],
        f[MODE, row],
        f[MAX_RECORDS, row],
        f[FETCH_OFFSET, row],
        events.log_batches[f[LOG_FROM, row] : f[LOG_TO, row]],
    )


@compiled
def _taken(state: State, events: Events, row: int) -> Taken:
    """Return what was taken, and what entered: records that were read and never delivered."""
    f = events.fields
    sort_rows(events.acquired, f[ACQUIRED_FROM, row], f[ACQUIRED_TO, row])
    acquired = events.acquired[f[ACQUIRED_FROM, row] : f[ACQUIRED_TO, row]]
    has_entered = 1 if f[RECORDS_FROM, row] >= 0 else 0
    number = 0
    if f[LOG_FROM, row] < f[LOG_TO, row]:
        low, high = (
            events.log_batches[f[LOG_FROM, row], 0],
            events.log_batches[f[LOG_TO, row] - 1, 1],
        )
        for i in range(f[RECORDS_FROM, row], f[RECORDS_TO, row]):
            first, last = max(events.records[i, 0], low), min(events.records[i, 1], high)
            if first <= last and _never_delivered(events.records, i):
                state.ranges[number, 0], state.ranges[number, 1] = first, last
                number += 1
    entered = state.ranges[:number]
    return Taken(1, acquired, has_entered, entered, f[AFTER_END, row], f[AFTER_START, row])


@compiled
def _never_delivered(records: Ints, index: int) -> bool:
    state, count, pending = records[index, 2], records[index, 3], records[index, 5]
    return bool(state == AVAILABLE and count == 0 and not pending)


@compiled
def _acknowledge(state: State, events: Events, row: int) -> int:
    f = events.fields
    batches = events.acks[f[ACKS_FROM, row] : f[ACKS_TO, row]]
    sent = Acknowledgement(f[MEMBER, row], f[ENTRY, row], batches, events.types)
    status = f[RESULT, row]
    if status not in (S_INVALID_REQUEST, S_INVALID_RECORD_STATE):
        status = S_NONE
    answers = events.answers[f[WRITES_FROM, row] : f[WRITES_TO, row]]
    return acknowledge(state, sent, status, answers, f[AFTER_START, row])


@compiled
def _advance_time(state: State, events: Events, row: int) -> int:
    f = events.fields
    begin, end = f[WRITES_FROM, row], f[WRITES_TO, row]
    groups = Expiries(1, events.starts[begin:end], events.write_bounds[begin:end], events.written)
    return advance_time(state, f[MS, row], groups, events.answers[begin:end], f[AFTER_START, row])


@compiled
def _finish_dead_letter(state: State, events: Events, row: int) -> int:
    f = events.fields
    begin, end = f[LOG_FROM, row], f[LOG_TO, row]
    sort_rows(events.log_batches, begin, end)
    answers = events.answers[f[WRITES_FROM, row] : f[WRITES_TO, row]]
    return finish_dead_letter(state, events.log_batches[begin:end], answers, f[AFTER_START, row])
