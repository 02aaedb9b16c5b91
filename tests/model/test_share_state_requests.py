from uuid import UUID

from model.share_state_requests import ReadStateSummary, WriteState
from model.state_topic import SharePartitionKey

KEY = SharePartitionKey("g", UUID(int=1), 0)


def test_version_0_has_no_delivery_complete_count() -> None:
    assert WriteState(KEY, 1, 2, 3).delivery_complete_count == -1
    assert ReadStateSummary(KEY).leader_epoch == -1
