"""The ranges that a fetch may have kept back: every possible one, and no other."""

import attrs
import pytest

from conformance.wire.judge import Judge
from conformance.wire.target import BatchOrigin
from conformance.wire.written import (
    WrittenLog,
    deliverable,
    free_of_aborted,
    kept_back,
    waiting_start,
)
from model.profile import KIP
from model.ranges import OffsetRange
from spec.partition import SharePartition
from tests.conformance.wire.worlds import COMMITTED, CONFIG, P0, PLACE, TIMING

ABORTED = ((3, True), (2, True), (2, False), (2, True))
"""Log batches 0-2, 4-5 and 9-10 of transactions that are aborted; in between 7-8."""


def judging(*batches: tuple[int, bool]) -> Judge:
    """Return a judge after batches, each as (size, whether it is aborted: a marker follows)."""
    made, end = Judge(KIP, PLACE, COMMITTED, TIMING), 0
    for size, aborted in batches:
        new = OffsetRange(end, end + size - 1)
        end += size + aborted
        made.produced(0, [new], BatchOrigin.ABORTED if aborted else BatchOrigin.PLAIN)
    return made


def world(*batches: tuple[int, bool]) -> tuple[SharePartition, WrittenLog]:
    made = judging(*batches)
    return made.partition(0), made.logs[P0]


def ranges(*pairs: tuple[int, int]) -> tuple[OffsetRange, ...]:
    return tuple(OffsetRange(*pair) for pair in pairs)


def test_by_duration_begins_with_the_first_record_that_is_not_old() -> None:
    log = WrittenLog(end=5, old=ranges((0, 1), (3, 3)))
    assert log.first_young == 2
    log.start = 3
    assert log.first_young == 4
    log.end = 4
    assert log.first_young == 4


def test_an_open_transaction_bounds_what_is_read_under_read_committed_only() -> None:
    made = judging((2, False))
    made.produced(0, ranges((2, 3)), BatchOrigin.OPEN)
    made.produced(0, ranges((4, 4)), BatchOrigin.ABORTED)
    made.produced(0, ranges((6, 6)), BatchOrigin.OPEN)
    there, log = made.partition(0), made.logs[P0]
    assert (log.stable, log.end) == (2, 7)
    assert list(deliverable(there, log, 0)) == [0, 1]
    assert list(deliverable(attrs.evolve(there, config=CONFIG), log, 1)) == [1, 2, 3, 4, 6]
    assert free_of_aborted(there, log) == []
    made.ended(0, committed=False)
    assert (log.stable, log.end, log.open) == (8, 8, ())
    assert log.aborted == ranges((2, 3), (4, 4), (6, 6))
    assert free_of_aborted(made.partition(0), log) == [[2, 3], [4], [6]]


@pytest.mark.parametrize(
    ("most", "after"),
    [(500, [((9, 10),), ()]), (3, [((9, 10),), ((9, 9),), ()]), (2, [()]), (0, [()])],
)
def test_aborted_records_below_the_delivered_were_acquired_and_later_ones_perhaps(
    most: int, after: list[tuple[tuple[int, int], ...]]
) -> None:
    there, log = world(*ABORTED[2:])
    shifted = [tuple((low - 7, high - 7) for low, high in one) for one in after]
    given = ranges((0, 1))
    assert list(kept_back(there, log, given, most)) == [ranges(*one) for one in shifted]
    there, log = world(*ABORTED)
    below = ranges((0, 2), (4, 5))
    assert list(kept_back(there, log, ranges((7, 8)), 2)) == [below]
    found = list(kept_back(there, log, ranges((7, 8)), 500))
    assert found == [(*below, *ranges((9, 10))), below]


def test_the_start_offset_may_wait_before_records_kept_back() -> None:
    there, log = world(*ABORTED)
    assert [waiting_start(there, log, start) for start in (3, 6, 7, 8)] == [0, 4, 7, 8]
    log.start = 1
    assert waiting_start(there, log, 3) == 1
    assert waiting_start(attrs.evolve(there, config=CONFIG), log, 3) == 3
