"""The figures in the notes of the review, each computed by running the rules."""

from typing import Any

import attrs
import pytest

from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.operations import MarkInProgress, ProgressBatch
from model.states import PERSISTED_STATES, RecordState
from proofs.exploration.search import search
from proofs.hazards.draft_consumer import Given
from proofs.hazards.draft_readings import LimitTest
from proofs.hazards.machine import RESOLVED
from proofs.hazards.run import begin, successors
from proofs.hazards.world import BEGAN, HazardAct, HazardMove, HazardState, HazardWorld, Setting
from spec.record import durable_maximum
from tests.proofs.hazards.stage import (
    FAIL_OVER,
    FIRST,
    SECOND,
    accept,
    fetch,
    mark,
    played,
    setting,
    wait,
    world,
)
from tests.proofs.hazards.test_review import DOCUMENT

DEFAULT = SharePartitionConfig()
LOCK, WINDOW = DEFAULT.record_lock_duration_ms, DEFAULT.partition_max_record_locks
THRESHOLD = DEFAULT.in_progress_staleness_threshold_ms
MAXIMUM = DEFAULT.in_progress_max_lock_extension_ms
QUARTER = THRESHOLD // 4
SWEPT = {"swept_every_quarter": True}
TIMED = {**SWEPT, "lock_timer_runs_on": True, "timer_has_the_lock_duration": True}


def draft(bounds: HazardWorld | None = None, /, **readings: Any) -> Setting:  # noqa: ANN401 - as they are
    return setting(bounds or world(), **readings)


def released(given: Setting, acts: list[HazardAct], every: int) -> tuple[int, int]:
    """Return when the acts end, and when nobody holds the record any more (ms)."""
    waits = [wait(every)] * ((MAXIMUM + THRESHOLD) // every)
    states = played(given, *acts, *waits)[len(acts) :]
    end = next(state for state in states if not state.view.records[0].is_held)
    return states[0].view.now - BEGAN, end.view.now - BEGAN


def test_states_that_lose_against_a_durable_in_progress() -> None:
    kept = RecordState.IN_PROGRESS
    states = [s for s in RecordState if s in PERSISTED_STATES]
    losing = [s for s in states if durable_maximum(s, 1, kept, 1)[0] == kept]
    names = ", ".join(f"{state.name} ({state.value})" for state in losing)
    assert f"keeps the delivery count: {names}. Only" in DOCUMENT


def attempts(limit: int, test: LimitTest) -> str:
    config = attrs.evolve(DEFAULT, delivery_count_limit=limit)
    given = draft(
        world(config=config),
        staleness_adds_a_delivery=True,
        limit_test=test,
        mark_names_no_delivery=True,
    )
    states = played(given, *[fetch(), mark(), wait(THRESHOLD)] * limit)
    failed = next(state for state in states if state.view.records[0].is_terminal)
    count = failed.view.durable.entries[0][1]
    return f"{failed.past.deliveries[0]} of {limit} deliveries (delivery count {count})"


@pytest.mark.parametrize(
    ("test", "limits"), [(LimitTest.BEFORE_ADDING, (5, 10)), (LimitTest.AFTER_ADDING, (2, 5))]
)
def test_after_how_many_stale_deliveries_a_record_fails(
    test: LimitTest, limits: tuple[int, ...]
) -> None:
    after = " and ".join(attempts(limit, test) for limit in limits)
    assert f"{after} with the limit tested {test}" in DOCUMENT


def test_no_record_is_ever_stale_under_the_lock_timer() -> None:
    moves = (HazardMove.FETCH, HazardMove.MARK, HazardMove.WAIT)
    given = draft(world(*moves, quantum=5_000, until=THRESHOLD + LOCK), **TIMED)
    ages = set()

    def look(state: HazardState) -> None:
        record, last = state.view.records[0], state.past.sign[0]
        if record.state is RecordState.IN_PROGRESS and last is not None:
            ages.add(state.view.now - last)

    found = search([begin(given)], lambda state: successors(given, state), look)
    never = f"never older than {max(ages) + 5_000:,} ms, the threshold is {THRESHOLD:,} ms"
    assert f"A search of {found.states:,} states with the lock timer" in DOCUMENT
    assert never in DOCUMENT


def test_how_late_silence_is_noticed() -> None:
    """Marks at all phases of the sweeper's period are tried."""
    step = 2_500
    spans = (
        released(draft(**SWEPT), [wait(phase), fetch(), mark()], step)
        for phase in range(step, QUARTER + step, step)
    )
    longest = max(end - marked for marked, end in spans)
    assert f"up to {longest:,} ms after the last mark, and {LOCK:,} ms after the" in DOCUMENT
    assert f"The resolved rules release it after {THRESHOLD:,} ms: later" in DOCUMENT


def test_how_long_a_record_is_in_progress_that_is_marked_in_time() -> None:
    acts = [fetch(), mark(), *[wait(QUARTER), mark()] * (MAXIMUM // QUARTER)]
    _, end = released(draft(**SWEPT), acts, QUARTER)
    assert f"At the defaults the longest is {end:,} ms of {MAXIMUM:,} ms" in DOCUMENT


def test_old_times_end_a_delivery() -> None:
    survive = {**TIMED, "sweep_takes_any_state": True, "progress_time_survives": True}
    acts = [fetch(), mark(), wait(LOCK), wait(100_000 - LOCK), fetch("B"), wait(12_500)]
    states = played(draft(world(members=("A", "B"), fetches=2), **survive), *acts)
    (expired, held, end) = (states[number].view for number in (3, -2, -1))
    assert not expired.records[0].is_held
    assert not end.records[0].is_held
    until = held.records[0].until or 0
    assert (
        f"marked by A at 0 ms, expired at {expired.now - BEGAN:,} ms, acquired by B at "
        f"{held.now - BEGAN:,} ms until {until - BEGAN:,} ms, and taken away by the sweeper at "
        f"{end.now - BEGAN:,} ms"
    ) in DOCUMENT


@pytest.mark.parametrize(
    ("options", "finished", "code"),
    [
        ({"request_is_atomic": True}, FIRST, ErrorCode.NONE),
        ({}, SECOND, ErrorCode.INVALID_RECORD_STATE),
    ],
)
def test_what_one_batch_over_a_finished_record_is_answered(
    options: dict[str, Any], finished: Given, code: ErrorCode
) -> None:
    given = draft(world(records=2, take=2), **options)
    state = played(given, fetch(), accept(finished))[-1]
    request = MarkInProgress("A", (ProgressBatch(0, 1, 1, 0),))
    assert given.machine.apply(state.system, request, ())[1].marked == (code,)
    assert "a mark of both is accepted, as an acknowledgement would be" in DOCUMENT
    assert "one batch over both records gets INVALID_RECORD_STATE once offset 1 is" in DOCUMENT


def test_figures_of_the_defaults() -> None:
    grace = DEFAULT.in_progress_rebalance_grace_ms
    rate = f"{WINDOW / (MAXIMUM / 1000):.1f}"
    assert f"bound it by the grace time, {grace:,} ms" in DOCUMENT
    assert f"lets {WINDOW:,} records through in {MAXIMUM:,} ms, {rate} a second" in DOCUMENT
    entries = f"{WINDOW / (LOCK / 1000):.0f} equal entries a second"
    assert f"{WINDOW:,} records, each marked every {LOCK:,} ms, are {entries}" in DOCUMENT


def test_a_delivery_count_does_not_name_a_delivery() -> None:
    states = played(setting(world(), machine=RESOLVED), fetch(), FAIL_OVER, fetch())
    assert [state.view.records[0].delivery_count for state in states] == [0, 1, 0, 1]
