"""An event may have more offsets than a judge that knows each of them has memory for."""

import pytest

from judge.engine import SpecEngine, check_offsets
from model.checks import MAX_RANGE
from model.config import SharePartitionConfig
from model.errors import InvalidValueError
from model.operations import Acquire, Compact, Initialize, MemberLeaves, Operation
from model.outcome import Choice
from model.profile import KIP
from model.ranges import OffsetRange, StateBatch
from model.snapshot import DurableState
from model.states import AcquireMode, RecordState

FETCH = Acquire("m", AcquireMode.BATCH_OPTIMIZED, 1, 1, 0, ())


def spans(offsets: int) -> tuple[OffsetRange, ...]:
    """Ranges of so many offsets together, each as long as one may be."""
    starts = range(0, offsets, MAX_RANGE)
    return tuple(OffsetRange(o, min(o + MAX_RANGE, offsets) - 1) for o in starts)


def initialize(offsets: int) -> Initialize:
    batches = [StateBatch(s.first, s.last, RecordState.ARCHIVED, 1) for s in spans(offsets)]
    return Initialize(
        SharePartitionConfig(5, 200, 30_000), 0, offsets, DurableState(0, 0, tuple(batches))
    )


@pytest.mark.parametrize(
    ("operation", "choice", "name"),
    [
        (FETCH, Choice(acquired=spans(MAX_RANGE + 1)), "acquired"),
        (FETCH, Choice(entered=spans(MAX_RANGE + 1)), "entered"),
        (initialize(MAX_RANGE + 1), Choice(), "persisted"),
        (Compact(spans(MAX_RANGE + 1)), Choice(), "compacted"),
    ],
    ids=["acquired", "entered", "persisted", "compacted"],
)
def test_more_offsets_than_memory_is_for_are_refused(
    operation: Operation, choice: Choice, name: str
) -> None:
    text = f"number of {name} offsets is 1048577; allowed: at most 1048576"
    with pytest.raises(InvalidValueError, match=text):
        check_offsets(operation, choice)
    with pytest.raises(InvalidValueError, match=text):
        SpecEngine(KIP).apply(operation, choice, (), 0)


@pytest.mark.parametrize(
    ("operation", "choice"),
    [
        (FETCH, Choice(acquired=spans(MAX_RANGE), entered=spans(MAX_RANGE))),
        (initialize(MAX_RANGE), Choice()),
        (Compact(spans(MAX_RANGE)), Choice()),
        (MemberLeaves("m"), Choice()),
    ],
    ids=["acquired", "persisted", "compacted", "none"],
)
def test_as_many_as_one_range_may_have_are_not(operation: Operation, choice: Choice) -> None:
    check_offsets(operation, choice)
