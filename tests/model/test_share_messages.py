from model.errors import ErrorCode
from model.outcome import Answer
from model.share_messages import Conduct, PartitionConduct, TopicPartition

AT = TopicPartition("t", 0)


def test_a_conduct_has_defaults_for_unnamed_partitions() -> None:
    special = PartitionConduct(release_answer=Answer(ErrorCode.PENDING))
    conduct = Conduct(((AT, special),))
    assert conduct.of(AT) is special
    assert conduct.of(TopicPartition("t", 1)) == PartitionConduct()
