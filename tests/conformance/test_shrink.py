"""What is left of a sequence is needed, and as simple as it can be."""

from conformance.cores import asks
from conformance.cores.kit import CORES
from conformance.shrink import shrunk
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.operations import AcknowledgementBatch
from model.states import AcquireMode
from tests.conformance.helpers import shrunk_to

BEGIN = asks.TakeOver(SharePartitionConfig())
LONG = (
    BEGIN,
    asks.Produce(((2, 4), (0, 3), (1, 2))),
    asks.Fetch("m3", AcquireMode.RECORD_LIMIT, 2, 3, 1),
    asks.Compact(3),
    asks.AdvanceTime(50, (ErrorCode.PENDING, ErrorCode.NONE)),
    asks.Acknowledge(
        "m2",
        (AcknowledgementBatch(0, 3, (1, 2, 3, 0)), AcknowledgementBatch(5, 6, (1,))),
        (ErrorCode.PENDING,),
    ),
    asks.MemberLeaves("m2"),
    asks.CompleteWrite(4, ErrorCode.NONE),
    asks.AdvanceLogStart(6),
)


def needs(*kinds: type) -> tuple[asks.Ask, ...]:
    return shrunk_to(CORES, LONG, *kinds)


def test_needless_commands_are_removed() -> None:
    assert [type(ask) for ask in needs(asks.Produce, asks.MemberLeaves)] == [
        asks.TakeOver,
        asks.Produce,
        asks.MemberLeaves,
    ]


def test_the_remaining_commands_are_simplified() -> None:
    assert needs(asks.Produce)[1] == asks.Produce(((0, 1),))
    assert needs(asks.Fetch)[1] == asks.Fetch("m1", AcquireMode.RECORD_LIMIT, 500, 500, 1)
    assert needs(asks.Compact)[1] == asks.Compact(0)
    assert needs(asks.AdvanceTime)[1] == asks.AdvanceTime(50)
    assert needs(asks.CompleteWrite)[1] == asks.CompleteWrite(0, ErrorCode.NONE)
    assert needs(asks.AdvanceLogStart)[1] == asks.AdvanceLogStart(1)
    (_begin, ask) = needs(asks.Acknowledge)
    assert isinstance(ask, asks.Acknowledge)
    assert (ask.member, ask.answers, len(ask.batches)) == ("m1", (), 1)
    assert ask.batches[0].first == ask.batches[0].last


def test_the_first_command_stays() -> None:
    assert shrunk((BEGIN,), lambda _sequence: 0, CORES) == (BEGIN,)


def test_offsets_move_down_with_a_smaller_produce() -> None:
    sequence = (
        BEGIN,
        asks.Produce(((0, 3),)),
        asks.Produce(((0, 2),)),
        asks.Acknowledge("m1", (AcknowledgementBatch(4, 4, (1,)),)),
    )

    def fails(played: tuple[asks.Ask, ...]) -> int | None:
        end = 0
        for at, ask in enumerate(played):
            if isinstance(ask, asks.Produce):
                end += sum(missing + size for missing, size in ask.batches)
            elif isinstance(ask, asks.Acknowledge) and ask.batches[0].last == end - 1:
                return at
        return None

    assert shrunk(sequence, fails, CORES)[1:] == (
        asks.Produce(((0, 1),)),
        asks.Acknowledge("m1", (AcknowledgementBatch(0, 0, (1,)),)),
    )
