from itertools import combinations, product

import pytest

from impl import layout as at
from impl.state import State
from model.checks import MAX_INT64
from model.config import SharePartitionConfig
from model.errors import IllegalChoiceError
from model.guards import Guard
from model.operations import AdvanceLogStart, Initialize
from model.outcome import Choice
from model.profile import KAFKA, KIP, Profile
from model.states import RecordState
from spec.log import Log, forget_below, learn_hole
from spec.record import Record
from spec.window import Window, first_unfinished, replace
from tests.impl.helpers import interpreted
from tests.impl.scenario import ACCEPT, ack, fetch, partition, ranges, shown, wait

Pair = tuple[int, int]

window = interpreted("window")
runs_module = interpreted("runs")

LETTERS = " -aAkK"
"""What is known of an offset: nothing; a hole; a record, in upper case one that is in a hole.

The record is AVAILABLE where the letter is an a, and ACKNOWLEDGED where it is a k.
"""
KINDS = {"A": RecordState.AVAILABLE, "K": RecordState.ACKNOWLEDGED}
WINDOW = 1, 4
"""Of the offsets in a word the first and the last lie outside the window: no record is there."""
WORDS = list(product(" -", LETTERS, LETTERS, LETTERS, " -"))

Word = tuple[str, ...]


def with_holes(holes: tuple[Pair, ...], profile: Profile = KIP) -> State:
    """Return a state with these holes, between what is left of others."""
    state: State = interpreted("state").new_state(profile)
    state.holes[:] = 0, 99
    state.holes[1 : len(holes) + 1] = holes or 0
    state.header[at.HOLES_HEAD], state.header[at.HOLES_TAIL] = 1, len(holes) + 1
    return state


def holes_of(state: State) -> tuple[Pair, ...]:
    """Return the holes of a state."""
    h = state.header
    return tuple((first, last) for first, last in state.holes[h[at.HOLES_HEAD] : h[at.HOLES_TAIL]])


def state_of(word: Word, profile: Profile = KIP) -> State:
    """Return the state that a word tells, between what is left of other holes and records."""
    state = with_holes(log_of(word).holes, profile)
    h, runs = state.header, state.runs
    runs[:, at.LAST], runs[:, at.STATE], runs[:, at.WRITE] = (
        99,
        RecordState.ACKNOWLEDGED,
        at.NO_WRITE,
    )
    h[at.HEAD] = h[at.TAIL] = 1
    (h[at.START], h[at.END]), h[at.LOG_END] = WINDOW, len(word)
    for offset, kind in records_of(word).items():
        runs_module.set_state(h, runs, runs_module.put(h, runs, h[at.TAIL], offset, offset), kind)
    runs_module.join(h, runs, *WINDOW)
    return state


def log_of(word: Word) -> Log:
    """Return the log that a word tells, as the specification has it."""
    log = Log(0, len(word))
    for offset, letter in enumerate(word):
        if letter in "-AK":
            log = learn_hole(log, offset, offset)
    return log


def window_of(word: Word) -> Window:
    """Return the window that a word tells, as the specification has it."""
    records = {offset: Record(kind, 1) for offset, kind in records_of(word).items()}
    return replace(Window(*WINDOW), records)


def records_of(word: Word) -> dict[int, RecordState]:
    """Return the offsets and states of the records in a word."""
    kinds = enumerate(map(KINDS.get, map(str.upper, word)))
    return {offset: kind for offset, kind in kinds if kind is not None}


@pytest.mark.parametrize("durable", [-1, 0, 1, 5, 6, 9, 12])
def test_holes_that_no_leader_needs_are_forgotten(durable: int) -> None:
    holes = ((0, 0), (4, 5), (8, 10))
    for start in range(13):
        state = with_holes(holes)
        state.header[at.START] = state.header[at.END] = start
        state.header[at.DURABLE_START] = durable
        window.finish(state, at.UNSET)
        needed = start if durable < 0 else min(start, durable)
        assert holes_of(state) == forget_below(Log(0, 0, holes), needed).holes


def test_offsets_neither_tracked_nor_in_a_hole_are_unknown() -> None:
    for word in WORDS:
        state = state_of(word)
        for low, high in combinations(range(1, 6), 2):
            expected = "".join(word).find(" ", low, high)
            found = window.first_unknown(state, low, high)
            assert found == (high if expected < 0 else expected), (word, low, high)


def test_the_start_advances_as_in_the_specification() -> None:
    for word in WORDS:
        state = state_of(word)
        furthest = first_unfinished(window_of(word), log_of(word))
        for limit in range(WINDOW[0], WINDOW[1] + 1):
            found = window.furthest_start(state, limit)
            assert found == min(furthest, limit), (word, limit)


@pytest.mark.parametrize("profile", [KIP, KAFKA])
def test_the_complete_count_is_as_in_the_specification(profile: Profile) -> None:
    for word in WORDS:
        state = state_of(word, profile)
        expected = window_of(word).complete
        assert window.complete_count(state) == expected, word
        assert window.lag(state) == len(word) - WINDOW[0] - expected, word


def test_a_new_leader_knows_the_gaps_from_the_durable_start_on() -> None:
    made = partition((0, 0), (3, 3))
    fetch(made, "a", (0, 0), (3, 3))
    ack(made, "a", (0, 0, ACCEPT))
    assert (made.snapshot().start_offset, made.durable().start_offset) == (3, 0)
    made.apply(Initialize(SharePartitionConfig(), 0, 4, made.durable()))
    fetch(made, "b", (3, 3))
    assert shown(made) == "3-3:Q1b"


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
    ("start", "guard", "detail"),
    [
        (0, Guard.START_NEVER_GOES_BACK, "at 0"),
        (1, Guard.START_NEVER_GOES_BACK, "at 1"),
        (3, Guard.START_STOPS_AT_UNFINISHED, "at 2"),
        (9, Guard.START_STOPS_AT_UNFINISHED, "at 2"),
    ],
)
def test_a_start_that_is_not_allowed(start: int, guard: Guard, detail: str) -> None:
    made = partition((0, 4))
    fetch(made, "a", (0, 4))
    ack(made, "a", (0, 1, ACCEPT))
    with pytest.raises(IllegalChoiceError) as raised:
        wait(made, 1, Choice(start_offset=start))
    assert (raised.value.guard, raised.value.detail) == (guard, detail)


def test_a_start_may_come_late() -> None:
    made = partition((0, 4))
    fetch(made, "a", (0, 4))
    ack(made, "a", (0, 3, ACCEPT), choice=Choice(start_offset=0))
    assert shown(made) == "0-3:K1 4-4:Q1a"
    wait(made, 1, Choice(start_offset=2))
    assert shown(made) == "2-3:K1 4-4:Q1a"
    wait(made, 1)
    assert shown(made) == "4-4:Q1a"


def test_gaps_are_lag_until_the_start_passes_them() -> None:
    taken = Choice(acquired=ranges((0, 1), (4, 5)))
    counts = []
    for profile in (KIP, KAFKA):
        made = partition((0, 1), (4, 5), profile=profile)
        fetch(made, "a", (0, 1), (4, 5), choice=taken)
        ack(made, "a", (5, 5, ACCEPT))
        counts.append((made.snapshot().delivery_complete_count, made.lag()))
    assert counts == [(1, 5), (1, 5)]


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
def test_a_deadline_beyond_64_bits_lasts_as_long_as_the_clock(now: int, by: int, last: int) -> None:
    assert interpreted("window").later(now, by) == last
