"""A known failure of Apache Kafka accounts for that in its own state, not for one like it."""

from collections.abc import Sequence

import attrs
import pytest

from conformance.campaign import alone, unknown
from conformance.cores import asks
from conformance.cores.builtin import EngineTarget
from conformance.cores.crash import LACKS_AVAILABLE, LACKS_GAP, NOTHING_AT_START
from conformance.cores.kafka import KNOWN
from conformance.cores.kit import CORES
from conformance.cores.target import Reply, Request
from conformance.known import read_known
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.operations import AcknowledgementBatch
from model.profile import KAFKA
from model.states import AcquireMode

LEAD = asks.CoreTakeOver(SharePartitionConfig(5, 4, 100))
FETCH = asks.CoreFetch("m1", AcquireMode.BATCH_OPTIMIZED, 500, 500, 2)
LATER = asks.CoreAdvanceTime(100)
ACROSS = "acknowledge-across-start-with-nothing-in-flight"
FULL = "acquire-in-full-window-with-gap"
GONE = "acquire-in-full-window-with-a-compacted-gap"


def said(first: int, last: int) -> asks.Ask:
    return asks.CoreAcknowledge("m1", (AcknowledgementBatch(first, last, (1,)),))


RELEASE = asks.CoreAcknowledge("m1", (AcknowledgementBatch(3, 3, (2,)),))


class Failing(EngineTarget):
    """The specification, but that the last command of a sequence fails with a text."""

    def __init__(self, last: int, text: str) -> None:
        """Fail at the ``last`` operation, counted from 0."""
        super().__init__("spec", KAFKA.name)
        self._last, self._text = last, text

    def apply(self, seq: int, operation: Request, answers: Sequence[ErrorCode]) -> Reply:
        """Apply one operation, or fail."""
        return (
            {"error": self._text} if seq == self._last else super().apply(seq, operation, answers)
        )


THREE = LEAD, asks.CoreProduce(((0, 1), (0, 3), (0, 1))), FETCH, said(3, 3)
GAP = asks.CoreCompact(0)
IN_IT: dict[str, tuple[str, tuple[asks.Ask, ...], str]] = {
    "nothing is in flight": (
        ACROSS,
        (LEAD, asks.CoreProduce(((0, 3),)), FETCH, said(0, 2), said(0, 3)),
        NOTHING_AT_START,
    ),
    "a new leader has read nothing at the start": (
        ACROSS,
        (LEAD, asks.CoreProduce(((0, 4),)), FETCH, said(0, 1), RELEASE, LEAD, said(1, 3)),
        NOTHING_AT_START,
    ),
    "the log lacks it": (
        FULL,
        (
            LEAD,
            asks.CoreProduce(((0, 1), (0, 3))),
            FETCH,
            said(1, 3),
            LATER,
            asks.CoreCompact(0),
            FETCH,
        ),
        LACKS_AVAILABLE,
    ),
    "the log lacks what a new leader has to deliver": (
        GONE,
        (*THREE, GAP, GAP, LEAD, FETCH),
        LACKS_GAP,
    ),
}
BESIDE: dict[str, tuple[str, tuple[asks.Ask, ...]]] = {
    "the log has what a new leader has to deliver": (GONE, (*THREE, GAP, LEAD, FETCH)),
    "the window of a new leader is finished": (GONE, (*THREE, said(0, 2), GAP, GAP, LEAD, FETCH)),
    "a record is in flight": (
        ACROSS,
        (LEAD, asks.CoreProduce(((0, 3),)), FETCH, said(0, 1), said(0, 2)),
    ),
    "the request is behind the start": (
        ACROSS,
        (LEAD, asks.CoreProduce(((0, 3),)), FETCH, said(0, 2), said(3, 3)),
    ),
    "the log has it": (FULL, (LEAD, asks.CoreProduce(((0, 4), (0, 1))), FETCH, LATER, FETCH)),
    "there is room": (
        FULL,
        (
            LEAD,
            asks.CoreProduce(((0, 1), (0, 2))),
            FETCH,
            said(1, 2),
            LATER,
            asks.CoreCompact(0),
            FETCH,
        ),
    ),
    "nothing is available": (FULL, (LEAD, asks.CoreProduce(((0, 4), (0, 1))), FETCH, FETCH)),
}


@pytest.mark.parametrize(("name", "sequence", "state"), IN_IT.values(), ids=IN_IT)
def test_a_failure_says_in_which_state_it_was(
    name: str, sequence: tuple[asks.Ask, ...], state: str
) -> None:
    known = read_known(KNOWN, CORES.read)
    (entry,) = (each for each in known if each.name == name)
    (fault,) = alone(failing(entry.signature[2], sequence), sequence, CORES).faults
    assert fault.deviation.signature == entry.signature
    assert fault.deviation.probable_cause == ("CRASHED", state)
    assert unknown([fault], known) == []


@pytest.mark.parametrize(("name", "sequence"), BESIDE.values(), ids=BESIDE)
def test_no_known_failure_hides_one_in_another_state(
    name: str, sequence: tuple[asks.Ask, ...]
) -> None:
    known = read_known(KNOWN, CORES.read)
    (entry,) = (each for each in known if each.name == name)
    (fault,) = alone(failing(entry.signature[2], sequence), sequence, CORES).faults
    weaker = attrs.evolve(entry, difference=())
    assert unknown([fault], [weaker]) == []
    assert unknown([fault], known) == [fault]


def failing(text: str, sequence: tuple[asks.Ask, ...]) -> EngineTarget:
    return Failing(len(sequence) - 1, text)
