from typing import Any

import attrs
import pytest

from model.config import SharePartitionConfig
from model.errors import InvalidValueError
from model.operations import AdvanceTime, AlterConfig, SkipAcquire
from model.outcome import Outcome
from model.profile import DRAFT_RESOLVED, KAFKA, KIP, Profile
from model.ranges import StateBatch
from model.states import RecordState
from spec.partition import SharePartition
from tests.rules.share_partition import apply, run, started, states
from tests.spec.worlds import BOTH, MARKS, SMALL, acknowledgement, fetch, marking

DISORDERED = attrs.evolve(MARKS, in_progress_staleness_threshold_ms=9)


@BOTH
def test_locks_keep_their_deadlines_and_new_ones_last_as_is_configured_now(
    profile: Profile,
) -> None:
    partition = run(started(profile), fetch("c1", (0, 0)))
    step = apply(partition, AlterConfig(attrs.evolve(SMALL, record_lock_duration_ms=20)))
    assert step.outcome == Outcome()
    altered = run(step.partition, fetch("c1", (1, 1)))
    assert states(run(altered, AdvanceTime(20))) == "0:Q1@c1 1:A1"
    assert states(run(altered, AdvanceTime(100))) == "0-1:A1"


def test_a_raised_limit_gives_another_attempt_and_is_remembered() -> None:
    partition = run(started(KIP), AlterConfig(attrs.evolve(SMALL, delivery_count_limit=4)))
    assert partition.highest_limit == 4
    assert run(partition, AlterConfig(SMALL)).highest_limit == 4


def test_a_mark_never_shortens_a_lock_though_the_durations_are_shorter_now() -> None:
    shorter = attrs.evolve(
        MARKS,
        record_lock_duration_ms=2,
        in_progress_staleness_threshold_ms=4,
        in_progress_max_lock_extension_ms=6,
    )
    partition = run(started(DRAFT_RESOLVED, config=MARKS), fetch("c1", (0, 1)))
    partition = run(partition, AlterConfig(shorter), AdvanceTime(1), marking("c1", (0, 0)))
    assert [partition.window.records[offset].deadline for offset in (0, 1)] == [10, 10]
    partition = run(partition, AdvanceTime(7), marking("c1", (1, 1)))
    assert [partition.window.records[offset].deadline for offset in (0, 1)] == [10, 12]
    assert states(run(partition, AdvanceTime(2))) == "0:A1 1:P1@c1"


def test_durations_out_of_order_are_refused_where_records_may_be_marked() -> None:
    partition = run(started(DRAFT_RESOLVED, config=MARKS), fetch("c1", (0, 0)))
    with pytest.raises(InvalidValueError, match="record_lock_duration_ms is 10; "):
        apply(partition, AlterConfig(DISORDERED))
    with pytest.raises(InvalidValueError, match="record_lock_duration_ms is 10; "):
        started(DRAFT_RESOLVED, config=DISORDERED)


@BOTH
@pytest.mark.parametrize(
    "config", [DISORDERED, SharePartitionConfig(record_lock_duration_ms=10**9)]
)
def test_where_none_may_be_marked_their_order_does_not_matter(
    profile: Profile, config: SharePartitionConfig
) -> None:
    assert run(started(profile, config=config), AlterConfig(DISORDERED)).config == DISORDERED


def held(last: int = 4) -> SharePartition:
    """Records from 0 to ``last``, delivered twice and held by c1 under Kafka's defaults."""
    tried = StateBatch(0, last, RecordState.AVAILABLE, 1)
    partition = started(KAFKA, tried, end=300, config=SharePartitionConfig())
    return run(partition, fetch("c1", (0, last)))


def changed(**values: Any) -> AlterConfig:  # noqa: ANN401 - whatever the field takes
    return AlterConfig(SharePartitionConfig(**values))


def test_a_limit_lowered_while_records_are_held_archives_only_what_is_released() -> None:
    partition = run(held(), changed(delivery_count_limit=2))
    assert states(partition) == "0-4:Q2@c1"
    done = run(partition, acknowledgement("c1", (1, 1, 2)), acknowledgement("c1", (2, 2, 1)))
    assert states(done) == "0:Q2@c1 1:X2 2:K2 3-4:Q2@c1"
    assert states(run(done, AdvanceTime(30_000))) == ""
    assert states(run(held(), AdvanceTime(30_000))) == "0-4:A2"


def test_a_window_limit_lowered_below_the_width_in_use_takes_nothing_new() -> None:
    partition = run(held(149), changed(partition_max_record_locks=100))
    assert states(partition) == "0-149:Q2@c1"
    assert apply(partition, fetch("c2", (150, 160))).outcome.acquired == ()
    assert not apply(partition, SkipAcquire("c2")).outcome.can_acquire
    free = run(partition, acknowledgement("c1", (10, 12, 2)))
    assert states(run(free, fetch("c2", (10, 12)))) == "0-9:Q2@c1 10-12:Q3@c2 13-149:Q2@c1"
    done = run(partition, acknowledgement("c1", (0, 60, 1)), fetch("c2", (150, 155)))
    assert states(done) == "61-149:Q2@c1 150-155:Q1@c2"
