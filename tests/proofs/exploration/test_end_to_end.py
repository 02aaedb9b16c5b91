"""Each property can fail; those that are expected to, do."""

from typing import Any

import attrs
import pytest

from model.profile import KIP, LAG_RESOLVED
from model.states import RecordState
from proofs.exploration.coordinator import DurableForm
from proofs.exploration.end_to_end import PROPERTIES, ExploredProperty, PropertyWatch, judged_under
from proofs.exploration.explorer import Network, WorldState
from proofs.exploration.leaders import Leader, LeaderFacts
from spec.coordinator import Durable
from spec.log import Log
from tests.proofs.explored import DOCUMENT

ZERO, NONE = frozenset({0}), frozenset[int]()
ACCEPTED, NEVER = (RecordState.ACKNOWLEDGED, 2), (RecordState.AVAILABLE, 0)
FACTS = LeaderFacts(
    Log(0, 1), 0, quiet=True, full=False, behind=False, present=ZERO, passed=NONE, committed={},
    acknowledged={}, delivered={}, unfinished=ZERO, awaited=NONE, available=NONE, takeable=NONE,
    held=NONE, archiving=NONE,
)  # fmt: skip
DURABLE = DurableForm(Durable(0, 0), {0: NEVER}, NONE, 0, 0)

BROKEN: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "durable_start_never_ahead": ({}, {"durable": Durable(1, 0)}, {}),
    "what_is_confirmed_is_durable": ({}, {}, {"confirmed": ZERO}),
    "what_is_confirmed_is_not_delivered": ({"held": ZERO}, {"terminal": ZERO}, {"confirmed": ZERO}),
    "answered_writes_recover_the_leader": ({"committed": {0: ACCEPTED}}, {}, {}),
    "lag_not_too_low_unless_a_write_failed": ({}, {"reported": 1}, {}),
    "available_is_not_durably_terminal": ({"available": ZERO}, {"terminal": ZERO}, {}),
    "acknowledged_is_found_acknowledged": ({"acknowledged": {0: ACCEPTED}}, {}, {}),
    "lag_never_too_low": ({}, {"reported": 1}, {"failed": True}),
    "reported_lag_is_resumed": ({}, {"reported": 1}, {}),
    "delivery_count_survives_failover": ({"delivered": {0: 2}}, {}, {}),
}


def _state(
    facts: dict[str, Any], durable: dict[str, Any], rest: dict[str, Any], wrong: str | None = None
) -> WorldState:
    leader = Leader(b"", attrs.evolve(FACTS, **facts), None, wrong)
    return WorldState(leader, Network(attrs.evolve(DURABLE, **durable), **rest))


@pytest.mark.parametrize("prop", PROPERTIES, ids=[p.name for p in PROPERTIES])
def test_a_property_holds_and_can_fail(prop: ExploredProperty) -> None:
    assert not prop.broken(_state({}, {}, {}))
    broken = _state(*BROKEN[prop.name])
    assert prop.broken(broken)
    watch = PropertyWatch((prop,))
    assert watch.check(broken) == (None if prop.why_not else prop.sentence)
    assert watch.expected == ({prop.name: broken} if prop.why_not else {})


def test_what_the_leader_passed_is_to_be_found_terminal() -> None:
    passed = _state({"passed": ZERO}, {}, {})
    prop = next(p for p in PROPERTIES if p.name == "answered_writes_recover_the_leader")
    assert prop.broken(passed)
    assert not prop.broken(_state({"passed": ZERO}, {}, {"late": ((0, 0, ()),)}))
    assert not prop.broken(_state({"passed": ZERO}, {}, {"failed": True}))


def test_what_is_wrong_with_a_leader_or_a_step_comes_first() -> None:
    watch = PropertyWatch(PROPERTIES)
    assert watch.check(_state({}, {"durable": Durable(1, 0)}, {}, "it took over")) == "it took over"
    assert watch.check(_state({}, {}, {})._replace(wrong="it moved")) == "it moved"


def test_a_property_is_expected_to_hold_under_the_rule_that_mends_it() -> None:
    for profile, left in ((KIP, 5), (LAG_RESOLVED, 3)):
        judged = judged_under(profile, PROPERTIES)
        assert [p.name for p in judged] == [p.name for p in PROPERTIES]
        assert sum(bool(p.why_not) for p in judged) == left


def test_the_document_says_what_is_not_true_and_why() -> None:
    rows = [f"| `{p.name}` | {p.sentence} | {p.why_not} |" for p in PROPERTIES if p.why_not]
    assert "\n".join(rows) in DOCUMENT
