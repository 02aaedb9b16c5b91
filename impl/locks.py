"""When acquisition locks end, and whether a clock has left one too long."""

from impl import layout as at
from impl.jit import compiled
from impl.rows import Ints
from impl.runs import is_held
from impl.state import State
from impl.window import later
from model.guards import Guard

TOO_EARLY = at.verdict(Guard.LOCK_LASTS_ITS_DURATION)
TOO_LATE = at.verdict(Guard.LOCK_ENDS_ON_TIME)


@compiled
def check_claim(header: Ints) -> int:
    """Return the verdict on when the locks end that an operation says it grants.

    A lock lasts its duration from a time between the event before, where the clock is a real one,
    and this one.
    """
    claim = header[at.CLAIM]
    if claim == at.UNSET:
        return at.FINE
    begun = header[at.LAST_EVENT] if header[at.TIMED] else header[at.NOW]
    if claim - header[at.LOCK_DURATION] < begun:
        return TOO_EARLY
    return TOO_LATE if claim - header[at.LOCK_DURATION] > header[at.NOW] else at.FINE


@compiled
def lock_end(header: Ints) -> int:
    """Return the last ms of the locks that an operation grants or renews."""
    if header[at.CLAIM] != at.UNSET:
        # The event before may be long ago; the lock was granted shortly before now all the same.
        earliest = later(header[at.NOW] - header[at.GRANT], header[at.LOCK_DURATION])
        claimed: int = max(header[at.CLAIM] - 1, earliest)
        return claimed
    return later(header[at.NOW], header[at.LOCK_DURATION])


@compiled
def pass_time(state: State, milliseconds: int) -> int:
    """Move a real clock; return the verdict on the locks that no timer has ended since.

    NEXT_DEADLINE is at most the last ms of every lock that is held.
    """
    h, runs = state.header, state.runs
    h[at.NOW] += milliseconds
    over = h[at.NOW] - h[at.SWEEP] - h[at.PAUSED] - 1
    if h[at.NEXT_DEADLINE] >= over:
        return at.FINE
    h[at.NEXT_DEADLINE] = at.NEVER
    for i in range(h[at.HEAD], h[at.TAIL]):
        if is_held(runs, i):
            h[at.NEXT_DEADLINE] = min(h[at.NEXT_DEADLINE], runs[i, at.DEADLINE])
            if runs[i, at.DEADLINE] < over:
                h[at.WHERE] = runs[i, at.FIRST]
                return TOO_LATE
    return at.FINE
