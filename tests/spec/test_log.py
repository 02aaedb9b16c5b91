import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.ranges import runs
from spec.log import (
    Log,
    batch_at,
    first_existing,
    forget_below,
    hole_end,
    learn_hole,
    learn_read,
    outside_holes,
    truncate,
)
from tests.strategies import HOLES, OFFSETS, pairs

LOGS = HOLES.map(lambda holes: Log(0, 100, holes))
SPANS = st.lists(pairs(), max_size=6)


def missing(log: Log) -> set[int]:
    return {offset for first, last in log.holes for offset in range(first, last + 1)}


def as_holes(offsets: set[int]) -> tuple[tuple[int, int], ...]:
    found = runs((offset, True) for offset in sorted(offsets))
    return tuple((first, last) for first, last, _ in found)


@given(LOGS, SPANS)
def test_learning_holes_adds_them_to_the_set_of_missing_offsets(
    log: Log, spans: list[tuple[int, int]]
) -> None:
    naive = missing(log)
    for first, last in spans:
        log = learn_hole(log, first, last)
        naive |= set(range(first, last + 1))
        assert log.holes == as_holes(naive)


@given(LOGS, OFFSETS)
def test_a_hole_that_ends_before_it_starts_is_none(log: Log, offset: int) -> None:
    assert learn_hole(log, offset, offset - 1) is log


@given(LOGS, OFFSETS)
def test_the_end_of_a_hole_is_found_from_any_offset_in_it(log: Log, offset: int) -> None:
    held = [last for first, last in log.holes if first <= offset <= last]
    assert hole_end(log, offset) == (held[0] if held else None)


@given(LOGS, OFFSETS, OFFSETS)
def test_what_is_outside_of_holes_is_everything_else_in_order(
    log: Log, first: int, end: int
) -> None:
    naive = [offset for offset in range(first, end) if offset not in missing(log)]
    assert list(outside_holes(log, first, end)) == naive


@given(LOGS, OFFSETS)
def test_only_holes_that_end_below_are_forgotten(log: Log, offset: int) -> None:
    assert forget_below(log, offset).holes == tuple(h for h in log.holes if h[1] >= offset)


@given(LOGS, OFFSETS, HOLES.filter(bool))
def test_a_read_skips_what_the_log_lacks(
    log: Log, skipped: int, batches: tuple[tuple[int, int], ...]
) -> None:
    at = max(0, batches[0][0] - skipped)
    inside = {offset for first, last in batches for offset in range(first, last + 1)}
    passed = set(range(at, batches[-1][1] + 1)) - inside
    assert learn_read(log, at, batches).holes == as_holes(missing(log) | passed)


def test_a_read_past_the_end_shows_that_the_log_is_longer() -> None:
    unknown = Log(0, 10, stable_offset=10, known=False)
    longer = learn_read(unknown, 8, ((8, 11),))
    assert (longer.end_offset, longer.stable_offset) == (12, 12)
    assert learn_read(unknown, 8, ((8, 9),)) == unknown
    assert learn_read(Log(0, 10), 8, ((8, 11),)).end_offset == 10


PRODUCED = Log(0, 30, ((4, 4), (8, 9)), ((0, 3), (5, 7), (10, 19)), 30)


@pytest.mark.parametrize(
    ("offset", "batch"), [(0, (0, 3)), (3, (0, 3)), (4, None), (10, (10, 19)), (20, None)]
)
def test_a_batch_is_found_by_an_offset_in_it(offset: int, batch: tuple[int, int] | None) -> None:
    assert batch_at(PRODUCED, offset) == batch


@given(LOGS, OFFSETS, OFFSETS)
def test_the_first_offset_that_exists_is_the_lowest_in_a_batch_and_no_hole(
    log: Log, first: int, last: int
) -> None:
    log = attrs.evolve(log, batches=((2, 6), (7, 7), (9, 20)))
    held = {o for batch in log.batches for o in range(batch[0], batch[1] + 1)} - missing(log)
    existing = [offset for offset in range(first, last + 1) if offset in held]
    assert first_existing(log, first, last) == min(existing, default=None)


def test_a_truncated_log_has_no_later_batches_and_holes() -> None:
    log = truncate(PRODUCED, 9)
    assert (log.holes, log.batches) == (((4, 4), (8, 8)), ((0, 3), (5, 7)))
    assert truncate(PRODUCED, 12).batches[-1] == (10, 11)


def test_what_lies_below_an_offset_is_forgotten() -> None:
    log = forget_below(PRODUCED, 7)
    assert (log.holes, log.batches) == (((8, 9),), ((5, 7), (10, 19)))
    assert forget_below(log, 5) is log
