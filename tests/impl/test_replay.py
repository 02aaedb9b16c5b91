import pytest

from model.profile import DRAFT_RESOLVED, KAFKA, KIP, Profile
from tests.impl.helpers import interpreted, table_of
from tests.impl.walk import Walk


@pytest.mark.parametrize("profile", [KAFKA, KIP, DRAFT_RESOLVED], ids=lambda profile: profile.name)
def test_a_replay_that_lacks_room_goes_on_where_it_stopped(
    profile: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk = Walk(interpreted("partition").FastSharePartition(profile), 1, profile)
    table = table_of(walk.run(80))
    replay_partition = interpreted("kernel").replay_partition
    before = replay_partition(table, profile)
    monkeypatch.setattr(interpreted("state"), "_INITIAL_ROWS", 1)
    after = replay_partition(table, profile)
    assert after.divergence is None
    assert after.lag.tolist() == before.lag.tolist()
    assert after.counts.tolist() == before.counts.tolist()
    assert after.events == len(walk.events)


def test_a_long_journal_is_merged_in_passing(monkeypatch: pytest.MonkeyPatch) -> None:
    walk = Walk(interpreted("partition").FastSharePartition(KAFKA), 2, KAFKA)
    table = table_of(walk.run(200))
    monkeypatch.setattr(interpreted("replay"), "_LONG_JOURNAL", 1)
    assert interpreted("kernel").replay_partition(table, KAFKA).divergence is None
