from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from impl import layout as at
from impl.state import State
from model.checks import MAX_INT64
from model.profile import KIP
from spec.log import Log, first_existing, learn_hole
from tests.impl.helpers import interpreted

Pair = tuple[int, int]

log = interpreted("log")

BATCHES: tuple[tuple[Pair, ...], ...] = ((), ((1, 1),), ((0, 2), (3, 5)), ((1, 3), (6, 6), (8, 9)))
HOLES: tuple[tuple[Pair, ...], ...] = ((), ((2, 2),), ((0, 1), (4, 4)), ((3, 6), (9, 9)))


def knowing(batches: tuple[Pair, ...], holes: tuple[Pair, ...]) -> State:
    """Return a state that knows these batches and holes, between what is left of others."""
    state: State = interpreted("state").new_state(KIP)
    h = state.header
    for rows, head, known in (
        (state.log, at.LOG_HEAD, batches),
        (state.holes, at.HOLES_HEAD, holes),
    ):
        rows[:] = 0, 99
        rows[1 : len(known) + 1] = known or 0
        h[head], h[head + 1] = 1, len(known) + 1
    return state


def known_by(state: State) -> tuple[list[list[int]], list[list[int]]]:
    """Return the batches and holes that a state knows."""
    h = state.header
    batches = state.log[h[at.LOG_HEAD] : h[at.LOG_TAIL]].tolist()
    return batches, state.holes[h[at.HOLES_HEAD] : h[at.HOLES_TAIL]].tolist()


def test_holes_that_meet_are_one() -> None:
    for number, (first, end) in product(range(4), combinations_with_replacement(range(13), 2)):
        holes = ((1, 1), (4, 5), (8, 10))[:number]
        state = knowing((), holes)
        log.learn_hole(state.header, state.holes, first, end - 1)
        _, after = known_by(state)
        assert [tuple(hole) for hole in after] == list(
            learn_hole(Log(0, 0, holes), first, end - 1).holes
        )


def test_a_batch_that_is_produced_comes_last() -> None:
    state = knowing(((1, 3),), ())
    log.learn_batch(state, 5, 8)
    assert known_by(state)[0] == [[1, 3], [5, 8]]


@pytest.mark.parametrize(
    ("end", "batches", "holes"),
    [
        (12, [[1, 3], [6, 9]], [[3, 6], [9, 11]]),
        (9, [[1, 3], [6, 8]], [[3, 6]]),
        (6, [[1, 3]], [[3, 5]]),
        (3, [[1, 2]], []),
        (1, [], []),
    ],
)
def test_a_log_that_is_cut_ends_there(
    end: int, batches: list[list[int]], holes: list[list[int]]
) -> None:
    state = knowing(((1, 3), (6, 9)), ((3, 6), (9, 11)))
    log.truncate(state, end)
    assert known_by(state) == (batches, holes)


@pytest.mark.parametrize("floor", range(12))
def test_what_ends_below_the_floor_is_forgotten(floor: int) -> None:
    batches, holes = ((1, 3), (6, 9)), ((3, 6), (9, 10))
    state = knowing(batches, holes)
    log.forget_log_below(state, floor)
    assert known_by(state) == (
        [[*batch] for batch in batches if batch[1] >= floor],
        [[*hole] for hole in holes if hole[1] >= floor],
    )


def test_an_offset_exists_if_a_batch_holds_it_and_no_hole() -> None:
    for batches, holes in product(BATCHES, HOLES):
        state, known = knowing(batches, holes), Log(0, 20, holes, batches)
        for low, high in combinations_with_replacement(range(12), 2):
            expected = first_existing(known, low, high - 1) if low < high else None
            found = log.first_existing(state, low, high)
            assert found == (high if expected is None else expected), (batches, holes, low, high)


def test_an_offset_is_present_if_a_read_batch_holds_it_and_no_hole() -> None:
    for batches, holes in product(BATCHES, HOLES):
        state, rows = knowing((), holes), np.array(batches, np.int64).reshape(-1, 2)
        absent = {o for first, last in holes for o in range(first, last + 1)}
        present = [o for first, last in batches for o in range(first, last + 1) if o not in absent]
        for low, high in combinations_with_replacement(range(12), 2):
            expected = next((o for o in present if low <= o < high), high)
            assert log.first_present(state, rows, low, high) == expected


def test_an_offset_is_absent_only_in_a_hole() -> None:
    for holes in HOLES:
        state = knowing((), holes)
        absent = {o for first, last in holes for o in range(first, last + 1)}
        for low, high in combinations_with_replacement(range(12), 2):
            expected = next((o for o in range(low, high) if o not in absent), high)
            assert log.first_not_absent(state, low, high) == expected


@pytest.mark.parametrize(("committed", "end"), [(0, 9), (1, 4)])
def test_reads_end_at_the_last_stable_offset_under_read_committed(committed: int, end: int) -> None:
    header = knowing((), ()).header
    header[at.LOG_END], header[at.STABLE], header[at.COMMITTED_ONLY] = 9, 4, committed
    assert log.readable_end(header) == end
    header[at.STABLE] = MAX_INT64
    assert log.readable_end(header) == 9
