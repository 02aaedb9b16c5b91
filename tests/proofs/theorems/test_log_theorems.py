"""Faults of what is known of a log, which the theorems notice."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable

import pytest

from proofs.theorems.catalogue import theorem_named
from proofs.theorems.harness import ProofVerdict, prove
from spec import log as logs
from spec.log import Extent, Log


def left_of_right(extents: tuple[Extent, ...], at: int, *, key: Callable[[Extent], int]) -> int:
    return bisect_right(extents, at, key=key)


def right_of_left(extents: tuple[Extent, ...], at: int, *, key: Callable[[Extent], int]) -> int:
    return bisect_left(extents, at, key=key)


def ends_early(log: Log, offset: int) -> int | None:
    end = HOLE_END(log, offset)
    return end if end is None or end == offset else end - 1


HOLE_END = logs.hole_end


@pytest.mark.parametrize(
    ("rule", "wrong", "theorem"),
    [
        ("hole_end", ends_early, "find a hole hole_is_the_one_that_holds_the_offset"),
        ("bisect_left", left_of_right, "skip holes what_no_hole_holds_is_outside_of_holes"),
        ("bisect_left", left_of_right, "learn a hole among others holes_stay_apart"),
        ("bisect_right", right_of_left, "learn a hole among others holes_stay_apart"),
        ("bisect_right", right_of_left, "find batches batches_that_share_an_offset_are_named"),
        ("hole_end", lambda *_of: None, "find what exists lowest_offset_that_the_log_holds"),
    ],
)
def test_log_that_is_known_wrongly_is_noticed(
    monkeypatch: pytest.MonkeyPatch, rule: str, wrong: Callable[..., object], theorem: str
) -> None:
    monkeypatch.setattr(logs, rule, wrong)
    assert prove(theorem_named(theorem)).verdict is ProofVerdict.REFUTED
