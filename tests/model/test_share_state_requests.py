from uuid import UUID

from model.errors import ErrorCode
from model.share_state_requests import ReadStateSummary, StateResult, WriteState
from model.state_topic import SharePartitionKey

KEY = SharePartitionKey("g", UUID(int=1), 0)


def test_version_0_has_no_delivery_complete_count() -> None:
    assert WriteState(KEY, 1, 2, 3).delivery_complete_count == -1
    assert StateResult(KEY.topic_id, 0).delivery_complete_count == -1
    assert ReadStateSummary(KEY).leader_epoch == -1


def test_a_result_is_a_success_by_default() -> None:
    assert StateResult(KEY.topic_id, 0).status is ErrorCode.NONE
