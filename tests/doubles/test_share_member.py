"""Test the membership of our small share consumer."""

from threading import Event
from types import SimpleNamespace

import pytest

from conformance.wire.messages import Message
from tests.doubles import share_member
from tests.doubles.share_member import ShareMember


def test_a_subscription_that_changes_while_an_answer_is_on_its_way_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[str, ...] | None] = []
    enough = Event()

    def answer(_wire: object, message: Message) -> SimpleNamespace:
        if hasattr(message, "coordinator_keys"):
            found = SimpleNamespace(error_code=0, host="h", port=1)
            return SimpleNamespace(coordinators=[found])
        asked.append(message.subscribed_topic_names)
        if len(asked) == 1:
            member.subscribe(["t", "u"])
        if len(asked) == 3:
            enough.set()
        body = {"error_code": 0, "throttle_time": 0, "heartbeat_interval": 1, "member_epoch": 1}
        return SimpleNamespace(**body, assignment=None)

    monkeypatch.setattr(share_member, "asked_again", answer)
    member = ShareMember("h:1", ["t"], None)
    member.join()
    assert enough.wait(60)
    member.close()
    assert asked[:3] == [("t",), ("t", "u"), None]
