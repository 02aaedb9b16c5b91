import pytest

from model.errors import ErrorCode
from model.operations import AdvanceLogStart, CompleteWrite, MemberLeaves
from model.outcome import Answer, Choice, Completion, Outcome
from model.profile import KAFKA, KIP, Profile
from spec.partition import SharePartition
from tests.rules.share_partition import apply, run, started, states
from tests.spec.worlds import BOTH, acknowledgement, fetch, written


@BOTH
def test_the_last_attempt_is_archived_and_the_count_stays(profile: Profile) -> None:
    partition = run(started(profile), fetch("c1", (0, 4)), acknowledgement("c1", (1, 2, 2)))
    partition = run(partition, fetch("c1", (1, 2)))
    step = apply(partition, MemberLeaves("c1"))
    assert states(step.partition) == "0:A1 1-2:X2 3-4:A1"
    (write,) = step.outcome.writes
    assert written(write) == (0, 2, [(0, 0, 0, 1), (1, 2, 4, 2), (3, 4, 0, 1)])


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
