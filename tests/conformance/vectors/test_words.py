"""Steps in words: what each asks, and what is said of words that are none."""

import pytest

from conformance.cores import asks
from conformance.vectors.words import ask_in_words
from model.config import SharePartitionConfig
from model.errors import ErrorCode, InvalidValueError
from model.operations import AcknowledgementBatch, AlterConfig
from model.states import AcquireMode

CONFIG = SharePartitionConfig(delivery_count_limit=3)
FAILED = ErrorCode.COORDINATOR_NOT_AVAILABLE


@pytest.mark.parametrize(
    ("text", "ask"),
    [
        ("produce 2, skip 1, 3", asks.Produce(((0, 2), (1, 3)))),
        ("m1 fetches", asks.Fetch("m1", AcquireMode.RECORD_LIMIT, 500, 500, 1)),
        (
            "m2 fetches whole batches at most 2 in 3 log batches",
            asks.Fetch("m2", AcquireMode.BATCH_OPTIMIZED, 500, 2, 3),
        ),
        ("m1 accepts 0-2", asks.Acknowledge("m1", (AcknowledgementBatch(0, 2, (1,)),))),
        (
            "m1 acknowledges 1-2 gap renew; -1-0 7; 4 -> PENDING, COORDINATOR_NOT_AVAILABLE",
            asks.Acknowledge(
                "m1",
                (
                    AcknowledgementBatch(1, 2, (0, 4)),
                    AcknowledgementBatch(-1, 0, (7,)),
                    AcknowledgementBatch(4, 4, ()),
                ),
                (ErrorCode.PENDING, FAILED),
            ),
        ),
        ("m1 leaves -> PENDING", asks.MemberLeaves("m1", (ErrorCode.PENDING,))),
        ("50 ms pass", asks.AdvanceTime(50)),
        ("write 1 ends COORDINATOR_NOT_AVAILABLE", asks.CompleteWrite(1, FAILED)),
        ("the log loses batch 2", asks.Compact(2)),
        ("the log start moves by 3", asks.AdvanceLogStart(3)),
        (
            "renew_acknowledge_enable becomes false",
            AlterConfig(
                SharePartitionConfig(delivery_count_limit=3, renew_acknowledge_enable=False)
            ),
        ),
        ("dead letter 0 ends", asks.FinishDeadLetter(0)),
        ("a new leader", asks.TakeOver(CONFIG)),
    ],
    ids=str,
)
def test_a_step_in_words_becomes_a_command(text: str, ask: asks.Ask) -> None:
    assert ask_in_words(text, CONFIG) == ask


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
