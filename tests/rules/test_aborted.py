import attrs
import pytest

from model.config import IsolationLevel
from model.operations import ArchiveAborted
from model.outcome import Choice, Outcome
from model.profile import KIP, Profile
from model.ranges import AcquiredRange
from spec.partition import SharePartition
from tests.rules.share_partition import (
    apply,
    complete_count,
    durable,
    lag,
    run,
    started,
    states,
)
from tests.spec.worlds import BOTH, SMALL, acknowledgement, fetch, spans, written

COMMITTED = attrs.evolve(SMALL, isolation_level=IsolationLevel.READ_COMMITTED)
STAYS = Choice(start_offset=0)


def taken(profile: Profile = KIP) -> SharePartition:
    """c1 holds 0 to 5, and has to be told what of it counts."""
    return run(started(profile, config=COMMITTED), fetch("c1", (0, 5)))


@BOTH
def test_data_of_aborted_transactions_is_archived_and_leaves_the_lag(profile: Profile) -> None:
    step = apply(taken(profile), ArchiveAborted(spans((1, 2), (4, 4))), STAYS)
    assert step.outcome == Outcome()
    assert states(step.partition) == "0:Q1@c1 1-2:X1 3:Q1@c1 4:X1 5:Q1@c1"
    assert (complete_count(step.partition), lag(step.partition)) == (3, 97)


def test_the_start_offset_may_pass_an_aborted_record_without_a_write() -> None:
    partition = run(taken(), ArchiveAborted(spans((0, 1))))
    assert (partition.window.start_offset, states(partition)) == (2, "2-5:Q1@c1")
    assert durable(partition) == durable(taken())
    step = apply(partition, acknowledgement("c1", (2, 2, 1)))
    assert written(step.outcome.writes[0]) == (2, 1, [(2, 2, 2, 1)])


def test_aborted_records_of_every_holder_are_archived_and_offsets_outside_the_window_ignored() -> (
    None
):
    partition = run(taken(), acknowledgement("c1", (0, 0, 1)), fetch("c2", (6, 7)))
    partition = run(partition, ArchiveAborted(spans((0, 1), (7, 20))))
    assert (partition.window.start_offset, states(partition)) == (2, "2-5:Q1@c1 6:Q1@c2 7:X1")


@BOTH
@pytest.mark.parametrize("count", [0, 1])
def test_what_nobody_is_given_may_be_archived_as_it_is_or_counted(
    profile: Profile, count: int
) -> None:
    choice = Choice(acquired=spans((0, 1)), entered=spans((2, 3)), end_offset=4)
    partition = apply(started(profile, config=COMMITTED), fetch("c1", (0, 3)), choice).partition
    archived = Choice(start_offset=0, archived=(AcquiredRange(2, 3, count),))
    step = apply(partition, ArchiveAborted(spans((2, 2))), archived)
    assert states(step.partition) == f"0-1:Q1@c1 2:X{count} 3:A0"
