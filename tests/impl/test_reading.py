from enum import Enum

import pytest

from model.config import IsolationLevel
from model.errors import ErrorCode, IllegalChoiceError, InvalidValueError
from model.guards import Guard
from model.operations import AdvanceLogStart, Compact, Initialize, Produce
from model.outcome import Choice
from model.snapshot import DurableState
from tests.impl.held import Held, held
from tests.impl.scenario import ACCEPT, RELEASE, ack, fetch, ranges, shown

COMMITTED = IsolationLevel.READ_COMMITTED
NOTHING = Choice(acquired=())


def refused(made: Held, *batches: tuple[int, int], offset: int | None = None) -> tuple[Enum, str]:
    """Return why a fetch that claims to have read these batches is refused."""
    with pytest.raises(IllegalChoiceError) as raised:
        fetch(made, "a", *batches, offset=offset)
    return raised.value.guard, raised.value.detail


def test_no_record_of_the_log_is_skipped() -> None:
    made = held((0, 4), (5, 9), (12, 14))
    assert refused(made, (5, 9), offset=0) == (Guard.NO_RECORD_LOST, "at 0")
    assert refused(made, (5, 9), offset=4) == (Guard.NO_RECORD_LOST, "at 4")
    assert refused(made, (0, 4), (12, 14)) == (Guard.NO_RECORD_LOST, "at 5")
    assert refused(made, (0, 3), (5, 9)) == (Guard.NO_RECORD_LOST, "at 4")
    fetch(made, "a", (5, 9), offset=5, limit=0)
    fetch(made, "a", (0, 4), (5, 9), (12, 14))
    assert shown(made) == "0-9:Q1a 12-14:Q1a"


def test_what_was_compacted_may_be_skipped() -> None:
    made = held((0, 4), (5, 9))
    made.apply(Compact(ranges((0, 0), (2, 4))))
    assert refused(made, (5, 9), offset=0) == (Guard.NO_RECORD_LOST, "at 1")
    made.apply(Compact(ranges((1, 1))))
    fetch(made, "a", (5, 9), offset=0)
    assert (shown(made), made.snapshot().start_offset) == ("5-9:Q1a", 5)


def test_the_next_read_archives_what_was_compacted() -> None:
    made = held((0, 4), (5, 9))
    fetch(made, "a", (0, 4))
    ack(made, "a", (0, 1, RELEASE))
    made.apply(Compact(ranges((0, 1))))
    assert shown(made) == "0-1:A1 2-4:Q1a"
    fetch(made, "b", (2, 4), offset=0, choice=NOTHING)
    assert shown(made) == "2-4:Q1a"


def test_a_read_batch_is_part_of_a_produced_one() -> None:
    made = held((0, 4), (5, 9))
    other = Guard.READ_IS_OF_THE_LOG
    assert refused(made, (0, 9)) == (other, "at 0")
    assert refused(made, (0, 4), (5, 7), (8, 9), (10, 11)) == (Guard.WITHIN_READABLE_LOG, "at 10")
    fetch(made, "a", (1, 3), offset=1, limit=0)
    fetch(made, "a", (0, 2), (3, 4), (5, 7), (8, 9))
    assert shown(made) == "0-9:Q1a"


@pytest.mark.parametrize(("level", "end"), [(COMMITTED, 5), (IsolationLevel.READ_UNCOMMITTED, 10)])
def test_a_read_ends_at_the_last_stable_offset(level: IsolationLevel, end: int) -> None:
    made = held(isolation_level=level)
    made.apply(Initialize(made.spec.config, 0, 0, DurableState(0, 0)))
    made.apply(Produce(ranges((0, 4), (5, 9)), 10, 5))
    beyond = max(5, end)
    assert refused(made, (0, 4), (5, 9), (10, 11)) == (Guard.WITHIN_READABLE_LOG, f"at {beyond}")
    fetch(made, "a", *((0, 4), (5, 9))[: end // 5])
    assert made.snapshot().end_offset == end
    made.apply(Produce((), 10))
    fetch(made, "b", (5, 9), limit=0)


def test_a_log_that_nobody_describes_is_what_reads_show() -> None:
    made = held()
    fetch(made, "a", (3, 4), (8, 9), offset=0)
    assert (shown(made), made.lag()) == ("3-4:Q1a 8-9:Q1a", 7)


def test_the_last_stable_offset_never_goes_back() -> None:
    made = held((0, 4))
    made.apply(Produce(ranges((5, 6)), 7, 5))
    with pytest.raises(InvalidValueError, match="last_stable_offset is 4"):
        made.apply(Produce((), 7, 4))


@pytest.mark.parametrize("offset", [0, 2, 3])
def test_what_lies_below_the_log_start_is_not_in_the_log(offset: int) -> None:
    made = held((0, 4), (5, 9))
    made.apply(Initialize(made.spec.config, 3, 10, DurableState(0, 0)))
    with pytest.raises(IllegalChoiceError) as raised:
        fetch(made, "a", (0, 4), choice=Choice(acquired=ranges((2, 2))))
    assert raised.value.guard is Guard.NOT_BELOW_LOG_START
    fetch(made, "a", (0, 4), (5, 9), offset=offset)
    assert (shown(made), made.snapshot().start_offset) == ("3-9:Q1a", 3)


def test_a_log_start_that_moves_takes_its_records_along() -> None:
    made = held((0, 4), (5, 9))
    made.apply(AdvanceLogStart(7))
    fetch(made, "a", (5, 9), offset=7)
    assert shown(made) == "7-9:Q1a"
    assert ack(made, "a", (7, 9, ACCEPT)).status is ErrorCode.NONE


@pytest.mark.parametrize("end", [7, 10])
def test_a_log_that_was_cut_and_grew_again(end: int) -> None:
    made = held((0, 4), (5, 9))
    made.apply(Initialize(made.spec.config, 0, end, DurableState(0, 0)))
    made.apply(Produce(ranges((12, 14)), 15))
    lost = Guard.NO_RECORD_LOST, "at 5"
    assert refused(made, (0, 4), (12, 14)) == lost
    assert refused(made, (0, 4), (5, end - 1), (10, 14)) == (Guard.READ_IS_OF_THE_LOG, "at 10")
    fetch(made, "a", (0, 4), (5, end - 1), (12, 14))
    assert shown(made) == f"0-{end - 1}:Q1a 12-14:Q1a"
