import attrs
import pytest

from model.outcome import Answer, Write
from model.ranges import StateBatch
from model.states import RecordState
from spec.writes import as_written

OURS = Write(3, 5, 2, (StateBatch(5, 9, RecordState.ACKNOWLEDGED, 1),))
THEIRS = (
    StateBatch(5, 6, RecordState.ACKNOWLEDGED, 1),
    StateBatch(7, 9, RecordState.ACKNOWLEDGED, 1),
)
SEEN = Write(8, 4, 7, THEIRS)


@pytest.mark.parametrize(
    ("answer", "start_offset", "complete_count", "batches"),
    [
        (Answer(), 5, 2, OURS.state_batches),
        (Answer(written=SEEN), 4, 7, THEIRS),
        (Answer(written=attrs.evolve(SEEN, counted=False)), 4, 2, THEIRS),
        (Answer(written=SEEN, made_after=11), 5, 2, THEIRS),
    ],
    ids=["unseen", "seen", "without a count", "its numbers are still to come"],
)
def test_a_write_keeps_its_number_and_has_the_form_that_was_seen(
    answer: Answer, start_offset: int, complete_count: int, batches: tuple[StateBatch, ...]
) -> None:
    expected = Write(3, start_offset, complete_count, batches)
    assert as_written(OURS, answer) == expected
