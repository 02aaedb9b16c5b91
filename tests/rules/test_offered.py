import attrs

from model.errors import ErrorCode
from model.guards import Guard
from model.operations import AdvanceTime, CompleteWrite, SkipAcquire
from model.outcome import Answer, Choice
from model.profile import Profile
from model.ranges import PassedOver
from model.whole_state import Delayed
from spec.partition import SharePartition
from tests.rules.share_partition import apply, refusal, run, started, states
from tests.spec.worlds import BOTH, SMALL, acknowledgement, fetch, spans

READ = fetch("c1", (0, 4))
NOTHING = Choice(acquired=())


def passing(partition: SharePartition, times: int, choice: Choice = NOTHING) -> SharePartition:
    for _ in range(times):
        partition = apply(partition, READ, choice).partition
    return partition


@BOTH
def test_a_fetch_that_takes_nothing_is_counted_and_in_the_end_refused(profile: Profile) -> None:
    bound = profile.offered_within
    waiting = passing(started(profile), bound)
    assert waiting.passed_over == (PassedOver(0, 0, bound),)
    assert refusal(waiting, READ, NOTHING) == (
        Guard.RECORD_IS_OFFERED,
        0,
    )
    assert apply(waiting, READ).partition.passed_over == ()


@BOTH
def test_no_other_record_that_waits_masks_one_that_starves(profile: Profile) -> None:
    partition, low, late = run(started(profile), fetch("c1", (0, 3))), True, Choice(start_offset=0)
    partition = apply(partition, acknowledgement("c1", (1, 1, 2)), late).partition
    config = attrs.evolve(partition.config, delivery_count_limit=1000)
    partition = attrs.evolve(partition, config=config, highest_limit=1000)
    for _ in range(profile.offered_within):
        if low:
            partition = apply(partition, acknowledgement("c1", (0, 0, 2)), late).partition
        partition = apply(partition, READ, Choice(acquired=spans((4, 4)))).partition
        partition = apply(partition, acknowledgement("c1", (4, 4, 2)), late).partition
        if low := not low:
            partition = apply(partition, READ, Choice(acquired=spans((0, 0)))).partition
    guard, detail = refusal(partition, READ, Choice(acquired=spans((4, 4))))
    assert guard is Guard.RECORD_IS_OFFERED
    assert detail == 1


def test_a_fetch_for_no_records_passes_nothing_over() -> None:
    none = fetch("c1", (0, 4), most=0)
    partition = passing(started(), 3)
    assert apply(partition, none, NOTHING).partition.passed_over == (PassedOver(0, 0, 3),)


@BOTH
def test_a_full_window_loses_what_is_finished_at_its_start(profile: Profile) -> None:
    stays, bound = Choice(start_offset=0), profile.offered_within
    full = run(started(profile), fetch("c1", (0, 9)))
    full = apply(full, acknowledgement("c1", (0, 4, 1)), stays).partition
    for _ in range(bound):
        full = apply(full, SkipAcquire("c2"), stays).partition
    assert full.stuck == Delayed(0, bound)
    assert refusal(full, SkipAcquire("c2"), stays)[0] is Guard.FINISHED_LEAVES_FULL_WINDOW


@BOTH
def test_the_start_of_a_full_window_may_wait_until_its_write_is_answered(profile: Profile) -> None:
    stays, skip = Choice(start_offset=0), SkipAcquire("c2")
    full = run(started(profile), fetch("c1", (0, 9)), acknowledgement("c1", (0, 9, 2)))
    full, ends = run(full, fetch("c1", (0, 9))), AdvanceTime(SMALL.record_lock_duration_ms)
    writing = apply(full, ends, stays, [Answer(ErrorCode.PENDING)]).partition
    assert states(writing) == "0-9:X2"
    (write,) = writing.outstanding
    for _ in range(profile.offered_within + 1):
        assert apply(writing, skip, stays).partition.stuck is None
    failed = CompleteWrite(write, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    answered = apply(writing, failed, stays).partition
    assert apply(answered, skip, stays).partition.stuck == Delayed(0, 1)


@BOTH
def test_there_is_no_room_where_the_start_offset_may_wait_for_its_write(profile: Profile) -> None:
    stays, none = Choice(start_offset=0), Choice(acquired=(), start_offset=0)
    full = run(started(profile), fetch("c1", (0, 9)), acknowledgement("c1", (0, 9, 2)))
    full, ends = run(full, fetch("c1", (0, 9))), AdvanceTime(SMALL.record_lock_duration_ms)
    writing = apply(full, ends, stays, [Answer(ErrorCode.PENDING)]).partition
    (write,) = writing.outstanding
    more = fetch("c2", (10, 14))
    for _ in range(profile.offered_within + 1):
        writing = apply(writing, more, none).partition
    assert writing.passed_over == ()
    answered = apply(writing, CompleteWrite(write, ErrorCode.NONE), stays).partition
    assert apply(answered, more, none).partition.passed_over == (PassedOver(10, 10, 1),)
