from uuid import UUID

from model.snapshot import DurableState
from model.state_topic import SharePartitionKey, ShareSnapshot, StateRecord

TOPIC = UUID(int=1)


def test_a_record_without_a_value_is_a_tombstone() -> None:
    key = SharePartitionKey("g", TOPIC, 0)
    assert StateRecord(key, None).value is None
    assert ShareSnapshot(0, DurableState(-1, -1)).write_timestamp == 0
