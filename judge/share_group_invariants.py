"""What is true of a share group between any two effects, wherever a coordinator crashes."""

from judge.invariants import Invariant
from spec.share_group import Coordinators, assignable, group_of, listed


def _stages_are_disjoint(coordinators: Coordinators) -> bool:
    metadata = group_of(coordinators).metadata
    stages = (metadata.initializing, metadata.initialized, metadata.deleting)
    return sum(map(len, stages)) == len(listed(metadata))


GROUP_INVARIANTS = (
    Invariant(
        "stages_are_disjoint",
        "A share-partition is initializing, initialized or deleting, and never two of these.",
        _stages_are_disjoint,
    ),
    Invariant(
        "initialized_has_state",
        "A share coordinator has the state of every initialized share-partition.",
        lambda c: group_of(c).metadata.initialized <= set(c.states),
    ),
    Invariant(
        "state_has_an_owner",
        "A group lists every share-partition of which a share coordinator has state.",
        lambda c: set(c.states) <= listed(group_of(c).metadata),
    ),
    Invariant(
        "state_epoch_never_ahead",
        "No state epoch is ahead of the group epoch.",
        lambda c: all(state.state_epoch <= group_of(c).epoch for state in c.states.values()),
    ),
    Invariant(
        "assigned_has_state",
        "What may be assigned to a member has state that a leader can read.",
        lambda c: assignable(c) <= set(c.states),
    ),
)
