from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from impl.layout import HOLES_HEAD, HOLES_TAIL
from model.checks import MAX_INT64
from model.errors import IllegalChoiceError
from model.guards import Guard
from model.operations import AdvanceLogStart
from model.outcome import Choice
from model.profile import KAFKA, KIP
from tests.impl.helpers import interpreted
from tests.impl.scenario import ACCEPT, ack, fetch, partition, ranges, shown, wait

RANGES = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 6)), max_size=15)


@given(RANGES)
def test_holes_are_a_set_of_offsets(pairs: list[tuple[int, int]]) -> None:
    state = interpreted("state").new_state(KAFKA)
    h, holes = state.header, state.holes
    for first, length in pairs:
        interpreted("window").learn_hole(h, holes, first, first + length - 1)
    rows = holes[h[HOLES_HEAD] : h[HOLES_TAIL]].tolist()
    assert {o for first, last in rows for o in range(first, last + 1)} == {
        o for first, length in pairs for o in range(first, first + length)
    }
    assert all(one[1] + 1 < two[0] for one, two in pairwise(rows))


def test_the_start_passes_gaps_but_no_unfinished_record() -> None:
    made = partition((0, 4), (10, 14))
    fetch(made, "a", (0, 4), (10, 14), choice=Choice(acquired=ranges((0, 4), (10, 14))))
    ack(made, "a", (0, 4, ACCEPT))
    assert made.snapshot().start_offset == 10


def test_the_start_does_not_pass_a_held_record_inside_a_gap() -> None:
    made = partition(persisted=((1, 1, 0, 1),))
    fetch(made, "a", (0, 3), choice=Choice(acquired=ranges((1, 1))))
    fetch(made, "b", (5, 6), offset=0)
    assert shown(made).startswith("1-1:Q2a")
    assert made.snapshot().start_offset == 1


@pytest.mark.parametrize(
    ("start", "guard"),
    [(0, Guard.START_NEVER_GOES_BACK), (4, Guard.START_STOPS_AT_UNFINISHED)],
)
def test_a_start_that_is_not_allowed(start: int, guard: Guard) -> None:
    made = partition((0, 4))
    fetch(made, "a", (0, 4))
    ack(made, "a", (0, 1, ACCEPT))
    with pytest.raises(IllegalChoiceError) as raised:
        wait(made, 1, Choice(start_offset=start))
    assert raised.value.guard is guard


def test_a_start_may_come_late() -> None:
    made = partition((0, 4))
    fetch(made, "a", (0, 4))
    ack(made, "a", (0, 3, ACCEPT), choice=Choice(start_offset=0))
    assert shown(made) == "0-3:K1 4-4:Q1a"
    wait(made, 1, Choice(start_offset=2))
    assert shown(made) == "2-3:K1 4-4:Q1a"
    wait(made, 1)
    assert shown(made) == "4-4:Q1a"


def test_gaps_count_as_complete_where_the_profile_says_so() -> None:
    taken = Choice(acquired=ranges((0, 1), (4, 5)))
    counts = []
    for profile in (KIP, KAFKA):
        made = partition((0, 1), (4, 5), profile=profile)
        fetch(made, "a", (0, 1), (4, 5), choice=taken)
        ack(made, "a", (5, 5, ACCEPT))
        counts.append((made.snapshot().delivery_complete_count, made.lag()))
    assert counts == [(3, 3), (1, 5)]


def test_the_log_start_takes_the_window_along() -> None:
    made = partition((0, 4))
    fetch(made, "a", (0, 4))
    made.apply(AdvanceLogStart(3))
    assert shown(made) == "3-4:Q1a"
    made.apply(AdvanceLogStart(20))
    assert (made.snapshot().start_offset, made.snapshot().end_offset, made.lag()) == (20, 20, 0)


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
def test_what_is_over_beyond_64_bits_lasts_as_long_as_the_clock(
    now: int, by: int, last: int
) -> None:
    assert interpreted("window").later(now, by) == last
