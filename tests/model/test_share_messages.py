import pytest

from model.errors import ErrorCode, InvalidValueError
from model.outcome import Answer
from model.share_messages import (
    Conduct,
    PartitionConduct,
    PartitionRequest,
    ShareAcknowledge,
    ShareFetch,
    TopicPartition,
)

AT = TopicPartition("t", 0)


@pytest.mark.parametrize("epoch", [-(2**31) - 1, 2**31, True])
def test_an_epoch_fits_the_wire(epoch: int) -> None:
    with pytest.raises(InvalidValueError, match="session_epoch is"):
        ShareFetch("g", "m", epoch)
    with pytest.raises(InvalidValueError, match="session_epoch is"):
        ShareAcknowledge("g", "m", epoch)


@pytest.mark.parametrize("version", [0, 3])
def test_a_version_is_one_of_two(version: int) -> None:
    with pytest.raises(InvalidValueError, match=r"version is .* from 1 to 2"):
        ShareFetch("g", "m", 0, version=version)


def test_a_request_names_each_partition_once() -> None:
    twice = (PartitionRequest(AT), PartitionRequest(AT))
    with pytest.raises(InvalidValueError, match=r"partitions is .*each share-partition once"):
        ShareAcknowledge("g", "m", 1, twice)
    with pytest.raises(InvalidValueError, match=r"forgotten is .*each share-partition once"):
        ShareFetch("g", "m", 1, (), (AT, AT))


def test_a_partition_has_a_name_and_a_number() -> None:
    with pytest.raises(InvalidValueError, match="topic_id is ''"):
        TopicPartition("", 0)
    with pytest.raises(InvalidValueError, match="partition is -1"):
        TopicPartition("t", -1)


def test_a_conduct_has_defaults_for_unnamed_partitions() -> None:
    special = PartitionConduct(release_answer=Answer(ErrorCode.PENDING))
    conduct = Conduct(((AT, special),))
    assert conduct.of(AT) is special
    assert conduct.of(TopicPartition("t", 1)) == PartitionConduct()
