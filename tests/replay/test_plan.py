from typing import Any

import pytest

from model.errors import InvalidValueError
from replay.plan import Plan


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"profile": "kafkaa"}, "profile is 'kafkaa'; allowed: draft_resolved, kafka, "),
        ({"against": "spec"}, r"against is \('spec',\); allowed: impl, or spec and impl"),
        ({"against": ()}, r"against is \(\); allowed: impl, or spec and impl"),
        ({"against": "specs"}, r"against is \('specs',\); allowed: impl, or spec and impl"),
        ({"sample": 0.0}, "sample is 0.0; allowed: more than 0, at most 1"),
        ({"sample": float("nan")}, "sample is nan; allowed: more than 0, at most 1"),
        ({"offered_within": 0}, "offered_within is 0; allowed: an integer from 1 to "),
        ({"sweep_ms": -1}, "sweep_ms is -1; allowed: an integer from 0 to "),
        ({"max_divergences": "9"}, "max_divergences is '9'; allowed: an integer from 1 to "),
    ],
)
def test_a_plan_that_cannot_be_followed_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValueError, match=message):
        Plan(**given)


def test_the_implementation_may_be_named_alone() -> None:
    assert Plan(against="impl") == Plan(against=["impl"]) == Plan(against=("impl",))
