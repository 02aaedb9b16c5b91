import attrs
import pytest

from model.config import IsolationLevel
from model.guards import Guard
from model.operations import Acquire, AlterConfig, Compact, Initialize, Produce
from model.outcome import Choice
from model.profile import KIP, Profile
from model.snapshot import DurableState
from spec.partition import SharePartition
from spec.step import new_partition
from tests.rules.share_partition import apply, refusal, run, started
from tests.spec.worlds import BOTH, SMALL, fetch, spans, taken

WIDE = attrs.evolve(SMALL, partition_max_record_locks=100)
NOTHING = Choice(acquired=())


def produced(profile: Profile = KIP) -> SharePartition:
    """Three log batches of ten records each."""
    log = Produce(spans((0, 9), (10, 19), (20, 29)), 30)
    return run(started(profile, end=0, config=WIDE), log)


@BOTH
@pytest.mark.parametrize(
    ("read", "lost"),
    [
        (fetch("c1", (20, 29), at=0), 0),
        (fetch("c1", (0, 9), (20, 29)), 10),
        (fetch("c1", (7, 9), at=2), 2),
    ],
)
def test_a_read_skips_no_record_that_was_produced(
    profile: Profile, read: Acquire, lost: int
) -> None:
    assert refusal(produced(profile), read, NOTHING) == (
        Guard.NO_RECORD_LOST,
        lost,
    )


@BOTH
def test_a_read_may_skip_what_compaction_took(profile: Profile) -> None:
    partition = run(produced(profile), Compact(spans((0, 19))))
    step = apply(partition, fetch("c1", (20, 29), at=0))
    assert taken(step.outcome) == [(20, 29, 1)]
    assert step.partition.window.start_offset == 20


@BOTH
def test_a_read_of_committed_records_ends_where_the_first_open_transaction_begins(
    profile: Profile,
) -> None:
    open_at_12 = Produce(spans((0, 9), (10, 11), (12, 19)), 20, 12)
    partition = run(started(profile, end=0, config=WIDE), open_at_12)
    read = fetch("c1", (0, 9), (10, 11), (12, 19))
    assert taken(apply(partition, read).outcome) == [(0, 19, 1)]
    committed = attrs.evolve(WIDE, isolation_level=IsolationLevel.READ_COMMITTED)
    partition = run(partition, AlterConfig(committed))
    guard, detail = refusal(partition, read, NOTHING)
    assert guard is Guard.WITHIN_READABLE_LOG
    assert detail == 12
    ended = run(partition, Produce((), 21))
    assert taken(apply(ended, read).outcome) == [(0, 19, 1)]


def test_of_a_log_that_nobody_describes_a_read_is_believed() -> None:
    unknown = Initialize(WIDE, 0, 5, DurableState(0, 0), log_known=False)
    partition = apply(new_partition(KIP), unknown).partition
    step = apply(partition, fetch("c1", (20, 29), at=0))
    assert taken(step.outcome) == [(20, 29, 1)]
    assert (step.partition.log.end_offset, step.partition.log.holes) == (30, ((0, 19),))


@BOTH
def test_what_lies_below_the_log_start_is_not_in_the_log(profile: Profile) -> None:
    late = Initialize(WIDE, 3, 30, DurableState(0, 0))
    partition = apply(new_partition(profile), late).partition
    for begin in (0, 2, 3):
        step = apply(partition, fetch("c1", (3, 9), at=begin))
        assert taken(step.outcome) == [(3, 9, 1)]
        assert step.partition.window.start_offset == 3
