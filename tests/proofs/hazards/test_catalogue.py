import pytest

from model.errors import InvalidValueError
from proofs.hazards.catalogue import HAZARDS, hazard_named


def test_every_hazard_is_there_in_order() -> None:
    numbers = ["Z1", "Z1b", *(f"Z{number}" for number in range(2, 24))]
    assert [hazard.name for hazard in HAZARDS] == numbers


def test_a_hazard_is_found_by_its_name() -> None:
    assert hazard_named("z1B").name == "Z1b"
    with pytest.raises(InvalidValueError, match="hazard is 'Z24'; allowed: Z1, Z1b, Z2"):
        hazard_named("Z24")
