from uuid import UUID

import pytest

from model.errors import ErrorCode, InvalidValueError
from model.share_state_requests import InitializeState, ReadStateSummary, StateResult, WriteState
from model.state_topic import SharePartitionKey

KEY = SharePartitionKey("g", UUID(int=1), 0)


def test_version_0_has_no_delivery_complete_count() -> None:
    assert WriteState(KEY, 1, 2, 3).delivery_complete_count == -1
    assert StateResult(KEY.topic_id, 0).delivery_complete_count == -1
    assert ReadStateSummary(KEY).leader_epoch == -1


def test_a_result_is_a_success_by_default() -> None:
    assert StateResult(KEY.topic_id, 0).status is ErrorCode.NONE


def test_offsets_and_counts_below_minus_one_are_refused() -> None:
    with pytest.raises(InvalidValueError, match="start_offset is -2"):
        InitializeState(KEY, 0, -2)
    with pytest.raises(InvalidValueError, match="start_offset is -2"):
        WriteState(KEY, 0, 0, -2)
    with pytest.raises(InvalidValueError, match="delivery_complete_count is -2"):
        WriteState(KEY, 0, 0, 0, -2)
