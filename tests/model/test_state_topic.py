from uuid import UUID

import pytest

from model.errors import InvalidValueError
from model.snapshot import DurableState
from model.state_topic import SharePartitionKey, ShareSnapshot, ShareUpdate, StateRecord

TOPIC = UUID(int=1)


def test_a_record_without_a_value_is_a_tombstone() -> None:
    key = SharePartitionKey("g", TOPIC, 0)
    assert StateRecord(key, None).value is None
    assert ShareSnapshot(0, DurableState(-1, -1)).write_timestamp == 0


@pytest.mark.parametrize(
    ("group", "partition", "said"),
    [
        ("", 0, "group_id is ''; allowed: a string that is not empty"),
        ("g", 2**31, "partition is 2147483648"),
        ("g", -(2**31) - 1, "partition is -2147483649"),
    ],
)
def test_an_impossible_key_is_refused(group: str, partition: int, said: str) -> None:
    with pytest.raises(InvalidValueError, match=said):
        SharePartitionKey(group, TOPIC, partition)


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ((-1, 0, 0, 0), "snapshot_epoch is -1"),
        ((0, -1, 0, 0), "leader_epoch is -1"),
        ((0, 0, -2, 0), "start_offset is -2"),
        ((0, 0, 0, -2), "delivery_complete_count is -2"),
    ],
)
def test_an_update_out_of_range_is_refused(numbers: tuple[int, int, int, int], said: str) -> None:
    with pytest.raises(InvalidValueError, match=said):
        ShareUpdate(*numbers)
