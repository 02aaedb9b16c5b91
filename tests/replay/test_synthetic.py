import pytest

from model.profile import KAFKA
from replay.synthetic import SyntheticPartition


def test_what_is_drawn_depends_on_seed_and_name_alone() -> None:
    events = list(SyntheticPartition("g:t:0", 1, KAFKA).events(300))
    assert events == list(SyntheticPartition("g:t:0", 1, KAFKA).events(300))
    assert events[:100] == list(SyntheticPartition("g:t:0", 1, KAFKA).events(100))
    assert events != list(SyntheticPartition("g:t:0", 2, KAFKA).events(300))
    other = SyntheticPartition("g:t:1", 1, KAFKA).events(300)
    assert [e.operation for e in events] != [e.operation for e in other]


@pytest.mark.slow
def test_what_the_rules_refuse_is_drawn_again() -> None:
    """A leader begins below the log start, and its fetches read what is not there any more."""
    events = list(SyntheticPartition("g:t:0", 2, KAFKA).events(8000))
    assert [event.seq for event in events] == list(range(8000))
