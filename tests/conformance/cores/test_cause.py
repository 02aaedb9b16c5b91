"""Each classic mistake has one probable cause, whichever rule and operation shows it."""

from collections.abc import Sequence

import attrs
import pytest

from conformance.campaign import alone
from conformance.cores import asks, cause
from conformance.cores.kit import CORES
from conformance.cores.target import Reply, Request
from conformance.vectors.play import play_vectors
from conformance.vectors.source import cases
from judge.finding import Finding, FindingKind
from judge.view import snapshot
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.guards import Guard
from model.operations import (
    AcknowledgementBatch,
    AdvanceLogStart,
    CompleteWrite,
    MemberLeaves,
    Operation,
)
from model.outcome import Outcome
from model.profile import KAFKA, KIP
from model.snapshot import SharePartitionSnapshot
from model.states import AcquireMode
from model.trace import TraceEvent
from spec.partition import SharePartition, Step
from spec.record import ARCHIVED
from spec.window import replace
from tests.doubles.small_core import SmallCore
from tests.spec.worlds import run, started
from tools.promises.behaviour import Behaviour, Manner
from tools.promises.faces import core

CAUSES = {
    "gives the attempt back when a record is released": (cause.FAILS, "the delivery count is less"),
    "ignores the delivery limit of what is released": (
        cause.AT_LIMIT,
        "AVAILABLE instead of ARCHIVED",
    ),
    "ignores the delivery limit of what expires": (cause.AT_LIMIT, "AVAILABLE instead of ARCHIVED"),
    "acknowledges what is rejected": ("a record is rejected", "ACKNOWLEDGED instead of ARCHIVED"),
    "delivers gaps again": ("a gap is acknowledged", "AVAILABLE instead of ARCHIVED"),
    "lets a lock expire after half its duration": (
        "LOCK_LASTS_ITS_DURATION",
        "offset N holds no lock that is over",
    ),
    "keeps every lock that is due": ("LOCK_ENDS_ON_TIME", "the lock of offset N is due"),
    "moves the start offset past a record that is held": ("START_STOPS_AT_UNFINISHED", "ACQUIRED"),
    "writes the start offset to which its write moves it": (
        "WRITTEN_DELIVERY_COMPLETE_COUNT",
        "more",
    ),
    "keeps a change whose write failed": (cause.WRITE_FAILS, "the change stays"),
    "applies and writes the first batch of a refused request": (
        cause.REFUSED,
        "ACKNOWLEDGED instead of no change",
    ),
    "does not count redeliveries": (cause.ACQUIRED, "the delivery count is less"),
    "keeps the records of a member that leaves": (cause.FAILS, "nothing changes"),
}
"""The only cause of each; ``ANYBODY_ACKNOWLEDGES`` has two: it also gives another error."""

PLAYED = tuple(
    case
    for topic in ("limits", "lag", "acknowledging", "locks", "writes")
    for case in cases()[topic]
)


@pytest.mark.parametrize("kind", CAUSES)
def test_a_mistake_has_one_cause(kind: str) -> None:
    target = SmallCore(kind)
    faults = play_vectors(target, target.hello(), PLAYED).faults
    assert {fault.deviation.probable_cause for fault in faults} == {CAUSES[kind]}


def test_two_mistakes_in_one_rule_that_differ_in_their_difference_are_two_causes() -> None:
    target = SmallCore("delivers gaps again", "gives the attempt back when a record is released")
    faults = play_vectors(target, target.hello(), PLAYED).faults
    assert {fault.deviation.name for fault in faults} == {"WRITTEN_STATE"}
    assert {fault.deviation.probable_cause for fault in faults} == {
        CAUSES["delivers gaps again"],
        CAUSES["gives the attempt back when a record is released"],
    }


@pytest.mark.parametrize(("to", "below"), [(3, ", below the log"), (4, "")])
def test_a_start_offset_goes_back_below_the_log_or_not(to: int, below: str) -> None:
    rule, expected = Guard.START_NEVER_GOES_BACK.name, f"not allowed: from 5 to {to}"
    finding = Finding(0, "spec", FindingKind.GUARD, rule, "", "", expected, "", "")
    before = run(started(KIP, start=5), AdvanceLogStart(4))
    event = TraceEvent("g:t:0", 0, 0, MemberLeaves("m1"), Outcome(), snapshot(before))
    found = cause.cause_of(finding, event, before, Outcome())
    assert found == (rule, f"from N to N{below}")


def test_a_write_that_is_not_made_is_a_cause_of_its_own() -> None:
    class Silent(SmallCore):
        def apply(self, seq: int, operation: Request, answers: Sequence[ErrorCode]) -> Reply:
            return {**super().apply(seq, operation, answers), "writes": []}

    faults = play_vectors(Silent(), Silent().hello(), cases()["limits"]).faults
    assert {fault.deviation.probable_cause for fault in faults} == {
        (cause.WRITTEN, "it is not"),
        CAUSES["keeps every lock that is due"],
    }


def archives(_before: SharePartition, operation: Operation, step: Step) -> Step:
    """Archive what should go to the dead-letter queue when a write fails."""
    if not isinstance(operation, CompleteWrite):
        return step
    window = step.partition.window
    archived = {offset: attrs.evolve(r, state=ARCHIVED) for offset, r in window.records.items()}
    return attrs.evolve(
        step, partition=attrs.evolve(step.partition, window=replace(window, archived))
    )


SKIPPED = cause.WRITE_FAILS, "ARCHIVED instead of ARCHIVING"
STAYS = CAUSES["keeps a change whose write failed"]
UNEXPLAINED = "DELIVERY_COMPLETE_COUNT", "more"


@pytest.mark.parametrize(
    ("kinds", "complete", "expected"),
    [
        ((3, 0), 1, SKIPPED),
        ((0, 3), 1, SKIPPED),
        ((3, 1), 1, SKIPPED),
        ((3, 0), 2, SKIPPED),
        ((3, 0), 3, UNEXPLAINED),
        ((3, 3), 0, SKIPPED),
        ((3, 3), 1, UNEXPLAINED),
        ((0,), 1, SKIPPED),
    ],
)
def test_a_count_that_a_failed_write_keeps_follows_from_a_record_that_is_not_queued(
    kinds: tuple[int, ...], complete: int, expected: tuple[str, ...]
) -> None:
    def shows(partition: SharePartition, shown: SharePartitionSnapshot) -> SharePartitionSnapshot:
        is_over = partition.now and not partition.outstanding
        return attrs.evolve(shown, delivery_complete_count=complete) if is_over else shown

    skips = Behaviour("skips the queue", "", Manner.LAZY, ends=archives, shows=shows)
    assert cause_in(skips, kinds) == expected


def test_a_change_that_stays_although_its_write_failed_is_another_cause() -> None:
    def stays(before: SharePartition, operation: Operation, step: Step) -> Step:
        kept = isinstance(operation, CompleteWrite)
        partition = attrs.evolve(step.partition, window=before.window) if kept else step.partition
        return attrs.evolve(step, partition=partition)

    assert cause_in(Behaviour("stays", "", Manner.LAZY, ends=stays), (1,)) == STAYS


def cause_in(behaviour: Behaviour, kinds: tuple[int, ...]) -> tuple[str, ...]:
    """Return the cause where a write fails after the locks at the limit have ended."""
    config = SharePartitionConfig(1, 20, 100, dead_letter_queue=True)
    batches = tuple(AcknowledgementBatch(o, o, (kind,)) for o, kind in enumerate(kinds))
    sequence: tuple[asks.Ask, ...] = (
        asks.CoreTakeOver(config),
        asks.CoreProduce(((0, len(kinds)),)),
        asks.CoreFetch("m1", AcquireMode.BATCH_OPTIMIZED, 500, 500, 1),
        asks.CoreAcknowledge("m1", batches, (ErrorCode.PENDING,)),
        asks.CoreAdvanceTime(100),
        asks.CoreCompleteWrite(0, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    )
    (fault,) = alone(core(behaviour, KAFKA), sequence, CORES).faults
    return fault.deviation.probable_cause
