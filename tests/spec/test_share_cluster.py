"""Leaders that succeed each other, between their brokers and the share coordinator."""

from uuid import UUID

import attrs
import pytest
from immutables import Map

from judge.invariants import broken_names
from judge.share_broker_invariants import BROKER_INVARIANTS
from model.errors import ErrorCode, InvalidValueError
from model.operations import MemberLeaves
from model.outcome import Write
from model.profile import KAFKA, KIP, Profile
from model.share_messages import (
    Conduct,
    PartitionConduct,
    PartitionRequest,
    ShareAcknowledge,
    ShareFetch,
    ShareResponse,
    TopicPartition,
)
from model.share_state_requests import InitializeState
from model.states import RecordState
from spec.coordinator import explain_read
from spec.log import Log
from spec.share_broker import ShareBroker
from spec.share_cluster import (
    ShareCluster,
    answer,
    arrive,
    elect,
    give_up,
    handle,
    operate,
    receive,
    state_key,
)
from spec.share_coordinator import ShareCoordinator, serve
from tests.spec.share_worlds import asked, errors, given
from tests.spec.worlds import SMALL

TOPIC = UUID(int=7)
AT = TopicPartition(str(TOPIC), 0)
KEY = ("g", AT)


def cluster_of(profile: Profile = KIP, epochs: tuple[int, ...] = (1,)) -> ShareCluster:
    """Brokers 1 and 2; broker n leads a log of three records in the n-th of the epochs."""
    coordinator = ShareCoordinator(profile, Map({TOPIC: 1}))
    coordinator = serve(coordinator, InitializeState(state_key(KEY), 1, 0), 0).coordinator
    brokers = Map({n: ShareBroker(profile, Map({AT.topic_id: 1})) for n in (1, 2)})
    cluster = ShareCluster(coordinator, brokers)
    for broker, epoch in enumerate(epochs, 1):
        cluster = elect(cluster, broker, KEY, epoch=epoch, config=SMALL, log=Log(0, 3))
    return cluster


def fetched(
    cluster: ShareCluster, broker: int, epoch: int = 0, most: int = 1, member: str = "m"
) -> tuple[ShareCluster, ShareResponse]:
    request = ShareFetch("g", member, epoch, (PartitionRequest(AT),), max_records=most)
    cluster, handled = handle(cluster, broker, request, cluster.brokers[broker].now)
    assert handled.response is not None
    return cluster, handled.response


def acknowledged(
    cluster: ShareCluster, broker: int, *batches: tuple[int, ...], epoch: int = 1
) -> tuple[ShareCluster, int]:
    request = ShareAcknowledge("g", "m", epoch, (asked(AT, *batches),))
    cluster, handled = handle(cluster, broker, request, cluster.brokers[broker].now)
    assert handled.response is None
    return cluster, handled.seq


def arrived(cluster: ShareCluster) -> tuple[ShareCluster, Map[int, ShareResponse]]:
    """The cluster after its one write has arrived, and the responses that waited for it."""
    (sent,) = cluster.sent
    cluster, handled = arrive(cluster, sent, 0)
    return cluster, handled.responses


def test_a_new_leader_reads_what_the_former_one_wrote() -> None:
    cluster, response = fetched(cluster_of(epochs=(1, 2)), 1, most=2)
    assert given(response) == {AT: [(0, 1, 1)]}
    cluster, seq = acknowledged(cluster, 1, (0, 0, 1))
    cluster, responses = arrived(cluster)
    assert errors(responses[seq]) == {AT: ("NONE", "NONE")}
    cluster, response = fetched(cluster, 2)
    assert given(response) == {AT: [(1, 1, 1)]}
    state = cluster.coordinator.held[state_key(KEY)].durable
    assert (state.leader_epoch, cluster.brokers[2].partitions[KEY].durable.leader_epoch) == (2, 2)


def test_what_a_request_changed_is_durable_before_its_answer() -> None:
    cluster, _ = fetched(cluster_of(), 1)
    cluster, seq = acknowledged(cluster, 1, (0, 0, 1))
    assert not cluster.coordinator.held[state_key(KEY)].durable.entries
    assert seq in cluster.brokers[1].waiting, "there is no answer yet"
    (sent,) = cluster.sent
    record = serve(cluster.coordinator, sent.request, 0).record
    cluster, responses = arrived(cluster)
    assert errors(responses[seq]) == {AT: ("NONE", "NONE")}
    assert record is not None, "of the state topic"
    entries = cluster.coordinator.held[state_key(KEY)].durable.entries
    assert dict(entries) == {0: (RecordState.ACKNOWLEDGED, 1)}


@pytest.mark.parametrize("profile", [KIP, KAFKA])
def test_a_leader_that_was_fenced_acquires_no_more(profile: Profile) -> None:
    cluster, _ = fetched(cluster_of(profile, (1, 2)), 1)
    cluster, _ = fetched(cluster, 2)
    cluster, seq = acknowledged(cluster, 1, (0, 0, 1))
    cluster, responses = arrived(cluster)
    assert errors(responses[seq]) == {AT: ("NONE", "NOT_LEADER_OR_FOLLOWER")}
    for _ in range(2):
        cluster, response = fetched(cluster, 1)
        assert errors(response) == {AT: ("NOT_LEADER_OR_FOLLOWER", "NONE")}
        assert given(response) == {AT: []}
    assert cluster.brokers[1].fenced == {KEY}
    assert broken_names(BROKER_INVARIANTS, cluster.brokers[1]) == []


def test_a_leader_that_reads_after_its_successor_is_fenced() -> None:
    cluster, _ = fetched(cluster_of(epochs=(1, 2)), 2)
    cluster, response = fetched(cluster, 1)
    assert errors(response) == {AT: ("NOT_LEADER_OR_FOLLOWER", "NONE")}
    assert cluster.brokers[1].fenced == {KEY}


def test_a_broker_that_is_elected_again_is_not_fenced_any_more() -> None:
    cluster, _ = fetched(cluster_of(epochs=(1, 2)), 2)
    cluster, _ = fetched(cluster, 1)
    cluster = elect(cluster, 1, KEY, epoch=3, config=SMALL, log=Log(0, 3))
    assert not cluster.brokers[1].fenced
    cluster, response = fetched(cluster, 1)
    assert given(response) == {AT: [(0, 0, 1)]}
    with pytest.raises(InvalidValueError, match="epoch is 3; allowed: more than 3"):
        elect(cluster, 2, KEY, epoch=3, config=SMALL, log=Log(0, 3))


def test_the_first_leader_epoch_is_0_and_each_partition_has_its_own() -> None:
    assert ShareCluster(ShareCoordinator(KIP)).brokers == Map()
    other = ("g", TopicPartition(str(TOPIC), 1))
    cluster = elect(cluster_of(epochs=(5,)), 2, other, epoch=0, config=SMALL, log=Log(0, 3))
    assert cluster.leader_epochs[2, other[1]] == 0
    with pytest.raises(InvalidValueError, match="epoch is -1; allowed: more than -1"):
        elect(cluster_of(epochs=()), 1, KEY, epoch=-1, config=SMALL, log=Log(0, 3))


def test_what_a_broker_chooses_holds_where_it_reads() -> None:
    cluster, other = cluster_of(), ("g", TopicPartition(str(TOPIC), 1))
    cluster = elect(cluster, 1, other, epoch=1, config=SMALL, log=Log(0, 3))
    topics = ShareCoordinator(KIP, Map({TOPIC: 2}))
    for key in (KEY, other):
        topics = serve(topics, InitializeState(state_key(key), 1, 0), 0).coordinator
    broker = attrs.evolve(cluster.brokers[1], topics=Map({AT.topic_id: 2}))
    cluster = attrs.evolve(cluster, coordinator=topics, brokers=cluster.brokers.set(1, broker))
    nothing = PartitionConduct(log_batches=())
    conduct = Conduct(tuple((at, nothing) for _, at in (KEY, other)))
    request = ShareFetch("g", "m", 0, tuple(PartitionRequest(at) for _, at in (KEY, other)))
    _, handled = handle(cluster, 1, request, 0, conduct)
    assert handled.response is not None
    assert given(handled.response) == {AT: [], other[1]: []}
    _, handled = handle(cluster, 1, request, 0)
    assert handled.response is not None
    assert given(handled.response) == {AT: [(0, 2, 1)], other[1]: [(0, 2, 1)]}


def test_nothing_of_a_discarded_window_is_given_though_a_write_is_outstanding() -> None:
    cluster, _ = fetched(cluster_of(), 1)
    cluster, _ = handle(cluster, 1, ShareFetch("g", "m", -1), 0)
    (release,) = cluster.sent
    request = InitializeState(state_key(KEY), 2, 3)
    cluster = attrs.evolve(cluster, coordinator=serve(cluster.coordinator, request, 0).coordinator)
    cluster, response = fetched(cluster, 1, most=2, member="m2")
    assert given(response) == {AT: []}, "1 and 2 are below the start offset"
    after, handled = arrive(cluster, release, 0)
    assert (after.coordinator, handled.responses) == (cluster.coordinator, Map())


def test_a_write_of_before_an_election_answers_nobody() -> None:
    cluster, _ = fetched(cluster_of(), 1)
    cluster, _ = acknowledged(cluster, 1, (0, 0, 1))
    cluster = elect(cluster, 1, KEY, epoch=2, config=SMALL, log=Log(0, 3))
    cluster, _ = fetched(cluster, 1)
    assert {(sent.id, sent.request.leader_epoch) for sent in cluster.sent} == {(0, 1)}
    (late,) = cluster.sent
    cluster, _ = acknowledged(cluster, 1, (0, 0, 2))
    after, handled = arrive(cluster, late, 0)
    assert not handled.responses
    assert after.brokers == cluster.brokers
    assert after.coordinator == cluster.coordinator, "leader epoch 1 is fenced"
    with pytest.raises(InvalidValueError, match=r"^sent is SentWrite\(.*; allowed: a write"):
        arrive(after, late, 0)


def test_a_share_partition_may_change_by_itself_and_its_write_is_sent() -> None:
    cluster, _ = fetched(cluster_of(), 1)
    cluster = operate(cluster, 1, KEY, MemberLeaves("m"))
    (sent,) = cluster.sent
    assert [batch.state for batch in sent.request.state_batches] == [RecordState.AVAILABLE]


def test_each_write_of_a_request_has_its_own_answer() -> None:
    """A broker that leads again sends what it wrote in two leader epochs together."""
    cluster, _ = fetched(cluster_of(), 1)
    cluster, _ = acknowledged(cluster, 1, (0, 0, 1))
    cluster = elect(cluster, 1, KEY, epoch=2, config=SMALL, log=Log(0, 3))
    cluster, _ = fetched(cluster, 1, most=2)
    cluster, seq = acknowledged(cluster, 1, (1, 1, 1))
    old, new = sorted(cluster.sent, key=lambda sent: sent.request.leader_epoch)
    for order in ((old, new), (new, old)):
        after, statuses = receive(cluster, order, 0)
        told = dict(zip(order, statuses, strict=True))
        assert told == {old: ErrorCode.FENCED_LEADER_EPOCH, new: ErrorCode.NONE}
        assert list(after.coordinator.held[state_key(KEY)].durable.entries) == [1]
        responses: dict[int, ShareResponse] = {}
        for sent in order:
            after, handled = answer(after, sent, told[sent])
            responses |= handled.responses
        assert {key: errors(each) for key, each in responses.items()} == {
            seq: {AT: ("NONE", "NONE")}
        }


def test_who_gives_up_does_not_know_whether_the_write_is_durable() -> None:
    cluster, _ = fetched(cluster_of(), 1)
    cluster, seq = acknowledged(cluster, 1, (0, 0, 1))
    (sent,) = cluster.sent
    after, handled = give_up(cluster, sent)
    assert errors(handled.responses[seq]) == {AT: ("NONE", "COORDINATOR_NOT_AVAILABLE")}
    late, handled = arrive(after, sent, 0)
    assert not handled.responses
    known, held = (
        late.brokers[1].partitions[KEY].durable,
        late.coordinator.held[state_key(KEY)].durable,
    )
    assert (dict(known.entries), dict(held.entries)) == ({}, {0: (RecordState.ACKNOWLEDGED, 1)})
    write = Write(0, sent.request.start_offset, 1, sent.request.state_batches)
    assert explain_read(known, [write], held, KIP).entries == held.entries
    assert explain_read(known, [write], known, KIP).entries == known.entries
