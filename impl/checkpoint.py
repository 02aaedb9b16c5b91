"""A leader tells its whole state: compared with ours, or taken over where ours is not known.

Checkpoints are rare, so this is plain Python over the arrays, for both faces of ``impl``.
"""

from impl import layout as at
from impl.durable import merge_journal
from impl.encode import Members, settings_of
from impl.leadership import alter_config, settings_in_force
from impl.rows import Ints
from impl.state import State
from impl.whole_state import durable_state, state_of, whole_state
from impl.window import GOES_BACK
from model.checkpoint import differences, not_durable, state_told, without_write
from model.guards import Guard
from model.operations import Checkpoint
from model.profile import Profile

_NOT_THE_STATE = at.verdict(Guard.CHECKPOINT_IS_THE_STATE)
_NO_MARKS = at.verdict(at.NO_CHECKPOINT)


def take_checkpoint(  # noqa: PLR0913, PLR0917 - the state, the event, and what was chosen
    state: State, members: Members, operation: Checkpoint, profile: Profile, seq: int, start: int
) -> tuple[State, int]:
    """Compare a checkpoint, or take it over; return the state, perhaps in other arrays.

    ``seq`` is that of the checkpoint, ``start`` the start offset chosen after it. The second
    value is a verdict.
    """
    h = state.header
    h[at.STATUS] = at.S_NONE
    if h[at.MARKS]:
        return state, _NO_MARKS
    if h[at.INITIALIZED]:
        known = whole_state(state, members)
        if next(differences(operation, known, int(h[at.SWEEP])), None):
            return state, _NOT_THE_STATE
        return state, int(alter_config(state, settings_in_force(h), start))
    result = _check_durable(state, operation)
    if result != at.FINE:
        return state, result
    told = state_told(operation, whole_state(state, members), seq)
    state = state_of(told, members, profile)
    state.header[at.ANSWERED_CALL], state.header[at.WHERE] = at.NO_CALL, at.NOWHERE
    return state, int(alter_config(state, settings_of(operation.config), start))


def lose_events(header: Ints) -> None:
    """Note that events are missing: nothing is known but what was durable."""
    header[at.INITIALIZED] = header[at.DURABLE_WHOLE] = header[at.UNMADE] = 0
    header[at.STATUS] = at.S_NONE


def _check_durable(state: State, operation: Checkpoint) -> int:
    """Return the verdict on what was durable before events were lost; forget it after a reset.

    And on pending records: a write without an answer has each with its count.
    """
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
    offset = next((offset for offset, _state in not_durable(operation, durable_state(state))), None)
    offset = next(without_write(operation), None) if offset is None else offset
    if offset is None:
        return at.FINE
    h[at.WHERE] = offset
    return _NOT_THE_STATE
