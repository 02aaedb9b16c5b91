"""What several tests of the kit search for once."""

from typing import Any

import pytest

from conformance.campaign import Campaign, Fault, Limits, campaign
from conformance.cores.kit import CORES
from tests.doubles.small_core import SmallCore


@pytest.fixture(scope="session")
def uncounted() -> Campaign[Any]:
    """What a search finds in a core that does not count redeliveries."""
    wrong = SmallCore("does not count redeliveries")
    return campaign(wrong, Limits(sequences=40, examples=1), CORES, seed=3)


@pytest.fixture(scope="session")
def fault(uncounted: Campaign[Any]) -> Fault[Any]:
    """The first deviation of that core."""
    return uncounted.faults[0]
