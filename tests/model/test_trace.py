import pytest

from model.errors import InvalidValueError
from model.operations import Release
from model.outcome import Outcome
from model.snapshot import SharePartitionSnapshot
from model.trace import TraceEvent

AFTER = SharePartitionSnapshot(0, 0, 0)


def test_an_event_starts_at_zero() -> None:
    event = TraceEvent("g:t:0", 0, 0, Release("c"), Outcome(), AFTER)
    assert (event.partition, event.seq, event.time_ms) == ("g:t:0", 0, 0)


@pytest.mark.parametrize(
    ("partition", "seq", "time_ms", "name"),
    [("", 0, 0, "partition"), ("g:t:0", -1, 0, "seq"), ("g:t:0", 0, -1, "time_ms")],
)
def test_an_event_that_cannot_be_is_refused(
    partition: str, seq: int, time_ms: int, name: str
) -> None:
    with pytest.raises(InvalidValueError, match=f"^{name} is "):
        TraceEvent(partition, seq, time_ms, Release("c"), Outcome(), AFTER)
