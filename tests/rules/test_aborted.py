import attrs
import pytest

from model.config import IsolationLevel
from model.errors import ErrorCode
from model.guards import Guard
from model.operations import AlterConfig, ArchiveAborted, CompleteWrite
from model.outcome import Answer, Choice, Outcome
from model.profile import DRAFT_RESOLVED, KIP, Profile
from model.ranges import AcquiredRange
from spec.aborted import committed
from spec.partition import SharePartition
from tests.rules.share_partition import (
    apply,
    complete_count,
    durable,
    lag,
    refusal,
    run,
    started,
    states,
)
from tests.spec.worlds import BOTH, MARKS, SMALL, acknowledgement, fetch, marking, spans, written

COMMITTED = attrs.evolve(SMALL, isolation_level=IsolationLevel.READ_COMMITTED)
LATER = Answer(ErrorCode.PENDING)
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


def test_the_delivery_complete_count_of_the_next_write_counts_aborted_records() -> None:
    partition = run(taken(), ArchiveAborted(spans((1, 2))))
    step = apply(partition, acknowledgement("c1", (3, 3, 1)))
    assert written(step.outcome.writes[0]) == (0, 3, [(3, 3, 2, 1)])


def test_aborted_records_that_nobody_holds_are_unchanged() -> None:
    partition = apply(taken(), acknowledgement("c1", (0, 0, 1)), answers=(LATER,)).partition
    partition = run(partition, acknowledgement("c1", (1, 1, 2)), ArchiveAborted(spans((0, 1))))
    assert states(partition).startswith("0:K1")
    assert states(partition).split()[1] == "1:A1"
    failed = run(partition, CompleteWrite(0, ErrorCode.COORDINATOR_NOT_AVAILABLE))
    assert states(failed).startswith("0:Q1@c1 1:A1")


def test_aborted_records_of_every_holder_are_archived_and_offsets_outside_the_window_ignored() -> (
    None
):
    partition = run(taken(), acknowledgement("c1", (0, 0, 1)), fetch("c2", (6, 7)))
    partition = run(partition, ArchiveAborted(spans((0, 1), (7, 20))))
    assert (partition.window.start_offset, states(partition)) == (2, "2-5:Q1@c1 6:Q1@c2 7:X1")


def test_aborted_records_are_archived_only_while_read_committed_is_configured() -> None:
    archive = ArchiveAborted(spans((1, 1)))
    guard, _ = refusal(run(started(KIP), fetch("c1", (0, 5))), archive)
    assert guard is Guard.ONLY_COMMITTED_IS_ASKED_FOR
    altered = run(started(KIP), fetch("c1", (0, 5)), AlterConfig(COMMITTED), archive)
    assert states(altered) == "0:Q1@c1 1:X1 2-5:Q1@c1"


def test_a_record_in_progress_stays_with_its_owner() -> None:
    config = attrs.evolve(MARKS, isolation_level=IsolationLevel.READ_COMMITTED)
    partition = run(started(DRAFT_RESOLVED, config=config), fetch("c1", (0, 1)))
    partition = run(partition, marking("c1", (0, 0)), ArchiveAborted(spans((0, 1))))
    assert states(partition) == "0:P1@c1 1:X1"


@pytest.mark.parametrize(
    ("aborted", "told"),
    [
        ((), [(0, 3, 1), (4, 5, 2)]),
        (((1, 1),), [(0, 0, 1), (2, 3, 1), (4, 5, 2)]),
        (((3, 4), (9, 9)), [(0, 2, 1), (5, 5, 2)]),
        (((0, 5),), []),
    ],
)
def test_the_member_gets_the_committed_records(
    aborted: tuple[tuple[int, int], ...], told: list[tuple[int, int, int]]
) -> None:
    acquired = (AcquiredRange(0, 3, 1), AcquiredRange(4, 5, 2))
    assert [attrs.astuple(part) for part in committed(acquired, spans(*aborted))] == told


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
