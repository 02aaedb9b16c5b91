import pytest

from model.errors import InvalidValueError
from proofs.exploration.world import NEVER_WRITTEN, SmallWorld, initialize, present
from spec.log import Log


@pytest.mark.parametrize(
    ("name", "value"), [("limit", -1), ("offsets", 7), ("members", 0), ("late", 3), ("window", 0)]
)
def test_a_world_that_cannot_be_explored_whole_is_refused(name: str, value: int) -> None:
    with pytest.raises(InvalidValueError, match=f"{name} is {value}; allowed: an integer from"):
        SmallWorld(**{name: value})  # type: ignore[arg-type] # one of the sizes


def test_the_first_leader_starts_at_the_log_start() -> None:
    leader, _ = initialize(SmallWorld(), Log(1, 3), NEVER_WRITTEN)
    assert leader.partition.window.start_offset == 1
    assert leader.partition.log.holes == ()


def test_what_is_in_the_log() -> None:
    assert present(Log(1, 5, ((2, 3),))) == [1, 4]
