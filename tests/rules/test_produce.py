import pytest

from model.errors import InvalidValueError
from model.operations import Compact, Produce
from tests.rules.share_partition import apply, started, states
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


def test_compaction_takes_what_the_log_has() -> None:
    with pytest.raises(InvalidValueError, match="ranges is 10; "):
        apply(started(end=10), Compact(spans((8, 10))))
