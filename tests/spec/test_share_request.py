import attrs
import pytest

from model.config import IsolationLevel
from model.errors import ErrorCode, IllegalChoiceError, InvalidValueError
from model.operations import Produce
from model.outcome import Choice
from model.ranges import OffsetRange
from model.share_messages import (
    Conduct,
    PartitionConduct,
    ShareAcknowledge,
    ShareFetch,
    TopicPartition,
)
from model.states import AcquireMode
from spec.coordinator import Durable
from spec.log import Log, learn_hole
from spec.partition import SharePartition
from spec.share_broker import append, disconnect, lead
from spec.share_request import complete, handle, readable, receive
from tests.spec.share_worlds import (
    P0,
    P1,
    acked,
    asked,
    broker_of,
    errors,
    fetching,
    given,
    held,
    opened,
    sent,
)
from tests.spec.worlds import SMALL, acknowledgement, fetch, run, started

UNKNOWN = TopicPartition("u", 0)
ABSENT = TopicPartition("t", 7)


def read(partition: SharePartition, most: int) -> list[tuple[int, int]]:
    return [attrs.astuple(batch) for batch in readable(partition, most)]


@pytest.mark.parametrize(
    ("level", "delivered"),
    [(IsolationLevel.READ_COMMITTED, [(0, 1, 1)]), (IsolationLevel.READ_UNCOMMITTED, [(0, 3, 1)])],
)
def test_a_fetch_reads_up_to_an_open_transaction_under_read_committed(
    level: IsolationLevel, delivered: list[tuple[int, int, int]]
) -> None:
    config, durable_state = attrs.evolve(SMALL, isolation_level=level), Durable(0, 0)
    broker = lead(broker_of(), ("g", P0), config, Log(0, 0), durable_state)
    batches = OffsetRange(0, 1), OffsetRange(2, 3)
    broker = append(broker, P0, Produce(batches, 4, last_stable_offset=2))
    broker, response = sent(broker, fetching("m", 0, asked(P0), most=8))
    assert given(response)[P0] == delivered
    broker = append(broker, P0, Produce((), 5))
    broker, response = sent(broker, fetching("m", 1, most=8))
    rest = given(response).get(P0, [])
    assert delivered + rest in ([(0, 1, 1), (2, 3, 1)], [(0, 3, 1)])


def test_a_fetch_gives_what_its_own_acknowledgements_released() -> None:
    broker = opened(broker_of(records=2))
    _, response = sent(broker, fetching("m", 2 - 1, asked(P0, (0, 1, 2)), most=4))
    assert given(response) == {P1: [(0, 1, 1)], P0: [(0, 1, 2)]}


@pytest.mark.parametrize("level", list(IsolationLevel))
def test_data_of_aborted_transactions_is_given_under_read_uncommitted_alone(
    level: IsolationLevel,
) -> None:
    broker = broker_of()
    for key, there in broker.partitions.items():
        config = attrs.evolve(there.config, isolation_level=level)
        log = attrs.evolve(there.log, stable_offset=there.log.end_offset)
        there = attrs.evolve(there, config=config, log=log)  # noqa: PLW2901 - the same, configured
        broker = attrs.evolve(broker, partitions=broker.partitions.set(key, there))
    reads = Conduct(((P0, PartitionConduct(aborted=(OffsetRange(1, 2),))),))
    broker, response = sent(broker, fetching("m", 0, asked(P0), most=4), reads)
    committed = level is IsolationLevel.READ_COMMITTED
    assert given(response)[P0] == ([(0, 0, 1), (3, 3, 1)] if committed else [(0, 3, 1)])
    assert held(broker, P0) == ("0:Q1@m 1-2:X1 3:Q1@m" if committed else "0-3:Q1@m")


@pytest.mark.parametrize("epoch", [0, 1, 5, -1])
def test_a_request_that_its_session_refuses_changes_nothing(epoch: int) -> None:
    broker = opened(broker_of())
    member = "m" if epoch in (0, 5) else "n"
    after, response = sent(broker, fetching(member, epoch, asked(P0, (0, 1, 1))))
    assert response.partitions == ()
    assert response.error.name == {0: "INVALID_REQUEST", 5: "INVALID_SHARE_SESSION_EPOCH"}.get(
        epoch, "SHARE_SESSION_NOT_FOUND"
    )
    assert attrs.evolve(after, next_seq=broker.next_seq) == broker


def test_a_new_session_of_the_member_keeps_what_it_holds() -> None:
    broker = opened(opened(broker_of()))
    assert held(broker, P0) == "0-3:Q1@m"
    _, response = sent(broker, acked("m", 1, asked(P0, (0, 3, 1))))
    assert errors(response) == {P0: ("NONE", "NONE")}


def test_each_acknowledgement_has_its_own_answer() -> None:
    broker = opened(broker_of())
    request = acked(
        "m",
        1,
        asked(UNKNOWN, (1, 0, 9)),
        asked(ABSENT, (1, 0, 1)),
        asked(TopicPartition("t", 2), (0, 0, 1)),
        asked(TopicPartition("t", 8), (0, 0, 1)),
        asked(P1, (0, 0, 1)),
        asked(P0, (0, 1, 1)),
    )
    after, response = sent(broker, request)
    assert [one.acknowledge_error.name for one in response.partitions] == [
        "UNKNOWN_TOPIC_ID",
        "INVALID_REQUEST",
        "UNKNOWN_TOPIC_OR_PARTITION",
        "UNKNOWN_TOPIC_OR_PARTITION",
        "INVALID_REQUEST",
        "NONE",
    ]
    assert (held(after, P0), held(after, P1)) == ("", "")


def test_an_empty_acknowledgement_names_only_unknown_partitions() -> None:
    broker = opened(broker_of())
    not_led = TopicPartition("t", 2)
    request = acked("m", 1, asked(P0), asked(not_led), asked(ABSENT), asked(UNKNOWN))
    after, response = sent(broker, request)
    assert errors(response) == {
        ABSENT: ("NONE", "UNKNOWN_TOPIC_OR_PARTITION"),
        UNKNOWN: ("NONE", "UNKNOWN_TOPIC_ID"),
    }
    assert after.partitions == broker.partitions


def test_records_of_a_forgotten_partition_can_still_be_acknowledged() -> None:
    broker, _ = sent(opened(broker_of()), attrs.evolve(fetching("m", 1), forgotten=(P0,)))
    after, response = sent(broker, fetching("m", 2, asked(P0, (0, 1, 1)), most=0))
    assert errors(response) == {P0: ("NONE", "NONE")}
    assert held(after, P0) == ""


@pytest.mark.parametrize(("version", "flag"), [(1, False), (2, False)])
def test_a_renewal_without_its_flag_is_malformed(version: int, *, flag: bool) -> None:
    request = ShareAcknowledge("g", "m", 1, (asked(P0, (0, 1, 4)),), flag, version)
    after, response = sent(opened(broker_of()), request)
    assert errors(response) == {P0: ("NONE", "INVALID_REQUEST")}
    assert held(after, P0) == "0-1:Q1@m"


def test_closing_acknowledges_first_and_fetches_nothing() -> None:
    broker = opened(opened(broker_of()), "n")
    after, response = sent(broker, fetching("m", -1, asked(P0, (0, 0, 1)), most=9))
    assert (given(response), errors(response)) == ({P0: []}, {P0: ("NONE", "NONE")})
    assert held(after, P0) == "1:A1 2-3:Q1@n"
    _, response = sent(after, fetching("m", -1))
    assert response.error.name == "SHARE_SESSION_NOT_FOUND"


def test_each_fetch_has_its_own_error() -> None:
    at = TopicPartition("t", 2)
    request = fetching("m", 0, asked(UNKNOWN), asked(ABSENT), asked(at), asked(P0))
    _, response = sent(broker_of(), request)
    assert {one.topic_partition: one.error.name for one in response.partitions} == {
        UNKNOWN: "UNKNOWN_TOPIC_ID",
        ABSENT: "UNKNOWN_TOPIC_OR_PARTITION",
        at: "UNKNOWN_TOPIC_OR_PARTITION",
        P0: "NONE",
    }
    assert given(response)[P0] == [(0, 1, 1)]


def test_records_are_used_up_in_the_order_of_the_partitions() -> None:
    broker = broker_of(records=2)
    _, response = sent(broker, fetching("m", 0, asked(P0), asked(P1), most=3))
    assert given(response) == {P0: [(0, 1, 1)], P1: [(0, 0, 1)]}
    _, response = sent(
        broker, fetching("m", 0, asked(P0), asked(P1), most=3), Conduct(order=(P1, P0))
    )
    assert given(response) == {P1: [(0, 1, 1)], P0: [(0, 0, 1)]}


@pytest.mark.parametrize("order", [(P0,), (P0, P1, P1), (P0, UNKNOWN)])
def test_an_order_names_the_partitions_of_the_session(order: tuple[TopicPartition, ...]) -> None:
    with pytest.raises(InvalidValueError, match=r"^order is \(.*; allowed: .* each once"):
        handle(broker_of(), fetching("m", 0, asked(P0), asked(P1)), 0, Conduct(order=order))


def test_a_later_response_names_only_partitions_with_news() -> None:
    wrong = ("UNKNOWN_TOPIC_OR_PARTITION", "NONE")
    broker, _ = sent(broker_of(records=2), fetching("m", 0, asked(P0)))
    broker, response = sent(broker, fetching("m", 1))
    assert response.partitions == ()
    broker, response = sent(broker, fetching("m", 2, asked(ABSENT), asked(P1), most=1))
    assert errors(response) == {ABSENT: wrong, P1: ("NONE", "NONE")}
    broker, response = sent(broker, fetching("m", 3, most=1))
    assert errors(response) == {ABSENT: wrong, P1: ("NONE", "NONE")}
    _, response = sent(broker, fetching("m", 4))
    assert errors(response) == {ABSENT: wrong}


def test_a_fetch_of_no_records_or_bytes_adds_its_partitions() -> None:
    for request in (
        fetching("m", 0, asked(P0), most=0),
        attrs.evolve(fetching("m", 0, asked(P0)), max_bytes=0),
    ):
        broker, response = sent(broker_of(), request)
        assert response.partitions == ()
        _, response = sent(broker, fetching("m", 1))
        assert given(response) == {P0: [(0, 1, 1)]}


def test_a_conduct_sets_what_a_broker_chooses_and_reads() -> None:
    chosen = PartitionConduct(
        acquire=Choice(acquired=(OffsetRange(0, 2),)),
        fetch_offset=0,
        log_batches=(OffsetRange(0, 3),),
    )
    request = attrs.evolve(fetching("m", 0, asked(P0)), acquire_mode=AcquireMode.BATCH_OPTIMIZED)
    _, response = sent(broker_of(), request, Conduct(((P0, chosen),)))
    assert given(response) == {P0: [(0, 2, 1)]}
    strict = attrs.evolve(request, acquire_mode=AcquireMode.RECORD_LIMIT)
    with pytest.raises(IllegalChoiceError, match="3 records where 2 were asked for"):
        handle(broker_of(), strict, 0, Conduct(((P0, chosen),)))


def test_a_log_batch_that_goes_beyond_the_maximum_leaves_nothing_for_others() -> None:
    whole = PartitionConduct(log_batches=(OffsetRange(0, 3),))
    request = fetching("m", 0, asked(P0), asked(P1), most=2)
    _, response = sent(broker_of(), request, Conduct(((P0, whole),)))
    assert given(response) == {P0: [(0, 3, 1)], P1: []}


def test_batches_of_a_request_ascend() -> None:
    _, response = sent(opened(broker_of()), acked("m", 1, asked(P0, (1, 1, 1), (0, 0, 1))))
    assert errors(response) == {P0: ("NONE", "INVALID_REQUEST")}


def test_a_partition_for_which_no_record_is_left_is_not_read() -> None:
    told = PartitionConduct(fetch_offset=0, log_batches=(OffsetRange(2, 3),))
    broker, _ = sent(
        broker_of(), fetching("m", 0, asked(P0), asked(P1), most=2), Conduct(((P1, told),))
    )
    assert broker.partitions["g", P1].log.holes == ()


def test_a_broker_reads_until_there_is_enough_to_acquire() -> None:
    partition = run(started(end=8), fetch("c", (0, 5)), acknowledgement("c", (1, 1, 2), (4, 4, 2)))
    assert read(partition, 1) == [(1, 1)]
    assert read(partition, 3) == [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6)]
    holes = attrs.evolve(partition, log=learn_hole(partition.log, 6, 6))
    assert read(holes, 3) == [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (7, 7)]
    cut = attrs.evolve(partition, log=attrs.evolve(partition.log, start_offset=4))
    assert read(cut, 1) == [(4, 4)]
    assert read(run(started(end=2), fetch("c", (0, 1))), 5) == []


@pytest.mark.parametrize("request_", [acked("m", -1, asked(P0, (0, 1, 1))), fetching("m", -1)])
def test_a_request_that_closes_a_session_finds_it_closed_already(
    request_: ShareAcknowledge | ShareFetch,
) -> None:
    received = receive(opened(broker_of()), request_, 5)
    gone = disconnect(received.broker, "m", 5).broker
    handled = complete(attrs.evolve(received, broker=gone), 9)
    assert handled.response is not None
    assert handled.response.error is ErrorCode.NONE
    assert not handled.broker.sessions


@pytest.mark.parametrize("request_", [acked("m", 1), fetching("m", -1), fetching("m", 7)])
def test_what_fetches_nothing_does_not_wait(request_: ShareAcknowledge | ShareFetch) -> None:
    received = receive(opened(broker_of()), request_, 5)
    assert not received.fetches
    assert complete(received, 5) == handle(opened(broker_of()), request_, 5)
