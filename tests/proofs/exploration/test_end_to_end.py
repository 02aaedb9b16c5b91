"""Each property can fail; those that are expected to, do."""

from pathlib import Path

import numpy as np
import pytest

from model.profile import KIP, LAG_RESOLVED
from proofs.exploration.end_to_end import PROPERTIES, ExploredProperty, judged_under
from proofs.exploration.tables import Ints
from proofs.exploration.world import SmallWorld
from tests.proofs.explored import explored

SOUND = {
    "start": 0, "quiet": 1, "committed": 0, "committed_mask": 0, "available": 0,
    "available_mask": 0, "acknowledged": 0, "acknowledged_mask": 0, "delivered": 0,
    "delivered_mask": 0, "held": 0, "present": 1, "log_end": 1,
}  # fmt: skip
DURABLE = {"start": 0, "code": 0, "terminal": 0, "reported": 0, "resumed": 0}
PARTS = {"network": 0, "confirmed": 0, "failed": 0}

BROKEN: dict[str, tuple[dict[str, int], dict[str, int], dict[str, int]]] = {
    "durable_start_never_ahead": ({}, {"start": 1}, {}),
    "what_is_confirmed_is_durable": ({}, {}, {"confirmed": 1}),
    "what_is_confirmed_is_not_delivered": ({"held": 1}, {"terminal": 1}, {"confirmed": 1}),
    "answered_writes_recover_the_leader": ({"committed": 0xA1, "committed_mask": 0xFF}, {}, {}),
    "lag_not_too_low_unless_a_write_failed": ({}, {"reported": 1}, {}),
    "available_is_not_durably_terminal": ({"available_mask": 0x80}, {"code": 0xC1}, {}),
    "acknowledged_is_found_acknowledged": (
        {"acknowledged": 0xA1, "acknowledged_mask": 0xFF},
        {"code": 0xC1},
        {},
    ),
    "lag_never_too_low": ({}, {"reported": 1}, {"failed": 1}),
    "reported_lag_is_resumed": ({}, {"reported": 1}, {}),
    "delivery_count_survives_failover": ({"delivered": 2, "delivered_mask": 0x0F}, {}, {}),
}


class _One:
    """One state, by its facts."""

    def __init__(
        self, leader: dict[str, int], durable: dict[str, int], parts: dict[str, int]
    ) -> None:
        self._leader, self._durable, self._parts = leader, durable, parts

    def leader(self, name: str) -> Ints:
        return np.array([self._leader[name]])

    def durable(self, name: str) -> Ints:
        return np.array([self._durable[name]])

    def part(self, name: str) -> Ints:
        return np.array([self._parts[name]])


@pytest.mark.parametrize("prop", PROPERTIES, ids=[p.name for p in PROPERTIES])
def test_a_property_holds_and_can_fail(prop: ExploredProperty) -> None:
    leader, durable, parts = BROKEN[prop.name]
    assert prop.broken(_One(SOUND, DURABLE, PARTS)).tolist() == [False]
    broken = _One({**SOUND, **leader}, {**DURABLE, **durable}, {**PARTS, **parts})
    assert prop.broken(broken).tolist() == [True]


@pytest.mark.slow
def test_what_is_expected_to_fail_does_and_nothing_else() -> None:
    _, found = explored(SmallWorld(offsets=2, members=1, gaps=False, log_start=0))
    assert found.violation is None
    assert {f.name: len(f.steps) for f in found.expected} == {
        "delivery_count_survives_failover": 2,
        "available_is_not_durably_terminal": 5,
        "acknowledged_is_found_acknowledged": 6,
        "reported_lag_is_resumed": 6,
        "lag_never_too_low": 7,
    }
    assert {f.name for f in found.expected} == {p.name for p in PROPERTIES if p.why_not}


@pytest.mark.slow
def test_where_the_coordinator_counts_the_reported_lag_is_that_of_a_new_leader() -> None:
    world = SmallWorld(LAG_RESOLVED, offsets=2, members=1, gaps=False, log_start=0)
    _, found = explored(world)
    assert found.violation is None
    assert {f.name for f in found.expected} == {
        "delivery_count_survives_failover",
        "available_is_not_durably_terminal",
        "acknowledged_is_found_acknowledged",
    }


def test_a_property_is_expected_to_hold_under_the_rule_that_mends_it() -> None:
    for profile, left in ((KIP, 5), (LAG_RESOLVED, 3)):
        judged = judged_under(profile, PROPERTIES)
        assert [p.name for p in judged] == [p.name for p in PROPERTIES]
        assert sum(bool(p.why_not) for p in judged) == left


def test_a_write_that_is_never_applied_leaves_only_the_reported_lag_wrong() -> None:
    """Of a lock that expired at the limit: its record is counted, and never written again."""
    world = SmallWorld(offsets=2, members=1, late=0, outstanding=0, gaps=False, log_start=0)
    _, found = explored(world)
    assert [(f.name, len(f.steps)) for f in found.expected] == [
        ("delivery_count_survives_failover", 2),
        ("lag_never_too_low", 8),
        ("reported_lag_is_resumed", 8),
    ]


def test_the_document_says_what_is_not_true_and_why() -> None:
    text = (Path(__file__).parents[3] / "docs" / "exploration.md").read_text()
    rows = [f"| `{p.name}` | {p.sentence} | {p.why_not} |" for p in PROPERTIES if p.why_not]
    assert "\n".join(rows) in text
