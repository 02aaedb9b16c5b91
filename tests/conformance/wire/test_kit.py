"""How asks of a broker are made simpler."""

from conformance.cores.acknowledgements import Shape
from conformance.kit import features_of
from conformance.wire import asks
from conformance.wire.kit import BROKERS
from model.states import AcquireMode
from tests.conformance.helpers import shrunk_to
from tests.conformance.wire.worlds import CONFIG

BATCH = asks.AskBatch("m1", 2, 3, (1, 2, 3), Shape.REVERSED)
SEQUENCE = (
    asks.WireOpen(CONFIG, 2),
    asks.WireProduce(1, ((0, 2), (1, 3))),
    asks.WireProduceAborted(0, ((0, 2),)),
    asks.WireDeleteRecords(0, 2),
    asks.WireFetch(
        "m1",
        (0,),
        3,
        2,
        AcquireMode.RECORD_LIMIT,
        (asks.Acknowledged(0, (BATCH,)),),
        (1,),
        asks.Epoch.AGAIN,
        asks.Stranger.TOPIC,
        unsaid=True,
    ),
    asks.WireAcknowledge("m2", (asks.Acknowledged(0, (asks.AskBatch(),)),), asks.Epoch.CLOSE),
    asks.WireDisconnect("m3"),
    asks.WireWait(60),
    asks.WireWaitPastLocks(),
    asks.WireDescribe(0),
)


def needs(*kinds: type) -> tuple[asks.Ask, ...]:
    return shrunk_to(BROKERS, SEQUENCE, *kinds)


def test_shrinking_removes_commands_and_simplifies_the_rest() -> None:
    opening, *rest = needs(asks.WireProduce, asks.WireFetch, asks.WireDisconnect)
    assert opening == asks.WireOpen(CONFIG)
    assert rest == [
        asks.WireProduce(0, ((0, 1),)),
        asks.WireFetch("m1", mode=AcquireMode.RECORD_LIMIT),
        asks.WireDisconnect("m1"),
    ]
    assert needs(asks.WireDeleteRecords)[1:] == (asks.WireDeleteRecords(0, 1),)
    assert needs(asks.WireProduceAborted)[1:] == (asks.WireProduceAborted(0, ((0, 1),)),)
    assert needs(asks.WireWait)[1:] == (asks.WireWait(20),)


def test_an_aborted_transaction_becomes_a_produce() -> None:
    batches = ((0, 2), (1, 1))
    simpler = list(BROKERS.simpler(asks.WireProduceAborted(1, batches)))
    assert simpler[0] == asks.WireProduce(1, batches)
    assert asks.WireProduceAborted(1, ((0, 2),)) in simpler


def test_acknowledgements_are_simplified_one_by_one() -> None:
    two = asks.AskBatch("m2", 3, 2, (2, 1), Shape.NO_TYPE), asks.AskBatch("", 4)
    ask = asks.WireAcknowledge("m2", (asks.Acknowledged(1, two),), asks.Epoch.SKIP)
    simpler = (other for other in BROKERS.simpler(ask) if isinstance(other, asks.WireAcknowledge))
    batches = {other.acknowledged[0].batches for other in simpler if other.acknowledged}
    first = two[0]
    assert (two[1],) in batches
    assert (first,) in batches
    for changed in (
        asks.AskBatch("m2", 3, 2, (2, 1)),
        asks.AskBatch("m1", 3, 2, (2, 1), Shape.NO_TYPE),
        asks.AskBatch("m2", 0, 2, (2, 1), Shape.NO_TYPE),
        asks.AskBatch("m2", 3, 1, (2,), Shape.NO_TYPE),
        asks.AskBatch("m2", 3, 2, (2,), Shape.NO_TYPE),
    ):
        assert (changed, two[1]) in batches


def test_members_are_merged_throughout() -> None:
    sequence = asks.WireFetch("m2"), asks.WireAcknowledge("m1", (asks.Acknowledged(0, (_HELD,)),))
    merged = list(BROKERS.plainer(sequence))
    assert merged[0][0] == asks.WireFetch("m1")
    second = merged[0][1]
    assert isinstance(second, asks.WireAcknowledge)
    assert second.acknowledged[0].batches[0].whose == "m1"


def test_unusual_commands_are_features_of_a_sequence() -> None:
    odd = asks.AskBatch(types=(4,), shape=Shape.REVERSED)
    sequence = (
        asks.WireFetch("m1"),
        asks.WireFetch("m1", max_records=0, forgotten=(0,), epoch=asks.Epoch.CLOSE),
        asks.WireAcknowledge("m1", (asks.Acknowledged(0, (odd,)),), asks.Epoch.SKIP),
        asks.WireAcknowledge("m1", (), stranger=asks.Stranger.TOPIC),
        asks.WireEndTransaction(0, committed=False),
        asks.WireBriefMember(silent=True),
        asks.WireFetch("m1", throttled=True),
    )
    assert features_of(BROKERS, sequence[:1]) == ("Fetch",)
    assert features_of(BROKERS, (asks.WireEndTransaction(0),)) == ("EndTransaction",)
    assert features_of(BROKERS, sequence) == (
        "Acknowledge",
        "BriefMember",
        "EndTransaction",
        "Fetch",
        "Fetch epoch close",
        "aborts",
        "absent topic",
        "acknowledges",
        "at most 0",
        "forgotten",
        "malformed",
        "renew",
        "reversed",
        "silent",
        "throttled",
        "wrong epoch",
    )


def test_commands_name_no_offsets() -> None:
    assert BROKERS.produced(asks.WireProduce(0, ((0, 3),))) == 0
    assert BROKERS.moved_down(asks.WireWait(20), 3) == asks.WireWait(20)
    assert list(BROKERS.simpler(SEQUENCE[0])) == []


_HELD = asks.AskBatch("m2")
