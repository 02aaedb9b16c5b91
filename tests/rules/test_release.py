from model.operations import MemberLeaves
from model.profile import Profile
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
