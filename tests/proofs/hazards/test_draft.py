"""Readings of the draft that cause no hazard make the difference that their sentences say.

Of the others the searches for hazards tell: each is found with the reading, and not without it
(``test_review``). With every question answered as in draft_resolved, the draft shows what the
specification does.
"""

from typing import Any

import attrs
import pytest

from model import operations as ops
from model.config import SharePartitionConfig
from model.errors import ErrorCode, InvalidValueError
from model.snapshot import DurableState
from proofs.hazards.catalogue import HAZARDS
from proofs.hazards.draft_consumer import Consumer, Given, poll
from proofs.hazards.draft_consumer import mark as call_mark
from proofs.hazards.draft_leader import apply, new_leader
from proofs.hazards.draft_readings import DRAFT_LITERAL, MENDED, NAMES
from proofs.hazards.machine import RESOLVED, draft_machine
from proofs.hazards.world import BEGAN, HazardAct, HazardMove, HazardState
from tests.proofs.hazards.stage import accept, fetch, mark, play, setting, wait, world

LEAVE = HazardAct(HazardMove.LEAVE, "A")
SWEPT = {"swept_every_quarter": True}


def limit(most: int, longest: int = 1_800_000) -> dict[str, Any]:
    config = SharePartitionConfig(
        delivery_count_limit=most, in_progress_max_lock_extension_ms=longest
    )
    return {"config": config}


STALE = [fetch(), mark(), wait(90_000)]
TOO_LONG = [fetch(), mark(), wait(60_000), mark(), wait(60_000)]

ROWS: list[tuple[dict[str, Any], dict[str, Any], list[HazardAct], str]] = [
    (
        {"extension_passes_the_limit": True},
        limit(1, 120_000),
        TOO_LONG,
        "AVAILABLE(1); durable AVAILABLE(1)",
    ),
    (
        {**SWEPT, "fresh_at_the_threshold": True},
        {},
        [wait(10), *STALE, LEAVE],
        "IN_PROGRESS(1) A until 95,010",
    ),
    (
        {"second_mark_is_refused": True},
        {},
        [fetch(), mark(), mark()],
        "IN_PROGRESS(1) A until 90,000; INVALID_RECORD_STATE",
    ),
]
"""Readings that cause no hazard, the world, what happens, and what is shown then."""


def shown(state: HazardState) -> str:
    """Tell each record of the window, what is durable of them, and what was answered last."""
    view = state.view
    records = []
    for offset, record in enumerate(view.records):
        owner = "" if record.owner is None else f" {record.owner}"
        until = "" if record.until is None else f" until {record.until - BEGAN:,}"
        name = f"{record.state.name}({record.delivery_count}){owner}{until}"
        records.append("passed" if offset < view.start else name + ", pending" * record.pending)
    durable = [f"durable {kind.name}({n})" for _, (kind, n) in sorted(view.durable.entries.items())]
    answers = [code.name for code in state.answers if code is not ErrorCode.NONE]
    return "; ".join([*records, *durable, *answers])


def played(bounds: dict[str, Any], acts: list[HazardAct], options: dict[str, Any] | None) -> str:
    """Play the acts in the draft with these readings, or under the specification."""
    given = setting(world(*HazardMove, **bounds), machine=RESOLVED)
    if options is not None:
        readings = attrs.evolve(MENDED, **options)
        given = attrs.evolve(given, machine=draft_machine(readings), readings=readings)
    return shown(play(given, *acts))


@pytest.mark.parametrize(("readings", "bounds", "acts", "text"), ROWS)
def test_a_reading_makes_a_difference(
    readings: dict[str, Any], bounds: dict[str, Any], acts: list[HazardAct], text: str
) -> None:
    assert played(bounds, acts, readings) == text
    mended = played(bounds, acts, {})
    assert mended != text
    assert mended == played(bounds, acts, None)
    for name in readings:
        others = {other: value for other, value in readings.items() if other != name}
        assert played(bounds, acts, others) != text, f"{name} makes no difference"


def test_each_reading_causes_a_hazard_or_stands_in_a_row_and_is_literal_but_for_one() -> None:
    causes = {name for hazard in HAZARDS for case in hazard.cases for name in case.options}
    assert causes | {name for row in ROWS for name in row[0]} | {"thresholds_are_free"} == {*NAMES}
    same = {name for name in NAMES if getattr(DRAFT_LITERAL, name) == getattr(MENDED, name)}
    assert same == {"second_mark_is_refused"}


@pytest.mark.parametrize(
    "act", [mark(member="B"), accept(member="B"), HazardAct(HazardMove.LEAVE, "B")]
)
def test_what_another_member_does_changes_nothing(act: HazardAct) -> None:
    bounds = {"members": ("A", "B")}
    after = played(bounds, [fetch(), act], {})
    assert after == played(bounds, [fetch(), act], None)
    assert after.removesuffix("; INVALID_RECORD_STATE") == "ACQUIRED(1) A until 30,000"


def test_what_is_fresh_at_the_threshold_is_not_beyond_it() -> None:
    readings = {**SWEPT, "fresh_at_the_threshold": True}
    late = [wait(10), fetch(), mark(), wait(90_001), LEAVE]
    assert played({}, late, readings) == "AVAILABLE(1); durable AVAILABLE(1)"


def test_a_timer_that_runs_on_may_have_the_threshold() -> None:
    """No row has it alone: the record then ends when it becomes stale, but where it is swept."""
    late = [wait(10), *STALE]
    swept = played({}, late, {**SWEPT, "lock_timer_runs_on": True})
    assert swept == played({}, late, {}) != played({}, late, SWEPT)


def test_what_the_draft_leader_refuses() -> None:
    config = SharePartitionConfig(in_progress_staleness_threshold_ms=20_000)
    read = ops.Initialize(config, 0, 1, DurableState(0, 0))
    leader = new_leader(attrs.evolve(MENDED, thresholds_are_free=True))
    assert apply(leader, read)[0].end == 0
    unresolved = attrs.evolve(read, config=SharePartitionConfig(), persisted=DurableState(-1, -1))
    for operation, reason in (
        (read, "record_lock_duration_ms"),
        (unresolved, "start_offset is -1"),
        (ops.AdvanceLogStart(1), "operation is AdvanceLogStart"),
        (ops.CompleteWrite(1, ErrorCode.NONE), "id is 1; allowed: the id of an outstanding"),
    ):
        with pytest.raises(InvalidValueError, match=reason):
            apply(new_leader(MENDED), operation)


def test_a_consumer_sends_marks_once_and_in_order_after_what_it_accepts() -> None:
    given = tuple(Given(offset, 1, 0) for offset in (9, 4, 4, 0))
    consumer = Consumer("A", explicit=False, unacknowledged=given[2:], marks=given)
    left, (accepted, marked) = poll(consumer)
    assert isinstance(accepted, ops.Acknowledge)
    assert isinstance(marked, ops.MarkInProgress)
    assert [batch.first for batch in accepted.batches] == [0, 4]
    assert [batch.first for batch in marked.batches] == [0, 4, 9]
    assert (left.unacknowledged, left.marks, poll(left)[1]) == ((), (), ())


def test_a_hundred_marks_wait_unless_told_otherwise() -> None:
    """The default of max.in-flight.progress.batches."""
    queues = attrs.evolve(MENDED, marks_wait_for_poll=True)
    consumer = Consumer("A", explicit=True, marks=tuple(Given(o, 1, 0) for o in range(99)))
    consumer, requests = call_mark(consumer, Given(99, 1, 0), queues)
    assert (len(consumer.marks), requests) == (100, ())
    consumer, requests = call_mark(consumer, Given(100, 1, 0), queues)
    assert (len(consumer.marks), len(requests)) == (0, 1)
