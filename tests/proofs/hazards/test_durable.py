import pytest

from proofs.hazards.durable import HAZARDS
from proofs.hazards.hazard import Hazard, examine, is_shown

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("hazard", HAZARDS, ids=lambda hazard: hazard.name)
def test_each_is_found_has_its_controls_and_is_mended(hazard: Hazard) -> None:
    found = examine(hazard)
    assert [case for case in found.cases if not is_shown(case)] == []
