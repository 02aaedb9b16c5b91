import attrs
import pytest

from impl.partition import FastSharePartition
from model.config import SharePartitionConfig
from model.errors import IllegalChoiceError
from model.guards import Guard
from model.operations import AdvanceTime, Expire, Initialize, Produce
from model.outcome import Choice
from model.profile import KAFKA, Profile
from model.snapshot import DurableState
from tests.impl.scenario import RENEW, ack, fetch, ranges, shown, wait

SWEEP = KAFKA.sweep_ms


def clocked(profile: Profile = KAFKA) -> FastSharePartition:
    """Return a share-partition under a real clock; a holds 0 to 4 until 10, b 5 until 13."""
    made = FastSharePartition(profile)
    config = SharePartitionConfig(record_lock_duration_ms=10)
    made.apply(Initialize(config, 0, 0, DurableState(0, 0), timed=True))
    made.apply(Produce(ranges((0, 4), (5, 9)), 10))
    fetch(made, "a", (0, 4))
    wait(made, 3)
    fetch(made, "b", (5, 9), limit=1, choice=Choice(acquired=ranges((5, 5))))
    return made


def test_a_real_clock_moves_and_ends_nothing() -> None:
    made = clocked()
    assert wait(made, SWEEP + 7).writes == ()
    assert shown(made) == "0-4:Q1a 5-5:Q1b"


def test_a_lock_that_no_timer_ends_is_refused_after_the_sweep() -> None:
    made = clocked()
    with pytest.raises(IllegalChoiceError, match="LOCK_ENDS_ON_TIME: at 0"):
        wait(made, SWEEP + 8)
    wait(made, SWEEP + 7)
    made.apply(Expire(ranges((0, 4))))
    wait(made, 3)
    with pytest.raises(IllegalChoiceError, match="LOCK_ENDS_ON_TIME: at 5"):
        wait(made, 1)


@pytest.mark.parametrize(
    ("claim", "guard"),
    [
        (12, Guard.LOCK_LASTS_ITS_DURATION),
        (13, None),
        (15, None),
        (17, None),
        (18, Guard.LOCK_ENDS_ON_TIME),
    ],
)
def test_a_claim_lies_between_the_event_before_and_now(claim: int, guard: Guard | None) -> None:
    made = clocked()
    wait(made, 4)
    choice = Choice(acquired=ranges((6, 6)), deadline_ms=claim)
    renew = Choice(deadline_ms=claim)
    if guard is None:
        assert ack(made, "b", (5, 5, RENEW), choice=renew).deadline_ms == claim
        wait(made, claim - 7)
        made.apply(Expire(ranges((0, 4), (5, 5))))
        return
    with pytest.raises(IllegalChoiceError, match=guard.name):
        fetch(made, "a", (5, 9), limit=1, choice=choice)
    with pytest.raises(IllegalChoiceError, match=guard.name):
        ack(made, "b", (5, 5, RENEW), choice=renew)


def test_time_that_only_passes_is_no_event() -> None:
    made = clocked()
    for _ in range(2):
        made.apply(AdvanceTime(2))
    choice = Choice(acquired=ranges((6, 6)), deadline_ms=13)
    assert fetch(made, "a", (5, 9), limit=1, choice=choice).deadline_ms == 13


def test_a_claim_of_long_ago_shortens_no_lock() -> None:
    made = clocked(attrs.evolve(KAFKA, grant_ms=2))
    wait(made, 9)
    ack(made, "b", (5, 5, RENEW), choice=Choice(deadline_ms=13))
    wait(made, 7)
    with pytest.raises(IllegalChoiceError, match="LOCK_LASTS_ITS_DURATION: at 5"):
        made.apply(Expire(ranges((5, 5))))
    wait(made, 1)
    made.apply(Expire(ranges((5, 5))))
