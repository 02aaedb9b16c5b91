import attrs
import pytest

from model.guards import Guard
from model.operations import Compact, Initialize, Produce, ResetOffset, SkipAcquire
from model.outcome import Choice
from model.profile import KIP, Profile
from model.ranges import PassedOver
from model.snapshot import DurableState
from model.whole_state import Delayed
from spec.partition import SharePartition
from spec.step import new_partition
from tests.rules.share_partition import apply, refusal, run, started
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


def test_a_record_that_others_are_taken_before_waits() -> None:
    later = Choice(acquired=spans((3, 4)), entered=spans((0, 2)))
    partition = apply(started(), READ, later).partition
    assert partition.passed_over == (PassedOver(0, 2, 1),)
    assert passing(partition, 1).passed_over == (PassedOver(0, 0, 2), PassedOver(1, 2, 1))


def test_what_lies_after_the_records_taken_does_not_wait() -> None:
    first = Choice(acquired=spans((0, 0)))
    assert apply(started(), fetch("c1", (0, 4), most=1), first).partition.passed_over == ()


def test_another_record_that_waits_is_counted_anew() -> None:
    partition = passing(started(), 4)
    partition = run(partition, Produce(spans((100, 104)), 105), Compact(spans((0, 1))))
    assert passing(partition, 1).passed_over == (PassedOver(0, 0, 4), PassedOver(2, 2, 1))


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


def test_what_was_produced_waits_also_if_a_fetch_reads_nothing() -> None:
    partition = run(started(end=0), Produce(spans((0, 4)), 5))
    empty = attrs.evolve(READ, log_batches=())
    assert apply(partition, empty).partition.passed_over == (PassedOver(0, 0, 1),)


def test_a_record_beyond_the_limit_does_not_wait() -> None:
    partition = run(started(end=0), Produce(spans((0, 9), (10, 19)), 20), fetch("c1", (0, 9)))
    read = fetch("c2", (10, 19))
    assert apply(partition, read, NOTHING).partition.passed_over == ()
    stays = Choice(start_offset=0)
    done = apply(partition, acknowledgement("c1", (0, 4, 1)), stays).partition
    late = attrs.evolve(NOTHING, start_offset=0)
    assert apply(done, read, late).partition.passed_over == (PassedOver(10, 10, 1),)


@pytest.mark.parametrize("operation", [ResetOffset(0), Initialize(SMALL, 0, 9, DurableState(0, 0))])
def test_a_new_beginning_forgets_what_waited(operation: ResetOffset | Initialize) -> None:
    assert run(passing(started(), 3), operation).passed_over == ()


@BOTH
def test_a_full_window_loses_what_is_finished_at_its_start(profile: Profile) -> None:
    stays, bound = Choice(start_offset=0), profile.offered_within
    full = run(started(profile), fetch("c1", (0, 9)))
    full = apply(full, acknowledgement("c1", (0, 4, 1)), stays).partition
    for _ in range(bound):
        full = apply(full, SkipAcquire("c2"), stays).partition
    assert full.stuck == Delayed(0, bound)
    assert refusal(full, SkipAcquire("c2"), stays)[0] is Guard.FINISHED_LEAVES_FULL_WINDOW


def test_the_count_begins_again_where_the_start_offset_moved() -> None:
    stays = Choice(start_offset=0)
    full = run(started(), fetch("c1", (0, 9)))
    full = apply(full, acknowledgement("c1", (0, 4, 1)), stays).partition
    full = apply(full, SkipAcquire("c2"), stays).partition
    moved = attrs.evolve(full, window=attrs.evolve(full.window, start_offset=0))
    assert moved.stuck == Delayed(0, 1)
    unfinished = run(new_partition(KIP), Initialize(SMALL, 0, 20, DurableState(0, 0)))
    unfinished = run(unfinished, fetch("c1", (0, 9)), SkipAcquire("c2"))
    assert unfinished.stuck is None
