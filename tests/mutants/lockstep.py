import pytest

from tests.lockstep.driver import drive

pytestmark = pytest.mark.filterwarnings("default")  # Numbers overflow where nothing is compiled.


def test_implementation_does_what_the_specification_does() -> None:
    drive(seed=7, steps=1_600)
