"""A leader tells its whole state: compared with ours, or taken over where ours is not known.

Checkpoints are rare, so this is plain Python over the arrays, for both faces of ``impl``.
"""

from impl import layout as at
from impl.durable import merge_journal
from impl.encode import Members, settings_of
from impl.leadership import alter_config, settings_in_force
from impl.rows import Ints
from impl.state import State
from impl.whole_state import state_of, whole_state
from impl.window import GOES_BACK
from model.checkpoint import deadlines_of, entries_of, state_told
from model.guards import Guard
from model.operations import Checkpoint, OutstandingWrite
from model.profile import Profile
from model.whole_state import WholeState, WriteInFlight

_NOT_THE_STATE = at.verdict(Guard.CHECKPOINT_IS_THE_STATE)
_NO_MARKS = at.verdict(at.NO_CHECKPOINT)
_FINISHED = (at.ACKNOWLEDGED, at.ARCHIVED)


def take_checkpoint(
    state: State, members: Members, operation: Checkpoint, profile: Profile, start: int
) -> tuple[State, int]:
    """Compare a checkpoint, or take it over; return the state, perhaps in other arrays.

    ``start``: the start offset chosen after it. The second value is a verdict.
    """
    h = state.header
    h[at.STATUS] = at.S_NONE
    if h[at.MARKS]:
        return state, _NO_MARKS
    if h[at.INITIALIZED]:
        if not _agrees(state, members, operation):
            return state, _NOT_THE_STATE
        return state, int(alter_config(state, settings_in_force(h), start))
    result = _check_durable(state, operation)
    if result == at.FINE:
        result = _check_pending(h, operation)
    if result != at.FINE:
        return state, result
    state = state_of(state_told(operation, whole_state(state, members)), members, profile)
    state.header[at.ANSWERED_CALL], state.header[at.WHERE] = at.NO_CALL, at.NOWHERE
    return state, int(alter_config(state, settings_of(operation.config), start))


def lose_events(header: Ints) -> None:
    """Note that events are missing: nothing is known but what was durable."""
    header[at.INITIALIZED] = header[at.DURABLE_WHOLE] = header[at.UNMADE] = 0
    header[at.STATUS] = at.S_NONE


def _agrees(state: State, members: Members, operation: Checkpoint) -> bool:
    """Tell whether configuration, clock, deadlines and outstanding writes are ours."""
    h = state.header
    ours = (at.DELIVERY_LIMIT, at.MAX_LOCKS, at.LOCK_DURATION, at.RENEWAL)
    settings = settings_of(operation.config)
    failed = at.ARCHIVING if settings.dead_letters else at.ARCHIVED
    same = all(h[column] == value for column, value in zip(ours, settings[:4], strict=True))
    same = same and h[at.GIVEN_UP] == failed and h[at.COMMITTED_ONLY] == settings.committed_only
    if not same or h[at.TIMED] != operation.timed:
        return False
    whole = whole_state(state, members)
    return _same_deadlines(whole, operation, int(h[at.SWEEP])) and _same_writes(whole, operation)


def _same_deadlines(whole: WholeState, operation: Checkpoint, sweep_ms: int) -> bool:
    deadlines = deadlines_of(operation)
    return all(
        0 <= deadlines.get(offset, -1) - (r.last_ms + 1) <= sweep_ms
        for r in whole.records
        if r.last_ms is not None and r.write is None
        for offset in range(r.first, r.last + 1)
    )


def _same_writes(whole: WholeState, operation: Checkpoint) -> bool:
    recorded = {write.id: write for write in operation.outstanding}
    same_ids = recorded.keys() == {write.id for write in whole.writes}
    return same_ids and all(_is_write(recorded[write.id], write) for write in whole.writes)


def _is_write(recorded: OutstandingWrite, ours: WriteInFlight) -> bool:
    """Compare what a write says; one that takes its numbers later has none to compare."""
    if entries_of(recorded.state_batches) != entries_of(ours.state_batches):
        return False
    counted = not recorded.counted
    counted = counted or recorded.delivery_complete_count == ours.delivery_complete_count
    same = recorded.start_offset == ours.start_offset and counted
    return ours.made_after is not None or same


def _check_durable(state: State, operation: Checkpoint) -> int:
    """Return the verdict on what was durable before events were lost; forget it after a reset."""
    h, taken = state.header, operation.state
    merge_journal(state)
    if h[at.STATE_EPOCH] != operation.state_epoch:
        h[at.DURABLE_START] = h[at.DURABLE_COMPLETE] = -1
        h[at.DURABLE_TAIL] = 0
    h[at.STATE_EPOCH], h[at.LEADER_EPOCH] = operation.state_epoch, operation.leader_epoch
    h[at.DURABLE_WHOLE], h[at.DURABLE_KNOWN] = 0, 1
    if taken.start_offset < h[at.DURABLE_START]:
        h[at.WHERE] = taken.start_offset
        return GOES_BACK
    finished = {
        offset
        for r in taken.records or ()
        if r.state in _FINISHED
        for offset in range(r.first, min(r.last, taken.end_offset - 1) + 1)
    }
    for first, last, kind, _count in state.durable[: h[at.DURABLE_TAIL]].tolist():
        for offset in range(max(first, taken.start_offset), last + 1):
            if kind in _FINISHED and offset not in finished:
                h[at.WHERE] = offset
                return _NOT_THE_STATE
    return at.FINE


def _check_pending(h: Ints, operation: Checkpoint) -> int:
    """Return the verdict on pending records: a write without an answer has each with its count."""
    taken, writes = operation.state, operation.outstanding
    named = {
        (offset, count)
        for write in writes
        for offset, (_state, count) in entries_of(write.state_batches).items()
    }
    for r in taken.records or ():
        inside = range(max(r.first, taken.start_offset), min(r.last + 1, taken.end_offset))
        for offset in inside if r.pending else ():
            if (offset, r.delivery_count) not in named:
                h[at.WHERE] = offset
                return _NOT_THE_STATE
    return at.FINE
