"""The figures of the pages, each computed by running the rules."""

from collections.abc import Iterable
from functools import cache
from typing import Any

import attrs

from model import operations as ops
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.states import RecordState
from proofs.exploration.search import search
from proofs.hazards.draft_consumer import Given
from proofs.hazards.draft_readings import MENDED, LimitTest, Readings
from proofs.hazards.machine import RESOLVED, Machine, MachineView, draft_machine
from proofs.hazards.run import begin, follow, steps
from proofs.hazards.world import (
    BEGAN,
    Act,
    HazardMoment,
    HazardMove,
    HazardState,
    HazardWorld,
    Setting,
)
from spec.record import durable_maximum

DEFAULT = SharePartitionConfig()
LOCK = DEFAULT.record_lock_duration_ms
THRESHOLD = DEFAULT.in_progress_staleness_threshold_ms
MAXIMUM = DEFAULT.in_progress_max_lock_extension_ms
WINDOW = DEFAULT.partition_max_record_locks
QUARTER = THRESHOLD // 4
FIRST = Given(0, 1, 0)
FETCH, MARK = Act(HazardMove.FETCH, "A"), Act(HazardMove.MARK, "A", FIRST)


@cache
def figures() -> dict[str, str]:
    """Return each figure by its name in the texts."""
    dead_states, dead_age = _oldest_progress_under_the_lock_timer()
    return {
        "attempts": _attempts(),
        "dead_age": _grouped(dead_age),
        "dead_states": _grouped(dead_states),
        "entries": f"{WINDOW / (LOCK / 1000):.0f}",
        "exits": _losing_exits(),
        "grace": _grouped(DEFAULT.in_progress_rebalance_grace_ms),
        "lock": _grouped(LOCK),
        "longest_age": _grouped(_longest_age()),
        "maximum": _grouped(MAXIMUM),
        "rate": f"{WINDOW / (MAXIMUM / 1000):.1f}",
        "records": _grouped(WINDOW),
        "sibling_range": _siblings_in_one_batch(),
        "sibling_start": _siblings_at_the_start(),
        "stale_fields": _old_times_end_a_delivery(),
        "sweep_silence": _grouped(_longest_silence()),
        "threshold": _grouped(THRESHOLD),
        "window": _grouped(WINDOW),
    }


def played(world: HazardWorld, machine: Machine, acts: Iterable[Act]) -> list[HazardState]:
    """Return the states of a run in which these acts happen one after the other."""
    setting = Setting(world, machine, MENDED, _anything)
    states = [begin(setting)]
    for act in acts:
        states.append(follow(setting, states[-1], act))
    return states


def _anything(_moment: HazardMoment) -> None:
    return None


def _draft(**options: Any) -> Readings:  # noqa: ANN401 - whatever the option takes
    return attrs.evolve(MENDED, **options)


def _wait(ms: int) -> Act:
    return Act(HazardMove.WAIT, number=ms)


def _grouped(number: int) -> str:
    return f"{number:,}"


def _losing_exits() -> str:
    """Name the states that lose against a durable IN_PROGRESS of the same delivery count."""
    kept = RecordState.IN_PROGRESS
    written = [state for state in RecordState if state not in (RecordState.ACQUIRED, kept)]
    losing = [state for state in written if durable_maximum(state, 1, kept, 1)[0] == kept]
    return ", ".join(f"{state.name} ({state.value})" for state in losing)


def _attempts() -> str:
    phrases = []
    for test, limits in ((LimitTest.BEFORE_ADDING, (5, 10)), (LimitTest.AFTER_ADDING, (2, 5))):
        after = [
            f"{deliveries} of {limit} deliveries (delivery count {count})"
            for limit in limits
            for deliveries, count in [_deliveries_until_archived(limit, test)]
        ]
        phrases.append(f"{' and '.join(after)} with the limit tested {test}")
    return "; ".join(phrases)


def _deliveries_until_archived(limit: int, test: LimitTest) -> tuple[int, int]:
    config = attrs.evolve(DEFAULT, delivery_count_limit=limit)
    world = HazardWorld(frozenset(), config=config)
    machine = draft_machine(
        _draft(staleness_adds_a_delivery=True, limit_test=test, mark_names_no_delivery=True)
    )
    states = played(world, machine, [FETCH, MARK, _wait(THRESHOLD)] * limit)
    failed = next(s for s in states if s.view.records[0].is_terminal)
    return failed.past.deliveries[0], failed.view.durable.entries[0][1]


def _oldest_progress_under_the_lock_timer() -> tuple[int, int]:
    """Search everything with the lock timer live; return the states and the oldest progress."""
    world = HazardWorld(
        frozenset({HazardMove.FETCH, HazardMove.MARK, HazardMove.WAIT}), 5_000, THRESHOLD + LOCK
    )
    readings = _draft(
        lock_timer_runs_on=True, timer_has_the_lock_duration=True, swept_every_quarter=True
    )
    setting, oldest = Setting(world, draft_machine(readings), readings, _anything), 0

    def look(state: HazardState) -> None:
        nonlocal oldest
        record, last = state.view.records[0], state.past.sign[0]
        if record.state is RecordState.IN_PROGRESS and last is not None:
            oldest = max(oldest, state.view.now - last)

    result = search([begin(setting)], steps(setting, leaps=False), look)
    return result.states, oldest + world.quantum


def _released_after(machine: Machine, acts: list[Act], every: int) -> int:
    """Return how long after the last of the acts nobody holds the record any more (ms)."""
    world = HazardWorld(frozenset())
    waits = [_wait(every)] * ((MAXIMUM + THRESHOLD) // every)
    states = played(world, machine, [*acts, *waits])[len(acts) :]
    end = next(s for s in states if not s.view.records[0].is_held)
    return end.view.now - states[0].view.now


def _longest_silence() -> int:
    """Try marks at all phases of the sweeper's period."""
    machine, step = draft_machine(_draft(swept_every_quarter=True)), 2_500
    return max(
        _released_after(machine, [_wait(phase), FETCH, MARK], step)
        for phase in range(step, QUARTER + step, step)
    )


def _longest_age() -> int:
    """Mark in time for as long as the leader accepts marks."""
    machine = draft_machine(_draft(swept_every_quarter=True))
    acts = [FETCH, MARK]
    acts += [_wait(QUARTER), MARK] * (MAXIMUM // QUARTER)
    states = played(HazardWorld(frozenset()), machine, [*acts, _wait(QUARTER)])
    end = next(s for s in states[1:] if not s.view.records[0].is_held)
    return end.view.now - BEGAN


def _old_times_end_a_delivery() -> str:
    options = {
        "lock_timer_runs_on": True,
        "timer_has_the_lock_duration": True,
        "swept_every_quarter": True,
        "sweep_takes_any_state": True,
        "progress_time_survives": True,
    }
    world = HazardWorld(frozenset(), members=("A", "B"))
    began, taken = LOCK, 100_000
    acts = [
        FETCH,
        MARK,
        _wait(began),
        _wait(taken - began),
        Act(HazardMove.FETCH, "B"),
        _wait(12_500),
    ]
    states = played(world, draft_machine(_draft(**options)), acts)
    held, end = states[-2].view, states[-1].view
    assert not end.records[0].is_held  # noqa: S101 - or the sentence would be wrong
    until = held.records[0].until
    assert until is not None  # noqa: S101 - a held record has a timer
    return (
        f"marked by A at 0 ms, expired at {began:,} ms, acquired by B at {_elapsed(held):,} ms "
        f"until {until - BEGAN:,} ms, and taken away by the sweeper at {_elapsed(end):,} ms"
    )


def _siblings_at_the_start() -> str:
    world = HazardWorld(frozenset(), records=2, take=2)
    machine = draft_machine(_draft(request_is_atomic=True))
    state = played(world, machine, [FETCH, Act(HazardMove.ACCEPT, "A", FIRST)])[-1]
    code = _mark_both(machine, state)
    assert code is ErrorCode.NONE  # noqa: S101 - or the sentence would be wrong
    return (
        "It takes a record that is not the first of the window: if offset 0 is accepted, the start "
        "offset passes it, and a mark of both is accepted, as an acknowledgement would be."
    )


def _siblings_in_one_batch() -> str:
    world = HazardWorld(frozenset(), records=2, take=2)
    state = played(world, RESOLVED, [FETCH, Act(HazardMove.ACCEPT, "A", Given(1, 1, 0))])[-1]
    code = _mark_both(RESOLVED, state)
    return (
        f"Under the resolved rules too, one batch over both records gets {code.name} once offset 1 "
        "is accepted: they separate batches, not the records of a batch."
    )


def _mark_both(machine: Machine, state: HazardState) -> ErrorCode:
    request = ops.MarkInProgress("A", (ops.ProgressBatch(0, 1, 1, 0),))
    return machine.apply(state.system, request, ())[1].marked[0]


def _elapsed(view: MachineView) -> int:
    return view.now - BEGAN
