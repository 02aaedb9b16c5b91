from hypothesis import given
from hypothesis import strategies as st

from spec.log import Log, forget_below, hole_end, learn_hole, learn_read
from spec.ranges import runs
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


def test_a_read_from_within_a_batch_learns_nothing_about_its_beginning() -> None:
    assert learn_read(Log(0, 20), 7, ((5, 9), (12, 14))).holes == ((10, 11),)


def test_a_read_past_the_end_shows_that_the_log_is_longer() -> None:
    assert learn_read(Log(0, 10), 8, ((8, 11),)).end_offset == 12
    assert learn_read(Log(0, 10), 8, ((8, 9),)).end_offset == 10
