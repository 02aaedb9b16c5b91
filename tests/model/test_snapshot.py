import pytest

from model.errors import InvalidValueError
from model.ranges import RecordRange
from model.snapshot import DurableState, SharePartitionSnapshot
from model.states import RecordState


@pytest.mark.parametrize("second", [(4, 9), (0, 2), (3, 4)])
def test_records_ascend(second: tuple[int, int]) -> None:
    first = RecordRange(3, 4, RecordState.AVAILABLE, 1)
    both = (first, RecordRange(5, 9, RecordState.AVAILABLE, 1))
    assert SharePartitionSnapshot(0, 9, 0, both).records == both
    with pytest.raises(InvalidValueError, match=r"^records is .*start after 4"):
        SharePartitionSnapshot(0, 9, 0, (first, RecordRange(*second, RecordState.AVAILABLE, 1)))


def test_a_durable_state_may_lack_its_start_offset_and_its_count() -> None:
    state = DurableState(-1, -1)
    assert (state.state_batches, state.state_epoch, state.leader_epoch) == ((), 0, 0)
