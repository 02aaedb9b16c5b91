"""Traces under a real clock: what a timer may do, and what is found where it does otherwise."""

import copy
from collections.abc import Callable

import pytest

from impl.kernel import replay_partition
from model.guards import Guard
from model.profile import KAFKA
from replay.plan import Plan
from replay.verdict import PartitionVerdict, Verdict
from tests.impl.by_hand import (
    acknowledged,
    acquired,
    fetched,
    produced,
    spans,
    story,
    told,
    wrote,
)
from tests.replay.samples import Row, check_rows, placed, places, present

SWEEP = KAFKA.sweep_ms
NOW = 5_000_000
"""What the clock shows at first: a real one does not begin at 0."""


def _expiry(time: int, due: int, first: int, last: int, after: Row) -> Row:
    writes = wrote("NONE", 0, 0, (first, last, 0, 1), id_=first)
    expired = {"op": "expire", "ranges": spans((first, last)), "due_ms": due, "writes": writes}
    return {**expired, "time_ms": time, "after": after}


def rows() -> list[Row]:
    """Two members hold 0 to 2 and 3 to 5 for 1000 ms; a renews 0; timers end the others late."""
    held = [(0, 2, "ACQUIRED", 1, "m"), (3, 5, "ACQUIRED", 1, "n")]
    ended = [(0, 0, "ACQUIRED", 1, "m"), (1, 2, "AVAILABLE", 1, None)]
    later = NOW + 1003
    made = story(
        produced((0, 2), (3, 5)),
        {**fetched((0, 2)), "after": told(held[0], end=3), "time_ms": NOW + 3},
        {**fetched((3, 5)), "member": "n", "after": told(*held, end=6), "time_ms": NOW + 5},
        {
            **acknowledged("NONE", (0, 0, 4)),
            "after": told(*held, end=6),
            "time_ms": NOW + 900,
            "deadline_ms": NOW + 1899,
        },
        _expiry(later, later - 1, 1, 2, told(*ended, held[1], end=6)),
        _expiry(later + 7, later + 2, 3, 5, told(*ended, (3, 5, "AVAILABLE", 1, None), end=6)),
        _expiry(NOW + 1899, NOW + 1899, 0, 0, told((0, 5, "AVAILABLE", 1, None), end=6)),
    )
    made[0].update(timed=True, time_ms=NOW)
    made[1].update(time_ms=NOW)
    made[2].update(deadline_ms=NOW + 1001)
    made[2]["result"], made[3]["result"] = acquired((0, 2, 1)), acquired((3, 5, 1))
    return made


def check(table: list[Row], sweep: int | None = None) -> PartitionVerdict:
    return check_rows(table, Plan(sweep_ms=sweep)).verdict


def test_timers_that_are_late_conform() -> None:
    verdict = check(rows())
    assert (verdict.verdict, verdict.checked) == (Verdict.CONFORMS, 8)


@pytest.mark.parametrize("status", ["NONE", "NOT_COORDINATOR"])
def test_what_expired_may_be_kept_back_until_its_write_is_answered(status: str) -> None:
    table = rows()[:6]
    table[5]["writes"][0].update(status="PENDING")
    after = copy.deepcopy(table[5]["after"])
    after["records"][1].update(pending=True)
    table[5]["after"] = after
    released = copy.deepcopy(after)
    released["records"][1].update(pending=False)
    answer = {"op": "complete_write", "id": 1, "result": {"status": status}, "ranges": []}
    taken = {**fetched((1, 1)), "after": after}
    for row in (answer, taken):
        row.update(partition="g:t:0", time_ms=NOW + 1010, writes=[], completed=[])
    table += [{**table[5], **answer, "seq": 6, "after": released}]
    assert check(table).verdict is Verdict.CONFORMS
    assert replay_partition(placed(table), KAFKA).divergence is None
    taken["result"] = acquired((1, 1, 2))
    table[6] = {**table[5], **taken, "seq": 6}
    assert places(check(table)) == [(6, Guard.NO_ACQUIRE_DURING_WRITE.name)]
    stopped = present(replay_partition(placed(table), KAFKA).divergence)
    assert stopped.kind is Guard.NO_ACQUIRE_DURING_WRITE


def _moved(by: int, *places: int) -> Callable[[list[Row]], object]:
    def move(table: list[Row]) -> None:
        for place in places:
            table[place]["time_ms"] += by

    return move


def _claimed(place: int, deadline: int) -> Callable[[list[Row]], object]:
    return lambda table: table[place].update(deadline_ms=deadline)


FAULTS = (
    (5, Guard.LOCK_LASTS_ITS_DURATION, _moved(-3, 5)),
    (5, Guard.LOCK_LASTS_ITS_DURATION, lambda t: t[5].update(due_ms=NOW + 1000)),
    (5, Guard.LOCK_LASTS_ITS_DURATION, lambda t: t[5].update(due_ms=NOW + 1004)),
    (5, Guard.LOCK_LASTS_ITS_DURATION, lambda t: t[5].update(ranges=spans((0, 2)))),
    (7, Guard.LOCK_LASTS_ITS_DURATION, _moved(-1, 7)),
    (2, Guard.LOCK_LASTS_ITS_DURATION, _claimed(2, NOW + 999)),
    (2, Guard.LOCK_ENDS_ON_TIME, _claimed(2, NOW + 1004)),
    (4, Guard.LOCK_LASTS_ITS_DURATION, _claimed(4, NOW + 1004)),
    (7, Guard.LOCK_ENDS_ON_TIME, _moved(SWEEP + 1, 7)),
    (5, Guard.LOCK_ENDS_ON_TIME, _moved(SWEEP, 5, 6, 7)),
)


@pytest.mark.parametrize(
    ("seq", "guard", "spoil"),
    FAULTS,
    ids=[f"{number}-{guard.name}" for number, (_, guard, _) in enumerate(FAULTS)],
)
def test_a_lock_that_ends_too_early_or_too_late_is_found(
    seq: int, guard: Guard, spoil: Callable[[list[Row]], object]
) -> None:
    table = copy.deepcopy(rows())
    spoil(table)
    divergence = present(check(table).divergence)
    assert (divergence.seq, divergence.name) == (seq, guard.name)
    assert divergence.engine == "spec, impl"


def test_a_lock_that_never_ends_is_found_at_the_next_event() -> None:
    table = [row for row in rows() if row["seq"] < 6]
    table.append({**table[1], "seq": 6, "log_batches": [], "after": table[5]["after"]})
    table[6]["time_ms"] = NOW + 1005 + SWEEP
    assert check(table).verdict is Verdict.CONFORMS
    table[6]["time_ms"] += 1
    divergence = present(check(table).divergence)
    assert (divergence.seq, divergence.name) == (6, Guard.LOCK_ENDS_ON_TIME.name)
    assert divergence.expected.startswith("not allowed: offset 3 is held 5001 ms past")


def test_the_tolerance_is_an_option() -> None:
    assert check(rows(), sweep=5).verdict is Verdict.CONFORMS
    assert places(check(rows(), sweep=4)) == [(6, Guard.LOCK_ENDS_ON_TIME.name)]


def test_a_real_clock_never_goes_back() -> None:
    table = rows()
    table[6]["time_ms"] = table[5]["time_ms"] - 1
    verdict = check(table)
    assert (verdict.verdict, verdict.checked) == (Verdict.UNREADABLE, 6)
    assert "time_ms" in present(verdict.problem).message
