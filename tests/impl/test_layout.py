import pytest

from impl import layout
from model.guards import Difference, Guard


@pytest.mark.parametrize("reason", [*Guard, *Difference, layout.PAST_LOG, layout.NO_MARKS])
def test_a_verdict_is_found_again(reason: Guard | Difference | layout.Invalid) -> None:
    assert layout.VERDICTS[layout.verdict(reason)] is reason
    assert layout.verdict(reason) != layout.FINE


def test_constants_that_are_passed_on_are_int64() -> None:
    assert type(layout.UNSET).__name__ == "int64"
    assert [int(n) for n in layout.numbers(3)] == [0, 1, 2]
