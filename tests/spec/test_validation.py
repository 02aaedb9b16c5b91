import pytest

from model.errors import ErrorCode
from model.operations import EntryPoint
from model.profile import KAFKA, KIP, Profile
from spec.validation import validate
from tests.spec.worlds import BOTH, acknowledgement

REQUEST, PARTITION = EntryPoint.REQUEST, EntryPoint.SHARE_PARTITION


@BOTH
@pytest.mark.parametrize("entry", EntryPoint)
@pytest.mark.parametrize(
    "batches",
    [
        (),
        ((0, 0, 0),),
        ((0, 4, 4),),
        ((0, 2, 1, 2, 3),),
        ((0, 1, 1), (2, 3, 1), (9, 9, 0)),
        ((0, 2**62, 1),),
    ],
)
def test_a_request_that_is_well_formed_passes(
    profile: Profile, entry: EntryPoint, batches: tuple[tuple[int, ...], ...]
) -> None:
    request = acknowledgement("c1", *batches, entry=entry)
    assert validate(request, profile) is ErrorCode.NONE


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
    request = acknowledgement("c1", batch, entry=entry)
    assert validate(request, profile) is ErrorCode.INVALID_REQUEST
    later = acknowledgement("c1", (0, 0, 1), batch, entry=entry)
    assert validate(later, profile) is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("first", "kip", "kafka"), [(5, True, True), (4, False, True), (3, False, False)]
)
def test_batches_of_a_request_ascend_and_share_an_offset_under_kafka_only(
    first: int,
    *,
    kip: bool,
    kafka: bool,
) -> None:
    batches = (2, 4, 1), (first, 6, 1)
    for profile, passes in ((KIP, kip), (KAFKA, kafka)):
        expected = ErrorCode.NONE if passes else ErrorCode.INVALID_REQUEST
        assert validate(acknowledgement("c1", *batches, entry=REQUEST), profile) is expected
        inner = acknowledgement("c1", *batches, entry=PARTITION)
        assert validate(inner, profile) is ErrorCode.NONE
