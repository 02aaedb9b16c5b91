"""Theorems about requests at a broker, at brokers that lead in turn, and the topic of states.

All are about one share-partition; at a broker it has the one record of ``broker_theorems``.
"""

from collections.abc import Callable
from typing import Any

import attrs
from immutables import Map

from judge.invariants import broken_names
from judge.share_broker_invariants import BROKER_INVARIANTS
from model.errors import ErrorCode, InvalidValueError
from model.guards import CoordinatorGuard
from model.operations import AcknowledgementBatch, MemberLeaves, Produce
from model.outcome import Answer, Write
from model.profile import KAFKA, KAFKA_4_4, KIP, Profile
from model.ranges import OffsetRange, StateBatch
from model.share_messages import (
    FINAL_EPOCH,
    PartitionRequest,
    ShareAcknowledge,
    ShareFetch,
    ShareRequest,
)
from model.share_state_requests import WriteState
from model.snapshot import DurableState
from model.state_topic import ShareSnapshot, ShareUpdate, StateRecord
from model.states import AcknowledgeType, RecordState
from proofs.theorems import request_theorems
from proofs.theorems.attempts import refused_by
from proofs.theorems.broker_theorems import (
    ANSWERS,
    AWAY,
    GROUP,
    KEY,
    NONE,
    PENDING,
    PLACE,
    OneLed,
    broker_of,
    completed,
    conduct,
    ends,
    goes_on,
    in_memory,
    is_sound,
    owner_of,
    waits,
)
from proofs.theorems.controls import becomes, called_with, does_nothing, returns, sets, wrong
from proofs.theorems.points import Points
from proofs.theorems.request_theorems import OneRequest
from proofs.theorems.symbolic import conjunction, is_same, largest
from proofs.theorems.theorem import Subject
from spec import share_broker, share_cluster, share_request, state_topic
from spec.coordinator import Durable
from spec.logic import Term, negate
from spec.partition import new_partition
from spec.share_broker import Handled, ShareBroker
from spec.share_cluster import SentWrite, ShareCluster, state_key
from spec.share_coordinator import HeldState, ShareCoordinator
from spec.state_topic import StateTopicPartition

DONE = Answer(NONE)
_OTHERS = new_partition(KAFKA)
REQUEST, CLUSTER = "spec.share_request:", "spec.share_cluster:"
NOTHING = wrong(f"{REQUEST}acquirable", "finds nothing", becomes(lambda _of: iter(())))
ANYTHING = wrong(f"{REQUEST}_fetch", "takes no maximum", called_with(
    lambda broker, request, *of: (broker, attrs.evolve(request, max_records=1), *of)))  # fmt: skip
_requests = Subject("KIP-932, ShareFetch and ShareAcknowledge", OneLed, ends)
_brokers = Subject("KIP-932, Using the share coordinator", OneLed, is_sound)
_topic = Subject("KIP-932, ShareSnapshot and ShareUpdate", OneRequest)


def _acknowledging(s: OneLed, epoch: Term) -> ShareAcknowledge:
    batch = AcknowledgementBatch(s.offset, s.offset, (AcknowledgeType.ACCEPT,))
    return ShareAcknowledge(GROUP, s.member, epoch, (PartitionRequest(PLACE, (batch,)),))


def _handled(s: OneLed, request: ShareRequest, answer: Answer = DONE) -> Handled:
    return share_request.handle(broker_of(s), request, s.now, conduct(answer))


@_requests.theorem(
    10, 62, of={"serve a fetch": (500,), "serve a fetch of no records": (0,)},
    given=lambda s, _most: ends(s), control=lambda most: NOTHING if most else ANYTHING,
)  # fmt: skip
def a_fetch_gives_what_nobody_holds(s: OneLed, most: int) -> Term:
    """A fetch gives its member the record that nobody holds, and no other session changes."""
    done, before = _handled(s, ShareFetch(GROUP, s.member, 1, max_records=most)), broker_of(s)
    given = [each for part in done.responses[done.seq].partitions for each in part.acquired]
    sessions = done.broker.sessions.delete((GROUP, s.member))
    same = sessions == before.sessions.delete((GROUP, s.member))
    if s.held | s.waits or most == 0:
        return conjunction(same, not given, owner_of(done.broker) == owner_of(before))
    named = ((each.first == s.offset) & (each.last == s.offset) for each in given)
    taken = conjunction(len(given) == 1, *named, *(each.delivery_count == 1 for each in given))
    return conjunction(same, taken, owner_of(done.broker) == s.member)


@_requests.theorem(
    11, 59, of={name.replace("end a session whose release", "acknowledge, and the write"): of
                for name, of in ANSWERS.items()},
    given=lambda s, _answer: ends(s),
    control=wrong(f"{REQUEST}_fault", "finds one", becomes(lambda *_of: ErrorCode.INVALID_REQUEST)),
)  # fmt: skip
def only_the_holder_acknowledges_at_a_broker(s: OneLed, answer: Answer) -> Term:
    """An acknowledgement counts of who holds the record, once its write is done, and else not."""
    before, done = broker_of(s), _handled(s, _acknowledging(s, 1), answer)
    window, was = done.broker.partitions[KEY].window, before.partitions[KEY].window
    told = done.response and done.response.partitions[0].acknowledge_error
    same = is_same(window.records.get(s.offset), was.records.get(s.offset))
    if not (s.held and not s.foreign):
        return conjunction(told is ErrorCode.INVALID_RECORD_STATE, same)
    if answer.status is NONE:
        return conjunction(told is NONE, window.start_offset == s.offset + 1)
    if answer.status is PENDING:
        return conjunction(told is None, owner_of(done.broker) is None, not same)
    return conjunction(told is answer.status, same)


@_brokers.theorem(
    16, of="append at a broker", control=wrong(
        "spec.share_broker:append_to", "appends nothing", does_nothing),
)  # fmt: skip
def each_group_gets_what_is_produced(s: OneLed) -> Term:
    """What is produced is in the log of a partition for each of its groups, and in no other log."""
    before, at = broker_of(s), s.offset + 1
    other, away = ("h", PLACE), (GROUP, AWAY)
    before = attrs.evolve(
        before, partitions=before.partitions.update({other: _OTHERS, away: _OTHERS})
    )
    after = share_broker.append(before, PLACE, Produce((OffsetRange(at, at),), at + 1))
    grown = (key for key in after.partitions if key != away)
    kept = after.partitions[away] is _OTHERS
    ends_there = (after.partitions[key].log.end_offset == at + 1 for key in grown)
    return conjunction(kept, len(after.partitions) == len(before.partitions), *ends_there)


@_brokers.theorem(
    57, of="acknowledge with more types than offsets",
    given=lambda s: is_sound(s) & s.ours & negate(s.ready),
    control=wrong(f"{REQUEST}validate", "passes all", becomes(lambda *_of: NONE)),
)  # fmt: skip
def a_malformed_acknowledgement_is_refused_at_a_broker(s: OneLed) -> Term:
    """The form of an acknowledgement is wrong first, and then what is not in memory unknown."""
    types = (AcknowledgeType.ACCEPT, AcknowledgeType.ACCEPT)
    batch = AcknowledgementBatch(s.offset, s.offset, types)
    asked = (PartitionRequest(PLACE, (batch,)),)
    done = _handled(s, ShareAcknowledge(GROUP, s.member, 1, asked))
    told = done.response and done.response.partitions[0].acknowledge_error
    return told is ErrorCode.INVALID_REQUEST


@_brokers.theorem(
    44, of="serve a request", where=lambda s: s.ready, control=wrong(
        f"{REQUEST}begin", "refuses nothing", returns(lambda answer: (NONE, answer[1]))),
)  # fmt: skip
def a_broker_changes_nothing_that_a_session_refuses(s: OneLed) -> Term:
    """A request that its session refuses changes neither a session nor a share-partition."""
    if s.ours and s.read == 1:
        return True
    before = broker_of(s)
    done = share_request.handle(before, _acknowledging(s, s.read), s.now)
    after = done.broker.partitions is before.partitions, done.broker.sessions is before.sessions
    return conjunction(done.responses[done.seq].error is not NONE, *after)


@_requests.theorem(
    45, of="serve a last request",
    control=wrong("spec.share_broker:end_session", "leaves it", does_nothing),
)  # fmt: skip
def who_closes_a_session_holds_nothing(s: OneLed) -> Term:
    """A request that closes its session ends it and releases what it held; no other's."""
    done = _handled(s, ShareAcknowledge(GROUP, s.member, FINAL_EPOCH))
    left = {(GROUP, s.owner)} if s.theirs else set()
    foreign = s.owner if s.held & s.foreign & (s.theirs | s.waits) else None
    return conjunction(set(done.broker.sessions) == left, owner_of(done.broker) == foreign)


def _cluster(s: OneLed) -> ShareCluster:
    """Return the broker and a share coordinator, to which its outstanding write is on its way."""
    empty: Any = Points()
    held = HeldState(Durable(s.offset, 0, empty, s.read, s.fence), s.fence, 0, 0)
    key = state_key(KEY)
    coordinator = ShareCoordinator(KAFKA, Map({key.topic_id: 2}), Map({key: held}))
    sent = frozenset({_sent(s)}) if s.waits else frozenset[SentWrite]()
    return ShareCluster(coordinator, Map({1: broker_of(s)}), Map({(1, PLACE): s.leader}), sent)


def _sent(s: OneLed) -> SentWrite:
    batches = (StateBatch(s.offset, s.offset, RecordState.ACKNOWLEDGED, 1),)
    request = WriteState(state_key(KEY), s.epoch, s.leader, s.offset, 1, batches)
    return SentWrite(1, KEY, s.write, request)


@_brokers.theorem(
    51, 59, of="a write arrives", given=waits, control=wrong(
        "spec.share_coordinator:serve", "fences nobody", called_with(
            lambda state, request, now: (state, attrs.evolve(request, leader_epoch=9999), now))),
)  # fmt: skip
def a_fenced_write_leaves_no_trace(s: OneLed) -> Term:
    """A write of an earlier leader, or in another state epoch, is undone; any other is durable."""
    before = _cluster(s)
    after, _done = share_cluster.arrive(before, _sent(s), s.now)
    held = after.coordinator.held[state_key(KEY)]
    entry = held.durable.entries.get(s.offset)
    answered = not after.sent and not after.brokers[1].partitions[KEY].outstanding
    if conjunction(s.leader >= s.fence, s.epoch == s.read):
        return conjunction(answered, entry is not None)
    return conjunction(answered, after.coordinator is before.coordinator)


@_brokers.theorem(
    69, of="two writes arrive in one request", given=waits, control=wrong(
        f"{CLUSTER}serve_writes", "answers all alike", returns(
            lambda answer: (answer[0], answer[1][-1:] * 2))),
)  # fmt: skip
def each_write_of_a_request_has_its_own_answer(s: OneLed) -> Term:
    """Of two writes in one request, in any leader epochs, NONE is answered to what is durable."""
    mine = _sent(s)
    again = attrs.evolve(mine.request.state_batches[0], delivery_count=2)
    asked = attrs.evolve(mine.request, leader_epoch=s.now, state_batches=(again,))
    other = attrs.evolve(mine, request=asked)
    before = attrs.evolve(_cluster(s), sent=frozenset({mine, other}))
    after, (first, second) = share_cluster.receive(before, (mine, other), s.later)
    entry = after.coordinator.held[state_key(KEY)].durable.entries.get(s.offset)
    count = 0 if entry is None else entry[1]
    told = 2 if second is NONE else 1 if first is NONE else 0
    return conjunction(count == told, len(after.sent) == len(before.sent))


@_brokers.theorem(
    59, of="the answer to an earlier leader arrives", given=waits,
    control=wrong("spec.share_broker:complete_write", "undoes nothing", becomes(
        lambda broker, *_of: Handled(broker, Map()))),
)  # fmt: skip
def answers_to_an_earlier_leader_change_nothing(s: OneLed) -> Term:
    """A broker that leads again does nothing on the answer to a write of its earlier epoch."""
    sent = _sent(s)
    late = attrs.evolve(sent, request=attrs.evolve(sent.request, leader_epoch=s.now))
    before = attrs.evolve(_cluster(s), sent=frozenset({late}))
    after, _done = share_cluster.arrive(before, late, s.later)
    unchanged = after.brokers[1] is before.brokers[1]
    return conjunction(not after.sent, unchanged == (s.now != s.leader))


@_brokers.theorem(
    51, of="elect", where=lambda s: s.ready,
    control=wrong(f"{CLUSTER}elect", "elects nobody", becomes(lambda cluster, *_of, **_: cluster)),
)  # fmt: skip
def a_leader_has_a_later_epoch(s: OneLed) -> Term:
    """Who is elected leads in an epoch later than every one before, with nothing in memory."""
    before = _cluster(s)
    partition = before.brokers[1].partitions[KEY]
    how: Any = {"epoch": s.fence, "config": partition.config, "log": partition.log}
    before = attrs.evolve(before, leader_epochs=before.leader_epochs.set((1, AWAY), s.later))
    try:
        after = share_cluster.elect(before, 1, KEY, **how)
    except InvalidValueError:
        return s.fence <= s.leader
    epoch = after.leader_epochs[1, PLACE] == s.fence
    return conjunction(s.fence > s.leader, epoch, not in_memory(after.brokers[1]))


@_brokers.theorem(
    52, of="serve a fetch of one that leads",
    where=lambda s: s.led & s.ours & (s.leader >= s.fence),
    control=wrong(f"{CLUSTER}_read_by", "reads nothing", becomes(lambda *_of: [])),
)  # fmt: skip
def what_a_leader_loads_is_what_is_held(s: OneLed) -> Term:
    """What a fetch loads has the state epoch of the share coordinator, and its leader's epoch."""
    before = _cluster(s)
    after, _done = share_cluster.handle(before, 1, ShareFetch(GROUP, s.member, 1), s.now)
    if s.elsewhere or (s.ready and not s.unvalidated):
        return after.coordinator is before.coordinator
    read, held = after.brokers[1].partitions[KEY].durable, after.coordinator.held[state_key(KEY)]
    epochs = read.state_epoch == s.read, s.ready | (read.leader_epoch == s.leader)
    return conjunction(*epochs, held.leader_fence == s.leader)


Moves = Callable[[OneLed, ShareCluster], ShareCluster]
_MOVES: dict[str, tuple[Moves, Callable[[OneLed], bool]]] = {
    "advance brokers": (
        lambda s, cluster: share_cluster.advance(cluster, 1, s.later),
        lambda s: bool(s.held) and bool(s.later >= s.deadline),
    ),
    "have a member leave a broker": (
        lambda s, cluster: share_cluster.operate(cluster, 1, KEY, MemberLeaves(s.member)),
        lambda s: bool(s.held) and not s.foreign,
    ),
}


@_brokers.theorem(
    58, of=_MOVES, given=lambda s, *_of: is_sound(s) and goes_on(s),
    control=wrong(f"{CLUSTER}_replaced", "sends nothing", sets(sent=frozenset())),
)  # fmt: skip
def each_write_is_sent_once(s: OneLed, move: Moves, writes: Callable[[OneLed], bool]) -> Term:
    """What ends a lock sends one write, in the epochs of its leader; nothing else sends any."""
    before = _cluster(s)
    after = move(s, before)
    new = after.sent - before.sent
    made = after.brokers[1].partitions[KEY].outstanding
    said = (_says(each.request, made[each.id].write, s) for each in new)
    again = move(s, after).sent == after.sent
    return conjunction(len(new) == writes(s), again, before.sent <= after.sent, *said)


def _says(request: WriteState, write: Write, s: OneLed) -> Term:
    """Whether a request says what the write does, in the epochs of the leader."""
    return conjunction(
        request.state_epoch == s.epoch,
        request.leader_epoch == s.leader,
        request.start_offset == write.start_offset,
        request.delivery_complete_count == write.delivery_complete_count,
        request.state_batches is write.state_batches,
    )


@_topic.theorem(
    26, of=request_theorems.EACH,
    given=lambda s, _name: request_theorems.can_be(s) and s.held.durable.updates == 0,
    control=wrong("spec.state_topic:replay_held", "takes none", becomes(lambda held, *_of: held)),
)  # fmt: skip
def a_coordinator_recovers_what_it_logged(s: OneRequest, name: str) -> Term:
    """A share coordinator that starts from its topic holds what it held, as do pruned topics."""
    key, before, reply = request_theorems.KEY, *request_theorems.served(s, name)
    topic = StateTopicPartition(7)
    if s.present:
        held = s.held
        state = request_theorems.state_of(held.durable)
        stamps = held.created_ms, held.written_ms
        whole = ShareSnapshot(held.durable.snapshot_epoch, state, *stamps)
        topic = state_topic.append(topic, StateRecord(key, whole))
    topic = state_topic.append(topic, reply.record)
    limit = state_topic.redundant_below(topic)
    beyond = refused_by(lambda: state_topic.prune(topic, limit + 1))
    if beyond is not CoordinatorGuard.PRUNED_IS_REDUNDANT:
        return False
    expected = reply.coordinator.held.get(key)
    each = [state_topic.recover(t, before) for t in (topic, state_topic.prune(topic, limit))]
    others = {key} if expected else set()
    return conjunction(
        *(is_same(after.held.get(key), expected) for after in each),
        *(set(after.held) == others for after in each),
    )


@_topic.theorem(
    30, of={f"replay a snapshot ({profile.name})": (profile,) for profile in (KIP, KAFKA_4_4)},
    control=wrong("spec.state_topic:replay_record", "knows no leader", sets(leader_epoch=0)),
)  # fmt: skip
def a_snapshot_fences_the_leaders_before(s: OneRequest, profile: Profile) -> Term:
    """The leader epoch of a snapshot fences; one before it does where a snapshot may forget it."""
    kept = DurableState(s.given_start, s.given_complete, (), s.state_epoch, s.leader_epoch)
    record = StateRecord(request_theorems.KEY, ShareSnapshot(s.due, kept, s.now, s.partitions))
    before = s.held if s.present else None
    after = state_topic.replay_held(before, record, profile)
    earlier = before.leader_fence if before and profile is KAFKA_4_4 else 0
    if after is None:
        return False
    return conjunction(
        after.leader_fence == largest(s.leader_epoch, earlier),
        conjunction(after.created_ms == s.now, after.written_ms == s.partitions),
    )


@_topic.theorem(
    26, of="replay an update alone",
    control=wrong("spec.state_topic:replay_record", "knows no leader", sets(leader_epoch=0)),
)  # fmt: skip
def an_update_alone_is_all_that_is_known(s: OneRequest) -> Term:
    """Of an update without its snapshot its own numbers are known, and no time."""
    update = ShareUpdate(s.due, s.leader_epoch, s.given_start, s.given_complete)
    after = state_topic.replay_held(None, StateRecord(request_theorems.KEY, update), KIP)
    if after is None:
        return False
    return conjunction(
        conjunction(after.created_ms == 0, after.written_ms == 0),
        conjunction(after.leader_fence == s.leader_epoch, after.durable.snapshot_epoch == s.due),
    )


_INPUTS: dict[str, tuple[Callable[[OneLed], ShareBroker]]] = {
    "disconnect": (lambda s: share_broker.disconnect(broker_of(s), s.member, s.now).broker,),
    "resign": (lambda s: share_broker.resign(broker_of(s), PLACE).broker,),
    "serve a fetch": (lambda s: _handled(s, ShareFetch(GROUP, s.member, 1)).broker,),
    "complete a write": (lambda s: completed(s, NONE).broker,),
    "advance": (lambda s: share_broker.advance(broker_of(s), s.later),),
}
_CARELESS = {
    "disconnect": wrong("spec.share_broker:_drop_if_idle", "keeps all", does_nothing),
    "resign": wrong("spec.share_broker:_in_memory", "is nothing", becomes(lambda _broker: [])),
    "serve a fetch": wrong("spec.share_session:_continued", "begins anew", sets(epoch=0)),
    "complete a write": wrong("spec.share_broker:settle", "waits on", does_nothing),
    "advance": wrong("spec.share_broker:advance", "moves its clock alone", becomes(
        lambda broker, now, *_of: attrs.evolve(broker, now=now))),
}  # fmt: skip


@_brokers.theorem(
    67, of=_INPUTS, given=lambda s, _of: waits(s) and ends(s) and negate(s.both),
    where=lambda s, _of: goes_on(s), control=_CARELESS,
)  # fmt: skip
def a_broker_keeps_its_invariants(s: OneLed, after: Callable[[OneLed], ShareBroker]) -> Term:
    """What holds of every broker holds after a request, an answer, and the loss of its lead."""
    return not broken_names(BROKER_INVARIANTS, after(s))
