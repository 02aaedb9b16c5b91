import copy
from itertools import product

import attrs
import pytest

from impl.layout import ACQUIRED_TAIL, COUNT
from model.errors import ErrorCode, IllegalChoiceError
from model.guards import Guard
from model.operations import Acquire, CompleteWrite, SkipAcquire
from model.outcome import Choice
from model.profile import KAFKA
from model.states import AcquireMode
from tests.impl.held import held
from tests.impl.helpers import interpreted
from tests.impl.scenario import (
    REJECT,
    RELEASE,
    ack,
    fetch,
    partition,
    ranges,
    shown,
)

BATCHED, LIMITED = AcquireMode.BATCH_OPTIMIZED, AcquireMode.RECORD_LIMIT
NOTHING = Choice(acquired=(), entered=())

Pair = tuple[int, int]


def reading(*batches: Pair, mode: AcquireMode = BATCHED, offset: int | None = None) -> Acquire:
    """Return a fetch by b of these batches, at the first of them."""
    at = (batches[0][0] if batches else 0) if offset is None else offset
    return Acquire("b", mode, 500, 500, at, ranges(*batches))


@pytest.mark.parametrize("status", [ErrorCode.NONE, ErrorCode.NOT_COORDINATOR])
def test_only_available_records_that_vanish_are_archived(status: ErrorCode) -> None:
    made = held((0, 16), told=False)
    fetch(made, "a", (0, 14))
    ack(made, "a", (1, 2, REJECT))
    pending = ack(made, "a", (6, 7, RELEASE), answer=ErrorCode.PENDING)
    ack(made, "a", (3, 5, RELEASE), (10, 12, RELEASE))
    assert shown(made) == "0-0:Q1a 1-2:X1 3-5:A1 6-7:A1! 8-9:Q1a 10-12:A1 13-14:Q1a"
    for offset, first in product(range(17), repeat=2):
        after = copy.copy(made)
        after.apply(reading((first, 16), offset=offset), NOTHING)
        after.apply(CompleteWrite(pending.writes[0].id, status))


def test_the_first_acquired_range_continues_no_other() -> None:
    state = interpreted("state").new_state(KAFKA)
    runs = interpreted("runs")
    row = runs.put(state.header, state.runs, 0, 5, 7)
    state.runs[row, COUNT] = 1
    state.acquired[-1] = 3, 4, 1  # Left by an earlier fetch.
    answer = interpreted("acquire")._answer  # noqa: SLF001 - no operation fills the last row
    answer(state.header, state.acquired, state.runs, row)
    assert state.acquired[: state.header[ACQUIRED_TAIL]].tolist() == [[5, 7, 1]]


def test_record_limit_is_kept() -> None:
    made = partition((0, 4))
    with pytest.raises(IllegalChoiceError) as raised:
        fetch(
            made, "a", (0, 4), limit=2, mode=LIMITED, choice=Choice(acquired=ranges((1, 2), (4, 4)))
        )
    assert (raised.value.guard, raised.value.detail) == (Guard.WITHIN_RECORD_LIMIT, "at 1")
    with pytest.raises(IllegalChoiceError) as raised:
        fetch(made, "a", (0, 4), limit=0, choice=Choice(acquired=ranges((0, 0))))
    assert raised.value.guard is Guard.WITHIN_RECORD_LIMIT


@pytest.mark.parametrize(
    ("taken", "mode", "strict", "allowed"),
    [
        ((0, 9), AcquireMode.BATCH_OPTIMIZED, False, True),  # Ends with the crossing batch.
        ((0, 9), AcquireMode.BATCH_OPTIMIZED, True, False),
        ((0, 14), AcquireMode.BATCH_OPTIMIZED, False, False),  # One more batch.
        ((0, 6), LIMITED, False, True),  # The rest of the batch enters available.
        ((0, 7), LIMITED, False, False),
        ((0, 6), LIMITED, True, False),
    ],
)
def test_the_window_may_overshoot_by_one_log_batch(
    taken: tuple[int, int], mode: AcquireMode, *, strict: bool, allowed: bool
) -> None:
    profile = attrs.evolve(KAFKA, window_may_overshoot=not strict)
    made = partition((0, 4), (5, 9), (10, 14), partition_max_record_locks=7, profile=profile)
    choice = Choice(acquired=ranges(taken), end_offset=max(10, taken[1] + 1))
    if allowed:
        fetch(made, "a", (0, 4), (5, 9), (10, 14), mode=mode, choice=choice)
        assert made.snapshot().end_offset == 10
        return
    with pytest.raises(IllegalChoiceError) as raised:
        fetch(made, "a", (0, 4), (5, 9), (10, 14), mode=mode, choice=choice)
    assert raised.value.guard is Guard.WITHIN_WINDOW_LIMIT
    assert raised.value.detail == f"at {max(9, taken[1])}"


def test_nothing_can_be_acquired_only_from_a_full_window() -> None:
    made = partition((0, 4), (5, 9), partition_max_record_locks=5)
    for full in range(2):
        with pytest.raises(IllegalChoiceError) as raised:
            made.apply(SkipAcquire("a"))
        assert (raised.value.guard, raised.value.detail) == (Guard.CAN_ACQUIRE, f"at {4 * full}")
        if full == 0:
            fetch(made, "a", (0, 4))
            ack(made, "a", (4, 4, RELEASE))
    fetch(made, "b", (0, 4))
    assert not made.apply(SkipAcquire("a")).can_acquire
    ack(made, "a", (0, 0, REJECT))
    with pytest.raises(IllegalChoiceError) as raised:
        made.apply(SkipAcquire("a"))
    assert raised.value.detail == "at 5"
