"""What is left of a sequence is needed, and as simple as it can be."""

from conformance.cores import asks
from conformance.cores.kit import CORES
from conformance.shrink import shrunk
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.operations import AcknowledgementBatch
from model.states import AcquireMode
from tests.conformance.helpers import shrunk_to

BEGIN = asks.CoreTakeOver(SharePartitionConfig())
LONG = (
    BEGIN,
    asks.CoreProduce(((2, 4), (0, 3), (1, 2))),
    asks.CoreFetch("m3", AcquireMode.RECORD_LIMIT, 2, 3, 1),
    asks.CoreCompact(3),
    asks.CoreAdvanceTime(50, (ErrorCode.PENDING, ErrorCode.NONE)),
    asks.CoreAcknowledge(
        "m2",
        (AcknowledgementBatch(0, 3, (1, 2, 3, 0)), AcknowledgementBatch(5, 6, (1,))),
        (ErrorCode.PENDING,),
    ),
    asks.CoreMemberLeaves("m2"),
    asks.CoreCompleteWrite(4, ErrorCode.NONE),
    asks.CoreAdvanceLogStart(6),
)


def needs(*kinds: type) -> tuple[asks.Ask, ...]:
    return shrunk_to(CORES, LONG, *kinds)


def test_needless_commands_are_removed() -> None:
    assert [type(ask) for ask in needs(asks.CoreProduce, asks.CoreMemberLeaves)] == [
        asks.CoreTakeOver,
        asks.CoreProduce,
        asks.CoreMemberLeaves,
    ]


def test_the_remaining_commands_are_simplified() -> None:
    assert needs(asks.CoreProduce)[1] == asks.CoreProduce(((0, 1),))
    assert needs(asks.CoreFetch)[1] == asks.CoreFetch("m1", AcquireMode.RECORD_LIMIT, 500, 500, 1)
    assert needs(asks.CoreCompact)[1] == asks.CoreCompact(0)
    assert needs(asks.CoreAdvanceTime)[1] == asks.CoreAdvanceTime(50)
    assert needs(asks.CoreCompleteWrite)[1] == asks.CoreCompleteWrite(0, ErrorCode.NONE)
    assert needs(asks.CoreAdvanceLogStart)[1] == asks.CoreAdvanceLogStart(1)
    (_begin, ask) = needs(asks.CoreAcknowledge)
    assert isinstance(ask, asks.CoreAcknowledge)
    assert (ask.member, ask.answers, len(ask.batches)) == ("m1", (), 1)
    assert ask.batches[0].first == ask.batches[0].last


def test_the_first_command_stays() -> None:
    assert shrunk((BEGIN,), lambda _sequence: 0, CORES) == (BEGIN,)


def test_offsets_move_down_with_a_smaller_produce() -> None:
    sequence = (
        BEGIN,
        asks.CoreProduce(((0, 3),)),
        asks.CoreProduce(((0, 2),)),
        asks.CoreAcknowledge("m1", (AcknowledgementBatch(4, 4, (1,)),)),
    )

    def fails(played: tuple[asks.Ask, ...]) -> int | None:
        end = 0
        for at, ask in enumerate(played):
            if isinstance(ask, asks.CoreProduce):
                end += sum(missing + size for missing, size in ask.batches)
            elif isinstance(ask, asks.CoreAcknowledge) and ask.batches[0].last == end - 1:
                return at
        return None

    assert shrunk(sequence, fails, CORES)[1:] == (
        asks.CoreProduce(((0, 1),)),
        asks.CoreAcknowledge("m1", (AcknowledgementBatch(0, 0, (1,)),)),
    )
