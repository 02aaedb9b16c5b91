"""Everything that is declared can be met, and nothing else is; what was not asked is not met."""

from collections import Counter
from typing import Any

import pytest

from conformance.campaign import Campaign, Limits, campaign, play
from conformance.cores import asks, generate
from conformance.cores.builtin import EngineTarget
from conformance.cores.exercised import exercised
from conformance.cores.kit import CORES
from conformance.cores.universe import Group, universe
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.operations import AcknowledgementBatch
from model.states import AcknowledgeType, AcquireMode
from tests.doubles.miniature import FaultKind, Miniature

SPEC = EngineTarget("spec")
CAN = SPEC.hello().capabilities

NEVER = {
    "records enter the window without being acquired": "the specification's policy takes them all",
    "never delivered → ARCHIVED: the log has lost it": "as above",
}
"""What the specification as a target never does: it is at an implementation's choice."""


FAILS = ErrorCode.COORDINATOR_NOT_AVAILABLE
WAITS = (ErrorCode.PENDING,)
EXPIRE, FAIL, TAKE_OVER = asks.AdvanceTime(100), asks.CompleteWrite(0, FAILS), object()
FETCH = asks.Fetch("m1", AcquireMode.RECORD_LIMIT, 500, 500, 5)
ONE = asks.Fetch("m1", AcquireMode.RECORD_LIMIT, 500, 1, 5)


def said(offset: int, kind: AcknowledgeType, *answers: ErrorCode) -> asks.Ask:
    return asks.Acknowledge("m1", (AcknowledgementBatch(offset, offset, (kind,)),), answers)


ACCEPT, RELEASE, REJECT, GAP = (
    said(0, kind, *WAITS)
    for kind in (
        AcknowledgeType.ACCEPT,
        AcknowledgeType.RELEASE,
        AcknowledgeType.REJECT,
        AcknowledgeType.GAP,
    )
)
RELEASED = said(0, AcknowledgeType.RELEASE)
AGAIN = (FETCH, RELEASED, FETCH)
"""Delivered, released, and delivered again."""

ARCHIVED_BEHIND = (
    asks.AdvanceTime(50),
    said(0, AcknowledgeType.RENEW),
    asks.AdvanceTime(50, (FAILS,)),
)
"""Offset 1 is archived by an expiry that is not durable, and offset 0 stays held before it."""

QUEUE = True
SELDOM = {
    "ACKNOWLEDGED pending → AVAILABLE: its write fails": (2, FETCH, ACCEPT, EXPIRE, FAIL),
    "ACKNOWLEDGED pending → ARCHIVED: its write fails": (1, FETCH, ACCEPT, EXPIRE, FAIL),
    "ACKNOWLEDGED pending → ARCHIVING: its write fails": (1, QUEUE, FETCH, ACCEPT, EXPIRE, FAIL),
    "ARCHIVED pending → AVAILABLE: its write fails": (2, FETCH, REJECT, EXPIRE, FAIL),
    "ARCHIVED pending → ARCHIVED: its write fails": (1, FETCH, REJECT, EXPIRE, FAIL),
    "ARCHIVED pending → ARCHIVING: its write fails": (1, QUEUE, FETCH, GAP, EXPIRE, FAIL),
    "ARCHIVING pending → AVAILABLE: its write fails": (2, QUEUE, FETCH, REJECT, EXPIRE, FAIL),
    "ARCHIVING pending → ARCHIVING: its write fails": (1, QUEUE, FETCH, REJECT, EXPIRE, FAIL),
    "AVAILABLE pending → ARCHIVED pending: the log has lost it": (
        3,
        FETCH,
        RELEASED,
        said(1, AcknowledgeType.RELEASE, *WAITS),
        asks.Compact(0),
        asks.Compact(0),
        asks.Produce(((0, 1),)),
        FETCH,
    ),
    "ARCHIVING pending → below the start offset: the log start offset passes": (
        1,
        QUEUE,
        FETCH,
        REJECT,
        asks.AdvanceLogStart(1),
    ),
    "ARCHIVED → never delivered: a new leader reads": (1, FETCH, *ARCHIVED_BEHIND, TAKE_OVER),
    "ARCHIVED → AVAILABLE: a new leader reads": (
        2,
        FETCH,
        said(1, AcknowledgeType.RELEASE),
        FETCH,
        *ARCHIVED_BEHIND,
        TAKE_OVER,
    ),
    "ARCHIVED → ARCHIVING: a new leader reads": (
        2,
        QUEUE,
        FETCH,
        said(1, AcknowledgeType.REJECT),
        asks.FinishDeadLetter(0, (FAILS,)),
        TAKE_OVER,
    ),
    "ARCHIVING → never delivered: a new leader reads": (
        1,
        QUEUE,
        FETCH,
        asks.AdvanceTime(100, (FAILS,)),
        TAKE_OVER,
    ),
    "ARCHIVING → AVAILABLE: a new leader reads": (
        2,
        QUEUE,
        *AGAIN,
        asks.AdvanceTime(100, (FAILS,)),
        TAKE_OVER,
    ),
    "ACKNOWLEDGED pending → never delivered: a new leader reads": (2, FETCH, ACCEPT, TAKE_OVER),
    "ACKNOWLEDGED pending → AVAILABLE: a new leader reads": (3, *AGAIN, ACCEPT, TAKE_OVER),
    "AVAILABLE pending → AVAILABLE: a new leader reads": (3, *AGAIN, RELEASE, TAKE_OVER),
    "ARCHIVED pending → never delivered: a new leader reads": (2, FETCH, REJECT, TAKE_OVER),
    "ARCHIVED pending → AVAILABLE: a new leader reads": (3, *AGAIN, REJECT, TAKE_OVER),
    "ARCHIVING pending → never delivered: a new leader reads": (
        2,
        QUEUE,
        FETCH,
        REJECT,
        TAKE_OVER,
    ),
    "ARCHIVING pending → AVAILABLE: a new leader reads": (3, QUEUE, *AGAIN, REJECT, TAKE_OVER),
    "the write of a dead letter is answered COORDINATOR_NOT_AVAILABLE": (
        2,
        QUEUE,
        FETCH,
        said(0, AcknowledgeType.REJECT),
        asks.FinishDeadLetter(0, (FAILS,)),
    ),
    "the write of a dead letter is answered FENCED_STATE_EPOCH": (
        2,
        QUEUE,
        FETCH,
        said(0, AcknowledgeType.REJECT),
        asks.FinishDeadLetter(0, (ErrorCode.FENCED_STATE_EPOCH,)),
    ),
}
"""What a short search may miss, each with steps that meet it.

First the delivery count limit, then whether there is a dead-letter queue, then the steps.
"""


def sequence(limit: object, *steps: object) -> list[asks.Ask]:
    assert isinstance(limit, int)
    config = SharePartitionConfig(limit, 8, 100, dead_letter_queue=QUEUE in steps)
    begin: asks.Ask = asks.TakeOver(config)
    rest = [begin if step is TAKE_OVER else step for step in steps if step is not QUEUE]
    return [begin, asks.Produce(((0, 1), (0, 1))), *rest]  # type: ignore[list-item] # only asks are left


@pytest.fixture(scope="module")
def searched() -> Campaign[Any]:
    return campaign(SPEC, Limits(seconds=600, sequences=200), CORES, seed=5)


@pytest.mark.slow
def test_a_search_meets_nearly_everything_there_is(searched: Campaign[Any]) -> None:
    missed = {item.name for item in exercised(searched.exercised, CAN).missed}
    assert missed <= SELDOM.keys() | NEVER.keys()
    assert missed >= NEVER.keys()


@pytest.mark.slow
def test_what_is_met_is_declared(searched: Campaign[Any]) -> None:
    assert searched.exercised.keys() <= {item.name for item in universe(CAN)}


@pytest.mark.parametrize("name", SELDOM)
def test_what_is_seldom_met_can_be(name: str) -> None:
    scene, _at, found = play(SPEC, SPEC.hello(), sequence(*SELDOM[name]), CORES)
    assert found is None
    assert scene.exercised[name] > 0


def test_what_need_not_happen_is_said_to_be_free() -> None:
    free = {item.name for item in universe(CAN) if item.free}
    assert free > NEVER.keys()


def test_what_is_not_asked_is_not_met(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(generate._ALWAYS, asks.Acknowledge)  # noqa: SLF001 - what a search is made of
    found = exercised(campaign(SPEC, Limits(sequences=15), CORES).exercised, CAN)
    missed = {item.name for item in found.missed}
    assert {"acknowledge is answered NONE", "ACKNOWLEDGEMENT_JUDGED"} <= missed
    assert "acquire is answered NONE" not in missed


def test_what_an_implementation_cannot_do_is_skipped_with_the_reason() -> None:
    target = Miniature()
    searched = campaign(target, Limits(sequences=10), CORES)
    found = exercised(searched.exercised, target.hello().capabilities)
    reasons = {item.name: reason for item, reason in found.skipped}
    assert reasons["DEAD_LETTER_IS_ARCHIVING"] == "it cannot: dead_letter_queue"
    assert not reasons.keys() & {item.name for item in found.missed}


def test_totals_leave_out_what_is_skipped() -> None:
    found = exercised(Counter({"acquire is answered NONE": 3}), CAN)
    totals = {group: (met, of) for group, met, of in found.totals()}
    assert totals[Group.ANSWER][0] == 1
    assert totals[Group.RULE][0] == 3
    number = sum(of for _met, of in totals.values())
    assert number == len(universe(CAN)) - len(found.skipped)


def test_an_operation_that_deviates_is_not_counted() -> None:
    wide = Miniature(FaultKind.WINDOW_HAS_NO_LIMIT)
    steps = [*sequence(2, ONE), asks.Produce(((0, 20),)), FETCH]
    scene, _at, found = play(wide, wide.hello(), steps, CORES)
    assert found is not None
    assert scene.exercised["acquire is answered NONE"] == 1
    assert scene.exercised["a fetch is stopped by its maximum of records"] == 1
