import attrs
import pytest

from model.config import SharePartitionConfig
from model.errors import ErrorCode, IllegalChoiceError
from model.guards import Guard
from model.operations import (
    Acquire,
    CompleteWrite,
    Initialize,
    SkipAcquire,
)
from model.outcome import Choice
from model.profile import KAFKA
from model.snapshot import DurableState
from model.states import AcquireMode
from tests.impl.scenario import (
    ACCEPT,
    REJECT,
    RELEASE,
    ack,
    fetch,
    partition,
    ranges,
    shown,
)
from tests.lockstep.pair import Pair

LIMITED = AcquireMode.RECORD_LIMIT


@pytest.mark.parametrize(
    ("taken", "guard"),
    [
        ([(0, 0)], Guard.ONLY_AVAILABLE_IS_ACQUIRED),  # Below the start offset.
        ([(1, 3)], Guard.ONLY_AVAILABLE_IS_ACQUIRED),  # Held by another member.
        ([(4, 4)], Guard.NO_ACQUIRE_DURING_WRITE),
        ([(5, 5), (5, 6)], Guard.ONLY_AVAILABLE_IS_ACQUIRED),  # Named twice.
        ([(5, 6), (7, 7), (4, 4)], Guard.NO_ACQUIRE_DURING_WRITE),  # The lowest offset decides.
        ([(5, 12)], Guard.ONLY_READ_IS_ACQUIRED),
        ([(6, 9)], None),
        ([(8, 9)], Guard.NO_RECORD_SKIPPED),
    ],
)
def test_what_may_be_acquired(taken: list[tuple[int, int]], guard: Guard | None) -> None:
    made = partition((0, 4), (5, 9), (10, 14))
    fetch(made, "a", (0, 4))
    ack(made, "a", (0, 0, ACCEPT))
    ack(made, "a", (4, 4, RELEASE), answer=ErrorCode.PENDING)
    fetch(made, "a", (5, 9), choice=Choice(acquired=ranges((5, 6)), entered=()))
    ack(made, "a", (5, 6, RELEASE))
    before = made.snapshot()
    choice = Choice(acquired=ranges(*taken), entered=())
    if guard is None:
        fetch(made, "b", (0, 4), (5, 9), choice=choice)
        assert shown(made).endswith("5-5:A1 6-6:Q2b 7-9:Q1b")
        return
    with pytest.raises(IllegalChoiceError) as raised:
        fetch(made, "b", (0, 4), (5, 9), choice=choice)
    assert raised.value.guard is guard
    assert made.snapshot() == before


def test_record_limit_is_kept() -> None:
    made = partition((0, 4))
    with pytest.raises(IllegalChoiceError) as raised:
        fetch(made, "a", (0, 4), limit=2, mode=LIMITED, choice=Choice(acquired=ranges((0, 2))))
    assert raised.value.guard is Guard.WITHIN_RECORD_LIMIT
    with pytest.raises(IllegalChoiceError) as raised:
        fetch(made, "a", (0, 4), limit=0, choice=Choice(acquired=ranges((0, 0))))
    assert raised.value.guard is Guard.WITHIN_RECORD_LIMIT


def test_records_may_enter_the_window_untaken() -> None:
    made = partition((0, 4), (5, 9))
    fetch(made, "a", (0, 4), (5, 9), choice=Choice(acquired=ranges((2, 2)), end_offset=7))
    assert shown(made) == "0-1:A0 2-2:Q1a 3-6:A0"
    with pytest.raises(IllegalChoiceError) as raised:
        fetch(made, "a", (5, 9), choice=Choice(acquired=(), entered=ranges((7, 11))))
    assert (raised.value.guard, raised.value.detail) == (Guard.ONLY_READ_IS_ACQUIRED, "at 10")


@pytest.mark.parametrize(
    ("taken", "mode", "strict", "allowed"),
    [
        ((0, 9), AcquireMode.BATCH_OPTIMIZED, False, True),  # Ends with the crossing batch.
        ((0, 14), AcquireMode.BATCH_OPTIMIZED, False, False),  # One more batch.
        ((0, 6), LIMITED, False, True),  # The rest of the batch enters available.
        ((0, 7), LIMITED, False, False),
        ((0, 6), LIMITED, True, False),
    ],
)
def test_the_window_may_overshoot_by_one_log_batch(
    taken: tuple[int, int], mode: AcquireMode, *, strict: bool, allowed: bool
) -> None:
    profile = attrs.evolve(KAFKA, record_limit_may_overshoot=not strict)
    made = partition((0, 4), (5, 9), (10, 14), partition_max_record_locks=7, profile=profile)
    choice = Choice(acquired=ranges(taken), end_offset=max(10, taken[1] + 1))
    if allowed:
        fetch(made, "a", (0, 4), (5, 9), (10, 14), mode=mode, choice=choice)
        assert made.snapshot().end_offset == 10
        return
    with pytest.raises(IllegalChoiceError) as raised:
        fetch(made, "a", (0, 4), (5, 9), (10, 14), mode=mode, choice=choice)
    assert raised.value.guard is Guard.WITHIN_WINDOW_LIMIT


@pytest.mark.parametrize("free", [True, False])
def test_kafka_does_not_count_the_gap_before_what_enters(*, free: bool) -> None:
    profile = attrs.evolve(KAFKA, gap_at_the_end_is_free=free)
    made = partition((0, 4), (8, 9), partition_max_record_locks=7, profile=profile)
    fetch(made, "a", (0, 4))
    choice = Choice(acquired=ranges((8, 9)))
    if free:
        fetch(made, "a", (8, 9), choice=choice)
        assert made.snapshot().end_offset == 10
        return
    with pytest.raises(IllegalChoiceError):
        fetch(made, "a", (8, 9), choice=choice)


def test_available_records_that_vanished_are_archived() -> None:
    made = partition((0, 9))
    fetch(made, "a", (0, 9))
    ack(made, "a", (0, 5, RELEASE))
    ack(made, "a", (6, 7, RELEASE), answer=ErrorCode.PENDING)
    fetch(made, "b", (9, 9), offset=3)
    assert shown(made) == "0-2:A1 3-5:X1 6-7:X1! 8-9:Q1a"
    assert made.snapshot().delivery_complete_count == 5


@pytest.mark.parametrize("status", [ErrorCode.NONE, ErrorCode.NOT_COORDINATOR])
def test_a_vanished_record_stays_archived_however_its_write_ends(status: ErrorCode) -> None:
    made = partition((0, 9))
    fetch(made, "a", (0, 9))
    pending = ack(made, "a", (2, 3, RELEASE), answer=ErrorCode.PENDING)
    fetch(made, "b", (9, 9), offset=2)
    made.apply(CompleteWrite(pending.writes[0].id, status))
    assert shown(made) == "0-1:Q1a 2-3:X1 4-9:Q1a"


def test_nothing_can_be_acquired_only_from_a_full_window() -> None:
    made = partition((0, 4), (5, 9), partition_max_record_locks=5)
    for held in range(2):
        with pytest.raises(IllegalChoiceError) as raised:
            made.apply(SkipAcquire("a"))
        assert raised.value.guard is Guard.CAN_ACQUIRE
        if held == 0:
            fetch(made, "a", (0, 4))
            ack(made, "a", (4, 4, RELEASE))
    fetch(made, "b", (0, 4))
    assert not made.apply(SkipAcquire("a")).can_acquire
    ack(made, "a", (0, 0, REJECT))
    with pytest.raises(IllegalChoiceError):
        made.apply(SkipAcquire("a"))


@pytest.mark.parametrize("offset", [0, 1, 3, 7, 12])
@pytest.mark.parametrize("second", [2, 5])
def test_a_read_tells_of_the_log_from_its_offset_on(offset: int, second: int) -> None:
    """Also where it is said to have given what lies before: gaps there are not known."""
    pair = Pair(KAFKA)
    pair.do(Initialize(SharePartitionConfig(), 0, 0, DurableState(0, 0)))
    read = ranges((0, 1), (second, 9))
    done = pair.do(Acquire("a", AcquireMode.BATCH_OPTIMIZED, 500, 500, offset, read))
    if second == 2 or offset < 2:
        assert pair.impl.lag() == max(10, offset)
    else:
        assert done == ("guard", Guard.NO_RECORD_SKIPPED.name)
