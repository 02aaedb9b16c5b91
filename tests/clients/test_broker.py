import time
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import pytest
from kio.schema.errors import ErrorCode as KafkaError

from clients.broker import EVICTED, HEARTBEAT_MS, LAPSED, Broker, running
from clients.events import Answered, Asked, Deleted, Lost, Moved, Settings
from clients.judge import DISCONNECTED, RESTARTED
from conformance.target import TargetError
from conformance.wire.messages import request
from model.errors import ErrorCode
from serve.rare import START_SECONDS
from tests.serve.served import Client, acquired, clients_of, part


@contextmanager
def holding() -> Iterator[tuple[Broker, Client, UUID]]:
    """Serve, and let a member acquire three records with its first fetch."""
    with running() as broker, clients_of(broker.served.address) as (client,):
        broker.topic("t", 1)
        broker.produce(("t", 0), 3)
        topic = client.join()
        assert acquired(client.fetch(0, part(topic))) == [(0, 2, 1)]
        yield broker, client, topic


def lost(broker: Broker) -> list[str]:
    events = broker.journal.record(Settings()).events
    return [event.why for event in events if isinstance(event, Lost)]


def test_a_session_that_is_ended_is_not_found_and_its_records_are_given_again() -> None:
    with holding() as (broker, client, topic):
        broker.evict()
        assert lost(broker) == [EVICTED]
        assert client.fetch(1).response.error is ErrorCode.SHARE_SESSION_NOT_FOUND
        assert acquired(client.fetch(0, part(topic))) == [(0, 2, 2)]


def test_without_a_session_none_is_ended() -> None:
    with running() as broker:
        broker.evict()
        assert lost(broker) == []


def test_an_epoch_that_moved_on_refuses_the_next_request_and_keeps_the_records() -> None:
    with holding() as (broker, client, topic):
        broker.misnumber()
        assert client.fetch(1).response.error is ErrorCode.INVALID_SHARE_SESSION_EPOCH
        assert acquired(client.fetch(0, part(topic))) == []
        answer = client.acknowledge(1, part(topic, (0, 2, 1)))
        assert answer.response.partitions[0].acknowledge_error is ErrorCode.NONE
        assert lost(broker) == []


def test_locks_that_ended_refuse_an_acknowledgement_and_give_the_records_again() -> None:
    with holding() as (broker, client, topic):
        assert not broker.available(("t",))
        broker.lapse()
        assert broker.available(("t",))
        answer = client.acknowledge(1, part(topic, (0, 2, 1)))
        refused = answer.response.partitions[0].acknowledge_error
        assert refused is ErrorCode.INVALID_RECORD_STATE
        assert acquired(client.fetch(2)) == [(0, 2, 2)]
        assert lost(broker) == [LAPSED]


def test_a_member_that_is_expelled_is_unknown_and_keeps_its_share_session() -> None:
    with holding() as (broker, client, topic):
        assert broker.expel() == 1
        assert client.beat(1).error_code == KafkaError.unknown_member_id
        assert broker.expel() is None
        assert client.acknowledge(1, part(topic, (0, 2, 1))).response.error is ErrorCode.NONE
        rejoined = client.beat(0, ["t"])
        assert (rejoined.error_code, len(rejoined.assignment.topic_partitions)) == (0, 1)
        assert lost(broker) == []


def test_a_member_that_is_fenced_joins_again_two_epochs_later() -> None:
    with holding() as (broker, client, _topic):
        epoch = client.beat(0, ["t"]).member_epoch
        assert client.beat(epoch).error_code == 0
        assert broker.fence() == 3
        assert client.beat(epoch).error_code == KafkaError.fenced_member_epoch
        assert client.beat(0, ["t"]).member_epoch == epoch + 2
        assert client.beat(epoch + 2).error_code == 0


def test_without_a_member_none_is_expelled_or_fenced() -> None:
    with running() as broker:
        assert (broker.expel(), broker.fence()) == (None, None)


@pytest.mark.parametrize("named", [True, False])
def test_a_leader_moves_to_the_next_broker_and_the_record_says_so(*, named: bool) -> None:
    with running(count=2) as broker, clients_of(broker.served.address) as clients:
        broker.topic("t", 1)
        coordinator = clients[broker.do(lambda cluster: cluster.coordinator("g").id) - 1]
        assert broker.move_coordinator() is None
        assert coordinator.beat(0, ["t"]).error_code == 0
        assert broker.move_coordinator() == 1
        assert coordinator.beat(0, ["t"]).error_code == KafkaError.not_coordinator.value
        assert clients[1 - clients.index(coordinator)].beat(0, ["t"]).error_code == 0
        topic = clients[0].topic("t")
        clients[0].fetch(0, part(topic))
        broker.move_leader(("t", 0), named=named)
        assert clients[0].fetch(1).response.error is ErrorCode.NONE
        assert broker.move_coordinator() == 2
        events = broker.journal.record(Settings()).events
        assert [(e.place, e.broker) for e in events if isinstance(e, Moved)] == [(("t", 0), 2)]
        answers = [event for event in events if isinstance(event, Answered)]
        assert answers[-1].elsewhere == ((("t", 0), 2 if named else -1),)
        asked = [event for event in events if isinstance(event, Asked)]
        assert [(event.broker, event.named) for event in asked] == [(1, (("t", 0),)), (1, ())]


def test_a_topic_that_is_created_again_is_another_one_which_its_record_names_apart() -> None:
    with running() as broker, clients_of(broker.served.address) as (client,):
        broker.topic("t", 2)
        former, place = client.topic("t"), ("t", 0)
        assert client.beat(0, ["t"]).error_code == 0
        client.fetch(0, part(former))
        broker.produce(place, 3)
        assert broker.delete("t") == 1
        refused = client.fetch(1, part(former)).response.partitions[0]
        assert refused.error is ErrorCode.UNKNOWN_TOPIC_ID
        assert broker.create("t", 2) == broker.create("t", 2) == 1
        assert client.topic("t") != former
        assert broker.places(("t",)) == [place, ("t", 1)]
        assert broker.do(lambda cluster: cluster.topics["t"].logs[0].end) == 0
        events = broker.journal.record(Settings()).events
        assert [(e.topic, e.former) for e in events if isinstance(e, Deleted)] == [("t", "t~1")]
        asked_for = [event.named for event in events if isinstance(event, Asked)]
        assert asked_for == [(place,), (("t~1", 0),)]


def test_a_broker_that_starts_again_ends_its_connections_and_leads_nothing_for_a_while() -> None:
    with running(count=2) as broker, clients_of(broker.served.address) as clients:
        broker.topic("t", 2)
        topic = clients[0].topic("t")
        assert clients[0].fetch(0, part(topic)).response.error is ErrorCode.NONE
        began = time.monotonic()
        broker.restart(1)
        with pytest.raises(TargetError):
            clients[0].fetch(1)
        assert lost(broker) == [RESTARTED, DISCONNECTED]
        asked = request("metadata", 12, topics=None, include_topic_authorized_operations=False)
        said = clients[1].wire.ask("c", asked).body.topics[0].partitions
        led = [(each.leader_id, each.error_code) for each in said]
        assert time.monotonic() - began > START_SECONDS or led == [(-1, 5), (2, 0)]
        broker.do(lambda cluster: cluster.rare.starting.update({1: 0.0}))
        said = clients[1].wire.ask("c", asked).body.topics[0].partitions
        assert [each.leader_id for each in said] == [1, 2]
        assert clients[0].fetch(1).response.error is ErrorCode.SHARE_SESSION_NOT_FOUND


def test_members_are_told_the_short_interval_of_heartbeats() -> None:
    with holding() as (_broker, client, _topic):
        assert client.beat(0, ["t"]).heartbeat_interval == HEARTBEAT_MS


def test_an_address_that_is_taken_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    async def taken(*_args: object) -> tuple[str, int]:
        raise OSError("address in use")

    monkeypatch.setattr("serve.server.Server.start", taken)
    with pytest.raises(OSError, match="address in use"), running():
        pass


def test_what_only_the_second_member_is_to_fetch_nobody_waits_for() -> None:
    with running() as broker, clients_of(broker.served.address) as (client,):
        broker.topic("t", 2)
        topic = client.join()
        broker.second_member("t")
        client.fetch(0, part(topic), part(topic, partition=1))
        (assigned,) = client.beat(0, ["t"]).assignment.topic_partitions
        (mine,) = assigned.partitions
        broker.produce(("t", 1 - mine), 1)
        assert not broker.available(("t",))
        broker.produce(("t", mine), 1)
        assert broker.available(("t",))
