"""What makes a request well formed; what passes is judged by the states of the records."""

import pytest

from model.errors import ErrorCode
from model.operations import EntryPoint
from model.profile import KAFKA, KIP, Profile
from tests.rules.share_partition import apply
from tests.rules.test_acknowledge import holding
from tests.spec.worlds import BOTH, acknowledgement

NONE, INVALID_REQUEST = ErrorCode.NONE, ErrorCode.INVALID_REQUEST
INVALID_RECORD_STATE = ErrorCode.INVALID_RECORD_STATE


@BOTH
@pytest.mark.parametrize("entry", EntryPoint)
@pytest.mark.parametrize(
    "batch",
    [
        (-1, 0, 1),
        (3, 2, 1),
        (0, 1),
        (0, 2, 1, 1),
        (0, 1, 1, 1, 1),
        (0, 0, 5),
        (0, 0, -1),
        (0, 1, 1, 7),
    ],
    ids=str,
)
def test_a_batch_that_is_malformed_is_an_invalid_request(
    profile: Profile, entry: EntryPoint, batch: tuple[int, ...]
) -> None:
    for batches in ((batch,), ((0, 0, 1), batch)):
        operation = acknowledgement("c1", *batches, entry=entry)
        assert apply(holding(profile), operation).outcome.status is INVALID_REQUEST


@pytest.mark.parametrize(
    ("first", "kip", "kafka"), [(5, True, True), (4, False, True), (3, False, False)]
)
def test_batches_of_a_request_ascend_and_share_an_offset_under_kafka_only(
    first: int, *, kip: bool, kafka: bool
) -> None:
    """What passes comes to the states: 5 and 6 are another member's."""
    batches = (2, 4, 1), (first, 6, 1)
    for profile, passes in ((KIP, kip), (KAFKA, kafka)):
        for entry in EntryPoint:
            outcome = apply(holding(profile), acknowledgement("c1", *batches, entry=entry)).outcome
            judged = passes or entry is EntryPoint.SHARE_PARTITION
            assert outcome.status is (INVALID_RECORD_STATE if judged else INVALID_REQUEST)
