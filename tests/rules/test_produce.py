import pytest

from model.errors import InvalidValueError
from model.operations import Compact, Initialize, Produce
from model.profile import KIP
from model.snapshot import DurableState
from spec.step import new_partition
from tests.rules.share_partition import apply, run, started, states
from tests.spec.worlds import spans


def test_producing_shows_the_gaps_between_batches() -> None:
    step = apply(started(end=10), Produce(spans((12, 13), (16, 17)), 20))
    assert step.partition.log.holes == ((10, 11), (14, 15), (18, 19))
    assert (step.partition.log.end_offset, step.outcome.writes) == (20, ())
    assert states(step.partition) == ""
    assert apply(started(end=10), Produce((), 10)).partition == started(end=10)


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (Produce(spans((9, 12)), 13), "log_batches is 9; "),
        (Produce((), 9), "log_end_offset is 9; "),
        (Produce((), 10, 9), "last_stable_offset is 9; "),
    ],
)
def test_records_are_produced_at_the_end_of_the_log(operation: Produce, message: str) -> None:
    with pytest.raises(InvalidValueError, match=message):
        apply(started(end=10), operation)


def test_the_log_holds_what_was_produced() -> None:
    log = run(started(end=0), Produce(spans((0, 3), (5, 7)), 9)).log
    assert (log.batches, log.holes) == (((0, 3), (5, 7)), ((4, 4), (8, 8)))


def test_the_first_open_transaction_holds_the_last_stable_offset_back() -> None:
    log = run(started(end=0), Produce(spans((0, 3)), 4, 2), Produce(spans((4, 5)), 6, 2)).log
    assert (log.end_offset, log.stable_offset) == (6, 2)
    committed = run(started(end=0), Produce(spans((0, 3)), 4, 2), Produce((), 5)).log
    assert committed.stable_offset == 5


def test_compaction_takes_what_the_log_has() -> None:
    with pytest.raises(InvalidValueError, match="ranges is 10; "):
        apply(started(end=10), Compact(spans((8, 10))))


def test_a_new_leader_finds_the_log_as_it_was_produced() -> None:
    partition = run(started(end=0), Produce(spans((0, 9), (12, 19)), 20))
    again = Initialize(partition.config, 0, 15, DurableState(0, 0))
    log = apply(partition, again).partition.log
    assert (log.batches, log.holes) == (((0, 9), (12, 14)), ((10, 11),))
    assert new_partition(KIP).log.batches == ()
