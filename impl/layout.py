"""The columns of a share-partition's arrays, and the numbers for states, statuses and verdicts.

Compiled code works on whole numbers only: rows of int64 columns and a header of single values.
Other modules import this one as ``at``: ``header[at.START]``, ``runs[i, at.STATE]``.
"""

from collections.abc import Iterator
from enum import Enum
from typing import cast

import attrs
import numpy as np

from model.checks import MAX_INT64
from model.errors import ErrorCode
from model.guards import Difference, Guard
from model.states import RecordState


def number(value: int) -> int:
    """Return a constant of the type int64.

    Numba would compile each function again that a constant of the type int is passed to.
    """
    return cast("int", np.int64(value))


def numbers(count: int) -> Iterator[int]:
    """Return as many constants, from 0."""
    return map(number, range(count))


MAX = NEVER = number(MAX_INT64)
"""The largest number; a deadline that never passes."""
LOWEST = FIRST_GROUP = number(0)
"""The lowest offset, and the first group of expired locks."""
UNSET = number(-2)
"""A choice left to the policy; -1 would not do, as a trace can contain it."""
NOBODY = NO_WRITE = NO_CALL = NOWHERE = NO_NUMBER = NOT_MARKED = UNKNOWN = number(-1)
"""No owner, no outstanding write, no call that waits for one, no offset, no acquisition number,
no time of a mark, no known delivery complete count."""
UNTOLD = number(-2)
"""Less the number of a checkpoint: the call is some one before that, which told its write."""
NOTHING = number(0)
UP, DOWN = number(1), number(-1)

AVAILABLE = number(RecordState.AVAILABLE)
ACQUIRED = number(RecordState.ACQUIRED)
ACKNOWLEDGED = number(RecordState.ACKNOWLEDGED)
ARCHIVING = number(RecordState.ARCHIVING)
ARCHIVED = number(RecordState.ARCHIVED)
IN_PROGRESS = number(RecordState.IN_PROGRESS)
STATES = 6

BATCH_OPTIMIZED, RECORD_LIMIT = range(2)
EARLIEST, LATEST, BY_DURATION = range(3)
GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)

# Columns of the tracked records. A run is a maximal range of offsets whose other columns are
# equal. DEADLINE is the last ms of the acquisition lock. WRITE numbers the outstanding write of a
# pending run; OWNER and DEADLINE of a pending run are what a roll back restores, so they are kept
# while nobody can see them.
FIRST, LAST, STATE, COUNT, OWNER, DEADLINE, WRITE, RESTORE = range(8)
RUN_COLUMNS = 8

# Further columns that the runs have where the profile knows IN_PROGRESS, and no others: the number
# of the acquisition, and the times of the first and the latest mark, NOT_MARKED while ACQUIRED.
# Other profiles must not touch them: nothing checks bounds.
ACQUISITION, PROGRESS_START, LAST_PROGRESS = range(8, 11)
MARKED_RUN_COLUMNS = 11

# What a pending run becomes if its write fails after the acquisition lock would have expired.
TO_AVAILABLE, TO_GIVEN_UP, VANISHED = range(3)

# Columns of writes made by an operation: FROM and TO delimit its rows of the state batches, GROUP
# says which group of expired locks it reports.
W_ID, W_START, W_COMPLETE, W_STATUS, W_FROM, W_TO, W_GROUP = range(7)
WRITE_COLUMNS = 7

# Columns of an outstanding write. BATCHES counts its rows of the pending state batches. MADE_AFTER
# is the call after which START and COMPLETE are read, MADE once they are and MADE_NOW where the
# latest call did it; SAID_START and SAID_COMPLETE are what a recording has for them, or UNSAID:
# a write with a SAID_START was seen. CALL may be UNTOLD less a checkpoint. FIRST and LAST enclose
# the runs that wait for it. One that was seen stays, as DOUBTFUL, when it fails: it may be durable.
O_ID, O_SERIAL, O_CALL, O_START, O_COMPLETE, O_BATCHES, O_MADE_AFTER, O_SAID_START, \
    O_SAID_COMPLETE, O_FIRST, O_LAST = range(11)  # fmt: skip
OUTSTANDING_COLUMNS = 11
DOUBTFUL = number(-1)
MADE, MADE_NOW = number(-1), number(-2)
UNSAID = number(-(2**63))

# Columns of an answer to a write: FROM and TO delimit what was seen of it in ``written``.
# KEEPS_BACK: what expires or is a dead letter stays pending on it.
A_ID, A_STATUS, A_MADE_AFTER, A_SAID_START, A_SAID_COMPLETE, A_FROM, A_TO, A_KEEPS_BACK = range(8)
ANSWER_COLUMNS = 8

# The header: single values.
(
    HEAD, TAIL, HOLES_HEAD, HOLES_TAIL, LOG_HEAD, LOG_TAIL,
    OUTSTANDING_TAIL, PENDING_TAIL, DURABLE_TAIL, JOURNAL_TAIL,
    ACQUIRED_TAIL, MARKED_TAIL, WRITES_TAIL, BATCHES_TAIL, RANGES_TAIL,
    LOG_START, LOG_END, STABLE, LOG_KNOWN, WAITING_TAIL,
    STUCK_OFFSET, STUCK_FETCHES,
    LATE_WRITE, LATE_WRITE_SINCE, LATE_LETTER, LATE_LETTER_SINCE, LATE_LOG, LATE_LOG_SINCE,
    ANSWERED_WITHIN, ANSWERED_WITHIN_MS,
    INITIALIZED, START, END, NOW, NEXT_DEADLINE, NEXT_WRITE, NEXT_SERIAL, NEXT_ACQUISITION,
    HIGHEST_LIMIT,
    DELIVERY_LIMIT, MAX_LOCKS, LOCK_DURATION, RENEWAL, GIVEN_UP, STALENESS, EXTENSION, GRACE,
    COMMITTED_ONLY, RESET, MARKS, RENEWAL_SURVIVES, SHARED_OFFSET, MAY_OVERSHOOT, FREE_GAP,
    COUNTS_DURABLE, MAY_EXCEED, PASSED_RELEASED, OFFERED_WITHIN, SWEEP, PAUSED, GRANT, TIMED,
    LAST_EVENT, CLAIM, UNMADE, DURABLE_WHOLE, KEPT_LOSES_COUNT, UNKNOWN_KEEPS_COUNT,
    DURABLE_KNOWN, DURABLE_START, DURABLE_COMPLETE, STATE_EPOCH, LEADER_EPOCH,
    STATUS, WHERE, ANSWERED_CALL, ANSWERED_STATUS, CALL, NUMBER,
    COUNTS,
) = range(80)  # fmt: skip
HEADER_SIZE = COUNTS + STATES

STATUSES = tuple(ErrorCode)
S_NONE = number(STATUSES.index(ErrorCode.NONE))
S_PENDING = number(STATUSES.index(ErrorCode.PENDING))
S_SERVER_ERROR = STATUSES.index(ErrorCode.UNKNOWN_SERVER_ERROR)
S_INVALID_REQUEST = STATUSES.index(ErrorCode.INVALID_REQUEST)
S_INVALID_RECORD_STATE = STATUSES.index(ErrorCode.INVALID_RECORD_STATE)
S_NON_EMPTY_GROUP = STATUSES.index(ErrorCode.NON_EMPTY_GROUP)


@attrs.frozen
class Invalid:
    """A value that the state or the event before refuses: its field, and what is allowed."""

    name: str
    allowed: str


PAST_LOG = Invalid("log_batches", "batches at or after the log end offset")
NOT_IN_LOG = Invalid("ranges", "offsets below the log end offset")
FALLING_STABLE = Invalid("last_stable_offset", "at least the last stable offset so far")
SHRINKING_LOG = Invalid("log_end_offset", "at least the log end offset so far")
NO_RESET = Invalid("reset_offset", "an offset, since by_duration is what decides the start offset")
TIME_OVERFLOW = Invalid("ms", "a time that keeps the clock within 64 bits")
WRITE_TWICE = Invalid("writes.id", "an id that no outstanding write has")
LONG_LOCK = Invalid("record_lock_duration_ms", "at most in_progress_staleness_threshold_ms")
LONG_STALENESS = Invalid(
    "in_progress_staleness_threshold_ms", "at most in_progress_max_lock_extension_ms"
)
NO_EVENT = Invalid("row", "an event")
SEQ_GAP = Invalid("seq", "one more than the seq before")
OTHER_CLOCK = Invalid("time_ms", "the clock after the event")
NO_CHECKPOINT = Invalid("operation", "an operation of a profile without IN_PROGRESS")
NO_MARKS = Invalid("operation", "an operation of the profile, which has no IN_PROGRESS")

VERDICTS: tuple[Enum | Invalid | None, ...] = (
    None, *Guard, *Difference, PAST_LOG, NOT_IN_LOG, FALLING_STABLE, SHRINKING_LOG, NO_RESET,
    TIME_OVERFLOW, WRITE_TWICE, LONG_LOCK, LONG_STALENESS, NO_MARKS, NO_CHECKPOINT, NO_EVENT,
    SEQ_GAP, OTHER_CLOCK,
)  # fmt: skip
FINE = 0


def verdict(of: Enum | Invalid) -> int:
    """Return the number that compiled code uses for a guard, a difference or a refusal."""
    return VERDICTS.index(of)
