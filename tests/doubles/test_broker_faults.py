"""Each classic fault of a broker is found, named, and shown in at most ten steps."""

import attrs
import pytest

from conformance.campaign import Limits, campaign
from conformance.wire.kit import BROKERS
from conformance.wire.target import WireCapabilities
from model.rules import VERDICT_RULES
from tests.doubles.broker_faults import WireFault, fault_named
from tests.doubles.spec_broker import CAPABILITIES, SpecBroker
from tests.long import cases
from tools.promises.routes import BROKER_PROMISES, GUARDS

BRIEF = tuple(row for row in BROKER_PROMISES if {"GROUP_INTERVAL", "SILENT_LEAVES"} & {*row.rules})
"""What members show that join for a moment; other faults are looked for without them."""
LARGE = attrs.evolve(CAPABILITIES, heartbeats_ms=(), timeout_ms=0)
SMALL = attrs.evolve(LARGE, delivery_limits=(2,), lock_limits=(4,))
RULES = {name: (*row.rules, *GUARDS[name]) for row in BROKER_PROMISES for name in row.faults}
"""For each fault the rules that stand for the promise which it breaks."""
MOST_STEPS = {WireFault.EPOCH_UNCHECKED_LATE.name: 35}
"""Faults that need more than ten steps: so many requests of a session."""
ROOMY = {WireFault.LAG_IS_OFF_AT_TWO.name, WireFault.STATE_SURVIVES.name}
"""Faults that small windows seldom show: they need two complete records that stay in one."""
_SEEDS = 120
"""How many searches of two sequences a fault may need."""
LONG = {
    *(WireFault.EPOCH_UNCHECKED_LATE.name, WireFault.STATE_SURVIVES.name),
    *(WireFault.PIGGYBACKED_IS_LOST.name, "archives what it read and did not deliver"),
    *(WireFault.LAG_IS_OFF_AT_TWO.name, "acknowledges what is released"),
    *(WireFault.LATER_BATCH_IS_LOST.name,),
    "acknowledges what is available before what is accepted",
    *(WireFault.LAG_IS_LOST.name, WireFault.DURATION_IS_A_MINUTE.name),
    *(WireFault.DURATION_IS_LATEST.name, WireFault.LATEST_IS_EARLIEST.name),
    *(WireFault.CLOSING_IS_REFUSED.name, "acquires what another member holds"),
    *("does not extend a lock that is renewed", "lets a lock expire after half its duration"),
}
"""Those that many searches are needed for: the same in a request log or a core is found sooner, or
another fault by the same rules."""


def test_every_fault_breaks_one_promise() -> None:
    broken = [name for row in BROKER_PROMISES for name in row.faults]
    assert len(set(broken)) == len(broken)
    assert set(WireFault.__members__) < set(broken)


def test_every_promise_has_a_sentence_and_rules_that_exist() -> None:
    for row in BROKER_PROMISES:
        assert row.faults, row.promise
        assert all(RULES[fault] for fault in row.faults), row.promise
        assert set(row.rules) <= VERDICT_RULES.keys(), row.promise
        assert row.sentence.endswith("."), row.promise
        assert row.source.startswith("KIP-"), row.promise


def capabilities(fault: str) -> WireCapabilities:
    """Return what a broker can do with which a fault shows soon."""
    if any(fault in row.faults for row in BRIEF):
        return CAPABILITIES
    return LARGE if fault in ROOMY else SMALL


@pytest.mark.slow
@pytest.mark.parametrize("fault", cases(RULES, LONG.__contains__))
def test_a_fault_is_found_named_and_shrunk(fault: str) -> None:
    names: set[str] = set()
    shortest = 99
    for seed in range(_SEEDS):
        broker = SpecBroker(fault_named(fault), seed=seed, can=capabilities(fault))
        found = campaign(broker, Limits(sequences=2, examples=1), BROKERS, seed).faults
        names |= {one.deviation.name for one in found}
        named = (len(f.sequence) for f in found if f.deviation.name in RULES[fault])
        shortest = min([shortest, *named])
        if shortest <= MOST_STEPS.get(fault, 10):
            return
    pytest.fail(f"of {names} the shortest has {shortest} asks")


@pytest.mark.slow
@pytest.mark.long
def test_a_start_offset_that_stays_shows_in_windows_as_wide_as_brokers_have_at_least() -> None:
    can = attrs.evolve(LARGE, lock_limits=(100, 200))
    broker = SpecBroker(WireFault.START_STAYS, can=can)
    found = campaign(broker, Limits(sequences=60, shrink_seconds=1), BROKERS, 1).faults
    assert {one.deviation.name for one in found} == {"AVAILABLE_RECORDS_ARE_DELIVERED"}
