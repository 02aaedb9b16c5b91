"""Deviations as JUnit tests: what each test asserts, and what cannot be expressed."""

import re

import attrs
import pytest

from conformance.campaign import alone
from conformance.cores import asks
from conformance.cores.java_test import SHARE_PARTITION
from conformance.cores.kit import CORES
from conformance.java import JavaCase, NoTestError
from conformance.releases import NEWEST
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.operations import AcknowledgementBatch
from model.states import AcquireMode
from tests.conformance.cores.test_crash import Failing
from tests.conformance.java_source import method_of, source_with
from tools.promises.catalogue import BEHAVIOURS
from tools.promises.faces import core

BEGIN = asks.CoreTakeOver(SharePartitionConfig(2, 4, 100))
QUEUES = asks.CoreTakeOver(SharePartitionConfig(2, 4, 100, dead_letter_queue=True))
FETCH = asks.CoreFetch("m1", AcquireMode.BATCH_OPTIMIZED, 500, 500, 1)
ONE = attrs.evolve(FETCH, mode=AcquireMode.RECORD_LIMIT, max_records=1)


def acknowledge(first: int, last: int, kind: int, *answers: ErrorCode) -> asks.CoreAcknowledge:
    return asks.CoreAcknowledge("m1", (AcknowledgementBatch(first, last, (kind,)),), answers)


HELD: tuple[asks.Ask, ...] = (BEGIN, asks.CoreProduce(((0, 3), (0, 3))), FETCH)
DONE = (*HELD, acknowledge(0, 0, 1), asks.CoreMemberLeaves("m1"), FETCH)
WAITING = (*HELD, acknowledge(0, 1, 2, ErrorCode.PENDING))
CASES: dict[str, tuple[tuple[asks.Ask, ...], str]] = {
    "never moves the start offset": (
        (*DONE, asks.CoreAdvanceTime(100), FETCH, asks.CoreAdvanceLogStart(2), *[FETCH] * 12),
        "acquired.stream().filter(offset -> offset > 5).toList(),",
    ),
    "moves the start offset to the end of the window": (
        DONE,
        "assertTrue(sharePartition.startOffset() <= 1,",
    ),
    "does not follow the log start offset": (
        (*HELD, asks.CoreAdvanceLogStart(2)),
        "assertTrue(sharePartition.startOffset() >= 2,",
    ),
    "acquires what another member holds": (
        (*HELD, attrs.evolve(FETCH, member='"*/')),
        'assertEquals("ACQUIRED(1) m1", stateOf(0), "offset 0");',
    ),
    "undoes a change whose write succeeded": (
        (*WAITING, asks.CoreCompleteWrite(0, ErrorCode.NONE)),
        'assertEquals("AVAILABLE(1)", stateOf(0), "offset 0");',
    ),
    "does not tell the caller how its write ended": (
        (*WAITING, asks.CoreCompleteWrite(0, ErrorCode.NONE)),
        'assertTrue(answered3.isDone(), "it is answered");',
    ),
    "counts deliveries from 0": (HELD, "assertEquals(1, countOf(0, acquired),"),
    "never acquires anything": (
        (*HELD[:2], *[FETCH] * 12),
        'startOffset() > 0 || !stateOf(0).equals("not in flight"),',
    ),
    "says of each fetch that nothing can be acquired": (HELD, "canAcquireRecords(), "),
    "releases what is accepted": (
        (*HELD, acknowledge(0, 0, 1)),
        'assertEquals("2(1)", lastWritten(0),',
    ),
    "refuses every acknowledgement": (
        (*HELD, acknowledge(0, 0, 1)),
        "assertTrue(List.of(Errors.NONE).contains(errorOf(answered)),",
    ),
    "gives a new leader's dead letters to no queue": (
        (QUEUES, *HELD[1:], acknowledge(0, 0, 3), QUEUES, asks.CoreFinishDeadLetter(0)),
        'assertTrue(isQueued(0), "offset 0 is given to the dead-letter queue");',
    ),
    "reports a negative delivery complete count": (
        (BEGIN,),
        "assertEquals(0, sharePartition.deliveryCompleteCount(),",
    ),
}


def written(behaviour: str, sequence: tuple[asks.Ask, ...]) -> str:
    """Return the test of what a faulty core shows."""
    (faulty,) = (b for b in BEHAVIOURS if b.name == behaviour)
    (fault,) = alone(core(faulty), sequence, CORES).faults
    case = JavaCase(behaviour, fault, ("About it */ \\u002a/.",), "a command")
    return SHARE_PARTITION.method(core(faulty), CORES, case)[1]


@pytest.mark.parametrize("behaviour", CASES)
def test_a_test_asserts_what_the_rules_expect(behaviour: str) -> None:
    sequence, assertion = CASES[behaviour]
    method = written(behaviour, sequence)
    assert assertion in method
    comment, code = method.split("    @Test\n")
    assert comment.count("*/") == 1
    assert "\\u" not in method
    source_with(SHARE_PARTITION, method)
    assert '"\\"*/"' in code or "member" not in behaviour


def test_what_is_not_used_is_left_out() -> None:
    source = SHARE_PARTITION.source(
        "FoundTest", [written("counts deliveries from 0", HELD)], NEWEST
    )
    assert "countOf(long offset" in source
    for name in ("advanceClock", "answerNextWrites", "produceAborted", "TimerTask", "DLQ topic"):
        assert name not in source
    for name in re.findall(r"(?m)^import .*\.(\w+);$", source):
        assert len(re.findall(rf"\b{name}\b", source)) > 1


def test_an_acknowledge_type_that_does_not_exist_is_a_byte_with_one_answer() -> None:
    failing = Failing(len(HELD), "it fails")
    method = method_of(SHARE_PARTITION, CORES, failing, (*HELD, acknowledge(0, 0, 5)))
    assert "List.of((byte) 5)" in method
    assert "assertTrue(List.of(Errors.INVALID_REQUEST).contains(errorOf(answered))," in method


def test_equal_calls_in_a_row_are_a_loop() -> None:
    sequence, _ = CASES["never acquires anything"]
    method = written("never acquires anything", sequence)
    loop = "        for (int i = 0; i < 10; i++) {\n            fetch("
    assert loop in method
    assert method.count("fetch(") == 2


def test_one_for_an_older_release_has_its_signatures() -> None:
    method = written("counts deliveries from 0", HELD)
    source = SHARE_PARTITION.source("FoundTest", [method], "4.1.2")
    assert "ShareAcquireMode" in method
    assert "ShareAcquireMode" not in source
    assert "GroupConfigManager config = mock(" in source


NO_RENEWALS = attrs.evolve(BEGIN, config=SharePartitionConfig(renew_acknowledge_enable=False))


@pytest.mark.parametrize(
    ("begin", "reason"),
    [
        (BEGIN, "no assertion in Java is known for the rule NO_RECORD_LOST"),
        (NO_RENEWALS, "it needs a group in which renewals are switched off"),
    ],
)
def test_what_cannot_be_expressed_is_refused(begin: asks.Ask, reason: str) -> None:
    with pytest.raises(NoTestError, match=reason):
        written("skips the first record that it reads", (begin, *HELD[1:]))
