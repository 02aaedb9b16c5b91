"""Invariants of a broker: random requests keep them, and each notices what breaks it."""

from typing import Any

import attrs
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from immutables import Map

from model.errors import ErrorCode
from model.operations import AcknowledgementBatch, CompleteWrite
from model.outcome import Answer, Write
from model.profile import KAFKA
from model.share_messages import (
    MAX_EPOCH,
    Conduct,
    PartitionConduct,
    PartitionRequest,
    ShareAcknowledge,
    ShareFetch,
    ShareResponse,
    TopicPartition,
)
from spec.partition import Outstanding
from spec.share_broker import Handled, ShareBroker, Waiting, advance, complete_write, disconnect
from spec.share_broker_invariants import BROKER_INVARIANTS, violated_by
from spec.share_request import handle
from spec.share_session import SessionPartition, ShareSession
from tests.spec.share_worlds import P0, P1, broker_of, opened

MEMBERS = st.sampled_from(["m", "n", "o"])
ATS = st.sampled_from([P0, P1, TopicPartition("t", 7)])
CODES = st.sampled_from(
    [
        ErrorCode.NONE,
        ErrorCode.PENDING,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.FENCED_STATE_EPOCH,
        ErrorCode.FENCED_LEADER_EPOCH,
    ]
)
BATCHES = st.builds(
    AcknowledgementBatch,
    st.integers(-1, 5),
    st.integers(0, 6),
    st.tuples(st.integers(0, 4)),
)
PARTS = st.lists(
    st.builds(PartitionRequest, ATS, st.lists(BATCHES, max_size=2).map(tuple)),
    max_size=3,
    unique_by=lambda one: one.topic_partition,
).map(tuple)


class Requests(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.broker = broker_of(KAFKA, most_sessions=2)
        self.unanswered: set[int] = set()

    def took(self, handled: Handled) -> None:
        assert set(handled.responses) <= self.unanswered | {handled.seq}
        self.unanswered -= set(handled.responses)
        self.broker = handled.broker

    @rule(
        data=st.data(),
        member=MEMBERS,
        parts=PARTS,
        kind=st.sampled_from(["fetch", "fetch", "acknowledge"]),
        ms=st.sampled_from([0, 0, 10, 100]),
    )
    def request(self, data: st.DataObject, member: str, parts: Any, kind: str, ms: int) -> None:  # noqa: ANN401 - of hypothesis
        session = self.broker.sessions.get(("g", member))
        expected = 0 if session is None else session.epoch
        epoch = data.draw(st.sampled_from([expected] * 6 + [0, -1, expected + 1]))
        if epoch == 0:
            parts = tuple(PartitionRequest(one.topic_partition) for one in parts)
        forgotten = data.draw(st.lists(ATS, max_size=1).map(tuple))
        request: ShareFetch | ShareAcknowledge = ShareAcknowledge("g", member, epoch, parts)
        if kind == "fetch":
            most = data.draw(st.integers(0, 4))
            request = ShareFetch("g", member, epoch, parts, forgotten, max_records=most)
        answers = [Answer(data.draw(CODES)) for _ in range(2)]
        on_p0 = PartitionConduct(acknowledge_answer=answers[0], release_answer=answers[1])
        before = advance(self.broker, self.broker.now + ms)
        handled = handle(self.broker, request, self.broker.now + ms, Conduct(((P0, on_p0),)))
        self.unanswered.add(handled.seq)
        self.took(handled)
        self.check(request, before, handled.response)

    def check(
        self,
        request: ShareFetch | ShareAcknowledge,
        before: ShareBroker,
        response: ShareResponse | None,
    ) -> None:
        if response is None:
            return
        if response.error is not ErrorCode.NONE:
            assert response.partitions == ()
            assert attrs.evolve(self.broker, next_seq=before.next_seq) == before
        for one in response.partitions:
            assert not (one.acquired and one.error is not ErrorCode.NONE)
            for offset in (o for r in one.acquired for o in range(r.first, r.last + 1)):
                record = self.broker.partitions["g", one.topic_partition].window.records[offset]
                assert record.owner == request.member_id

    @rule(ms=st.sampled_from([1, 100]))
    def wait(self, ms: int) -> None:
        self.broker = advance(self.broker, self.broker.now + ms)

    @rule(member=MEMBERS)
    def disconnects(self, member: str) -> None:
        self.took(disconnect(self.broker, member, self.broker.now))

    @rule(data=st.data(), code=CODES)
    def answers(self, data: st.DataObject, code: ErrorCode) -> None:
        writes = [(k, w) for k, p in self.broker.partitions.items() for w in p.outstanding]
        if writes and code is not ErrorCode.PENDING:
            key, write = data.draw(st.sampled_from(sorted(writes)))
            self.took(complete_write(self.broker, key, CompleteWrite(write, code)))

    @invariant()
    def holds(self) -> None:
        assert violated_by(self.broker) == []
        assert self.unanswered == set(self.broker.waiting)


Requests.TestCase.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
test_requests_keep_the_invariants = Requests.TestCase


def _broken(name: str) -> ShareBroker:
    good = opened(broker_of())
    session = good.sessions["g", "m"]
    ready = good.partitions["g", P0]
    return {
        "sessions_within_limit": attrs.evolve(good, most_sessions=0),
        "live_epoch_neither_opens_nor_closes": attrs.evolve(
            good, sessions=Map({("g", "m"): attrs.evolve(session, epoch=0)})
        ),
        "session_names_each_once": attrs.evolve(
            good, sessions=Map({("g", "m"): ShareSession(1, "c", (SessionPartition(P0),) * 2)})
        ),
        "idle_groups_are_dropped": attrs.evolve(good, sessions=Map()),
        "awaited_is_outstanding": attrs.evolve(
            good, waiting=Map({0: Waiting("g", ShareResponse(), frozenset({P0}))})
        ),
        "elsewhere_is_not_in_memory": attrs.evolve(good, elsewhere=frozenset({P0})),
        "fenced_is_not_in_memory": attrs.evolve(good, fenced=frozenset({("g", P0)})),
        "clock_is_one": attrs.evolve(good, now=5),
        "share_partitions_are_sound": attrs.evolve(
            good,
            partitions=good.partitions.set(
                ("g", P0), attrs.evolve(ready, window=attrs.evolve(ready.window, complete=7))
            ),
        ),
    }[name]


NAMES = (
    "sessions_within_limit",
    "live_epoch_neither_opens_nor_closes",
    "session_names_each_once",
    "idle_groups_are_dropped",
    "awaited_is_outstanding",
    "elsewhere_is_not_in_memory",
    "fenced_is_not_in_memory",
    "clock_is_one",
    "share_partitions_are_sound",
)


def test_every_invariant_has_an_example() -> None:
    assert tuple(one.name for one in BROKER_INVARIANTS) == NAMES


def test_a_write_that_is_outstanding_keeps_a_group_in_memory() -> None:
    good = opened(broker_of())
    one = Outstanding(Write(0, 0, 0, (), ErrorCode.PENDING))
    partitions = {
        at: attrs.evolve(there, outstanding=Map({0: one})) for at, there in good.partitions.items()
    }
    idle = attrs.evolve(good, sessions=Map(), partitions=Map(partitions))
    assert violated_by(idle) == ["idle_groups_are_dropped"]
    assert violated_by(attrs.evolve(idle, unvalidated=frozenset(partitions))) == []


def test_a_share_partition_elsewhere_need_not_be_in_memory() -> None:
    good = opened(broker_of())
    gone = attrs.evolve(good.partitions["g", P0], ready=False)
    partitions = good.partitions.set(("g", P0), gone)
    assert violated_by(attrs.evolve(good, partitions=partitions, elsewhere=frozenset({P0}))) == []


def test_the_greatest_epoch_is_live() -> None:
    good = opened(broker_of())
    session = attrs.evolve(good.sessions["g", "m"], epoch=MAX_EPOCH)
    assert violated_by(attrs.evolve(good, sessions=Map({("g", "m"): session}))) == []


@pytest.mark.parametrize(
    ("seq", "group", "left", "sound"),
    [
        (3, "g", {P0}, True),
        (4, "g", {P0}, False),
        (3, "h", {P0}, False),
        (3, "g", {P1}, False),
        (3, "g", {P0, P1}, False),
        (3, "g", set(), False),
    ],
)
def test_a_response_waits_for_the_writes_of_its_own_call(
    seq: int, group: str, left: set[TopicPartition], *, sound: bool
) -> None:
    good = opened(broker_of())
    one = Outstanding(Write(0, 0, 0, (), ErrorCode.PENDING), seq=3)
    ready = attrs.evolve(good.partitions["g", P0], outstanding=Map({0: one}))
    waiting = Map({seq: Waiting(group, ShareResponse(), frozenset(left))})
    broker = attrs.evolve(good, partitions=Map({("g", P0): ready}), waiting=waiting)
    assert ("awaited_is_outstanding" not in violated_by(broker)) is sound


@pytest.mark.parametrize("name", NAMES)
def test_each_invariant_notices_what_breaks_it(name: str) -> None:
    assert violated_by(opened(broker_of())) == []
    assert violated_by(_broken(name)) == [name]
