import attrs
import numpy as np
import pytest

from impl.layout import HEAD, LAST, NEXT_DEADLINE, TAIL
from model.checks import MAX_INT64
from model.config import SharePartitionConfig
from model.errors import ErrorCode, IllegalChoiceError, InvalidValueError
from model.guards import Guard
from model.operations import (
    Acknowledge,
    AcknowledgementBatch,
    Acquire,
    AdvanceTime,
    CompleteWrite,
    Initialize,
    Produce,
)
from model.outcome import Answer, Choice, Expiry
from model.profile import KAFKA
from model.snapshot import DurableState
from model.states import AcquireMode
from tests.impl.helpers import interpreted
from tests.impl.scenario import ACCEPT, fetch, partition, ranges, shown, wait
from tests.lockstep.pair import Pair


@pytest.mark.parametrize(
    ("ms", "locks", "guard", "at"),
    [
        (9, [(0, 4)], Guard.LOCK_LASTS_ITS_DURATION, 0),
        (10, [(0, 5)], Guard.LOCK_LASTS_ITS_DURATION, 5),
        (10, [(0, 2)], Guard.LOCK_ENDS_ON_TIME, 3),
        (10, [(0, 3)], Guard.LOCK_ENDS_ON_TIME, 4),
    ],
)
def test_neither_early_nor_late(
    ms: int, locks: list[tuple[int, int]], guard: Guard, at: int
) -> None:
    made = partition((0, 4), record_lock_duration_ms=10)
    fetch(made, "a", (0, 4))
    with pytest.raises(IllegalChoiceError) as raised:
        wait(made, ms, Choice(expired=(Expiry(ranges(*locks)),)))
    assert (raised.value.guard, raised.value.detail) == (guard, f"at {at}")
    assert shown(made) == "0-4:Q1a"


def test_locks_that_are_not_due_give_the_next_deadline() -> None:
    """The scratch that what is due is put in may hold anything before."""
    state = interpreted("state").new_state(KAFKA)
    kept = [[0, 1, 1, 1, 0, 7, -1, 0], [2, 4, 1, 1, 0, 30, -1, 0], [5, 5, 1, 1, 0, 20, -1, 0]]
    state.header[TAIL], state.runs[:3] = len(kept), kept
    state.header[NEXT_DEADLINE], state.ranges[:] = 7, (2, 4)
    expiry = interpreted("expiry")
    none = expiry.Expiries(0, *(np.zeros(shape, np.int64) for shape in (0, (0, 2), (0, 2))))
    assert expiry.advance_time(state, 10, none, np.zeros((0, 2), np.int64), 0) == 0
    held = [row[LAST] for row in state.runs[state.header[HEAD] : state.header[TAIL]] if row[2] == 1]
    assert (held, state.header[NEXT_DEADLINE]) == ([4, 5], 20)


def test_the_clock_stays_within_64_bits() -> None:
    made = partition((0, 4), record_lock_duration_ms=MAX_INT64)
    wait(made, 5)
    fetch(made, "a", (0, 4))
    with pytest.raises(InvalidValueError):
        wait(made, MAX_INT64 - 4)
    wait(made, MAX_INT64 - 5)
    assert shown(made) == "0-4:Q1a"


@pytest.mark.parametrize("duration", [MAX_INT64, MAX_INT64 - 4, MAX_INT64 - 5, MAX_INT64 - 6, 0])
@pytest.mark.parametrize("early", [0, 1])
def test_only_due_locks_expire_at_the_end_of_the_clock(duration: int, early: int) -> None:
    config = attrs.evolve(SharePartitionConfig(), record_lock_duration_ms=duration)
    accepted = (AcknowledgementBatch(0, 1, (ACCEPT,)),)
    pair = Pair(KAFKA)
    pair.do(Initialize(config, 0, 0, DurableState(0, 0), 5))
    pair.do(Produce(ranges((0, 4)), 5))
    pair.do(Acquire("a", AcquireMode.BATCH_OPTIMIZED, 5, 5, 0, ranges((0, 4))))
    pair.do(Acknowledge("a", accepted), answers=(Answer(ErrorCode.PENDING, 1),))
    pair.do(AdvanceTime(MAX_INT64 - 5 - early))
    pair.do(CompleteWrite(1, ErrorCode.NOT_COORDINATOR))
    pair.do(AdvanceTime(early))
