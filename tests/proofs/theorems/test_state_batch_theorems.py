"""Faults of requests with state batches, which the theorems notice."""

from collections.abc import Callable
from typing import Any

import pytest

from proofs.theorems.catalogue import theorem_named
from proofs.theorems.harness import ProofVerdict, prove
from spec import coordinator

MERGES = "write_merges_its_batches"
LOGS = "write_logs_its_batches"


def first_alone(entries: Any, batches: Any, start: int) -> Any:  # noqa: ANN401 - as the rule
    return RAISED(entries, tuple(batches)[:1], start)


def from_zero(entries: Any, batches: Any, _start: int) -> Any:  # noqa: ANN401 - as the rule
    return RAISED(entries, batches, 0)


RAISED = coordinator._raised  # noqa: SLF001 - the rule itself


@pytest.mark.parametrize(
    ("rule", "wrong", "theorem"),
    [
        ("_raised", first_alone, f"write two state batches that may overlap {MERGES}"),
        ("_raised", first_alone, f"write two state batches apart {LOGS}"),
        ("_raised", from_zero, f"write one state batch {LOGS}"),
        ("_below", lambda *_of: [], f"write one state batch {MERGES}"),
    ],
)
def test_batch_that_is_merged_wrongly_is_noticed(
    monkeypatch: pytest.MonkeyPatch, rule: str, wrong: Callable[..., object], theorem: str
) -> None:
    monkeypatch.setattr(coordinator, rule, wrong)
    assert prove(theorem_named(theorem)).verdict is ProofVerdict.REFUTED
