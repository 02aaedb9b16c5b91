import pytest

from model.errors import ErrorCode
from model.operations import AdvanceLogStart, CompleteWrite, MemberLeaves
from model.outcome import Answer, Choice, Completion, Outcome
from model.profile import KAFKA, KIP, Profile
from spec.partition import SharePartition
from tests.rules.share_partition import apply, run, started, states
from tests.spec.worlds import BOTH, acknowledgement, fetch, written


@BOTH
def test_a_member_that_leaves_releases_all_it_holds_and_nothing_else(profile: Profile) -> None:
    partition = run(started(profile), fetch("c1", (0, 2)), fetch("c2", (3, 4)), fetch("c1", (5, 6)))
    partition = run(partition, acknowledgement("c1", (1, 1, 1)))
    step = apply(partition, MemberLeaves("c1"))
    assert step.outcome.status is ErrorCode.NONE
    assert states(step.partition) == "0:A1 1:K1 2:A1 3-4:Q1@c2 5-6:A1"
    assert [written(write) for write in step.outcome.writes] == [
        (0, 1, [(0, 0, 0, 1), (2, 2, 0, 1), (5, 6, 0, 1)])
    ]


@BOTH
def test_the_last_attempt_is_archived_and_the_count_stays(profile: Profile) -> None:
    partition = run(started(profile), fetch("c1", (0, 4)), acknowledgement("c1", (1, 2, 2)))
    partition = run(partition, fetch("c1", (1, 2)))
    step = apply(partition, MemberLeaves("c1"))
    assert states(step.partition) == "0:A1 1-2:X2 3-4:A1"
    (write,) = step.outcome.writes
    assert written(write) == (0, 2, [(0, 0, 0, 1), (1, 2, 4, 2), (3, 4, 0, 1)])


def test_a_member_that_holds_nothing_releases_nothing() -> None:
    partition = run(started(), fetch("c1", (0, 2)))
    step = apply(partition, MemberLeaves("c2"))
    assert (step.outcome.status, step.outcome.writes) == (ErrorCode.NONE, ())
    assert step.partition == partition


def test_a_release_whose_write_fails_is_undone() -> None:
    partition = run(started(), fetch("c1", (0, 2)))
    lost = Answer(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    step = apply(partition, MemberLeaves("c1"), answers=[lost])
    assert step.outcome.status is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert states(step.partition) == "0-2:Q1@c1"


def test_records_whose_write_is_outstanding_are_not_released_again() -> None:
    partition = run(started(), fetch("c1", (0, 2)))
    partition = apply(partition, MemberLeaves("c1"), answers=[Answer(ErrorCode.PENDING)]).partition
    assert states(partition) == "0-2:A1*"
    assert apply(partition, MemberLeaves("c1")).outcome.writes == ()


def passed(profile: Profile) -> SharePartition:
    """A share-partition in which c1 holds 0 to 2, and the start offset is 3."""
    return run(started(profile), fetch("c1", (0, 2)), AdvanceLogStart(3))


@pytest.mark.parametrize("status", [ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE])
def test_what_the_start_offset_has_passed_may_be_released_under_kafka_only(
    status: ErrorCode,
) -> None:
    partition, leaves, tells = passed(KAFKA), MemberLeaves("c1"), Choice(written=True)
    assert apply(partition, leaves).outcome == Outcome()
    assert apply(passed(KIP), leaves, tells).outcome == Outcome()
    step = apply(partition, leaves, tells, [Answer(ErrorCode.PENDING)], seq=7)
    assert (step.outcome.status, step.partition.window) == (ErrorCode.PENDING, partition.window)
    assert [written(write) for write in step.outcome.writes] == [(3, 0, [])]
    after = apply(step.partition, CompleteWrite(0, status))
    assert after.outcome.completed == (Completion(7, status),)
    assert after.partition.durable.start_offset == (3 if status is ErrorCode.NONE else 0)


def test_a_release_of_what_is_in_the_window_is_written_once() -> None:
    partition = run(started(KAFKA), fetch("c1", (0, 4)), AdvanceLogStart(3))
    step = apply(partition, MemberLeaves("c1"), Choice(written=True))
    assert [written(write) for write in step.outcome.writes] == [(3, 0, [(3, 4, 0, 1)])]
