"""Small wrong implementations: the kit finds each, names it, and shows it in few steps."""

import pytest

from conformance.campaign import Limits, campaign
from conformance.cores.kit import CORES
from tests.doubles.miniature import FaultKind, Miniature

FAULTS = [kind for kind in FaultKind if kind is not FaultKind.NONE]


@pytest.mark.slow
def test_the_correct_miniature_conforms() -> None:
    found = campaign(Miniature(), Limits(sequences=150), CORES, seed=1)
    assert found.faults == ()
    assert found.steps > 4000


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_found_and_shrunk(fault: FaultKind) -> None:
    for seed in range(8):
        found = campaign(Miniature(fault), Limits(sequences=100, examples=1), CORES, seed)
        if found.faults:
            break
    assert found.faults
    assert min(len(one.sequence) for one in found.faults) <= 10
