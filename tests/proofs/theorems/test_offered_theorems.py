"""Faults of the counts of progress, which the theorems notice."""

from collections.abc import Callable

import pytest

from model.ranges import PassedOver
from model.whole_state import Delayed
from proofs.theorems.catalogue import theorem_named
from proofs.theorems.harness import ProofVerdict, prove
from spec.log import Log

BOUNDED = "finished_records_leave_a_full_window_within_the_bound"
COUNTED = "record_is_passed_over_within_the_bound"
OFFERED = "what_a_fetch_could_acquire_is_offered"


def counts_twice(offset: int, fetches: int) -> Delayed:
    return Delayed(offset, fetches + 1)


def passes_twice(first: int, last: int, fetches: int) -> PassedOver:
    return PassedOver(first, last, fetches + 1)


def whole_log(log: Log, _level: object) -> int:
    return log.end_offset


@pytest.mark.parametrize(
    ("rule", "wrong", "theorem"),
    [
        (
            "spec.offered.PassedOver",
            passes_twice,
            f"a fetch takes nothing of two offsets {COUNTED}",
        ),
        (
            "spec.offered.Delayed",
            counts_twice,
            f"nothing is acquired of a full window {BOUNDED}",
        ),
        (
            "spec.offered.require",
            lambda *_of: None,
            f"a fetch takes the second of two offsets {COUNTED}",
        ),
        (
            "spec.offered.require",
            lambda *_of: None,
            f"nothing is acquired of a full window {BOUNDED}",
        ),
        (
            "spec.offered.hole_end",
            lambda *_of: None,
            f"offer an offset (read_committed) {OFFERED}",
        ),
        ("spec.offered.readable_end", whole_log, f"offer an offset (read_committed) {OFFERED}"),
        (
            "spec.offered.overlapping",
            lambda *_of: (),
            f"offer an offset (read_committed) {OFFERED}",
        ),
    ],
)
def test_progress_that_is_counted_wrongly_is_noticed(
    monkeypatch: pytest.MonkeyPatch, rule: str, wrong: Callable[..., object], theorem: str
) -> None:
    monkeypatch.setattr(rule, wrong)
    assert prove(theorem_named(theorem)).verdict is ProofVerdict.REFUTED
