"""Whatever can happen to a share-partition is in the table of the theorems, and happens."""

import attrs
import pytest

from judge.invariants import PARTITION_INVARIANTS
from model import operations as ops
from model.outcome import Write
from model.states import RecordState
from proofs.theorems.any_partition import standing_in
from proofs.theorems.catalogue import theorem_named
from proofs.theorems.controls import becomes, returns, sets, wrong
from proofs.theorems.harness import check_control
from proofs.theorems.partition_operations import (
    TRANSITIONS,
    OnePartition,
    PartitionTransition,
    partition_of,
)
from proofs.theorems.partition_theorems import INDUCTIVE, PARTITION_THEOREMS
from proofs.theorems.reachable import run_states
from spec import step
from spec.partition import SharePartition, Step

NEVER_MADE = {ops.Checkpoint, ops.Gap}
"""What a recording has, and no leader does."""
PROVED_AS_OTHERS = (
    "window_is_ordered",
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
    assert names == [*PROVED_AS_OTHERS, *INDUCTIVE]
    proved = [(each.property.name, each.transition) for each in PARTITION_THEOREMS]
    assert proved == [(name, made.name) for name in INDUCTIVE for made in TRANSITIONS]


def _one_further(written: tuple[SharePartition, Write]) -> tuple[SharePartition, Write]:
    before, write = written
    return before, attrs.evolve(write, start_offset=write.start_offset + 1)


BROKEN = {
    "acquire pending_iff_write_outstanding": wrong(
        "spec.record:is_acquirable",
        "asks no write",
        becomes(lambda r: r.state == RecordState.AVAILABLE),
    ),
    "acknowledge only_persisted_states_are_written": wrong(
        "spec.record:acknowledge", "leaves it IN_PROGRESS", sets(state=RecordState.IN_PROGRESS)
    ),
    "acquire in_progress_only_where_it_is_allowed": wrong(
        "spec.record:acquire", "numbers each", sets(acquisition=0)
    ),
    "write is answered held_has_an_acquisition": wrong(
        "spec.record:roll_back", "forgets the number", sets(acquisition=None)
    ),
    "write is answered acquired_is_never_durable": wrong(
        "spec.coordinator:_below", "finds nothing", becomes(lambda _durable, _start: [])
    ),
    "member leaves durable_start_never_ahead": wrong(
        "spec.writes:make_write", "is one further on", returns(_one_further)
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_rule_within_an_operation_is_noticed(name: str) -> None:
    theorem = attrs.evolve(theorem_named(name), control=BROKEN[name])
    assert check_control(theorem).fails
