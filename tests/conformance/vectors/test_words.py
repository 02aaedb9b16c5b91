"""Steps in words: what each asks, and what is said of words that are none."""

import pytest

from conformance.vectors.words import ask_in_words
from model.config import SharePartitionConfig
from model.errors import ErrorCode, InvalidValueError

CONFIG = SharePartitionConfig(delivery_count_limit=3)
FAILED = ErrorCode.COORDINATOR_NOT_AVAILABLE


@pytest.mark.parametrize(
    "text",
    [
        "m1 dances",
        "m1 accepts",
        "m1 accepts one",
        "m1 acknowledges 0 maybe",
        "produce",
        "m1 leaves -> SOON",
        "m1 fetches -> PENDING",
        "write 0 ends SOON",
        "delivery_count_limit becomes large",
        "delivery_count_limit becomes 0",
        "size becomes 3",
    ],
)
def test_an_invalid_step_is_quoted(text: str) -> None:
    with pytest.raises(InvalidValueError, match="allowed: a step such as: produce 2") as error:
        ask_in_words(text, CONFIG)
    assert text in str(error.value)
