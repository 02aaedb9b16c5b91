import attrs
from hypothesis import given
from hypothesis import strategies as st

from model.ranges import runs
from spec.log import Log, first_existing, learn_hole
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


@given(LOGS, OFFSETS, OFFSETS)
def test_the_first_offset_that_exists_is_the_lowest_in_a_batch_and_no_hole(
    log: Log, first: int, last: int
) -> None:
    log = attrs.evolve(log, batches=((2, 6), (7, 7), (9, 20)))
    held = {o for batch in log.batches for o in range(batch[0], batch[1] + 1)} - missing(log)
    existing = [offset for offset in range(first, last + 1) if offset in held]
    assert first_existing(log, first, last) == min(existing, default=None)
