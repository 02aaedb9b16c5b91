import attrs
import pytest

from model import operations as ops
from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.outcome import Answer, Outcome
from model.profile import DRAFT_RESOLVED, KAFKA, Profile
from model.ranges import OffsetRange
from model.snapshot import DurableState, SharePartitionSnapshot
from model.states import RecordState
from model.trace import TraceEvent
from operations.in_flight import Holds, InFlight, Query, in_flight
from spec.step import apply, new_partition
from tests.spec.worlds import acknowledgement, fetch

START = ops.Initialize(SharePartitionConfig(), 0, 0, DurableState(0, 0))
PENDING = (Answer(ErrorCode.PENDING),)


class World:
    """A share-partition of ten records, followed as a trace of it would be."""

    def __init__(self, profile: Profile = KAFKA) -> None:
        self.state = new_partition(profile)
        self.holds = Holds()
        self.do(START)
        self.do(ops.Produce((OffsetRange(0, 9),), 10))

    def do(self, operation: ops.Operation, answers: tuple[Answer, ...] = ()) -> None:
        step = apply(self.state, operation, answers=answers)
        self.state = step.partition
        seen = SharePartitionSnapshot(0, 0, 0)
        event = TraceEvent("p", 0, self.state.now, operation, Outcome(), seen)
        self.holds(event, step.outcome, self.state)

    def acquire(self, member: str, first: int, last: int) -> None:
        self.do(fetch(member, (first, last)))

    def acknowledge(self, kind: int, first: int, last: int, *answers: Answer) -> None:
        self.do(acknowledgement("m1", (first, last, kind)), answers)

    def seen(self, query: Query = Query()) -> list[InFlight]:  # noqa: B008 - cannot change
        return in_flight(self.state, self.holds.of, query)


def brief(records: list[InFlight]) -> list[tuple[object, ...]]:
    """Return what is said of each run but its state."""
    return [(r.first, r.last, r.member, r.held_ms, r.progress_age_ms, r.stale) for r in records]


def test_a_record_is_held_since_its_acquisition_and_a_renewal_is_progress() -> None:
    world = World()
    world.acquire("m1", 0, 4)
    world.do(ops.AdvanceTime(2000))
    world.acquire("m2", 5, 9)
    world.acknowledge(4, 1, 2)
    world.do(ops.AdvanceTime(3000))
    assert brief(world.seen()) == [
        (0, 0, "m1", 5000, 5000, False),
        (1, 2, "m1", 5000, 3000, False),
        (3, 4, "m1", 5000, 5000, False),
        (5, 9, "m2", 3000, 3000, False),
    ]


def test_a_renewal_is_progress_though_the_lock_ends_when_it_did() -> None:
    world = World()
    world.acquire("m1", 0, 1)
    world.do(ops.AlterConfig(attrs.evolve(START.config, record_lock_duration_ms=20_000)))
    world.do(ops.AdvanceTime(10_000))
    world.acknowledge(4, 0, 0)
    assert brief(world.seen()) == [
        (0, 0, "m1", 10_000, 0, False),
        (1, 1, "m1", 10_000, 10_000, False),
    ]


def test_a_mark_is_progress_and_a_record_is_stale_from_the_threshold_on() -> None:
    world = World(DRAFT_RESOLVED)
    world.acquire("m1", 0, 4)
    world.do(ops.AdvanceTime(20_000))
    world.do(ops.MarkInProgress("m1", (ops.ProgressBatch(0, 1, 0, 0),)))
    world.do(ops.AdvanceTime(5000))
    assert brief(world.seen()) == [
        (0, 1, "m1", 25_000, 5000, False),
        (2, 4, "m1", 25_000, 25_000, False),
    ]
    only = Query(only_state=RecordState.IN_PROGRESS)
    assert [(record.first, record.last) for record in world.seen(only)] == [(0, 1)]
    for threshold, stale in ((5000, True), (5001, False)):
        config = attrs.evolve(START.config, in_progress_staleness_threshold_ms=threshold)
        world.state = attrs.evolve(world.state, config=config)
        assert world.seen()[0].stale is stale


def test_a_refused_renewal_is_no_progress() -> None:
    world = World()
    world.acquire("m1", 0, 4)
    world.acquire("m2", 5, 9)
    world.do(ops.AdvanceTime(2000))
    world.acknowledge(4, 0, 9)
    assert brief(world.seen()) == [(0, 4, "m1", 2000, 0, False), (5, 9, "m2", 2000, 2000, False)]


def test_a_record_nobody_holds_has_no_age_and_a_rollback_restores_it() -> None:
    world = World()
    world.acquire("m1", 0, 9)
    world.do(ops.AdvanceTime(1000))
    world.acknowledge(1, 0, 3, *PENDING)
    assert brief(world.seen()) == [(0, 3, None, None, None, False), (4, 9, "m1", 1000, 1000, False)]
    first = world.seen()[0]
    assert (first.state, first.pending) == (RecordState.ACKNOWLEDGED, True)
    other = World()
    other.acquire("m1", 0, 9)
    other.do(ops.AdvanceTime(2000))
    other.acknowledge(1, 0, 3, Answer(ErrorCode.COORDINATOR_NOT_AVAILABLE))
    assert brief(other.seen()) == [(0, 9, "m1", 2000, 2000, False)]


def test_a_new_delivery_restarts_the_ages_and_a_new_leader_has_none() -> None:
    world = World()
    world.acquire("m1", 0, 9)
    world.do(ops.AdvanceTime(1000))
    world.do(ops.MemberLeaves("m1"))
    assert brief(world.seen()) == [(0, 9, None, None, None, False)]
    world.acquire("m2", 0, 9)
    world.do(ops.AdvanceTime(10))
    assert brief(world.seen()) == [(0, 9, "m2", 10, 10, False)]
    world.do(attrs.evolve(START, log_end_offset=10))
    assert world.seen() == []
    assert world.holds.of == {}


@pytest.mark.parametrize(
    ("query", "offsets"),
    [
        (Query(), [(0, 1), (2, 3), (4, 7), (8, 9)]),
        (Query(held_longer_than_ms=4999), [(0, 1), (2, 3)]),
        (Query(held_longer_than_ms=5000), []),
        (Query(progress_stale_longer_than_ms=1999), [(0, 1), (4, 7)]),
        (Query(progress_stale_longer_than_ms=2000), [(0, 1)]),
        (Query(only_state=RecordState.AVAILABLE), [(8, 9)]),
        (Query(only_state=RecordState.ACQUIRED, held_longer_than_ms=2000), [(0, 1), (2, 3)]),
    ],
    ids=str,
)
def test_a_query_shows_what_it_asks_for(query: Query, offsets: list[tuple[int, int]]) -> None:
    world = World()
    world.acquire("m1", 0, 3)
    world.do(ops.AdvanceTime(3000))
    world.acquire("m1", 4, 9)
    world.acknowledge(2, 8, 9)
    world.do(ops.AdvanceTime(1000))
    world.acknowledge(4, 2, 3)
    world.do(ops.AdvanceTime(1000))
    found = world.seen(query)
    assert [(record.first, record.last) for record in found] == offsets
    stale = query.progress_stale_longer_than_ms is not None
    assert all(record.stale is stale for record in found)


def test_deliveries_below_the_start_offset_are_dropped() -> None:
    world = World()
    world.acquire("m1", 0, 4)
    world.acknowledge(1, 0, 2)
    world.acquire("m1", 5, 6)
    assert sorted(world.holds.of) == [3, 4, 5, 6]
