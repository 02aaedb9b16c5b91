"""All of a small broker: sessions end empty, refused requests change nothing, locks end."""

from typing import Any

import attrs
import pytest
from immutables import Map

from model.operations import Acquire, MemberLeaves
from proofs.exploration.search import Search, search
from spec import share_broker, share_request, share_session
from spec.share_broker import Handled
from tests.proofs.exploration import session_world
from tests.proofs.exploration.session_world import Session, beginning, check, steps


def explored(deliveries: int = 1) -> Search[Session, str]:
    return search([beginning(deliveries)], steps, check, 10_000)


def test_every_broker_of_the_small_world_is_as_it_should_be() -> None:
    found = explored()
    assert (found.violation, found.unfinished) == (None, None)
    assert found.states == 1391


def shortest(reason: str, deliveries: int = 1) -> tuple[str, ...]:
    found = explored(deliveries).violation
    assert found is not None
    assert found.reason == reason
    return found.labels


def test_a_session_that_ends_without_a_release_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def forget(broker: share_broker.ShareBroker, key: tuple[str, str], _how: object) -> object:
        return attrs.evolve(broker, sessions=broker.sessions.delete(key))

    monkeypatch.setattr(share_broker, "end_session", forget)
    labels = shortest("a session that ended lives or holds something")
    assert labels == ("m opens", "m disconnects")


def test_a_failed_write_gives_a_record_back_to_a_member_without_a_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session_world, "FAILED_WRITES", frozenset())
    labels = shortest("a member without a session holds a record again")
    assert labels[-1] == "write at 0: COORDINATOR_NOT_AVAILABLE"
    assert {"m accepts and waits", "m disconnects"} <= set(labels)


def test_a_refusal_that_loses_the_session_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = share_request.handle

    def careless(*given: Any) -> Handled:  # noqa: ANN401 - whatever the right one takes
        handled = right(*given)
        refused = handled.response is not None and handled.response.error.value
        if not refused:
            return handled
        return attrs.evolve(handled, broker=attrs.evolve(handled.broker, sessions=Map()))

    monkeypatch.setattr(share_request, "handle", careless)
    labels = shortest("a request that was refused changed something")
    assert labels == ("m opens", "m fetches at a wrong epoch")


def test_fetching_a_forgotten_share_partition_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = share_session._continued  # noqa: SLF001 - the rule that is made wrong

    def remembers(session: share_session.ShareSession, request: Any) -> Any:  # noqa: ANN401 - as the right one
        return attrs.evolve(right(session, request), partitions=session.partitions)

    monkeypatch.setattr(share_session, "_continued", remembers)
    labels = shortest("records of a forgotten one", deliveries=2)
    assert labels[-1].endswith("fetches and forgets 0")


def test_records_given_to_another_member_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def to_another(_member: str, *rest: Any) -> Acquire:  # noqa: ANN401 - whatever the right one takes
        return Acquire("another", *rest)

    monkeypatch.setattr(share_request, "Acquire", to_another)
    assert shortest("records were given that the member does not hold") == ("m opens",)


def test_a_lock_that_lasts_too_long_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share_broker, "AdvanceTime", lambda _ms: MemberLeaves("nobody"))
    labels = shortest("a lock outlasts its duration")
    assert labels == ("m opens", "locks expire")


def test_a_response_that_nobody_gets_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    right = share_request.handle

    def forgetful(*given: Any) -> Handled:  # noqa: ANN401 - whatever the right one takes
        handled = right(*given)
        return attrs.evolve(handled, responses=Map())

    monkeypatch.setattr(share_request, "handle", forgetful)
    assert len(shortest("a request has no answer, or another has it")) == 1
