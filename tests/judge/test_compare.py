import attrs

from model.errors import ErrorCode
from tests.judge.test_written import ACCEPT, Story, wrote


def test_how_offsets_are_spread_over_writes_does_not_matter_and_the_last_one_counts() -> None:
    story, later = Story(), ErrorCode.PENDING
    story.fetch(0, 9)
    last = attrs.evolve(wrote(0, 10, [5, 9, 2, 1], status=later), id=8)
    story.acknowledge(0, 9, ACCEPT, wrote(0, 5, [0, 4, 2, 1], status=later), last)
    assert story.verdict() is None
