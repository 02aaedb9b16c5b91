from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.checks import MAX_INT64, MAX_RANGE
from model.errors import InvalidValueError
from model.ranges import (
    AcquiredRange,
    OffsetRange,
    RecordRange,
    StateBatch,
    delivery_counts,
    join_neighbours,
    never_delivered,
    offsets,
    ranges_of,
    record_range,
    runs,
)
from model.states import RecordState

AVAILABLE, ACQUIRED = RecordState.AVAILABLE, RecordState.ACQUIRED
MAKERS: dict[str, Callable[[int, int], object]] = {
    "OffsetRange": OffsetRange,
    "AcquiredRange": lambda first, last: AcquiredRange(first, last, 1),
    "StateBatch": lambda first, last: StateBatch(first, last, AVAILABLE, 1),
    "RecordRange": lambda first, last: RecordRange(first, last, AVAILABLE, 1),
}
EVERY = pytest.mark.parametrize("make", MAKERS.values(), ids=list(MAKERS))


@EVERY
def test_one_offset_and_the_longest_range_are_allowed(make: Callable[[int, int], object]) -> None:
    make(0, 0)
    make(MAX_INT64 - 2, MAX_INT64 - 2)
    make(7, 7 + MAX_RANGE - 1)


def test_every_state_but_acquired_may_be_durable() -> None:
    for state in set(RecordState) - {ACQUIRED}:
        assert StateBatch(0, 0, state, 1).state is state
    with pytest.raises(InvalidValueError, match=r"^state is .*AVAILABLE \(0\), ACKNOWLEDGED \(2\)"):
        StateBatch(0, 0, ACQUIRED, 1)


def test_a_record_range_takes_states_and_not_their_ids() -> None:
    with pytest.raises(TypeError):
        RecordRange(0, 0, 2, 1)  # type: ignore[arg-type]


def test_a_record_is_never_delivered_if_available_uncounted_and_not_pending() -> None:
    assert never_delivered(RecordRange(0, 1, AVAILABLE, 0))
    assert not never_delivered(RecordRange(0, 1, ACQUIRED, 0))
    assert not never_delivered(RecordRange(0, 1, AVAILABLE, 1))
    assert not never_delivered(RecordRange(0, 1, AVAILABLE, 0, None, pending=True))


def test_equal_ranges_of_records_are_one_value() -> None:
    ranges = [record_range(4, 5, ACQUIRED, 1, "m1") for _ in range(2)]
    assert ranges[0] is ranges[1]
    assert ranges[0] == RecordRange(4, 5, ACQUIRED, 1, "m1")
    assert record_range(4, 5, ACQUIRED, 2, "m1") != ranges[0]


def test_a_value_that_was_made_before_lets_no_other_type_pass() -> None:
    record_range(0, 1, ACQUIRED, 1, "m1")
    for _ in range(2):
        with pytest.raises(InvalidValueError, match=r"^first is False"):
            record_range(bool(0), 1, ACQUIRED, 1, "m1")
        with pytest.raises(InvalidValueError, match=r"^last is True"):
            record_range(0, bool(1), ACQUIRED, 1, "m1")


@pytest.mark.parametrize(
    ("pieces", "joined"),
    [
        ([], []),
        ([(0, 2, "a")], [(0, 2, "a")]),
        (
            [(0, 2, "a"), (3, 3, "a"), (4, 5, "b"), (7, 7, "b")],
            [(0, 3, "a"), (4, 5, "b"), (7, 7, "b")],
        ),
    ],
)
def test_neighbours_of_equal_value_are_joined(
    pieces: list[tuple[int, int, str]], joined: list[tuple[int, int, str]]
) -> None:
    assert list(join_neighbours(pieces)) == joined


def test_ascending_offsets_are_as_few_ranges_as_can_be() -> None:
    assert ranges_of([]) == ()
    assert ranges_of([3, 4, 5, 7]) == (OffsetRange(3, 5), OffsetRange(7, 7))


def test_each_acquired_offset_has_the_delivery_count_of_its_range() -> None:
    acquired = [AcquiredRange(0, 1, 1), AcquiredRange(5, 5, 3)]
    assert delivery_counts(acquired) == {0: 1, 1: 1, 5: 3}


ITEMS = st.dictionaries(st.integers(0, 20), st.integers(0, 2)).map(lambda d: sorted(d.items()))


@given(ITEMS)
def test_runs_cover_their_items_and_are_the_longest(items: list[tuple[int, int]]) -> None:
    found = list(runs(items))
    assert [(o, value) for first, last, value in found for o in range(first, last + 1)] == items
    assert not any(one[1] + 1 == other[0] and one[2] == other[2] for one, other in pairwise(found))


def test_offsets_are_those_of_each_range_in_their_order() -> None:
    assert list(offsets((OffsetRange(7, 9), OffsetRange(0, 1)))) == [7, 8, 9, 0, 1]
    assert list(offsets(())) == []
