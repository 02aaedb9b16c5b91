"""Requests that are sent by hand to a broker of Apache Kafka, of a group that is deleted."""

from functools import partial

import pytest

from tests.kafka.compacted import created, kafka_client
from tests.kafka.test_by_hand import ask_state
from tests.serve.served import acquired, part

pytestmark = pytest.mark.broker

_NONE, _FENCED_STATE_EPOCH = 0, 124


@pytest.mark.parametrize("is_deleted", [True, False], ids=["deleted", "altered"])
def test_a_write_of_before_a_deletion_moves_the_start_of_the_state_that_was_made_anew(
    *, is_deleted: bool
) -> None:
    """What a former leader writes as a lock ends; a group that is made anew has the same epochs."""
    with kafka_client() as client:
        topic = created(client)
        client.fill("t", 100, 1)
        ask = partial(ask_state, client, "g", topic)
        begin: dict[str, object] = {"state_epoch": 2, "start_offset": 0}
        ask("initialize", begin)
        ask("read", {"leader_epoch": 0})
        if is_deleted:
            ask("delete", {})
        ask("initialize", begin if is_deleted else begin | {"state_epoch": 3})
        late = {"first_offset": 63, "last_offset": 63, "delivery_state": 0, "delivery_count": 1}
        write: dict[str, object] = {"leader_epoch": 0, "state_epoch": 2, "start_offset": 60}
        (answer,) = ask("write", write | {"state_batches": [late]})
        ((first, *_), *_) = acquired(client.fetch(0, part(topic), max_wait_ms=2000))
    assert answer.error_code == (_NONE if is_deleted else _FENCED_STATE_EPOCH)
    assert first == (60 if is_deleted else 0)
