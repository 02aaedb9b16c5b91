"""Beside the lockstep, in which each side goes on from the other's whole state."""

import pytest

from judge.recorded_partition import recorded
from judge.whole_state import partition_of, whole_state
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
