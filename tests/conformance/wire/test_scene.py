"""Asks become requests that mean the same wherever they stand."""

from collections.abc import Sequence

import attrs
import pytest

from conformance.campaign import Fault, Limits, campaign
from conformance.picture import picture
from conformance.report import KitVerdict, Report
from conformance.wire import asks
from conformance.wire.cause import UNSENT
from conformance.wire.kit import BROKERS
from conformance.wire.requests import ABSENT_PARTITION, ABSENT_TOPIC, member_id
from conformance.wire.scene import PATIENT_MS, TIMES_STARVED, WireScene
from conformance.wire.target import Described, Exchange, GroupTopic, UnansweredError
from judge.finding import Finding
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.operations import AcknowledgementBatch
from model.ranges import OffsetRange
from model.share_messages import ShareFetch, ShareRequest, ShareResponse
from model.states import AcquireMode
from tests.conformance.wire.worlds import COMMITTED, CONFIG
from tests.doubles.broker_faults import UNCOUNTED, BrokerFault, WireFault, fault_named
from tests.doubles.failing_brokers import ThrottlingBroker
from tests.doubles.spec_broker import SpecBroker
from tools.promises.behaviour import HONEST

TYPES = asks.Acknowledged(0, (asks.AskBatch("m1", 0, 2, (1, 2)), asks.AskBatch("m1", 1, 1)))


class Recorder(SpecBroker):
    """A broker that remembers what it was asked, and gives everything that there is."""

    def __init__(self, fault: BrokerFault = HONEST) -> None:
        super().__init__(fault)
        self.asked: list[tuple[ShareRequest, str]] = []
        self.finished = 0

    def ask(self, place: GroupTopic, request: ShareRequest, connection: str) -> Exchange:
        self.asked.append((request, connection))
        return super().ask(place, request, connection)

    def finish(self, place: GroupTopic) -> None:
        self.finished += 1
        super().finish(place)


def played(sequence: Sequence[asks.Ask], broker: SpecBroker) -> tuple[WireScene, Finding | None]:
    """Return the scene after a sequence, of which only the last command may show a deviation."""
    made = WireScene(broker, broker.hello())
    *others, last = sequence
    for ask in others:
        assert made.ask(ask) is None
    return made, made.ask(last)


def scene(*more: asks.Ask, partitions: int = 1) -> tuple[WireScene, Recorder]:
    broker = Recorder()
    made, found = played(
        (asks.WireOpen(CONFIG, partitions), asks.WireProduce(0, ((0, 3),)), *more), broker
    )
    assert found is None
    return made, broker


def sent(*more: asks.Ask, partitions: int = 1) -> ShareRequest:
    """Return the last request that is not a repetition of one that got nothing."""
    asked = [request for request, _connection in scene(*more, partitions=partitions)[1].asked]
    return [one for one in asked if getattr(one, "max_wait_ms", 0) != PATIENT_MS][-1]


def test_a_member_has_an_id_as_kafka_makes_them() -> None:
    assert member_id("m1") == "AAAAAAAAAAAAAAAAAABtMQ"


def test_a_fetch_without_a_session_opens_one_with_every_partition() -> None:
    request = sent(asks.WireFetch("m1", acknowledged=(TYPES,)), partitions=2)
    assert request.session_epoch == 0
    assert [(one.topic_partition.partition, one.batches) for one in request.partitions] == [
        (0, ()),
        (1, ()),
    ]
    odd = sent(asks.WireFetch("m1", acknowledged=(TYPES,), epoch=asks.Epoch.OPEN))
    assert odd.partitions[0].batches


def test_epochs_are_counted_from_the_one_that_is_expected() -> None:
    first = asks.WireFetch("m1")
    epochs = {
        epoch: sent(first, attrs.evolve(first, epoch=epoch)).session_epoch for epoch in asks.Epoch
    }
    assert epochs == {"next": 1, "open": 0, "close": -1, "again": 2, "skip": 2}
    assert sent(first, first, attrs.evolve(first, epoch=asks.Epoch.AGAIN)).session_epoch == 1
    assert sent(asks.WireAcknowledge("m1", ())).session_epoch == 1


def test_batches_begin_with_what_is_held_and_do_not_overlap() -> None:
    made, broker = scene(asks.WireFetch("m1"))
    made.held(0, "m1")
    made.ask(asks.WireAcknowledge("m1", (TYPES,)))
    (asked,) = broker.asked[-1][0].partitions
    held = len(made.held(0, "m1")) + 2
    assert asked.batches[0] == AcknowledgementBatch(0, min(1, held - 1), asked.batches[0].types)
    assert all(a.last < b.first for a, b in zip(asked.batches, asked.batches[1:], strict=False))


def test_without_anything_held_batches_count_from_the_window() -> None:
    batch = asks.AskBatch("m2", 2, 2, (1, 2))
    request = sent(
        asks.WireFetch("m1"), asks.WireAcknowledge("m1", (asks.Acknowledged(0, (batch,)),))
    )
    assert request.partitions[0].batches == (AcknowledgementBatch(2, 3, (1, 2)),)


def test_a_renewal_says_so_and_fetches_nothing() -> None:
    renewing = asks.Acknowledged(0, (asks.AskBatch("m1", types=(4,)),))
    opened = asks.WireFetch("m1")
    request = sent(opened, asks.WireFetch("m1", acknowledged=(renewing,)))
    assert isinstance(request, ShareFetch)
    assert request.is_renew_ack
    assert (request.max_records, request.max_wait_ms, request.max_bytes) == (0, 0, 0)
    unsaid = sent(opened, asks.WireFetch("m1", acknowledged=(renewing,), unsaid=True))
    assert not unsaid.is_renew_ack
    assert sent(opened, asks.WireAcknowledge("m1", (renewing,))).is_renew_ack


def test_strangers_are_not_there() -> None:
    for stranger, at in (
        (asks.Stranger.TOPIC, (ABSENT_TOPIC, 0)),
        (asks.Stranger.PARTITION, (None, ABSENT_PARTITION)),
    ):
        asked = sent(
            asks.WireFetch("m1"), asks.WireAcknowledge("m1", (), stranger=stranger)
        ).partitions
        assert asked[-1].topic_partition.partition == at[1]
        assert at[0] in (None, asked[-1].topic_partition.topic_id)
        assert asked[-1].batches


def test_a_disconnected_member_comes_back_over_another_connection() -> None:
    made, broker = scene(asks.WireFetch("m1"), asks.WireDisconnect("m1"), asks.WireFetch("m1"))
    assert {connection for _request, connection in broker.asked} == {"m1-0", "m1-1"}
    made.close()
    assert broker.finished == 1


def test_a_group_is_emptied_with_or_without_its_connections() -> None:
    for hang_up in (False, True):
        ask = asks.WireAlterOffset(0, hang_up=hang_up)
        made, broker = scene(asks.WireFetch("m1"), ask, asks.WireFetch("m1"))
        assert ("2000 ms pass" in [step.asked for step in made.steps]) is hang_up
        assert broker.asked[-1][1] == f"m1-{int(hang_up)}"


def test_what_was_not_opened_is_not_finished() -> None:
    broker = Recorder()
    made = WireScene(broker, broker.hello())
    assert not made.over
    made.close()
    assert broker.finished == 0


def test_time_passes_until_every_lock_is_over() -> None:
    made, _ = scene(
        asks.WireFetch("m1"), asks.WireWait(20), asks.WireWaitPastLocks(), asks.WireFetch("m2")
    )
    assert made.held(0, "m2")
    assert made.answered["wait NONE"] == 2


def test_requests_steer_clear_of_the_time_when_locks_may_be_over() -> None:
    made, _ = scene(
        asks.WireFetch("m1"), asks.WireWait(60), asks.WireWait(60), asks.WireFetch("m2")
    )
    assert made.answered["wait NONE"] == 3


def test_records_are_deleted_up_to_the_end_of_the_log() -> None:
    made, _ = scene(
        asks.WireDeleteRecords(0, 2), asks.WireDeleteRecords(0, 7), asks.WireDeleteRecords(0, 1)
    )
    told = [step.asked for step in made.steps if step.asked.startswith("delete records")]
    assert told == [
        "delete records of partition 0 before 2",
        "delete records of partition 0 before 3",
    ]


def test_every_ask_is_a_step_in_words() -> None:
    made, _ = scene(asks.WireFetch("m1"), asks.WireDescribe(0))
    assert made.steps[0].asked == "1 partitions, delivery limit 2, window limit 4"
    assert "ACQUIRED(1) m1" in made.steps[2].after
    assert made.steps[-1].answered.startswith("start offset ")
    assert made.answered[f"{made.last} NONE"] == 1


def test_a_fetch_is_repeated_while_it_gets_nothing_that_there_is() -> None:
    broker = Recorder(fault_named("passes over records that were released"))
    release = asks.Acknowledged(0, (asks.AskBatch("m1", types=(2,)),))
    sequence = (
        asks.WireOpen(CONFIG),
        asks.WireProduce(0, ((0, 1),)),
        asks.WireFetch("m1"),
        asks.WireAcknowledge("m1", (release,)),
        asks.WireFetch("m1"),
    )
    _, found = played(sequence, broker)
    assert (found and found.name) == "AVAILABLE_RECORDS_ARE_DELIVERED"
    waits = [request.max_wait_ms for request, _ in broker.asked if isinstance(request, ShareFetch)]
    assert waits[-4:] == [50, 500, 500, 500]


def test_an_aborted_transaction_is_told_and_its_marker_follows() -> None:
    sequence = asks.WireOpen(COMMITTED), asks.WireProduceAborted(1, ((0, 2), (1, 1)))
    made, _ = played(sequence, SpecBroker())
    assert made.steps[0].asked == "1 partitions, delivery limit 2, window limit 4, read_committed"
    assert made.steps[1].asked == "produce 0–1, 3 of an aborted transaction in partition 0"
    assert made.judge.logs[made.judge.key(0)[1]].end == 5


def test_a_transaction_stays_open_until_it_ends_and_nothing_of_it_is_deleted() -> None:
    sequence = (
        asks.WireOpen(COMMITTED),
        asks.WireEndTransaction(0),
        asks.WireProduce(0, ((0, 1),)),
        asks.WireProduceOpen(0, ((0, 2),)),
        asks.WireDeleteRecords(0, 5),
        asks.WireFetch("m1"),
        asks.WireEndTransaction(0, committed=False),
        asks.WireProduceOpen(1, ((0, 1),)),
        asks.WireEndTransaction(0),
        asks.WireEndTransaction(0),
    )
    made, found = played(sequence, SpecBroker())
    assert found is None
    assert [step.asked for step in made.steps if not step.answered][1:] == [
        "produce 0 in partition 0",
        "produce 1–2 of an open transaction in partition 0",
        "delete records of partition 0 before 1",
        "abort the transaction of partition 0",
        "produce 4 of an open transaction in partition 0",
        "commit the transaction of partition 0",
    ]
    log = made.log(0)
    assert (log.end, log.open, log.aborted) == (6, (), (OffsetRange(1, 2),))


@pytest.mark.parametrize(("most", "repeated"), [(500, 1), (2, 2)])
def test_a_fetch_is_repeated_as_often_as_what_it_read_may_be_kept_back(
    most: int, repeated: int
) -> None:
    class Silent(Recorder):
        def ask(self, place: GroupTopic, request: ShareRequest, connection: str) -> Exchange:
            told = super().ask(place, request, connection)
            return attrs.evolve(told, response=ShareResponse(), read=())

    broker = Silent()
    one_by_one = asks.WireFetch("m1", max_records=most, mode=AcquireMode.RECORD_LIMIT)
    sequence = (
        asks.WireOpen(COMMITTED),
        asks.WireProduceAborted(0, ((0, 3),)),
        asks.WireProduce(0, ((0, 1),)),
        one_by_one,
    )
    _, found = played(sequence, broker)
    assert (found and found.name) == "AVAILABLE_RECORDS_ARE_DELIVERED"
    assert len(broker.asked) == 1 + TIMES_STARVED + repeated


def test_a_lag_that_is_wrong_is_asked_for_again() -> None:
    class Wrong(Recorder):
        described = 0

        def describe(self, place: GroupTopic, partition: int) -> Described:
            self.described += 1
            told = super().describe(place, partition)
            return attrs.evolve(told, start_offset=2, lag=7)

    broker = Wrong()
    made, found = played((asks.WireOpen(CONFIG), asks.WireDescribe(0)), broker)
    assert (found and found.name) == "START_OFFSET"
    assert broker.described == 4
    assert made.steps[-1].answered == "start offset 2, lag 7"


@pytest.mark.parametrize("percent", [0, 60])
def test_a_lag_that_is_wrong_while_records_are_held_is_not_excused_when_their_locks_end(
    percent: int,
) -> None:
    opened = asks.WireOpen(CONFIG), asks.WireProduce(0, ((0, 3),)), asks.WireFetch("m1")
    sequence = (*opened, asks.WireWait(percent), asks.WireDescribe(0))
    _, found = played(sequence, SpecBroker(WireFault.LAG_LEAVES_OUT_HELD, seed=2))
    assert (found and found.name) == (None if percent else "LAG")


def test_a_sequence_ends_before_its_place_may_be_gone() -> None:
    broker = Recorder()
    hello = broker.hello()
    short = attrs.evolve(hello.capabilities, max_sequence_ms=1500)
    made = WireScene(broker, attrs.evolve(hello, capabilities=short))
    for ask in (asks.WireOpen(CONFIG), asks.WireFetch("m1"), asks.WireWait(60), asks.WireWait(60)):
        assert not made.over
        made.ask(ask)
    made.ask(asks.WireWait(60))
    assert made.over


def test_a_sequence_may_begin_with_any_answer_at_any_time() -> None:
    broker = Recorder()
    broker.wait(10**9)
    sequence = asks.WireOpen(CONFIG), asks.WireDescribe(0), asks.WireFetch("m1")
    for number in range(1, len(sequence) + 1):
        assert not played(sequence[:number], broker)[0].over


def test_a_place_is_removed_when_a_search_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Recorder(UNCOUNTED)
    asked = 0
    ask_before = WireScene.ask

    def ask(self: WireScene, one: asks.Ask) -> Finding | None:
        nonlocal asked
        asked += 1
        if asked == 400:
            raise KeyboardInterrupt
        return ask_before(self, one)

    monkeypatch.setattr(WireScene, "ask", ask)
    opened = 0
    open_before, recreate_before = broker.open, broker.recreate

    def open_(config: SharePartitionConfig, partitions: int, group: str = "") -> GroupTopic:
        nonlocal opened
        opened += 1
        return open_before(config, partitions, group)

    def recreate(place: GroupTopic, *, topic: bool) -> GroupTopic:
        nonlocal opened
        opened -= topic  # It opens another place instead.
        return recreate_before(place, topic=topic)

    monkeypatch.setattr(broker, "open", open_)
    monkeypatch.setattr(broker, "recreate", recreate)
    found = campaign(broker, Limits(examples=1), BROKERS)
    assert found.interrupted
    assert found.faults
    assert broker.finished == opened


def test_an_error_of_a_description_may_pass_and_is_a_deviation_if_it_does_not() -> None:
    class Failing(Recorder):
        left = 0

        def describe(self, place: GroupTopic, partition: int) -> Described:
            told, self.left = super().describe(place, partition), self.left - 1
            return attrs.evolve(told, error=ErrorCode.NOT_COORDINATOR) if self.left >= 0 else told

    broker = Failing()
    broker.left = 2
    made, found = played((asks.WireOpen(CONFIG), asks.WireDescribe(0)), broker)
    assert found is None
    broker.left = 99
    found = made.ask(asks.WireDescribe(0))
    assert (found and found.signature) == ("DESCRIBED", "describe")
    assert made.steps[-1].answered == "NOT_COORDINATOR"


def test_a_connection_that_is_closed_instead_of_an_answer_is_a_deviation() -> None:
    made, broker = scene(asks.WireFetch("m1"))

    def closing(place: GroupTopic, request: ShareRequest, connection: str) -> Exchange:
        raise UnansweredError(f"{place} {request} {connection}")

    broker.ask = closing  # type: ignore[method-assign] # it breaks from now on
    found = made.ask(asks.WireAcknowledge("m1", (TYPES,)))
    assert (found and found.signature) == ("UNANSWERED", "acknowledge")
    assert made.steps[-1].answered == "the connection was closed"


@pytest.mark.parametrize("partitions", [1, 2])
def test_the_step_before_a_deviation_has_the_state_before_it(partitions: int) -> None:
    again = asks.WireFetch("m1"), asks.WireAcknowledge("m1", (RELEASES,)), asks.WireFetch("m2")
    sequence = asks.WireOpen(CONFIG, partitions), asks.WireProduce(0, ((0, 2),)), *again
    made, found = played(sequence, SpecBroker(UNCOUNTED))
    assert found is not None
    *_earlier, before, last = made.steps
    assert last.state is None
    assert before.state is not None
    assert "0–1 AVAILABLE(1)" in found.before
    assert [(r.first, r.last, r.state.name) for r in before.state.records or ()] == [
        (0, 1, "AVAILABLE")
    ]
    shown = picture(Fault(found, sequence, tuple(made.steps), ()))
    assert shown is not None
    assert [str(row[0]).split(":")[0] for row in shown.rows] == ["before"]


def test_a_deviation_of_a_whole_request_shows_the_only_share_partition() -> None:
    for partitions, shows in ((1, True), (2, False)):
        opened = (
            asks.WireOpen(CONFIG, partitions),
            asks.WireProduce(0, ((0, 2),)),
            asks.WireFetch("m1"),
        )
        sequence = *opened, asks.WireFetch("m1", epoch=asks.Epoch.SKIP)
        made, found = played(sequence, SpecBroker(WireFault.EPOCH_UNCHECKED))
        assert found is not None
        state = made.steps[-2].state
        assert (state is not None) == shows
        assert not state or {record.owner for record in state.records or ()} == {"m1"}


RELEASES = asks.Acknowledged(0, (asks.AskBatch("m1", 0, 2, (2,)),))


@pytest.mark.parametrize("fault", ["ACKNOWLEDGING_IS_REFUSED", "COORDINATOR_IS_MISSING"])
def test_a_lone_broker_that_says_it_does_not_lead_is_asked_again_for_a_while(fault: str) -> None:
    broker = SpecBroker(fault_named(fault))
    made = WireScene(broker, broker.hello())
    fetch = asks.WireFetch("m1", acknowledged=(TYPES,))
    sequence = asks.WireOpen(CONFIG), asks.WireProduce(0, ((0, 2),)), asks.WireFetch("m1"), fetch
    found = next(filter(None, (made.ask(ask) for ask in sequence)))
    assert found.signature == ("LEADER_SERVES", "fetch")
    assert " for 5 s" in found.recorded
    assert made.unjudged


def test_a_broker_that_refuses_now_and_then_is_not_known() -> None:
    """Nothing deviates, as it serves when it is asked again; but most is not judged."""

    class Refusing(SpecBroker):
        asked = 0

        def ask(self, place: GroupTopic, request: ShareRequest, connection: str) -> Exchange:
            self._fault = HONEST if self.asked % 3 else WireFault.ACKNOWLEDGING_IS_REFUSED
            self.asked += 1
            return super().ask(place, request, connection)

    result = campaign(Refusing(), Limits(600, sequences=8), BROKERS, 1)
    report = Report(BROKERS, result, (), ())
    assert (result.faults, report.verdict) == ((), KitVerdict.UNKNOWN)
    assert " of 8 sequences were judged, at least 75% must be" in report.unknown


@pytest.mark.parametrize("loses", [True, False])
def test_what_a_throttled_response_leaves_out_is_neither_acquired_nor_delivered(
    loses: bool,  # noqa: FBT001 - a parameter
) -> None:
    broker, fetch = ThrottlingBroker(loses=loses), asks.WireFetch("m1")
    begun = asks.WireOpen(CONFIG, 1), asks.WireProduce(0, ((0, 3),))
    throttled = attrs.evolve(fetch, throttled=True)
    made, found = played((*begun, throttled, asks.WireWait(200), fetch), broker)
    assert not broker.throttled
    assert "nothing, throttled" in [step.answered for step in made.steps]
    if not loses:
        assert found is None
        assert made.held(0, "m1") == [0, 1, 2]
    else:
        assert found is not None
        assert UNSENT in found.probable_cause


def test_a_client_is_throttled_only_where_the_broker_can() -> None:
    made, broker = scene(asks.WireFetch("m1", throttled=True))
    assert made.held(0, "m1") == [0, 1, 2]
    assert not broker.hello().capabilities.throttles
