"""What Kafka's consumer owes to its application is found, and what is excepted passes."""

import pytest

from conformance.cluster.rules import judge_history
from tests.conformance.cluster.written import ACCEPT, LOCK_MS, RENEW, Written, begun, broken


def lost_before(error: str) -> Written:
    """A consumer's former connection is lost between its request and the answer."""
    asked = begun().said(0, 1).add("acknowledges", batches=[[0, 1, ACCEPT]])
    return asked.left("is disconnected").add("acknowledged", error=error).told(0, 1)


FAULTS = {
    "polls return nothing of what was received": (
        Written().polled(9).received(0, 1).received(2, 2).after(15_000).polled(),
        [("POLLS_GO_ON", 1)],
    ),
    "polls throw, so that nothing is returned": (
        Written().received(3, 3).after(15_000).polled(error="IllegalStateException"),
        [("POLLS_GO_ON", 3)],
    ),
    "told of success where the leader refused": (
        begun().said(0, 1).acknowledged(1, [0, 1, ACCEPT], error="INVALID_RECORD_STATE").told(0, 1),
        [("TOLD_AS_ANSWERED", 0)],
    ),
    "told of success where the leader refused, over a second connection": (
        lost_before("INVALID_RECORD_STATE"),
        [("TOLD_AS_ANSWERED", 0)],
    ),
    "told of success a second time": (
        begun().acknowledged(1, [0, 4, ACCEPT]).said(0, 1).told(0).told(0).told(1),
        [("TOLD_AS_ANSWERED", 0)],
    ),
    "never told": (
        begun()
        .acknowledged(1, [0, 4, ACCEPT])
        .said(0, 4)
        .told(0, 1, 2)
        .after(15_000)
        .polled()
        .rest(5, 0, 5),
        [("TOLD_AS_ANSWERED", 3)],
    ),
}


EXCEPTIONS = {
    "all of one answer may be no record": Written().received(0, 4).after(15_000).polled(),
    "what came last with records that a poll returned may be none": (
        Written().received(0, 4).received(5, 9).polled(0, 1, 5).after(15_000).polled()
    ),
    "it asks over a connection, and the one before is gone": lost_before("NONE"),
    "a consumer that has ended is told nothing": (
        begun().acknowledged(1, [0, 4, ACCEPT]).said(0, 4).after(16_000).rest(5, 0, 5)
    ),
}


@pytest.mark.parametrize("epoch", [0, 1])
@pytest.mark.parametrize("again", [False, True])
def test_a_leader_that_has_moved_is_the_cause_of_an_untold_acknowledgement(
    *, epoch: int, again: bool
) -> None:
    history = (
        begun().said(0, 4).add("reads", id=9, leader_epoch=epoch).add("read", id=9, error="NONE")
    )
    if again:
        history = history.after(LOCK_MS).acquired([0, 4, 2], epoch=epoch)
    history = history.after(15_000).polled().rest(5, 0, 5)
    (finding,) = (e for e in judge_history(history.events()) if e.name == "TOLD_AS_ANSWERED")
    cause = "its leader has moved since" if epoch else "never told"
    assert finding.probable_cause == ("TOLD_AS_ANSWERED", cause)


_KEPT = "after a renewal that is never told, as its leader has moved since"


@pytest.mark.parametrize(
    ("kind", "epoch", "is_told", "last", "cause"),
    [
        (RENEW, 1, False, ACCEPT, (_KEPT,)),
        (RENEW, 1, False, RENEW, (_KEPT,)),
        (RENEW, 1, True, ACCEPT, ()),
        (RENEW, 1, True, RENEW, ("after a renewal",)),
        (RENEW, 0, False, ACCEPT, ()),
        (ACCEPT, 1, False, ACCEPT, ()),
    ],
)
def test_a_renewal_that_waits_for_a_leader_of_before_is_a_cause_of_its_own(
    *, kind: int, epoch: int, is_told: bool, last: int, cause: tuple[str, ...]
) -> None:
    history = begun().acquired([5, 5, 1]).polled(0, 5).said(0, 0, kind)
    history.add("reads", id=9, leader_epoch=epoch).add("read", id=9, error="NONE")
    history.told(0, error="NETWORK_EXCEPTION") if is_told else None
    history.said(5, 5, last).told(5, error="NETWORK_EXCEPTION")
    history.received(6, 6).received(7, 7).after(15_000).polled()
    (finding,) = judge_history(history.events())
    assert finding.probable_cause == ("POLLS_GO_ON", *cause)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(name: str) -> None:
    history, expected = FAULTS[name]
    assert broken(history) == expected
    places = {each.place.partition.rpartition(":")[2] for each in judge_history(history.events())}
    assert places == {"0"}


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_an_exception_is_let_pass(name: str) -> None:
    assert broken(EXCEPTIONS[name]) == []
