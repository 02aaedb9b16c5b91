"""Offsets and times at the end of the 64 bits, where the specification's numbers go on."""

import attrs
import pytest

from judge.pair import Refused
from model.checks import MAX_INT64
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.guards import Guard
from model.operations import (
    Acknowledge,
    AcknowledgementBatch,
    Acquire,
    AdvanceLogStart,
    AdvanceTime,
    CompleteWrite,
    Initialize,
    MarkInProgress,
    MemberLeaves,
    Produce,
    ProgressBatch,
)
from model.outcome import Answer, Choice, Outcome
from model.profile import DRAFT_RESOLVED, KAFKA, Profile
from model.ranges import StateBatch
from model.snapshot import DurableState
from model.states import AcknowledgeType, AcquireMode, RecordState
from tests.impl.helpers import interpreted
from tests.lockstep.pair import Pair
from tests.spec.worlds import spans, taken

CONFIG = SharePartitionConfig()


def held(config: SharePartitionConfig, profile: Profile = KAFKA, time_ms: int = 0) -> Pair:
    """Return a pair in which a holds 0 to 4 since a time."""
    pair = Pair(profile)
    pair.do(Initialize(config, 0, 0, DurableState(0, 0), time_ms))
    pair.do(Produce(spans((0, 4)), 5))
    pair.do(Acquire("a", AcquireMode.BATCH_OPTIMIZED, 5, 5, 0, spans((0, 4))))
    return pair


def acknowledge(first: int, last: int, kind: AcknowledgeType) -> Acknowledge:
    return Acknowledge("a", (AcknowledgementBatch(first, last, (kind,)),))


def test_a_window_may_end_at_the_last_offset_of_all() -> None:
    last = MAX_INT64 - 2  # The end of the window is an offset too.
    kept = tuple(StateBatch(at, at, RecordState.AVAILABLE, 1) for at in (last - 1, last))
    pair = Pair(KAFKA)
    pair.do(Initialize(CONFIG, 0, last, DurableState(0, 0, kept)))
    assert pair.snapshot().end_offset == last + 1
    pair.do(AdvanceLogStart(last + 1))
    assert pair.snapshot().start_offset == last + 1


def test_the_largest_offsets_are_acknowledged_and_released() -> None:
    top = MAX_INT64 - 2
    pair, read = Pair(KAFKA), spans((top - 4, top))
    pair.do(Initialize(CONFIG, top - 4, top + 1, DurableState(top - 4, 0)))
    pair.do(Acquire("a", AcquireMode.BATCH_OPTIMIZED, 5, 5, top - 4, read))
    beyond = acknowledge(top, 2**70, AcknowledgeType.RENEW)
    refused = pair.do(beyond, Choice(refusal=ErrorCode.NONE))
    assert isinstance(refused, Refused)
    assert refused.reason is Guard.ACKNOWLEDGED_WAS_DELIVERED
    pair.do(acknowledge(top, top, AcknowledgeType.ACCEPT))
    pair.do(MemberLeaves("a"))
    again = pair.do(Acquire("b", AcquireMode.BATCH_OPTIMIZED, 5, 5, top - 4, read))
    assert isinstance(again, Outcome)
    assert taken(again) == [(top - 4, top - 1, 2)]


@pytest.mark.parametrize("duration", [MAX_INT64, MAX_INT64 - 4, MAX_INT64 - 5, MAX_INT64 - 6, 0])
@pytest.mark.parametrize("early", [0, 1])
def test_only_due_locks_expire_at_the_end_of_the_clock(duration: int, early: int) -> None:
    pair = held(attrs.evolve(CONFIG, record_lock_duration_ms=duration), time_ms=5)
    accepted = acknowledge(0, 1, AcknowledgeType.ACCEPT)
    pair.do(accepted, answers=(Answer(ErrorCode.PENDING, 1),))
    pair.do(AdvanceTime(MAX_INT64 - 5 - early))
    pair.do(CompleteWrite(1, ErrorCode.NOT_COORDINATOR))
    pair.do(AdvanceTime(early))


def test_the_times_of_a_mark_stay_within_64_bits() -> None:
    config = attrs.evolve(
        CONFIG,
        record_lock_duration_ms=10,
        in_progress_staleness_threshold_ms=MAX_INT64,
        in_progress_max_lock_extension_ms=MAX_INT64,
    )
    pair = held(config, DRAFT_RESOLVED)
    pair.do(AdvanceTime(5))
    pair.do(MarkInProgress("a", (ProgressBatch(0, 2, 0, 0),)))
    pair.do(AdvanceTime(MAX_INT64 - 6))
    states = [record.state for record in pair.snapshot().records or ()]
    assert states == [RecordState.IN_PROGRESS, RecordState.AVAILABLE]


@pytest.mark.parametrize(
    ("now", "by", "last"),
    [
        (3, 4, 6),
        (3, 0, 2),
        (0, 0, -1),
        (5, MAX_INT64 - 5, MAX_INT64 - 1),
        (5, MAX_INT64 - 4, MAX_INT64),
        (MAX_INT64, MAX_INT64, MAX_INT64),
    ],
)
def test_a_deadline_beyond_64_bits_lasts_as_long_as_the_clock(now: int, by: int, last: int) -> None:
    assert interpreted("window").later(now, by) == last
