import attrs
import pytest

from replay.observed.durable import Durables
from replay.observed.known import Given, Known
from replay.observed.observation import Kind, Observation, Ranges
from replay.observed.record import Allowance
from replay.observed.settings import Settings
from replay.observed.verdict import DivergedError

ACCEPTED, RELEASED = ((0, 4, 2, 1),), ((0, 4, 0, 1),)
TIMED_OUT = 7


def seen(kind: Kind, time: float, start: int, ranges: Ranges = ()) -> Observation:
    return Observation(
        kind, "t", 0, "log", 1, time, time + 1, "g", start_offset=start, ranges=ranges
    )


def durables(*writes: Observation, allowed: frozenset[Allowance] = frozenset()) -> Durables:
    """Return what is durable after a group was initialized and wrote."""
    after = Durables(Known(Given(Settings()), {}, allowed), "")
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
