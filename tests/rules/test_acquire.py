import attrs

from model.errors import ErrorCode
from model.guards import Guard
from model.operations import AdvanceTime, Initialize, Produce
from model.outcome import Choice
from model.profile import KAFKA, KIP, Profile
from model.ranges import AcquiredRange, OffsetRange
from model.snapshot import DurableState
from model.states import AcquireMode, RecordState
from spec.partition import SharePartition
from spec.step import new_partition
from tests.rules.share_partition import apply, complete_count, refusal, run, started, states
from tests.spec.worlds import BOTH, SMALL, acknowledgement, fetch, spans, taken

RECORD_LIMIT = AcquireMode.RECORD_LIMIT
AVAILABLE = RecordState.AVAILABLE


def chosen(*parts: tuple[int, int]) -> Choice:
    return Choice(acquired=spans(*parts))


@BOTH
def test_an_acquired_record_belongs_to_the_member_until_its_deadline(profile: Profile) -> None:
    step = apply(started(profile), fetch("c1", (0, 4)), chosen((0, 2), (3, 4)))
    assert (step.outcome.status, step.outcome.writes) == (ErrorCode.NONE, ())
    assert taken(step.outcome) == [(0, 4, 1)]
    assert states(step.partition) == "0-4:Q1@c1"
    assert states(run(step.partition, AdvanceTime(99))) == "0-4:Q1@c1"
    assert states(run(step.partition, AdvanceTime(100))) == "0-4:A1"


def test_an_acquire_counts_a_delivery_and_returns_the_count_in_ranges() -> None:
    partition = run(started(), fetch("c1", (0, 4)), acknowledgement("c1", (1, 2, 2)))
    step = apply(partition, fetch("c2", (1, 6)), chosen((5, 6), (1, 2)))
    assert taken(step.outcome) == [(1, 2, 2), (5, 6, 1)]
    assert states(step.partition) == "0:Q1@c1 1-2:Q2@c2 3-4:Q1@c1 5-6:Q1@c2"


def test_records_read_below_the_end_enter_the_window_available() -> None:
    operation = fetch("c1", (0, 4), most=2, mode=RECORD_LIMIT)
    choice = Choice(acquired=spans((0, 1)), end_offset=5)
    step = apply(started(), operation, choice)
    assert states(step.partition) == "0-1:Q1@c1 2-4:A0"
    assert taken(step.outcome) == [(0, 1, 1)]


def test_records_passed_over_by_the_policy_of_entering_are_those_before_the_last_taken() -> None:
    step = apply(started(), fetch("c1", (0, 2), (5, 8)), chosen((1, 1), (7, 7)))
    assert states(step.partition) == "0:A0 1:Q1@c1 2:A0 5-6:A0 7:Q1@c1"


def test_a_choice_may_name_the_offsets_that_enter() -> None:
    partition = run(started(), fetch("c1", (0, 2)), acknowledgement("c1", (0, 0, 1)))
    choice = Choice(acquired=spans((3, 3)), entered=spans((0, 6)))
    step = apply(partition, fetch("c2", (0, 6)), choice)
    assert states(step.partition) == "1-2:Q1@c1 3:Q1@c2 4-6:A0"


def test_only_offsets_that_were_read_enter() -> None:
    choice = Choice(acquired=(), entered=spans((0, 5)))
    assert refusal(started(), fetch("c1", (0, 4)), choice) == (
        Guard.ONLY_READ_IS_ACQUIRED,
        5,
    )


@BOTH
def test_the_window_grows_up_to_its_limit(profile: Profile) -> None:
    step = apply(started(profile), fetch("c1", (0, 9), (10, 14)), chosen((0, 9)))
    assert step.partition.window.end_offset == 10
    assert (
        refusal(started(profile), fetch("c1", (0, 9), (10, 14)), chosen((0, 10)))[0]
        is Guard.WITHIN_WINDOW_LIMIT
    )


def test_a_log_batch_crosses_the_limit_under_kafka_only() -> None:
    large, two = fetch("c1", (0, 99)), fetch("c1", (0, 8), (9, 14))
    assert taken(apply(started(KAFKA), large).outcome) == [(0, 99, 1)]
    assert taken(apply(started(KIP), large).outcome) == [(0, 9, 1)], "an upper bound"
    assert taken(apply(started(KIP), two).outcome) == [(0, 9, 1)]
    for last in (12, 14):
        assert taken(apply(started(KAFKA), two, chosen((0, last))).outcome) == [(0, last, 1)]
        assert refusal(started(KIP), two, chosen((0, last)))[0] is Guard.WITHIN_WINDOW_LIMIT
    again = fetch("c2", (0, 14), at=0)
    for profile, last in ((KAFKA, 14), (KIP, 9)):
        grown = run(started(profile), fetch("c1", (0, 4)))
        assert taken(apply(grown, again).outcome) == [(5, last, 1)]


@BOTH
def test_under_record_limit_nothing_beyond_the_limit_is_taken(profile: Profile) -> None:
    operation = fetch("c1", (0, 14), mode=RECORD_LIMIT)
    assert taken(apply(started(profile), operation, chosen((0, 9))).outcome) == [(0, 9, 1)]
    guard, _ = refusal(started(profile), operation, chosen((0, 10)))
    assert guard is Guard.WITHIN_WINDOW_LIMIT


def test_a_gap_at_the_end_of_the_window_is_free_under_kafka_only() -> None:
    operation = fetch("c2", (10, 14), at=5)
    for profile in (KIP, KAFKA):
        partition = run(started(profile), fetch("c1", (0, 4)))
        if profile is KIP:
            guard, _ = refusal(partition, operation, chosen((10, 14)))
            assert guard is Guard.WITHIN_WINDOW_LIMIT
        else:
            assert taken(apply(partition, operation, chosen((10, 14))).outcome) == [(10, 14, 1)]


@BOTH
def test_available_records_that_the_log_no_longer_has_are_archived(profile: Profile) -> None:
    partition = run(started(profile), fetch("c1", (0, 6)), acknowledgement("c1", (1, 4, 2)))
    partition = run(partition, acknowledgement("c1", (6, 6, 1)))
    step = apply(partition, fetch("c2", (7, 8), at=2))
    assert states(step.partition) == "0:Q1@c1 1:A1 2-4:X1 5:Q1@c1 6:K1 7-8:Q1@c2"
    assert step.outcome.writes == ()
    assert complete_count(step.partition) == 4


@BOTH
def test_which_of_them_a_read_archives_is_a_choice(profile: Profile) -> None:
    partition = run(started(profile), fetch("c1", (0, 4)), acknowledgement("c1", (1, 4, 2)))
    noticed = Choice(archived=(AcquiredRange(3, 3, 1),), acquired=(OffsetRange(7, 8),))
    step = apply(partition, fetch("c2", (7, 8), at=2), noticed)
    assert states(step.partition) == "0:Q1@c1 1-2:A1 3:X1 4:A1 7-8:Q1@c2"
    assert step.partition.log.holes == ((2, 6),)


PRODUCED = tuple((first, first + 9) for first in range(0, 100, 10))


def produced(profile: Profile = KIP) -> SharePartition:
    """Ten log batches of ten records each, under a limit that they do not reach."""
    config = attrs.evolve(SMALL, partition_max_record_locks=1000)
    return run(started(profile, end=0, config=config), Produce(spans(*PRODUCED), 100))


@BOTH
def test_batch_optimized_takes_the_maximum_and_the_rest_of_one_log_batch(profile: Profile) -> None:
    read = fetch("c1", *PRODUCED, most=11)
    assert taken(apply(produced(profile), read, chosen((0, 19))).outcome) == [(0, 19, 1)]
    assert (
        refusal(produced(profile), read, chosen((0, 20)))[0] is Guard.WITHIN_MAXIMUM_AND_ONE_BATCH
    )


@BOTH
def test_a_read_cannot_claim_that_ten_log_batches_are_one(profile: Profile) -> None:
    guard, _ = refusal(produced(profile), fetch("c1", (0, 99), most=1), chosen((0, 99)))
    assert guard is Guard.READ_IS_OF_THE_LOG


@BOTH
def test_nothing_below_the_log_start_is_acquired(profile: Profile) -> None:
    initialize = Initialize(SMALL, 3, 30, DurableState(0, 0))
    partition = apply(new_partition(profile), initialize).partition
    assert refusal(partition, fetch("c1", (0, 4)), chosen((2, 4))) == (
        Guard.NOT_BELOW_LOG_START,
        2,
    )
    assert taken(
        apply(
            partition, fetch("c1", (0, 4)), Choice(acquired=spans((3, 4)), entered=spans((0, 2)))
        ).outcome
    )
