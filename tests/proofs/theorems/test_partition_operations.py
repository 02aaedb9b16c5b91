"""Whatever can happen to a share-partition is in the table of the theorems, and happens."""

import pytest

from judge.invariants import PARTITION_INVARIANTS
from model import operations as ops
from proofs.theorems.attempts import standing_in
from proofs.theorems.partition_operations import (
    TRANSITIONS,
    OnePartition,
    PartitionTransition,
    partition_of,
)
from proofs.theorems.partition_theorems import INDUCTIVE, PARTITION_THEOREMS
from proofs.theorems.reachable import run_states
from spec import step
from spec.partition import Step

NEVER_MADE = {ops.Checkpoint, ops.Gap}
"""What a recording has, and no leader does."""
PROVED_AS_OTHERS = (
    "records_lie_in_the_window",
    "window_ends_with_a_record",
    "counts_follow_the_records",
    "complete_count_within_window",
    "lag_counts_the_unfinished",
)
"""The invariants of which ``window_theorems`` and ``counting_theorems`` tell, or the exact effects
in ``takeover_theorems`` and ``acquire_theorems``: where the window ends, and which records stay."""


def test_every_operation_is_in_the_table() -> None:
    made = set()
    for transition in TRANSITIONS:
        with standing_in(step, transition=Step(partition_of(OnePartition()))) as asked:
            transition.after(OnePartition(member="a", last=1, log_end=3, kind=1), ())
        made |= {type(arguments[1]) for arguments in asked.values()}
    assert made == set(ops.Operation.__args__) - NEVER_MADE


@pytest.mark.parametrize("made", TRANSITIONS, ids=lambda made: made.name)
def test_a_run_reaches_a_state_in_which_it_happens(made: PartitionTransition) -> None:
    situations = (s for _, state in run_states() for s in OnePartition.reached(state))
    seen = ("coalesce", "merge")
    changed = (made.after(s, seen) for s in situations)
    assert any(after is not None for after in changed)


def test_every_invariant_is_proved_of_every_transition() -> None:
    names = [invariant.name for invariant in PARTITION_INVARIANTS]
    assert sorted(names) == sorted((*PROVED_AS_OTHERS, *INDUCTIVE))
    proved = [(each.property.name, each.transition) for each in PARTITION_THEOREMS]
    assert proved == [(name, made.name) for name in INDUCTIVE for made in TRANSITIONS]
