"""A core whose choices are not this project's conforms."""

import pytest

from conformance.campaign import Limits, campaign
from conformance.cores.kit import CORES
from tests.doubles.other_core import OtherCore


@pytest.mark.parametrize("profile", ["kip", "kafka"])
@pytest.mark.parametrize("count", [0, 1])
def test_other_choices_conform(profile: str, count: int) -> None:
    found = campaign(OtherCore(profile, count), Limits(sequences=40), CORES, seed=count)
    assert [one.deviation for one in found.faults] == []
    assert found.steps > 800
