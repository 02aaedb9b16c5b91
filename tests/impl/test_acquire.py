import copy
from collections.abc import Iterable
from enum import Enum
from itertools import combinations_with_replacement, product
from typing import Any

import attrs
import pytest

from impl.layout import ACQUIRED_TAIL, COUNT
from model.errors import ErrorCode, IllegalChoiceError
from model.guards import Guard
from model.operations import Acquire, CompleteWrite, SkipAcquire
from model.outcome import Choice
from model.profile import KAFKA, KIP, Profile
from model.ranges import StateBatch
from model.snapshot import DurableState
from model.states import AcquireMode, RecordState
from tests.impl.held import Held, held
from tests.impl.helpers import interpreted
from tests.impl.scenario import (
    ACCEPT,
    REJECT,
    RELEASE,
    ack,
    fetch,
    partition,
    ranges,
    shown,
)

BATCHED, LIMITED = AcquireMode.BATCH_OPTIMIZED, AcquireMode.RECORD_LIMIT
AVAILABLE, ACKNOWLEDGED = RecordState.AVAILABLE, RecordState.ACKNOWLEDGED
NOTHING = Choice(acquired=(), entered=())

Pair = tuple[int, int]


def mixed() -> Held:
    """Return 1:A1 2:K1 4-5:A1 6:Q2a 7:A2! 8-9:A1; 3 was never read, 12 and 13 are not there."""
    batches = tuple(
        StateBatch(first, last, state, 1)
        for first, last, state in [(1, 1, AVAILABLE), (2, 2, ACKNOWLEDGED), (4, 9, AVAILABLE)]
    )
    made = held((10, 11), (14, 16), told=False, durable=DurableState(1, 0, batches))
    fetch(made, "a", (4, 9), choice=Choice(acquired=ranges((6, 7)), entered=()))
    ack(made, "a", (7, 7, RELEASE), answer=ErrorCode.PENDING)
    assert shown(made) == "1-1:A1 2-2:K1 4-5:A1 6-6:Q2a 7-7:A2! 8-9:A1"
    return made


def judged(made: Held, fetches: Iterable[tuple[Acquire, Choice]]) -> set[Enum | None]:
    """Try each fetch on the same state; return the guards that refuse some, None for none."""
    found: set[Enum | None] = set()
    for operation, choice in fetches:
        try:
            copy.copy(made).apply(operation, choice)
        except IllegalChoiceError as error:
            found.add(error.guard)
        else:
            found.add(None)
    return found


def reading(*batches: Pair, mode: AcquireMode = BATCHED, offset: int | None = None) -> Acquire:
    """Return a fetch by b of these batches, at the first of them."""
    at = (batches[0][0] if batches else 0) if offset is None else offset
    return Acquire("b", mode, 500, 500, at, ranges(*batches))


def within(offsets: Iterable[int]) -> list[Pair]:
    """Return every range from one of these offsets to another."""
    return list(combinations_with_replacement(offsets, 2))


READS = [
    reading((0, 11), (14, 16)),
    reading((4, 9), (10, 11)),
    reading((0, 4)),
    reading((4, 5)),
    reading((10, 11)),
    reading(),
]
ENDS = (0, 3, 4, 6, 10, 13, 17)


def test_every_range_is_acquired_or_refused_as_in_the_specification() -> None:
    choices = [Choice(acquired=ranges(one)) for one in within(range(18))]
    assert judged(mixed(), product(READS, choices)) == {
        None,
        Guard.ONLY_AVAILABLE_IS_ACQUIRED,
        Guard.ONLY_READ_IS_ACQUIRED,
        Guard.NO_ACQUIRE_DURING_WRITE,
    }


def test_the_lowest_wrong_offset_of_two_ranges_decides() -> None:
    made = held((0, 3), (4, 9), told=False)
    fetch(made, "b", (0, 3), (4, 9), choice=Choice(acquired=ranges((3, 3), (7, 7)), end_offset=10))
    pairs = combinations_with_replacement(within((0, 1, 2, 3, 5, 7, 8, 10, 11)), 2)
    choices = [Choice(acquired=ranges(*pair), entered=()) for pair in pairs]
    assert judged(made, product([reading((0, 9))], choices)) == {
        None,
        Guard.ONLY_AVAILABLE_IS_ACQUIRED,
        Guard.ONLY_READ_IS_ACQUIRED,
    }


@pytest.mark.parametrize("taken", [(), ((10, 10),), ((3, 3), (16, 16))])
def test_every_range_enters_or_is_refused_as_in_the_specification(taken: tuple[Pair, ...]) -> None:
    entered: list[tuple[Pair, ...]] = [(one,) for one in within(range(18))]
    entered += combinations_with_replacement(within(ENDS), 2)
    choices = [Choice(acquired=ranges(*taken), entered=ranges(*each)) for each in entered]
    assert judged(mixed(), product(READS[:-1], choices)) >= {
        Guard.ONLY_READ_IS_ACQUIRED,
        Guard.NO_RECORD_SKIPPED,
    }


@pytest.mark.parametrize("profile", [KIP, KAFKA])
@pytest.mark.parametrize("mode", AcquireMode)
@pytest.mark.parametrize("full", [0, 3, 5])
def test_the_window_grows_as_in_the_specification(
    profile: Profile, mode: AcquireMode, full: int
) -> None:
    made = held(profile=profile, partition_max_record_locks=5)
    if full:
        fetch(made, "a", (0, full - 1))
    taken: list[tuple[Pair, ...]] = [(), *((one,) for one in within((0, 3, 5, 6, 8, 12)))]
    taken += combinations_with_replacement(within((3, 5, 8)), 2)
    entering: list[dict[str, Any]] = [
        *({"end_offset": end} for end in (None, 6, 9, 10, 13)),
        *({"entered": ranges(*one)} for one in [(), ((5, 6),), ((3, 4), (7, 9))]),
    ]
    choices = [Choice(acquired=ranges(*a), **b) for a, b in product(taken, entering)]
    reads = [
        reading(*read, mode=mode, offset=min(full, read[0][0]))
        for read in [((0, 3), (4, 8)), ((3, 4), (6, 9), (12, 12)), ((5, 9),), ((6, 7), (9, 12))]
    ]
    assert judged(made, product(reads, choices)) >= {
        None,
        Guard.NO_RECORD_SKIPPED,
        Guard.WITHIN_WINDOW_LIMIT,
    }


def test_a_window_that_grew_is_refused_for_its_start_before_its_width() -> None:
    made = held((0, 4), (5, 9), partition_max_record_locks=3)
    fetch(made, "a", (0, 4))
    ack(made, "a", (0, 2, ACCEPT), choice=Choice(start_offset=1))
    choices = [Choice(acquired=ranges((5, 9)), start_offset=start) for start in range(7)]
    assert judged(made, product([reading((5, 9))], choices)) == {
        None,
        Guard.START_NEVER_GOES_BACK,
        Guard.START_STOPS_AT_UNFINISHED,
        Guard.WITHIN_WINDOW_LIMIT,
    }


def test_the_window_grows_over_offsets_missing_from_the_read() -> None:
    fetches = [
        (reading((first, first + 1), (first + 4, 20), offset=offset), Choice(ranges(taken), ()))
        for offset, first in within(range(6))
        for taken in [(first, first), (first, first + 1), (first + 4, 20)]
    ]
    assert judged(held(), fetches) == {None, Guard.NO_RECORD_SKIPPED}


@pytest.mark.parametrize("status", [ErrorCode.NONE, ErrorCode.NOT_COORDINATOR])
def test_only_available_records_that_vanish_are_archived(status: ErrorCode) -> None:
    made = held((0, 16), told=False)
    fetch(made, "a", (0, 14))
    ack(made, "a", (1, 2, REJECT))
    pending = ack(made, "a", (6, 7, RELEASE), answer=ErrorCode.PENDING)
    ack(made, "a", (3, 5, RELEASE), (10, 12, RELEASE))
    assert shown(made) == "0-0:Q1a 1-2:X1 3-5:A1 6-7:A1! 8-9:Q1a 10-12:A1 13-14:Q1a"
    for offset, first in product(range(17), repeat=2):
        after = copy.copy(made)
        after.apply(reading((first, 16), offset=offset), NOTHING)
        after.apply(CompleteWrite(pending.writes[0].id, status))


@pytest.mark.parametrize("batches", [(), ((0, 2), (3, 4)), ((5, 9),)])
def test_nothing_enters_if_nothing_is_acquired(batches: tuple[Pair, ...]) -> None:
    made = held((0, 4), (5, 9))
    fetch(made, "a", *batches, choice=Choice(acquired=()))
    assert shown(made) == ""
    fetch(made, "a", (0, 4))
    ack(made, "a", (1, 1, ACCEPT))
    ack(made, "a", (0, 0, ACCEPT), (2, 4, ACCEPT))
    fetch(made, "a", *batches, choice=Choice(acquired=()))
    assert (shown(made), made.snapshot().end_offset) == ("", 5)


def test_the_first_acquired_range_continues_no_other() -> None:
    state = interpreted("state").new_state(KAFKA)
    runs = interpreted("runs")
    row = runs.put(state.header, state.runs, 0, 5, 7)
    state.runs[row, COUNT] = 1
    state.acquired[-1] = 3, 4, 1  # Left by an earlier fetch.
    answer = interpreted("acquire")._answer  # noqa: SLF001 - no operation fills the last row
    answer(state.header, state.acquired, state.runs, row)
    assert state.acquired[: state.header[ACQUIRED_TAIL]].tolist() == [[5, 7, 1]]


@pytest.mark.parametrize(
    ("taken", "guard"),
    [
        ([(0, 0)], Guard.ONLY_AVAILABLE_IS_ACQUIRED),  # Below the start offset.
        ([(1, 3)], Guard.ONLY_AVAILABLE_IS_ACQUIRED),  # Held by another member.
        ([(4, 4)], Guard.NO_ACQUIRE_DURING_WRITE),
        ([(5, 5), (5, 6)], Guard.ONLY_AVAILABLE_IS_ACQUIRED),  # Named twice.
        ([(5, 6), (7, 7), (4, 4)], Guard.NO_ACQUIRE_DURING_WRITE),  # The lowest offset decides.
        ([(5, 12)], Guard.ONLY_READ_IS_ACQUIRED),
        ([(6, 9)], None),
        ([(8, 9)], Guard.NO_RECORD_SKIPPED),
    ],
)
def test_which_records_may_be_acquired(taken: list[tuple[int, int]], guard: Guard | None) -> None:
    made = partition((0, 4), (5, 9), (10, 14))
    fetch(made, "a", (0, 4))
    ack(made, "a", (0, 0, ACCEPT))
    ack(made, "a", (4, 4, RELEASE), answer=ErrorCode.PENDING)
    fetch(made, "a", (5, 9), choice=Choice(acquired=ranges((5, 6)), entered=()))
    ack(made, "a", (5, 6, RELEASE))
    before = made.snapshot()
    choice = Choice(acquired=ranges(*taken), entered=())
    if guard is None:
        fetch(made, "b", (0, 4), (5, 9), choice=choice)
        assert shown(made).endswith("5-5:A1 6-6:Q2b 7-9:Q1b")
        return
    with pytest.raises(IllegalChoiceError) as raised:
        fetch(made, "b", (0, 4), (5, 9), choice=choice)
    assert raised.value.guard is guard
    assert made.snapshot() == before


def test_record_limit_is_kept() -> None:
    made = partition((0, 4))
    with pytest.raises(IllegalChoiceError) as raised:
        fetch(
            made, "a", (0, 4), limit=2, mode=LIMITED, choice=Choice(acquired=ranges((1, 2), (4, 4)))
        )
    assert (raised.value.guard, raised.value.detail) == (Guard.WITHIN_RECORD_LIMIT, "at 1")
    with pytest.raises(IllegalChoiceError) as raised:
        fetch(made, "a", (0, 4), limit=0, choice=Choice(acquired=ranges((0, 0))))
    assert raised.value.guard is Guard.WITHIN_RECORD_LIMIT


def test_records_may_enter_the_window_untaken() -> None:
    made = partition((0, 4), (5, 9))
    fetch(made, "a", (0, 4), (5, 9), choice=Choice(acquired=ranges((2, 2)), end_offset=7))
    assert shown(made) == "0-1:A0 2-2:Q1a 3-6:A0"
    with pytest.raises(IllegalChoiceError) as raised:
        fetch(made, "a", (5, 9), choice=Choice(acquired=(), entered=ranges((7, 11))))
    assert (raised.value.guard, raised.value.detail) == (Guard.ONLY_READ_IS_ACQUIRED, "at 10")


@pytest.mark.parametrize(
    ("taken", "mode", "strict", "allowed"),
    [
        ((0, 9), AcquireMode.BATCH_OPTIMIZED, False, True),  # Ends with the crossing batch.
        ((0, 9), AcquireMode.BATCH_OPTIMIZED, True, False),
        ((0, 14), AcquireMode.BATCH_OPTIMIZED, False, False),  # One more batch.
        ((0, 6), LIMITED, False, True),  # The rest of the batch enters available.
        ((0, 7), LIMITED, False, False),
        ((0, 6), LIMITED, True, False),
    ],
)
def test_the_window_may_overshoot_by_one_log_batch(
    taken: tuple[int, int], mode: AcquireMode, *, strict: bool, allowed: bool
) -> None:
    profile = attrs.evolve(KAFKA, window_may_overshoot=not strict)
    made = partition((0, 4), (5, 9), (10, 14), partition_max_record_locks=7, profile=profile)
    choice = Choice(acquired=ranges(taken), end_offset=max(10, taken[1] + 1))
    if allowed:
        fetch(made, "a", (0, 4), (5, 9), (10, 14), mode=mode, choice=choice)
        assert made.snapshot().end_offset == 10
        return
    with pytest.raises(IllegalChoiceError) as raised:
        fetch(made, "a", (0, 4), (5, 9), (10, 14), mode=mode, choice=choice)
    assert raised.value.guard is Guard.WITHIN_WINDOW_LIMIT
    assert raised.value.detail == f"at {max(9, taken[1])}"


@pytest.mark.parametrize("free", [True, False])
def test_kafka_does_not_count_the_gap_before_the_first_record(*, free: bool) -> None:
    profile = attrs.evolve(KAFKA, gap_at_the_end_is_free=free)
    made = partition((0, 4), (8, 9), partition_max_record_locks=7, profile=profile)
    fetch(made, "a", (0, 4))
    choice = Choice(acquired=ranges((8, 9)))
    if free:
        fetch(made, "a", (8, 9), choice=choice)
        assert made.snapshot().end_offset == 10
        return
    with pytest.raises(IllegalChoiceError):
        fetch(made, "a", (8, 9), choice=choice)


def test_available_records_that_vanished_are_archived() -> None:
    made = partition((0, 9), told=False)
    fetch(made, "a", (0, 9))
    ack(made, "a", (0, 5, RELEASE))
    ack(made, "a", (6, 7, RELEASE), answer=ErrorCode.PENDING)
    fetch(made, "b", (9, 9), offset=3)
    assert shown(made) == "0-2:A1 3-5:X1 6-7:X1! 8-9:Q1a"
    assert made.snapshot().delivery_complete_count == 5


@pytest.mark.parametrize("status", [ErrorCode.NONE, ErrorCode.NOT_COORDINATOR])
def test_a_vanished_record_stays_archived_however_its_write_ends(status: ErrorCode) -> None:
    made = partition((0, 9), told=False)
    fetch(made, "a", (0, 9))
    pending = ack(made, "a", (2, 3, RELEASE), answer=ErrorCode.PENDING)
    fetch(made, "b", (9, 9), offset=2)
    made.apply(CompleteWrite(pending.writes[0].id, status))
    assert shown(made) == "0-1:Q1a 2-3:X1 4-9:Q1a"


def test_nothing_can_be_acquired_only_from_a_full_window() -> None:
    made = partition((0, 4), (5, 9), partition_max_record_locks=5)
    for full in range(2):
        with pytest.raises(IllegalChoiceError) as raised:
            made.apply(SkipAcquire("a"))
        assert (raised.value.guard, raised.value.detail) == (Guard.CAN_ACQUIRE, f"at {4 * full}")
        if full == 0:
            fetch(made, "a", (0, 4))
            ack(made, "a", (4, 4, RELEASE))
    fetch(made, "b", (0, 4))
    assert not made.apply(SkipAcquire("a")).can_acquire
    ack(made, "a", (0, 0, REJECT))
    with pytest.raises(IllegalChoiceError) as raised:
        made.apply(SkipAcquire("a"))
    assert raised.value.detail == "at 5"


@pytest.mark.parametrize("offset", [0, 1, 3, 7, 12])
@pytest.mark.parametrize("second", [2, 5])
def test_a_read_shows_the_log_from_its_offset_on(offset: int, second: int) -> None:
    """Also where it is said to have given what lies before: gaps there are not known."""
    made, read = held(), reading((0, 1), (second, 9), offset=offset)
    if second == 2 or offset < 2:
        made.apply(read)
        assert made.lag() == max(10, offset)
    else:
        with pytest.raises(IllegalChoiceError) as raised:
            made.apply(read)
        assert raised.value.guard is Guard.NO_RECORD_SKIPPED
