import attrs
import pytest

from model.states import AcknowledgeType
from replay.observed.durable import Durables
from replay.observed.judge import ObservationJudge
from replay.observed.known import Known, Premises
from replay.observed.observation import Kind, Lapse, Observation, Ranges
from replay.observed.record import Allowance
from replay.observed.settings import Assumed
from replay.observed.verdict import DivergedError, ObservedVerdict
from replay.verdict import Verdict

ACCEPTED, RELEASED = ((0, 4, 2, 1),), ((0, 4, 0, 1),)
TIMED_OUT = 7


def seen(kind: Kind, time: float, start: int, ranges: Ranges = ()) -> Observation:
    return Observation(
        kind, "t", 0, "log", 1, time, time + 1, "g", start_offset=start, ranges=ranges
    )


def durables(*writes: Observation, allowed: frozenset[Allowance] = frozenset()) -> Durables:
    """Return what is durable after a group was initialized and wrote."""
    after = Durables(Known(Premises(Assumed()), {}, allowed), "")
    after.take(attrs.evolve(seen(Kind.INITIALIZE, 0, 0), state_epoch=1))
    for each in writes:
        after.wrote(each)
    return after


@pytest.mark.parametrize("status", [TIMED_OUT, None], ids=["an error", "no answer"])
@pytest.mark.parametrize(
    ("start", "ranges"), [(0, RELEASED), (0, ACCEPTED), (5, ()), (5, RELEASED)]
)
def test_a_write_that_was_not_accepted_may_be_durable(
    status: int | None, start: int, ranges: Ranges
) -> None:
    first = seen(Kind.WRITE, 100, 0, RELEASED)
    second = attrs.evolve(seen(Kind.WRITE, 200, 5, ACCEPTED), status=status)
    durables(first, second).take(seen(Kind.READ, 900, start, ranges if start == 0 else ()))


@pytest.mark.parametrize(("start", "ranges"), [(0, ()), (3, ACCEPTED), (0, ((0, 4, 4, 1),))])
def test_what_is_read_is_one_of_what_may_be_durable(start: int, ranges: Ranges) -> None:
    first = seen(Kind.WRITE, 100, 0, RELEASED)
    second = attrs.evolve(seen(Kind.WRITE, 200, 5, ACCEPTED), status=TIMED_OUT)
    with pytest.raises(DivergedError, match="is read"):
        durables(first, second).take(seen(Kind.READ, 900, start, ranges))


def test_a_read_settles_what_may_be_durable() -> None:
    failed = attrs.evolve(seen(Kind.WRITE, 200, 0, ACCEPTED), status=TIMED_OUT)
    after = durables(failed)
    after.take(seen(Kind.READ, 900, 0, ACCEPTED))
    with pytest.raises(DivergedError):
        after.take(seen(Kind.READ, 1900, 0))


def test_where_writes_are_missing_more_may_be_durable_and_not_less() -> None:
    allowed = frozenset({Allowance.LAST_WRITES})
    durables(seen(Kind.WRITE, 100, 0, RELEASED), allowed=allowed).take(
        seen(Kind.READ, 900, 0, ((0, 4, 2, 2),))
    )
    with pytest.raises(DivergedError):
        durables(seen(Kind.WRITE, 100, 0, ACCEPTED), allowed=allowed).take(seen(Kind.READ, 900, 0))


def judged(*requests: Observation) -> ObservedVerdict:
    return ObservationJudge("g:t:0", requests, Premises(Assumed()), ()).verdict()


def after_a_change(write_ms: float, status: int = 0) -> tuple[Observation, ...]:
    """m1 holds 0 to 4 of leader epoch 3, leader epoch 4 reads at 2000, and epoch 3 writes."""
    acquired = attrs.evolve(seen(Kind.ACQUIRE, 100, 0, ((0, 4, 1),)), member="m1", lock_ms=30_000)
    read = attrs.evolve(seen(Kind.READ, 2000, 0), leader_epoch=4)
    write = seen(Kind.WRITE, write_ms, 0, ACCEPTED)
    first = attrs.evolve(seen(Kind.READ, 50, 0), leader_epoch=3)
    return first, acquired, read, attrs.evolve(write, leader_epoch=3, status=status)


@pytest.mark.parametrize("write_ms", [1999, 2000, 2100])
def test_a_write_of_a_former_leader_says_nothing_of_what_the_next_one_knows(
    write_ms: float,
) -> None:
    of_former = after_a_change(write_ms)
    assert judged(*of_former).verdict is Verdict.CONFORMS
    of_next = (*of_former[:-1], attrs.evolve(of_former[-1], leader_epoch=4))
    assert judged(*of_next).divergence is not None


def test_a_write_of_a_former_leader_is_fenced_once_the_next_one_has_read() -> None:
    divergence = judged(*after_a_change(4000)).divergence
    assert divergence is not None
    assert (divergence.name, divergence.recorded) == (
        "STATUS",
        "a write of leader epoch 3 is answered NONE; leader epoch 4 had read before",
    )
    assert judged(*after_a_change(4000, status=74)).divergence is None
    elsewhere = [attrs.evolve(each, state_epoch=i) for i, each in enumerate(after_a_change(4000))]
    assert getattr(judged(*elsewhere).divergence, "name", None) == "WRITTEN_STATE"


@pytest.mark.parametrize(
    ("asks_ms", "gets_ms", "rule"),
    [(1500, 2000, None), (1700, 2000, None), (9000, 9001, "ONLY_AVAILABLE_IS_ACQUIRED")],
)
def test_what_the_leader_of_before_gave_while_clocks_differ_is_its_own(
    asks_ms: float, gets_ms: float, rule: str | None
) -> None:
    """m2 waits for what m1 holds and accepts it; the next leader, by another clock, reads so."""
    accepted, released = (
        (0, 4, int(kind)) for kind in (AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE)
    )
    taken = attrs.evolve(seen(Kind.ACQUIRE, 100, 0, ((0, 4, 1),)), lock_ms=30_000)
    waits = attrs.evolve(taken, begin=asks_ms, end=gets_ms, ranges=((0, 4, 2),))
    read = seen(Kind.READ, 2700, 0, ((0, 4, 2, 2),))
    requests = (
        attrs.evolve(seen(Kind.READ, 50, 0), leader_epoch=3),
        attrs.evolve(taken, member="m1"),
        attrs.evolve(waits, member="m2"),
        attrs.evolve(seen(Kind.ACKNOWLEDGE, 1950, 0, (released,)), member="m1"),
        attrs.evolve(seen(Kind.WRITE, 1952, 0, RELEASED), leader_epoch=3),
        attrs.evolve(seen(Kind.ACKNOWLEDGE, gets_ms + 10, 0, (accepted,)), member="m2"),
        attrs.evolve(seen(Kind.WRITE, 2012, 0, ((0, 4, 2, 2),)), leader_epoch=3),
        attrs.evolve(read, leader_epoch=4, broker="3"),
    )
    assert getattr(judged(*requests).divergence, "name", None) == rule


@pytest.mark.parametrize(
    ("read_ms", "is_written", "rule"),
    [
        (4700, True, None),
        (9000, True, None),
        (4700, False, None),
        (9000, False, "COMPLETED"),
    ],
)
def test_an_answer_before_its_write_is_none_where_the_next_leader_may_have_read(
    read_ms: float, rule: str | None, *, is_written: bool
) -> None:
    """The coordinator's clock may be 1 s off: who reads at 4700 may have read at 3700, in a gap."""
    accepted = (0, 4, int(AcknowledgeType.ACCEPT))
    first, acquired, read, write = after_a_change(4005)
    requests = (
        first,
        attrs.evolve(acquired, begin=3950, end=3960),
        attrs.evolve(seen(Kind.ACKNOWLEDGE, 4000, 0, (accepted,)), end=4020, member="m1"),
        *((attrs.evolve(write, broker="3"),) if is_written else ()),
        attrs.evolve(
            read,
            begin=read_ms,
            end=read_ms + 5,
            broker="3",
            ranges=ACCEPTED if is_written else (),
        ),
    )
    given = Premises(Assumed(), writes_seen=True, since=0, until=60_000)
    gaps = (Lapse("", 3000, 3800, "no line for 0.8 s"),)
    divergence = ObservationJudge("g:t:0", requests, given, gaps).verdict().divergence
    assert getattr(divergence, "name", None) == rule
