"""Each property holds of one step and is broken by another; searches do the rest."""

from typing import Any

import attrs
import pytest

from model.config import SharePartitionConfig
from proofs.hazards import properties as hold
from proofs.hazards.draft_readings import LimitTest, Siblings
from proofs.hazards.machine import RESOLVED, Machine
from proofs.hazards.world import (
    Act,
    HazardMoment,
    HazardMove,
    HazardProperty,
    HazardState,
    HazardWorld,
)
from tests.proofs.hazards.stage import (
    COUNTS_ANEW,
    FAIL_OVER,
    FIRST,
    LOST,
    PENDING,
    READ_AGAIN,
    SECOND,
    accept,
    answered,
    fetch,
    mark,
    play,
    setting,
    wait,
    world,
)

LIMIT_TWO = SharePartitionConfig(delivery_count_limit=2)
NARROW = SharePartitionConfig(partition_max_record_locks=1)
SHORT = SharePartitionConfig(in_progress_max_lock_extension_ms=90_000)
LEAVE = Act(HazardMove.LEAVE, "A")
CALL, POLL = Act(HazardMove.CALL_MARK, "A", FIRST), Act(HazardMove.POLL, "A")
WAITS = {"marks_are_written": True, "mark_waits_for_its_write": True}
SWEPT = {"swept_every_quarter": True}
TWO = {"records": 2, "take": 2}

CASES: list[tuple[HazardProperty, dict[str, Any], dict[str, Any], list[Act], str]] = [
    (
        hold.an_acceptance_survives,
        {},
        {"marks_are_written": True},
        [fetch(), mark(), accept(), FAIL_OVER],
        "offset 0 was accepted, the client was told so, and it is AVAILABLE",
    ),
    (
        hold.the_lag_is_what_is_unfinished,
        {},
        {"marks_are_written": True},
        [fetch(), mark(), accept(), FAIL_OVER],
        "1 record is unfinished and the reported lag is 0",
    ),
    (
        hold.the_lag_is_resumed,
        {},
        {"marks_are_written": True},
        [fetch(), mark(), accept(), FAIL_OVER],
        "1 record is unfinished and the reported lag is 0",
    ),
    (
        hold.the_count_keeps_to_its_limit,
        {"config": SharePartitionConfig(delivery_count_limit=1)},
        {"limit_test": LimitTest.NEVER},
        [fetch(), mark(), wait(90_000), fetch()],
        "offset 0 has delivery count 2, the limit is 1",
    ),
    (
        hold.only_an_acquire_counts,
        {},
        {"staleness_adds_a_delivery": True},
        [fetch(), mark(), wait(90_000)],
        "offset 0 goes from delivery count 1 to 2 and nobody acquired it",
    ),
    (
        hold.an_archived_record_had_its_attempts,
        {"config": LIMIT_TWO},
        {"staleness_adds_a_delivery": True, "limit_test": LimitTest.AFTER_ADDING},
        [fetch(), mark(), wait(90_000)],
        "offset 0 is ARCHIVED after 1 delivery, the limit is 2",
    ),
    (
        hold.fresh_progress_keeps_the_lock,
        {},
        {"extension_compares_the_instant": True},
        [fetch(), mark(), wait(30_000)],
        "A loses offset 0 30,000 ms after its last mark",
    ),
    (
        hold.a_lock_lasts_its_duration,
        {},
        {"sweep_takes_any_state": True, "never_marked_is_ancient": True},
        [fetch(), wait(22_500)],
        "A loses offset 0 after 22,500 of 30,000 ms",
    ),
    (
        hold.silence_ends_at_the_threshold,
        {},
        SWEPT,
        [fetch(), mark(), wait(90_000), wait(1)],
        "A holds offset 0, silent for 90,001 ms",
    ),
    (
        hold.progress_ends_at_its_maximum,
        {"config": SHORT},
        SWEPT,
        [fetch(), mark(), wait(90_000), wait(1)],
        "offset 0 is IN_PROGRESS for 90,001 of 90,000 ms",
    ),
    (
        hold.a_terminal_record_stays,
        TWO,
        {"sweep_takes_any_state": True, "never_marked_is_ancient": True},
        [fetch(), accept(SECOND), wait(22_500)],
        "offset 1 was ACKNOWLEDGED and is AVAILABLE",
    ),
    (
        hold.in_progress_has_an_owner,
        {},
        {"marks_are_written": True, "recovered_as_in_progress": True},
        [fetch(), mark(), FAIL_OVER],
        "offset 0 is IN_PROGRESS and nobody owns it",
    ),
    (
        hold.an_acquisition_has_a_timer,
        {},
        WAITS | {"failed_mark_loses_the_timer": True},
        [fetch(), mark(answer=PENDING), answered(LOST)],
        "offset 0 is ACQUIRED by A and no timer will end that",
    ),
    (
        hold.an_older_broker_can_take_over,
        {},
        {"marks_are_written": True},
        [fetch(), mark(), Act(HazardMove.DOWNGRADE)],
        "the share-partition fails to initialize, on every attempt",
    ),
    (
        hold.the_owner_can_acknowledge,
        {},
        WAITS,
        [fetch(), mark(answer=PENDING), accept()],
        "A owns offset 0, accepts it and gets INVALID_RECORD_STATE",
    ),
    (
        hold.a_mark_counts_for_its_own_delivery,
        {"fetches": 2},
        {"mark_names_no_delivery": True},
        [fetch(), wait(30_000), fetch(), Act(HazardMove.OLD_MARK, "A", FIRST)],
        "a mark of an earlier delivery refreshes the present one of offset 0",
    ),
    (
        hold.a_good_mark_is_accepted,
        {},
        {"second_mark_is_refused": True},
        [fetch(), mark(), mark()],
        "A holds offset 0, marks it and gets INVALID_RECORD_STATE",
    ),
    (
        hold.a_rejected_record_is_finished,
        {},
        {"archiving_without_a_queue": True},
        [fetch(), mark(), Act(HazardMove.REJECT, "A", FIRST)],
        "offset 0 is ARCHIVING, and nothing ends that",
    ),
    (
        hold.a_mark_leaves_other_records,
        TWO,
        {"siblings": Siblings.RESCHEDULED},
        [fetch(), wait(10), mark()],
        "a mark of offset 0, and the lock of offset 1 ends 10 ms later",
    ),
    (
        hold.a_mark_leaves_other_records,
        TWO,
        {"siblings": Siblings.CANCELLED},
        [fetch(), mark()],
        "a mark of offset 0, and the lock of offset 1 has no timer any more",
    ),
    (
        hold.a_mark_is_sent_in_time,
        {},
        {"marks_wait_for_poll": True},
        [fetch(), CALL, wait(30_000)],
        "A called markInProgress for offset 0 and loses its lock",
    ),
    (
        hold.a_mark_is_sent_in_time,
        {"explicit": False},
        {"marks_wait_for_poll": True},
        [fetch(), CALL, POLL],
        "poll() accepts offset 0 before it sends the mark of it",
    ),
    (
        hold.a_mark_writes_nothing,
        {},
        {"marks_are_written": True},
        [fetch(), mark()],
        "a mark writes state 5 with delivery count 1",
    ),
    (
        hold.a_departure_makes_records_available,
        {},
        {},
        [fetch(), mark(), LEAVE, wait(10)],
        "A has left and holds offset 0",
    ),
    (
        hold.a_waiting_record_is_not_blocked,
        {"records": 2, "config": NARROW},
        {},
        [fetch(), mark(), wait(30_000), wait(1)],
        "records wait and nothing can be fetched for 30,001 ms",
    ),
]
"""A property, a world, the readings that break it, the steps, and how the last one breaks it."""


NAMES = [f"{number}-{case[0].__name__}" for number, case in enumerate(CASES)]
BOUNDS = {"a_grace_ends", "a_block_ends"}


@pytest.mark.parametrize(("holds", "bounds", "options", "acts", "reason"), CASES, ids=NAMES)
def test_a_step_breaks_the_property(
    holds: HazardProperty,
    bounds: dict[str, Any],
    options: dict[str, Any],
    acts: list[Act],
    reason: str,
) -> None:
    given = setting(world(HazardMove.OLD_MARK, HazardMove.POLL, **bounds), holds, **options)
    assert play(given, *acts).broken == reason


@pytest.mark.parametrize(("holds", "bounds", "options", "acts", "_reason"), CASES, ids=NAMES)
def test_the_same_steps_keep_it_under_the_resolved_rules(
    holds: HazardProperty,
    bounds: dict[str, Any],
    options: dict[str, Any],
    acts: list[Act],
    _reason: str,
) -> None:
    possible = [act for act in acts if act.move is not HazardMove.ANSWER]
    given = setting(world(HazardMove.OLD_MARK, HazardMove.POLL, **bounds), holds)
    assert (play(given, *possible).broken is None) is bool(options)


@pytest.mark.parametrize("machine", [COUNTS_ANEW, RESOLVED])
def test_a_token_of_two_deliveries_breaks_the_property_of_marks(machine: Machine) -> None:
    late = Act(HazardMove.OLD_MARK, "A", FIRST)
    bounds = world(HazardMove.OLD_MARK, fetches=2)
    given = setting(bounds, hold.a_mark_counts_for_its_own_delivery, machine)
    reason = "a mark of an earlier delivery refreshes the present one of offset 0"
    broken = play(given, fetch(), READ_AGAIN, fetch(), late).broken
    assert broken == (reason if machine is COUNTS_ANEW else None)


def test_every_property_is_broken_by_some_step() -> None:
    assert {case[0].__name__ for case in CASES} | BOUNDS == set(hold.__all__)


def moment(before: HazardState, after: HazardState, bounds: HazardWorld) -> HazardMoment:
    return HazardMoment(bounds, before, wait(1), (), (), after)


def test_a_grace_time_that_goes_on_is_noticed() -> None:
    bounds = world()
    left = play(setting(bounds), fetch(), mark(), Act(HazardMove.LEAVE, "A"))
    grace = bounds.config.in_progress_rebalance_grace_ms
    last = attrs.evolve(left, view=attrs.evolve(left.view, now=left.view.now + grace - 1))
    late = attrs.evolve(left, view=attrs.evolve(left.view, now=left.view.now + grace))
    assert hold.a_grace_ends(moment(left, last, bounds)) is None
    assert hold.a_grace_ends(moment(left, late, bounds)) == "A left 5,000 ms ago and holds offset 0"


def test_a_window_that_stays_blocked_is_noticed() -> None:
    bounds = world(records=2, config=NARROW)
    state = play(setting(bounds), fetch(), mark())
    longest = 30_000 + bounds.config.in_progress_max_lock_extension_ms
    last = attrs.evolve(state, view=attrs.evolve(state.view, now=state.view.now + longest))
    late = attrs.evolve(state, view=attrs.evolve(state.view, now=state.view.now + longest + 1))
    assert hold.a_block_ends(moment(state, last, bounds)) is None
    found = hold.a_block_ends(moment(state, late, bounds))
    assert found == "nothing can be fetched for 1,830,001 ms"
