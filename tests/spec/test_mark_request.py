"""Marks that reach a broker: sessions, errors, and the token that a fetch gives."""

import attrs
import pytest

from judge.invariants import broken_names
from judge.share_broker_invariants import BROKER_INVARIANTS
from model.errors import ErrorCode, InvalidValueError
from model.operations import ProgressBatch
from model.profile import DRAFT_RESOLVED, KIP
from model.share_messages import (
    MarkedPartition,
    MarkResponse,
    PartitionMarks,
    ShareMark,
    TopicPartition,
)
from spec.coordinator import Durable
from spec.log import Log
from spec.mark_request import handle_mark
from spec.share_broker import ShareBroker, advance, lead
from tests.spec.share_worlds import (
    P0,
    asked,
    broker_of,
    fetching,
    given,
    held,
    opened,
    sent,
)

STATE, REQUEST = ErrorCode.INVALID_RECORD_STATE, ErrorCode.INVALID_REQUEST
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
WRONG_EPOCH = ErrorCode.INVALID_SHARE_SESSION_EPOCH


def marking(
    member: str, epoch: int, at: TopicPartition, *batches: tuple[int, int, int]
) -> ShareMark:
    """Mark batches (first, last, number of the acquisition) of leader epoch 0."""
    every = tuple(ProgressBatch(first, last, 0, number) for first, last, number in batches)
    return ShareMark("g", member, epoch, (PartitionMarks(at, every),))


def marked(
    broker: ShareBroker, request: ShareMark
) -> tuple[ShareBroker, dict[TopicPartition, MarkedPartition]]:
    broker, response = handle_mark(broker, request, broker.now)
    assert response.error is ErrorCode.NONE
    return broker, {part.topic_partition: part for part in response.partitions}


@pytest.fixture
def broker() -> ShareBroker:
    """A broker of which m holds records 0 and 1 of the first share-partition."""
    return opened(broker_of(DRAFT_RESOLVED))


def test_a_fetch_gives_the_token_that_a_mark_carries() -> None:
    _, response = sent(broker_of(DRAFT_RESOLVED), fetching("m", 0, asked(P0)))
    assert (given(response), response.partitions[0].token) == ({P0: [(0, 1, 1)]}, (0, 0))
    led = lead(
        broker_of(DRAFT_RESOLVED),
        ("g", P0),
        broker_of(DRAFT_RESOLVED).partitions["g", P0].config,
        Log(0, 6),
        Durable(0, 0, leader_epoch=7),
    )
    led, _ = sent(led, fetching("m", 0, asked(P0)))
    _, response = sent(led, fetching("m", 1))
    assert response.partitions[0].token == (7, 1)
    _, response = sent(broker_of(KIP), fetching("m", 0, asked(P0)))
    assert response.partitions[0].token is None


def test_a_mark_is_answered_at_once_and_keeps_the_record(broker: ShareBroker) -> None:
    broker, answer = marked(broker, marking("m", 1, P0, (0, 0, 0)))
    assert answer == {P0: MarkedPartition(P0, batches=(ErrorCode.NONE,))}
    assert held(broker, P0) == "0:P1@m 1:Q1@m"
    assert not broker.waiting
    assert broken_names(BROKER_INVARIANTS, broker) == []
    assert held(advance(broker, 100), P0) != held(broker, P0)
    assert "0:P1@m" in held(advance(broker, 100), P0)


def test_each_batch_has_its_own_answer(broker: ShareBroker) -> None:
    request = marking("m", 1, P0, (0, 0, 7), (1, 1, 0), (5, 9, 0), (1, 0, 0))
    broker, answer = marked(broker, request)
    assert answer[P0].batches == (STATE, ErrorCode.NONE, REQUEST, REQUEST)
    assert held(broker, P0) == "0:Q1@m 1:P1@m"
    other = opened(broker, "n")
    _, answer = marked(other, marking("n", 1, P0, (0, 0, 0)))
    assert answer[P0].batches == (STATE,)


@pytest.mark.parametrize(
    ("member", "epoch", "error"),
    [
        ("m", 0, WRONG_EPOCH),
        ("m", -1, WRONG_EPOCH),
        ("m", 2, WRONG_EPOCH),
        ("n", 1, ErrorCode.SHARE_SESSION_NOT_FOUND),
    ],
)
def test_a_mark_neither_opens_nor_closes_a_session(
    broker: ShareBroker, member: str, epoch: int, error: ErrorCode
) -> None:
    after, response = handle_mark(broker, marking(member, epoch, P0, (0, 0, 0)), broker.now)
    assert (after, response) == (broker, MarkResponse(error))


@pytest.mark.parametrize(
    ("at", "error"),
    [
        (TopicPartition("u", 0), ErrorCode.UNKNOWN_TOPIC_ID),
        (TopicPartition("t", 9), UNKNOWN),
        (TopicPartition("t", 2), UNKNOWN),
    ],
)
def test_what_the_broker_does_not_have_is_not_marked(
    broker: ShareBroker, at: TopicPartition, error: ErrorCode
) -> None:
    _, answer = marked(broker, marking("m", 1, at, (0, 0, 0)))
    assert answer == {at: MarkedPartition(at, error)}


def test_what_is_not_in_memory_is_not_marked(broker: ShareBroker) -> None:
    away = attrs.evolve(broker.partitions["g", P0], ready=False)
    broker = attrs.evolve(broker, partitions=broker.partitions.set(("g", P0), away))
    _, answer = marked(broker, marking("m", 1, P0, (0, 0, 0)))
    assert answer[P0] == MarkedPartition(P0, UNKNOWN)


def test_a_profile_without_records_in_progress_has_no_such_request() -> None:
    with pytest.raises(InvalidValueError, match="it has no records in progress"):
        handle_mark(opened(broker_of(KIP)), marking("m", 1, P0, (0, 0, 0)), 0)
