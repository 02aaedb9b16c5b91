import copy
from itertools import combinations_with_replacement, product

import attrs
import numpy as np
import pytest

from impl import layout as at
from impl.partition import FastSharePartition
from model.checks import MAX_INT64
from model.config import SharePartitionConfig
from model.errors import ErrorCode, IllegalChoiceError, InvalidValueError
from model.guards import Guard
from model.operations import (
    Acknowledge,
    AcknowledgementBatch,
    Acquire,
    AdvanceLogStart,
    AdvanceTime,
    AlterConfig,
    CompleteWrite,
    Initialize,
    MarkInProgress,
    MemberLeaves,
    ProgressBatch,
    ResetOffset,
)
from model.outcome import Choice, Expiry
from model.profile import DRAFT_RESOLVED, KAFKA, KIP, Profile
from model.ranges import StateBatch
from model.snapshot import DurableState
from model.states import AcquireMode, RecordState
from tests.impl.held import Held
from tests.impl.helpers import interpreted
from tests.impl.scenario import (
    ACCEPT,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    ack,
    fetch,
    mark,
    partition,
    ranges,
    shown,
    wait,
    written,
)

CONFIG = SharePartitionConfig(
    record_lock_duration_ms=10,
    in_progress_staleness_threshold_ms=20,
    in_progress_max_lock_extension_ms=50,
    in_progress_rebalance_grace_ms=5,
)
_AVAILABLE = StateBatch(0, 0, RecordState.AVAILABLE, 1)
OK, STATE, REQUEST = "NONE", "INVALID_RECORD_STATE", "INVALID_REQUEST"
FAILED = ErrorCode.COORDINATOR_NOT_AVAILABLE


def held(**config: int) -> FastSharePartition:
    """Return a share-partition where a holds 0 to 4 by acquisition 0, and b 5 to 9 by 1."""
    made = FastSharePartition(DRAFT_RESOLVED)
    settings = attrs.evolve(CONFIG, **config)  # type: ignore[arg-type]
    made.apply(Initialize(settings, 0, 10, DurableState(0, 0, leader_epoch=7)))
    assert fetch(made, "a", (0, 4)).acquisition == 0
    assert fetch(made, "b", (5, 9)).acquisition == 1
    return made


def marked(made: FastSharePartition, member: str, *batches: tuple[int, int, int]) -> list[str]:
    """Let a member mark as the leader of ``held`` names its deliveries."""
    return mark(made, member, *batches, epoch=7)


def test_each_acquisition_that_takes_a_record_is_numbered() -> None:
    made = partition((0, 4), profile=DRAFT_RESOLVED)
    assert fetch(made, "a", (0, 1)).acquisition == 0
    assert fetch(made, "a").acquisition is None
    assert fetch(made, "a", (2, 4)).acquisition == 1


def test_a_leader_epoch_has_each_number_once() -> None:
    made, read = held(), DurableState(0, 0, leader_epoch=7)
    made.apply(Initialize(CONFIG, 0, 10, read))
    assert fetch(made, "a", (0, 4)).acquisition == 2
    assert marked(made, "a", (0, 4, 0), (0, 4, 2)) == [STATE, OK]
    malformed = attrs.evolve(read, start_offset=1, state_batches=(_AVAILABLE,))
    assert made.apply(Initialize(CONFIG, 0, 10, malformed)).status is ErrorCode.UNKNOWN_SERVER_ERROR
    made.apply(Initialize(CONFIG, 0, 10, read))
    assert fetch(made, "a", (0, 4)).acquisition == 3
    made.apply(Initialize(CONFIG, 0, 10, attrs.evolve(read, leader_epoch=8)))
    assert fetch(made, "a", (0, 4)).acquisition == 0
    assert mark(made, "a", (0, 4, 0), epoch=7) == [STATE]


@pytest.mark.parametrize("profile", [KIP, KAFKA])
def test_without_in_progress_there_are_no_numbers_and_no_marks(profile: Profile) -> None:
    made = partition((0, 4), profile=profile)
    assert fetch(made, "a", (0, 4)).acquisition is None
    with pytest.raises(InvalidValueError) as raised:
        made.apply(MarkInProgress("a", ()))
    assert raised.value.name == "operation"
    with pytest.raises(IllegalChoiceError) as refused:
        FastSharePartition(profile).apply(MarkInProgress("a", ()))
    assert refused.value.guard is Guard.PARTITION_IS_INITIALIZED


def test_a_profile_without_marks_refuses_one_first() -> None:
    inner, state = interpreted("progress"), interpreted("state").new_state(KAFKA)
    sent = inner.Mark(0, np.array([(0, 0, 0, 0)]))
    assert inner.mark_in_progress(state, sent, at.UNSET) == at.verdict(at.NO_MARKS)


def test_a_mark_keeps_owner_and_delivery_count_and_lengthens_the_lock() -> None:
    made = held()
    wait(made, 4)
    assert marked(made, "a", (1, 2, 0)) == [OK]
    assert shown(made) == "0-0:Q1a 1-2:P1a 3-4:Q1a 5-9:Q1b"
    wait(made, 6)
    assert shown(made) == "0-0:A1 1-2:P1a 3-9:A1"
    assert wait(made, 13).writes == ()
    assert written(wait(made, 1)) == [(0, 0, [(1, 2, 0, 1)])]


def test_further_marks_last_until_the_maximum_extension() -> None:
    made = held()
    for _ in range(5):
        assert marked(made, "a", (0, 4, 0)) == [OK]
        wait(made, 9)
    assert marked(made, "a", (0, 4, 0)) == [OK]
    assert wait(made, 4).writes == ()
    assert written(wait(made, 1)) == [(0, 0, [(0, 4, 0, 1)])]


def test_no_mark_is_accepted_after_the_maximum_extension() -> None:
    made = held()
    marked(made, "a", (0, 0, 0), (3, 3, 0))
    shorter = attrs.evolve(CONFIG, record_lock_duration_ms=1, in_progress_max_lock_extension_ms=20)
    made.apply(AlterConfig(shorter))
    wait(made, 9)
    assert marked(made, "a", (3, 3, 0)) == [OK]
    made.apply(
        AlterConfig(
            attrs.evolve(
                shorter,
                in_progress_staleness_threshold_ms=9,
                in_progress_max_lock_extension_ms=9,
            )
        )
    )
    assert marked(made, "a", (0, 0, 0), (1, 1, 0)) == [STATE, OK]
    assert shown(made) == "0-1:P1a 2-2:Q1a 3-3:P1a 4-4:Q1a 5-9:Q1b"


def test_a_mark_leaves_a_longer_lock_as_it_is() -> None:
    made = held()
    marked(made, "a", (0, 0, 0))
    shorter = attrs.evolve(
        CONFIG,
        record_lock_duration_ms=1,
        in_progress_staleness_threshold_ms=2,
        in_progress_max_lock_extension_ms=20,
    )
    made.apply(AlterConfig(shorter))
    wait(made, 1)
    assert marked(made, "a", (0, 1, 0)) == [OK]
    wait(made, 8)
    assert shown(made) == "0-1:P1a 2-4:Q1a 5-9:Q1b"
    assert marked(made, "a", (0, 2, 0)) == [OK]
    wait(made, 1)
    assert shown(made) == "0-2:P1a 3-9:A1"
    wait(made, 1)
    assert shown(made) == "0-0:P1a 1-9:A1"


def test_the_times_of_a_mark_stay_within_64_bits() -> None:
    made = held(
        in_progress_staleness_threshold_ms=MAX_INT64, in_progress_max_lock_extension_ms=MAX_INT64
    )
    wait(made, 5)
    assert marked(made, "a", (0, 4, 0)) == [OK]
    wait(made, MAX_INT64 - 6)
    assert shown(made) == "0-4:P1a 5-9:A1"


@pytest.mark.parametrize(
    ("member", "batch", "epoch", "answer"),
    [
        ("a", (-1, 2, 0), 7, REQUEST),
        ("a", (2, 1, 0), 7, REQUEST),
        ("a", (3, 10, 0), 7, REQUEST),  # Past the end offset.
        ("z", (8, 2**62, 0), 7, REQUEST),  # Before the states of its records.
        ("z", (0, 1, 9), 3, OK),  # Below the start offset, whoever asks.
        ("a", (0, 4, 0), 7, OK),  # Partly below it.
        ("z", (2, 2, 0), 7, STATE),  # Another owner.
        ("a", (2, 2, 1), 7, STATE),  # Another acquisition.
        ("a", (2, 2, 0), 6, STATE),  # Another leader.
        ("a", (2, 5, 0), 7, STATE),  # 5 belongs to somebody else.
        ("b", (6, 6, 1), 7, STATE),  # Its write is outstanding.
        ("b", (7, 7, 1), 7, STATE),  # Available again.
        ("b", (8, 8, 1), 7, STATE),  # Acknowledged.
        ("b", (9, 9, 1), 7, OK),
    ],
)
def test_how_a_batch_is_judged(
    member: str, batch: tuple[int, int, int], epoch: int, answer: str
) -> None:
    made = held()
    ack(made, "a", (0, 1, ACCEPT))
    ack(made, "b", (6, 6, ACCEPT), answer=ErrorCode.PENDING)
    ack(made, "b", (7, 7, RELEASE), (8, 8, ACCEPT))
    before = shown(made)
    assert mark(made, member, batch, epoch=epoch) == [answer]
    assert (shown(made) == before) == (answer != OK or batch[1] < 2)


def test_batches_are_judged_one_by_one() -> None:
    made = held()
    assert marked(made, "a", (0, 1, 0), (4, 5, 0), (1, 2, 0), (9, 3, 0)) == [OK, STATE, OK, REQUEST]
    assert shown(made) == "0-2:P1a 3-4:Q1a 5-9:Q1b"
    assert marked(made, "a") == []


def test_offsets_never_in_flight_are_ignored() -> None:
    made = partition(profile=DRAFT_RESOLVED, persisted=((0, 0, 0, 1), (5, 5, 0, 1)))
    fetch(made, "a", (0, 0), (5, 5))
    assert mark(made, "a", (0, 5, 0), (1, 4, 9)) == [OK, OK]
    assert shown(made) == "0-0:P2a 5-5:P2a"


def test_marks_change_the_same_as_in_the_specification() -> None:
    made = Held(DRAFT_RESOLVED)
    persisted = (StateBatch(6, 6, RecordState.ACKNOWLEDGED, 1),)
    made.apply(Initialize(CONFIG, 0, 9, DurableState(0, 0, persisted)))
    for member, taken in [("a", (0, 5)), ("b", (7, 8))]:
        batches = ranges(taken)
        made.apply(Acquire(member, AcquireMode.BATCH_OPTIMIZED, 9, 9, taken[0], batches))
    made.apply(Acknowledge("a", (AcknowledgementBatch(0, 0, (ACCEPT,)),)))
    every = list(combinations_with_replacement(range(-1, 10), 2))
    for first, passed in product(every, (0, 4)):
        once = copy.copy(made)
        once.apply(AdvanceTime(1))
        once.apply(MarkInProgress("a", (ProgressBatch(*first, 0, 0),)))
        once.apply(AdvanceTime(passed))
        for second in [(0, 1), (1, 2), (3, 3), (4, 5), (1, 5)]:
            twice = copy.copy(once)
            twice.apply(MarkInProgress("a", (ProgressBatch(*second, 0, 0),)))
            twice.apply(AdvanceTime(20 - passed))


def test_a_mark_of_an_earlier_delivery_is_refused() -> None:
    made = held()
    wait(made, 10)
    fetch(made, "a", (0, 4))
    assert marked(made, "a", (0, 0, 0), (1, 1, 2)) == [STATE, OK]


def test_a_new_delivery_starts_its_own_progress() -> None:
    made = held()
    marked(made, "a", (0, 4, 0))
    wait(made, 20)
    fetch(made, "a", (0, 4))
    assert wait(made, 9).writes == ()
    assert marked(made, "a", (0, 4, 2)) == [OK]
    assert wait(made, 19).writes == ()
    assert written(wait(made, 1)) == [(0, 0, [(0, 4, 0, 2)])]


def test_runs_of_different_deliveries_look_like_one() -> None:
    made = partition((0, 9), profile=DRAFT_RESOLVED)
    fetch(made, "a", (0, 4))
    fetch(made, "a", (5, 9))
    assert shown(made) == "0-9:Q1a"
    assert mark(made, "a", (0, 9, 0), (5, 9, 1), (0, 4, 0)) == [STATE, OK, OK]
    wait(made, 1)
    mark(made, "a", (2, 3, 0))
    assert shown(made) == "0-9:P1a"


def test_records_in_progress_are_acknowledged_like_acquired_ones() -> None:
    made = held()
    marked(made, "a", (0, 4, 0))
    outcome = ack(made, "a", (0, 3, GAP, ACCEPT, RELEASE, REJECT))
    assert written(outcome) == [(0, 3, [(0, 0, 4, 1), (1, 1, 2, 1), (2, 2, 0, 1), (3, 3, 4, 1)])]
    assert shown(made) == "2-2:A1 3-3:X1 4-4:P1a 5-9:Q1b"
    assert ack(made, "b", (4, 4, ACCEPT)).status is ErrorCode.INVALID_RECORD_STATE


def test_records_in_progress_cannot_be_renewed() -> None:
    made = held()
    marked(made, "a", (2, 2, 0))
    refused = ack(made, "a", (0, 1, ACCEPT), (2, 2, RENEW))
    assert refused.status is ErrorCode.INVALID_RECORD_STATE
    assert shown(made) == "0-1:Q1a 2-2:P1a 3-4:Q1a 5-9:Q1b"
    with pytest.raises(IllegalChoiceError):
        ack(made, "a", (2, 2, RENEW), choice=Choice(refusal=ErrorCode.NONE))
    assert ack(made, "a", (1, 1, RENEW)).status is ErrorCode.NONE


def test_in_progress_counts_in_the_lag_and_holds_the_start() -> None:
    made = held()
    marked(made, "a", (0, 0, 0))
    ack(made, "a", (1, 4, ACCEPT))
    assert made.snapshot().start_offset == 0
    assert made.snapshot().delivery_complete_count == 4
    assert made.lag() == 6
    assert made.apply(ResetOffset(0)).status is ErrorCode.NON_EMPTY_GROUP
    made.apply(AdvanceLogStart(5))
    assert made.lag() == 5


def test_a_leader_that_is_empty_but_for_progress_cannot_be_reset() -> None:
    made = partition((0, 0), profile=DRAFT_RESOLVED)
    fetch(made, "a", (0, 0))
    mark(made, "a", (0, 0, 0))
    assert made.apply(ResetOffset(0)).status is ErrorCode.NON_EMPTY_GROUP


def test_a_member_that_leaves_keeps_fresh_progress_for_the_grace() -> None:
    made = held()
    marked(made, "a", (1, 2, 0), (4, 4, 0))
    outcome = made.apply(MemberLeaves("a"))
    assert written(outcome) == [(0, 0, [(0, 0, 0, 1), (3, 3, 0, 1)])]
    assert shown(made) == "0-0:A1 1-2:P1a 3-3:A1 4-4:P1a 5-9:Q1b"
    wait(made, 4)
    assert marked(made, "a", (4, 4, 0)) == [OK]
    assert written(wait(made, 1)) == [(0, 0, [(1, 2, 0, 1)])]
    assert wait(made, 4).status is ErrorCode.NONE
    assert shown(made) == "0-3:A1 4-4:P1a 5-9:Q1b"


def test_the_grace_never_lengthens_a_lock() -> None:
    made = held(in_progress_rebalance_grace_ms=30)
    marked(made, "a", (0, 4, 0))
    wait(made, 9)
    assert made.apply(MemberLeaves("a")).writes == ()
    wait(made, 10)
    assert written(wait(made, 1)) == [(0, 0, [(0, 4, 0, 1)])]


def test_equal_locks_are_one_run_after_the_grace() -> None:
    made = held()
    marked(made, "a", (0, 1, 0))
    wait(made, 1)
    marked(made, "a", (2, 4, 0))
    made.apply(MemberLeaves("a"))
    wait(made, 5, Choice(expired=(Expiry(ranges((0, 4))),)))
    assert shown(made) == "0-4:A1 5-9:Q1b"


@pytest.mark.parametrize(("threshold", "after"), [(9, "0-4:P1a"), (8, "0-4:A1")])
def test_stale_progress_is_released(threshold: int, after: str) -> None:
    made = held()
    marked(made, "a", (0, 4, 0))
    wait(made, 8)
    lower = attrs.evolve(
        CONFIG, record_lock_duration_ms=1, in_progress_staleness_threshold_ms=threshold
    )
    made.apply(AlterConfig(lower))
    made.apply(MemberLeaves("a"))
    assert shown(made) == f"{after} 5-9:Q1b"


@pytest.mark.parametrize(
    ("ms", "locks", "guard"),
    [
        (19, [(0, 4)], Guard.LOCK_LASTS_ITS_DURATION),
        (20, [(0, 3)], Guard.LOCK_ENDS_ON_TIME),
    ],
)
def test_progress_expires_neither_early_nor_late(
    ms: int, locks: list[tuple[int, int]], guard: Guard
) -> None:
    made = held()
    ack(made, "b", (5, 9, RELEASE))
    marked(made, "a", (0, 4, 0))
    with pytest.raises(IllegalChoiceError) as raised:
        wait(made, ms, Choice(expired=(Expiry(ranges(*locks)),)))
    assert raised.value.guard is guard


def test_progress_at_the_limit_is_archived_when_it_expires() -> None:
    made = held(delivery_count_limit=1)
    marked(made, "a", (0, 4, 0))
    assert written(wait(made, 20)) == [(0, 10, [(0, 9, 4, 1)])]


def test_a_write_that_fails_brings_progress_back() -> None:
    made = held()
    marked(made, "a", (0, 1, 0))
    wait(made, 9)
    ack(made, "a", (0, 2, ACCEPT), answer=ErrorCode.PENDING)
    assert shown(made) == "0-2:K1! 3-4:Q1a 5-9:Q1b"
    made.apply(CompleteWrite(0, FAILED))
    assert shown(made) == "0-1:P1a 2-4:Q1a 5-9:Q1b"
    assert marked(made, "a", (0, 0, 0)) == [OK]
    assert written(wait(made, 11))[0][2] == [(1, 9, 0, 1)]
    wait(made, 18)
    assert shown(made) == "0-9:A1"


def test_refused_records_are_in_progress_as_before() -> None:
    made = held()
    marked(made, "a", (0, 1, 0))
    assert ack(made, "a", (0, 5, ACCEPT)).status is ErrorCode.INVALID_RECORD_STATE
    assert ack(made, "a", (0, 1, ACCEPT), answer=FAILED).status is FAILED
    assert shown(made) == "0-1:P1a 2-4:Q1a 5-9:Q1b"


@pytest.mark.parametrize(("profile", "ready"), [(DRAFT_RESOLVED, True), (KIP, False)])
def test_progress_that_is_durable_is_read_as_available(profile: Profile, *, ready: bool) -> None:
    made = partition(profile=profile, persisted=((0, 1, 0, 2), (2, 3, 5, 2), (4, 4, 5, 1)))
    if not ready:
        with pytest.raises(IllegalChoiceError) as raised:
            wait(made, 1)
        assert raised.value.guard is Guard.PARTITION_IS_INITIALIZED
        return
    assert shown(made) == "0-3:A2 4-4:A1"
    assert [int(b.state) for b in made.durable().state_batches] == [0, 5, 5]
    fetch(made, "a", (0, 4))
    ack(made, "a", (0, 4, ACCEPT))
    assert [(int(b.state), b.delivery_count) for b in made.durable().state_batches] == [
        (2, 3),
        (2, 2),
    ]


def test_a_write_with_the_same_delivery_count_does_not_replace_durable_progress() -> None:
    made = partition(profile=DRAFT_RESOLVED, persisted=((0, 0, 5, 2),), delivery_count_limit=3)
    assert fetch(made, "a", (0, 0)).acquisition == 0
    assert [(b.state, b.delivery_count) for b in made.durable().state_batches] == [(5, 2)]
    ack(made, "a", (0, 0, RELEASE))
    assert made.durable() == DurableState(0, 1, (StateBatch(0, 0, RecordState.ARCHIVED, 3),))
