import pytest

from model.operations import Acquire
from model.profile import Profile
from model.states import AcquireMode
from spec.partition import SharePartition
from tests.rules.share_partition import apply, run, started
from tests.spec.worlds import BOTH, acknowledgement, fetch, taken


def takes(partition: SharePartition, operation: Acquire) -> list[tuple[int, int, int]]:
    return taken(apply(partition, operation).outcome)


@pytest.mark.parametrize("mode", AcquireMode)
def test_only_what_can_be_acquired_is_taken_and_counts(mode: AcquireMode) -> None:
    partition = run(started(), fetch("c1", (0, 5)), acknowledgement("c1", (1, 1, 2), (3, 3, 2)))
    partition = run(partition, acknowledgement("c1", (4, 4, 1)))
    assert takes(partition, fetch("c2", (0, 5), (6, 6), most=2, mode=mode)) == [
        (1, 1, 2),
        (3, 3, 2),
    ]


@BOTH
@pytest.mark.parametrize("mode", AcquireMode)
def test_from_a_full_window_only_what_is_in_it_is_taken(
    profile: Profile, mode: AcquireMode
) -> None:
    partition = run(started(profile), fetch("c1", (0, 9)), acknowledgement("c1", (4, 5, 2)))
    assert takes(partition, fetch("c2", (0, 19), at=0, mode=mode)) == [(4, 5, 2)]
