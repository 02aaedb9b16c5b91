"""Each classic fault of a broker is found, named, and shown in at most ten steps."""

import attrs
import pytest

from conformance.campaign import Limits, campaign
from conformance.wire.kit import BROKERS
from tests.doubles.broker_faults import WireFault
from tests.doubles.spec_broker import CAPABILITIES, SpecBroker

SMALL = attrs.evolve(CAPABILITIES, delivery_limits=(2,), lock_limits=(4,))
NAMES = {
    WireFault.EPOCH_UNCHECKED: "SESSION_ERROR",
    WireFault.ANYBODY_ACKNOWLEDGES: "ACKNOWLEDGEMENT_JUDGED",
    WireFault.COUNT_STAYS: "DELIVERY_COUNT",
    WireFault.WINDOW_HAS_NO_LIMIT: "WITHIN_WINDOW_LIMIT",
    WireFault.DELIVERY_HAS_NO_LIMIT: "ONLY_AVAILABLE_IS_ACQUIRED",
    WireFault.LOCK_ENDS_EARLY: "ONLY_AVAILABLE_IS_ACQUIRED",
    WireFault.LOCK_NEVER_ENDS: "AVAILABLE_RECORDS_ARE_DELIVERED",
    WireFault.RELEASE_ACCEPTS: "AVAILABLE_RECORDS_ARE_DELIVERED",
    WireFault.REJECT_RELEASES: "ONLY_AVAILABLE_IS_ACQUIRED",
    WireFault.GAP_RELEASES: "ONLY_AVAILABLE_IS_ACQUIRED",
    WireFault.PIGGYBACKED_IS_LOST: "AVAILABLE_RECORDS_ARE_DELIVERED",
    WireFault.LAG_IGNORES_COMPLETE: "LAG",
    WireFault.DELIVERED_TWICE: "ONLY_AVAILABLE_IS_ACQUIRED",
    WireFault.CLOSING_KEEPS: "AVAILABLE_RECORDS_ARE_DELIVERED",
    WireFault.RENEW_DOES_NOTHING: "ACKNOWLEDGEMENT_JUDGED",
    WireFault.MAXIMUM_IGNORED: "WITHIN_RECORD_LIMIT",
    WireFault.RECORDS_LEFT_OUT: "ACQUIRED_IS_SENT",
    WireFault.LOG_START_IGNORED: "ONLY_LOGGED_IS_ACQUIRED",
    WireFault.FIRST_IS_FORGOTTEN: "AVAILABLE_RECORDS_ARE_DELIVERED",
    WireFault.ABORTED_IS_DELIVERED: "COMMITTED_IS_DELIVERED",
    WireFault.COMMITTED_IS_KEPT_BACK: "AVAILABLE_RECORDS_ARE_DELIVERED",
}


def test_every_fault_has_a_name() -> None:
    assert {*NAMES, WireFault.NONE} == set(WireFault)


@pytest.mark.slow
@pytest.mark.parametrize("fault", NAMES, ids=lambda fault: fault.name)
def test_a_fault_is_found_named_and_shrunk(fault: WireFault) -> None:
    names: set[str] = set()
    shortest = 99
    for seed in range(40):
        broker = SpecBroker(fault, seed=seed, can=SMALL)
        found = campaign(broker, Limits(sequences=2, examples=1), BROKERS, seed).faults
        names |= {one.deviation.name for one in found}
        shortest = min([shortest, *(len(one.sequence) for one in found)])
        if NAMES[fault] in names and shortest <= 10:
            return
    pytest.fail(f"of {names} the shortest has {shortest} asks")
