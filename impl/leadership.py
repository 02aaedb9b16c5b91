"""A leader takes over; the log moves; an administrator alters settings or the start offset."""

from typing import NamedTuple

from impl import layout as at
from impl.durable import note_batch, replace_durable
from impl.jit import compiled, entry_point
from impl.log import learn_batch, learn_hole, truncate
from impl.reading import Noticed, notice
from impl.rows import Ints
from impl.runs import drop_all, drop_below, join, put, set_state
from impl.state import State
from impl.waiting import forget_waiting
from impl.window import finish
from impl.writes import fence, leave_in_doubt
from model.guards import Guard

NOT_INITIALIZED = at.verdict(Guard.PARTITION_IS_INITIALIZED)
_DELIVERABLE = (at.AVAILABLE, at.IN_PROGRESS)
_NO_RESET = at.verdict(at.NO_RESET)
_PAST_LOG = at.verdict(at.PAST_LOG)
_NOT_IN_LOG = at.verdict(at.NOT_IN_LOG)
_SHRINKING_LOG = at.verdict(at.SHRINKING_LOG)
_FALLING_STABLE = at.verdict(at.FALLING_STABLE)
_LONG_LOCK = at.verdict(at.LONG_LOCK)
_LONG_STALENESS = at.verdict(at.LONG_STALENESS)


class LeaderSettings(NamedTuple):
    """The configuration; ``reset`` only chooses a start offset. Times in ms."""

    delivery_limit: int
    max_locks: int
    lock_duration: int
    renewal: int
    dead_letters: int
    staleness: int
    extension: int
    grace: int
    committed_only: int
    reset: int


class LeaderStart(NamedTuple):
    """What a new leader reads: ``settings``, log, and durable state with its ``batches``.

    ``complete`` is UNSET where the read did not tell it. ``reset_offset`` is -1 where there is
    none; ``timed`` says whether the clock is a real one;
    ``batches`` has (first, last, state, delivery
    count) each. ``stable`` is the last stable offset; without ``log_known`` nobody recorded what
    becomes of the log.
    """

    settings: LeaderSettings
    log_start: int
    log_end: int
    stable: int
    log_known: int
    reset_offset: int
    time: int
    start: int
    complete: int
    state_epoch: int
    leader_epoch: int
    timed: int
    batches: Ints


@entry_point
def initialize(state: State, leader: LeaderStart, lenient: int, start: int) -> int:
    """Replace the state of the leader before (Kafka: SharePartition.maybeInitialize).

    Malformed durable state fails the share-partition; ``lenient``, what lies below the start offset
    is passed over. The owner of an IN_PROGRESS record is not durable, so the record becomes
    AVAILABLE. A start offset chosen at or after the log start offset begins there. Writes of a
    leader that nothing fences may become durable yet. Returns a verdict.
    """
    h = state.header
    result = _check_order(h, leader.settings)
    if result != at.FINE:
        return result
    first = leader.start
    if first < 0:
        if leader.settings.reset == at.BY_DURATION and leader.reset_offset < 0:
            return _NO_RESET
        first = _reset_start(leader)
    floor = first if lenient else at.NOWHERE
    if _is_malformed(h, leader.batches, first, floor):
        h[at.INITIALIZED] = h[at.UNMADE] = 0
        h[at.STATUS] = at.S_SERVER_ERROR
        return at.FINE
    _configure(h, leader.settings)
    _adopt(state, leader)
    h[at.START] = h[at.END] = first
    if (h[at.STATE_EPOCH], h[at.LEADER_EPOCH]) == (leader.state_epoch, leader.leader_epoch):
        leave_in_doubt(state)
    else:
        h[at.OUTSTANDING_TAIL] = h[at.PENDING_TAIL] = 0
    h[at.UNMADE] = 0
    drop_all(h)
    replace_durable(h, leader.start, max(leader.complete, at.NOBODY))
    h[at.STATE_EPOCH], h[at.LEADER_EPOCH] = leader.state_epoch, leader.leader_epoch
    h[at.DURABLE_WHOLE] = 1
    for i in range(leader.batches.shape[0]):
        last = leader.batches[i, 1]
        note_batch(h, state.journal, leader.batches, i)
        if last < first:
            note_limit(h, leader.batches[i, 3] + (leader.batches[i, 2] in _DELIVERABLE))
            continue
        row = put(h, state.runs, h[at.TAIL], max(leader.batches[i, 0], first), last)
        marked = leader.batches[i, 2] == at.IN_PROGRESS
        set_state(h, state.runs, row, at.AVAILABLE if marked else leader.batches[i, 2])
        state.runs[row, at.COUNT] = leader.batches[i, 3]
        note_limit(h, leader.batches[i, 3] + (state.runs[row, at.STATE] == at.AVAILABLE))
        h[at.END] = last + 1
    join(h, state.runs, first, h[at.END])
    if start >= leader.log_start > first:
        drop_below(h, state.runs, leader.log_start)
        h[at.START], h[at.END] = leader.log_start, max(h[at.END], leader.log_start)
    return finish(state, start)


@compiled
def _check_order(header: Ints, settings: LeaderSettings) -> int:
    """Check that marks, in a profile that has them, can only lengthen a lock, up to the longest."""
    if not header[at.MARKS]:
        return at.FINE
    if settings.lock_duration > settings.staleness:
        header[at.WHERE] = settings.lock_duration
        return _LONG_LOCK
    if settings.staleness > settings.extension:
        header[at.WHERE] = settings.staleness
        return _LONG_STALENESS
    return at.FINE


@compiled
def _configure(header: Ints, settings: LeaderSettings) -> None:
    header[at.DELIVERY_LIMIT], header[at.MAX_LOCKS] = settings.delivery_limit, settings.max_locks
    header[at.LOCK_DURATION], header[at.RENEWAL] = settings.lock_duration, settings.renewal
    header[at.GIVEN_UP] = at.ARCHIVING if settings.dead_letters else at.ARCHIVED
    header[at.STALENESS], header[at.EXTENSION] = settings.staleness, settings.extension
    header[at.GRACE], header[at.COMMITTED_ONLY] = settings.grace, settings.committed_only
    header[at.RESET] = settings.reset
    note_limit(header, settings.delivery_limit)


def settings_in_force(header: Ints) -> LeaderSettings:
    """Return the settings of the latest leader, or as they were altered since."""
    failed = header[at.GIVEN_UP] == at.ARCHIVING
    settings = LeaderSettings(*header[at.DELIVERY_LIMIT : at.RESET + 1].tolist())
    return settings._replace(dead_letters=int(failed))


@entry_point
def note_limit(header: Ints, limit: int) -> None:
    """Note a delivery count limit that was in force; no rule reads the highest."""
    header[at.HIGHEST_LIMIT] = max(header[at.HIGHEST_LIMIT], limit)


@entry_point
def alter_config(state: State, settings: LeaderSettings, start: int) -> int:
    """Replace the configuration; locks that are held keep their deadlines. Returns a verdict."""
    h = state.header
    h[at.STATUS] = at.S_NONE
    result = _check_order(h, settings)
    if result != at.FINE:
        return result
    _configure(h, settings)
    return finish(state, start)


@compiled
def _reset_start(leader: LeaderStart) -> int:
    if leader.settings.reset == at.EARLIEST:
        return leader.log_start
    return leader.reset_offset if leader.settings.reset == at.BY_DURATION else leader.log_end


@compiled
def _is_malformed(header: Ints, batches: Ints, start: int, floor: int) -> bool:
    """Tell whether a batch starts below the start offset or inside the one before.

    What lies below ``floor`` does not count. A state that the profile lacks is malformed too.
    """
    for i in range(batches.shape[0]):
        if batches[i, 1] < floor:
            continue
        if max(batches[i, 0], floor) < start or (
            batches[i, 2] == at.IN_PROGRESS and not header[at.MARKS]
        ):
            return True
        start = batches[i, 1] + 1
    return False


@compiled
def _adopt(state: State, leader: LeaderStart) -> None:
    """Take over the clock and the log; number acquisitions from 0 in a later leader epoch only."""
    h = state.header
    h[at.INITIALIZED], h[at.STATUS] = 1, at.S_NONE
    h[at.NOW], h[at.NEXT_DEADLINE] = leader.time, at.NEVER
    h[at.TIMED], h[at.LAST_EVENT] = leader.timed, leader.time
    if leader.leader_epoch > h[at.LEADER_EPOCH]:
        h[at.NEXT_ACQUISITION] = 0
    h[at.LOG_START], h[at.LOG_END] = leader.log_start, leader.log_end
    h[at.STABLE] = leader.stable
    h[at.LOG_KNOWN] |= leader.log_known  # No later leader takes back what the trace tells.
    truncate(state, leader.log_end)
    forget_waiting(h)


@entry_point
def produce(state: State, batches: Ints, log_end: int, stable: int, start: int) -> int:
    """Append log batches (first, last); the offsets between them hold no record.

    ``stable``: the last stable offset afterwards.
    """
    h, holes = state.header, state.holes
    h[at.STATUS] = at.S_NONE
    offset = h[at.LOG_END]
    if log_end < offset:
        h[at.WHERE] = log_end
        return _SHRINKING_LOG
    if not h[at.STABLE] <= stable <= log_end:
        h[at.WHERE] = stable
        return _FALLING_STABLE
    if batches.shape[0] > 0 and batches[0, 0] < offset:
        h[at.WHERE] = batches[0, 0]
        return _PAST_LOG
    for i in range(batches.shape[0]):
        learn_hole(h, holes, offset, batches[i, 0] - 1)
        learn_batch(state, batches[i, 0], batches[i, 1])
        offset = batches[i, 1] + 1
    learn_hole(h, holes, offset, log_end - 1)
    h[at.LOG_END], h[at.STABLE] = log_end, stable
    return finish(state, start)


@entry_point
def compact(state: State, ranges: Ints, noticed: Noticed, start: int) -> int:
    """Take the offsets of ranges (first, last) out of the log; some may be noticed at once."""
    h = state.header
    h[at.STATUS] = at.S_NONE
    number = ranges.shape[0]
    if number > 0 and ranges[number - 1, 1] >= h[at.LOG_END]:
        h[at.WHERE] = ranges[number - 1, 1]
        return _NOT_IN_LOG
    for i in range(number):
        learn_hole(h, state.holes, ranges[i, 0], ranges[i, 1])
    notice(state, noticed, start)
    return finish(state, start)


@entry_point
def advance_log_start(state: State, log_start: int, start: int) -> int:
    """Move the log start offset; records below it are gone (Kafka: updateCacheAndOffsets)."""
    h = state.header
    h[at.STATUS] = at.S_NONE
    h[at.LOG_START], h[at.LOG_END] = max(h[at.LOG_START], log_start), max(h[at.LOG_END], log_start)
    h[at.STABLE] = max(h[at.STABLE], log_start)
    if log_start > h[at.START]:
        drop_below(h, state.runs, log_start)
        h[at.START] = log_start
        h[at.END] = max(h[at.END], log_start)
    return finish(state, start)


@entry_point
def reset_offset(state: State, offset: int, start: int) -> int:
    """Alter the start offset of an empty group (KIP-932, AlterShareGroupOffsets)."""
    h = state.header
    h[at.STATUS] = at.S_NONE
    busy = h[at.COUNTS + at.ACQUIRED] + h[at.COUNTS + at.IN_PROGRESS] > 0
    for i in range(h[at.OUTSTANDING_TAIL]):
        busy |= state.outstanding[i, at.O_CALL] > at.NO_CALL
    if busy:
        h[at.STATUS] = at.S_NON_EMPTY_GROUP
        return finish(state, start)
    epoch = h[at.STATE_EPOCH] + 1
    replace_durable(h, offset, at.NOTHING)
    h[at.STATE_EPOCH] = epoch
    h[at.UNMADE] = 0
    fence(state)
    drop_all(h)
    forget_waiting(h)
    h[at.START] = h[at.END] = offset
    return finish(state, start)
