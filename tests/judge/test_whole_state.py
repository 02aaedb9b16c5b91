"""Beside the lockstep, in which each side goes on from the other's whole state."""

import attrs
import pytest

from judge.recorded_partition import recorded
from judge.whole_state import partition_of, whole_state
from model.checks import MAX_INT64
from model.profile import DRAFT_RESOLVED
from model.whole_state import WholeState
from spec.partition import new_partition
from tests.whole_states import FULL, IMPOSSIBLE, altered

ALTERED = [(path, other) for path, other in altered(FULL.state) if path not in IMPOSSIBLE]


def test_a_share_partition_without_a_leader() -> None:
    new = new_partition(DRAFT_RESOLVED)
    assert partition_of(whole_state(new), DRAFT_RESOLVED) == recorded(new)


def test_the_state_in_which_every_field_has_a_value() -> None:
    assert whole_state(partition_of(FULL.state, DRAFT_RESOLVED)) == FULL.state


@pytest.mark.parametrize(("path", "other"), ALTERED, ids=[path for path, _ in ALTERED])
def test_no_field_is_lost_on_the_way(path: str, other: WholeState) -> None:
    again = whole_state(partition_of(other, DRAFT_RESOLVED))
    assert again != FULL.state, path


def test_a_lock_ends_at_the_latest_when_the_clock_does() -> None:
    partition = partition_of(FULL.state, DRAFT_RESOLVED)
    records = partition.window.records
    beyond = attrs.evolve(records[13], deadline=MAX_INT64 + 7)
    window = attrs.evolve(partition.window, records=records.set(13, beyond))
    told = whole_state(attrs.evolve(partition, window=window)).records
    assert next(each for each in told if each.first == 13).last_ms == MAX_INT64
