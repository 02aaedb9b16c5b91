import attrs
import pytest
import z3
from hypothesis import given
from hypothesis import strategies as st

from model.config import IsolationLevel
from model.errors import ErrorCode
from model.operations import (
    AdvanceLogStart,
    AdvanceTime,
    Initialize,
    MemberLeaves,
    Produce,
    ResetOffset,
)
from model.outcome import Answer, Choice
from model.profile import KAFKA, KIP, LAG_RESOLVED, Profile
from model.snapshot import DurableState
from spec.lag import durable_lag, share_partition_lag
from spec.log import readable_end
from spec.partition import SharePartition, new_partition
from tests.rules.share_partition import apply, durable, lag, run, started
from tests.spec.worlds import SMALL, acknowledgement, fetch, spans

SIZES = st.integers(0, 1000)


@given(SIZES, SIZES, SIZES)
def test_the_formula_is_that_of_kip_1226(highest: int, start: int, processed: int) -> None:
    expected = highest - start + 1 - processed
    assert share_partition_lag(highest + 1, start, processed) == expected
    end, first, complete = z3.Ints("end first complete")
    given_values = [(end, highest + 1), (first, start), (complete, processed)]
    term = z3.substitute(
        share_partition_lag(end, first, complete),
        *((name, z3.IntVal(value)) for name, value in given_values),
    )
    assert z3.simplify(term).as_long() == expected


@pytest.mark.parametrize("state", [DurableState(-1, 0), DurableState(5, -1), DurableState(-1, -1)])
def test_an_unknown_lag_is_none(state: DurableState) -> None:
    assert durable_lag(100, state) is None


def test_a_durable_lag_counts_from_the_durable_start_offset() -> None:
    assert durable_lag(100, DurableState(0, 0)) == 100
    assert durable_lag(100, DurableState(90, 4)) == 6


def test_the_lag_of_a_start_offset_beyond_the_end_of_the_log_is_not_known() -> None:
    assert durable_lag(3, DurableState(5, 0)) is None
    assert durable_lag(3, DurableState(3, 1)) is None
    assert durable_lag(5, DurableState(5, 0)) == 0
    partition = run(started(end=3), ResetOffset(5))
    assert durable_lag(partition.log.end_offset, durable(partition)) is None
    partition = run(partition, Produce(spans((3, 6)), 7))
    assert durable_lag(partition.log.end_offset, durable(partition)) == lag(partition) == 2


def test_the_end_of_the_log_is_read_uncommitted() -> None:
    committed = attrs.evolve(SMALL, isolation_level=IsolationLevel.READ_COMMITTED)
    operation = Initialize(committed, 0, 10, DurableState(0, 0), last_stable_offset=4)
    partition = apply(new_partition(KIP), operation).partition
    assert readable_end(partition.log, committed.isolation_level) == 4
    assert lag(partition) == 10
    assert durable_lag(partition.log.end_offset, durable(partition)) == 10


def test_the_lag_follows_the_states_of_records() -> None:
    partition = run(started(end=10), fetch("c1", (0, 4)))
    lags = [lag(partition)]
    for operation in (
        acknowledgement("c1", (4, 4, 4)),
        acknowledgement("c1", (3, 3, 2)),
        acknowledgement("c1", (2, 2, 1)),
        acknowledgement("c1", (1, 1, 3)),
        acknowledgement("c1", (0, 0, 0)),
        MemberLeaves("c1"),
        AdvanceLogStart(5),
        AdvanceLogStart(9),
        ResetOffset(2),
    ):
        partition = apply(partition, operation).partition
        lags.append(lag(partition))
    assert lags == [10, 10, 10, 9, 8, 7, 7, 5, 1, 8]


def test_a_write_that_fails_gives_the_lag_back() -> None:
    partition = run(started(end=10), fetch("c1", (0, 4)))
    accept = acknowledgement("c1", (0, 4, 1))
    waiting = apply(partition, accept, answers=[Answer(ErrorCode.PENDING)]).partition
    failed = apply(partition, accept, answers=[Answer(ErrorCode.NOT_COORDINATOR)]).partition
    assert (lag(waiting), lag(failed), lag(run(partition, accept))) == (5, 10, 5)


@pytest.mark.parametrize("profile", [KIP, KAFKA], ids=lambda profile: profile.name)
def test_natural_gaps_are_lag_until_the_start_offset_passes_them(profile: Profile) -> None:
    partition = run(started(profile, end=10), fetch("c1", (0, 2)), fetch("c1", (7, 9), at=3))
    kept = Choice(start_offset=0)
    partition = apply(partition, acknowledgement("c1", (0, 9, 1)), kept).partition
    assert durable_lag(10, durable(partition)) == lag(partition) == 4
    assert lag(run(partition, Produce((), 10))) == 0


@pytest.mark.parametrize("profile", [KIP, KAFKA], ids=lambda profile: profile.name)
def test_an_offset_acknowledged_as_a_gap_leaves_the_lag(profile: Profile) -> None:
    partition = run(started(profile, end=10), fetch("c1", (0, 4)))
    compacted = run(partition, fetch("c2", (5, 6), at=0))
    assert lag(compacted) == 10
    assert lag(run(compacted, acknowledgement("c1", (2, 3, 0)))) == 8


READERS = pytest.mark.parametrize(
    ("profile", "reported"), [(KIP, 0), (KAFKA, 0), (LAG_RESOLVED, 1)], ids=lambda p: str(p)[:20]
)


def taken_over(partition: SharePartition) -> SharePartition:
    """The share-partition after a leader of the next epoch has read what is durable."""
    persisted = attrs.evolve(durable(partition), leader_epoch=1)
    return run(partition, Initialize(SMALL, 0, partition.log.end_offset, persisted))


def first_write_lost(profile: Profile) -> SharePartition:
    """c1 accepts 0, whose write is never applied, then 1, whose write is; the leader changes."""
    partition = run(started(profile, end=2), fetch("c1", (0, 1)))
    waiting = [Answer(ErrorCode.PENDING)]
    partition = apply(partition, acknowledgement("c1", (0, 0, 1)), answers=waiting).partition
    return taken_over(run(partition, acknowledgement("c1", (1, 1, 1))))


@READERS
def test_the_reported_lag_stays_too_low_until_a_write_has_a_later_start_offset(
    profile: Profile, reported: int
) -> None:
    partition = run(first_write_lost(profile), fetch("c1", (0, 1)))
    released = run(partition, acknowledgement("c1", (0, 0, 2)))
    again = taken_over(taken_over(run(released, AdvanceTime(10**6))))
    assert (lag(again), durable_lag(2, durable(again))) == (1, reported)
    longer = run(released, Produce(spans((2, 2)), 3), fetch("c1", (0, 1), (2, 2)))
    mended = run(longer, acknowledgement("c1", (0, 0, 1)), acknowledgement("c1", (2, 2, 1)))
    assert lag(mended) == durable_lag(3, durable(mended)) == 0


def test_a_coordinator_that_counts_reports_what_was_archived_without_a_write() -> None:
    for profile, reported in ((KIP, 0), (LAG_RESOLVED, 1)):
        released = run(
            started(profile, end=3), fetch("c1", (0, 2)), acknowledgement("c1", (1, 1, 2))
        )
        compacted = run(released, fetch("c1", (2, 2), at=1))
        done = run(compacted, acknowledgement("c1", (0, 0, 1), (2, 2, 1)))
        assert lag(done) == 0
        assert durable_lag(3, durable(done)) == reported
