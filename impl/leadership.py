"""A leader takes over; the log moves; an administrator alters settings or the start offset."""

from typing import NamedTuple

from impl.durable import note_batch, replace_durable
from impl.jit import compiled, entry_point
from impl.layout import (
    ACQUIRED,
    ARCHIVED,
    ARCHIVING,
    AVAILABLE,
    BY_DURATION,
    COMMITTED_ONLY,
    COUNT,
    COUNTS,
    DELIVERY_LIMIT,
    EARLIEST,
    END,
    EXTENSION,
    FINE,
    GIVEN_UP,
    GRACE,
    HOLES_HEAD,
    HOLES_TAIL,
    IN_PROGRESS,
    INITIALIZED,
    LEADER_EPOCH,
    LOCK_DURATION,
    LOG_END,
    LONG_LOCK,
    LONG_STALENESS,
    MARKS,
    MAX_LOCKS,
    NEVER,
    NEXT_ACQUISITION,
    NEXT_DEADLINE,
    NO_CALL,
    NO_RESET,
    NOTHING,
    NOW,
    O_CALL,
    OUTSTANDING_TAIL,
    PAST_LOG,
    PENDING_TAIL,
    RENEWAL,
    S_NON_EMPTY_GROUP,
    S_NONE,
    S_SERVER_ERROR,
    SHRINKING_LOG,
    STALENESS,
    START,
    STATE_EPOCH,
    STATUS,
    TAIL,
    WHERE,
    verdict,
)
from impl.rows import Ints
from impl.runs import drop_all, drop_below, join, put, set_state
from impl.state import State
from impl.window import finish, learn_hole

__all__ = [
    "Leader",
    "Settings",
    "advance_log_start",
    "alter_config",
    "initialize",
    "produce",
    "reset_offset",
]

_NO_RESET = verdict(NO_RESET)
_PAST_LOG = verdict(PAST_LOG)
_SHRINKING_LOG = verdict(SHRINKING_LOG)
_LONG_LOCK = verdict(LONG_LOCK)
_LONG_STALENESS = verdict(LONG_STALENESS)


class Settings(NamedTuple):
    """The configuration, as far as it matters after a start offset was found. Times in ms."""

    delivery_limit: int
    max_locks: int
    lock_duration: int
    renewal: int
    dead_letters: int
    staleness: int
    extension: int
    grace: int
    committed_only: int


class Leader(NamedTuple):
    """What a new leader finds: ``settings``, log, and durable state with its ``batches``.

    ``reset_offset`` is -1 where there is none; ``batches`` has (first, last, state, delivery
    count) each.
    """

    settings: Settings
    reset: int
    log_start: int
    log_end: int
    reset_offset: int
    time: int
    start: int
    complete: int
    state_epoch: int
    leader_epoch: int
    batches: Ints


@entry_point
def initialize(state: State, leader: Leader, start: int) -> int:
    """Replace the state of the leader before (Kafka: SharePartition.maybeInitialize).

    Durable state that is malformed fails the share-partition. Who held a record that was
    IN_PROGRESS is not durable, so it is AVAILABLE. Returns a verdict.
    """
    h = state.header
    result = _check_order(h, leader.settings)
    if result != FINE:
        return result
    first = leader.start
    if first < 0:
        if leader.reset == BY_DURATION and leader.reset_offset < 0:
            return _NO_RESET
        first = _reset_start(leader)
    if _is_malformed(h, leader.batches, first):
        h[INITIALIZED] = 0
        h[STATUS] = S_SERVER_ERROR
        return FINE
    _configure(h, leader.settings)
    _adopt(state, leader)
    h[START] = h[END] = first
    h[OUTSTANDING_TAIL] = h[PENDING_TAIL] = 0
    drop_all(h)
    replace_durable(h, leader.start, leader.complete)
    h[STATE_EPOCH], h[LEADER_EPOCH] = leader.state_epoch, leader.leader_epoch
    for i in range(leader.batches.shape[0]):
        last = leader.batches[i, 1]
        row = put(h, state.runs, h[TAIL], leader.batches[i, 0], last)
        marked = leader.batches[i, 2] == IN_PROGRESS
        set_state(h, state.runs, row, AVAILABLE if marked else leader.batches[i, 2])
        state.runs[row, COUNT] = leader.batches[i, 3]
        note_batch(h, state.journal, leader.batches, i)
        h[END] = last + 1
    join(h, state.runs, first, h[END])
    return finish(state, start)


@compiled
def _check_order(header: Ints, settings: Settings) -> int:
    """Check that where there are marks, they can only lengthen a lock, up to the longest."""
    if not header[MARKS]:
        return FINE
    if settings.lock_duration > settings.staleness:
        header[WHERE] = settings.lock_duration
        return _LONG_LOCK
    if settings.staleness > settings.extension:
        header[WHERE] = settings.staleness
        return _LONG_STALENESS
    return FINE


@compiled
def _configure(header: Ints, settings: Settings) -> None:
    header[DELIVERY_LIMIT], header[MAX_LOCKS] = settings.delivery_limit, settings.max_locks
    header[LOCK_DURATION], header[RENEWAL] = settings.lock_duration, settings.renewal
    header[GIVEN_UP] = ARCHIVING if settings.dead_letters else ARCHIVED
    header[STALENESS], header[EXTENSION] = settings.staleness, settings.extension
    header[GRACE], header[COMMITTED_ONLY] = settings.grace, settings.committed_only


@entry_point
def alter_config(state: State, settings: Settings, start: int) -> int:
    """Replace the configuration; locks that are held keep their deadlines. Returns a verdict."""
    h = state.header
    h[STATUS] = S_NONE
    result = _check_order(h, settings)
    if result != FINE:
        return result
    _configure(h, settings)
    return finish(state, start)


@compiled
def _reset_start(leader: Leader) -> int:
    if leader.reset == EARLIEST:
        return leader.log_start
    return leader.reset_offset if leader.reset == BY_DURATION else leader.log_end


@compiled
def _is_malformed(header: Ints, batches: Ints, start: int) -> bool:
    """Tell whether a batch starts below the start offset or inside the one before.

    A state that the profile does not know is malformed too.
    """
    for i in range(batches.shape[0]):
        if batches[i, 0] < start or (batches[i, 2] == IN_PROGRESS and not header[MARKS]):
            return True
        start = batches[i, 1] + 1
    return False


@compiled
def _adopt(state: State, leader: Leader) -> None:
    """Take over the clock and the log."""
    h, holes = state.header, state.holes
    h[INITIALIZED], h[STATUS] = 1, S_NONE
    h[NOW], h[NEXT_DEADLINE], h[NEXT_ACQUISITION] = leader.time, NEVER, 0
    h[LOG_END] = leader.log_end
    while h[HOLES_TAIL] > h[HOLES_HEAD] and holes[h[HOLES_TAIL] - 1, 0] >= leader.log_end:
        h[HOLES_TAIL] -= 1
    if h[HOLES_TAIL] > h[HOLES_HEAD]:
        last = h[HOLES_TAIL] - 1
        holes[last, 1] = min(holes[last, 1], leader.log_end - 1)


@entry_point
def produce(state: State, batches: Ints, log_end: int, start: int) -> int:
    """Append log batches (first, last); what lies between them is not in the log."""
    h, holes = state.header, state.holes
    h[STATUS] = S_NONE
    at = h[LOG_END]
    if log_end < at:
        h[WHERE] = log_end
        return _SHRINKING_LOG
    if batches.shape[0] > 0 and batches[0, 0] < at:
        h[WHERE] = batches[0, 0]
        return _PAST_LOG
    for i in range(batches.shape[0]):
        learn_hole(h, holes, at, batches[i, 0] - 1)
        at = batches[i, 1] + 1
    learn_hole(h, holes, at, log_end - 1)
    h[LOG_END] = log_end
    return finish(state, start)


@entry_point
def advance_log_start(state: State, log_start: int, start: int) -> int:
    """Move the log start offset; records below it are gone (Kafka: updateCacheAndOffsets)."""
    h = state.header
    h[STATUS] = S_NONE
    h[LOG_END] = max(h[LOG_END], log_start)
    if log_start > h[START]:
        drop_below(h, state.runs, log_start)
        h[START] = log_start
        h[END] = max(h[END], log_start)
    return finish(state, start)


@entry_point
def reset_offset(state: State, offset: int, start: int) -> int:
    """Alter the start offset of an empty group (KIP-932, AlterShareGroupOffsets)."""
    h = state.header
    h[STATUS] = S_NONE
    busy = h[COUNTS + ACQUIRED] + h[COUNTS + IN_PROGRESS] > 0
    for i in range(h[OUTSTANDING_TAIL]):
        busy |= state.outstanding[i, O_CALL] != NO_CALL
    if busy:
        h[STATUS] = S_NON_EMPTY_GROUP
        return finish(state, start)
    epoch = h[STATE_EPOCH] + 1
    replace_durable(h, offset, NOTHING)
    h[STATE_EPOCH] = epoch
    h[OUTSTANDING_TAIL] = h[PENDING_TAIL] = 0
    drop_all(h)
    h[START] = h[END] = offset
    return finish(state, start)
