"""The project's own engines conform, with the profile they are judged by."""

from collections.abc import Sequence

import pytest

from conformance.campaign import Limits, campaign
from conformance.cores.builtin import EngineTarget, fetch_offset_of
from conformance.cores.kit import CORES
from model.ranges import RecordRange
from model.snapshot import SharePartitionSnapshot
from model.states import RecordState


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["kip", "kafka"])
@pytest.mark.parametrize("name", ["spec", "impl"])
def test_it_conforms(name: str, profile: str) -> None:
    found = campaign(EngineTarget(name, profile), Limits(sequences=40, seconds=300), CORES)
    assert found.faults == ()
    assert found.sequences == 40
    assert found.asked["acquire skipped"] > 0


def test_a_fetch_begins_at_the_first_available_offset() -> None:
    held = RecordRange(0, 1, RecordState.ACQUIRED, 1, "m1")
    waiting = RecordRange(2, 2, RecordState.AVAILABLE, 1, None, pending=True)
    free = RecordRange(3, 3, RecordState.AVAILABLE, 1)
    later = RecordRange(4, 4, RecordState.AVAILABLE, 1)

    def offset(*records: RecordRange, log: Sequence[Sequence[int]] = ((0, 9),)) -> int:
        return fetch_offset_of(SharePartitionSnapshot(0, 5, 0, records), log)

    assert offset(held, waiting, free) == 3
    assert offset(held, waiting, later) == 3
    assert offset(held, later, log=((0, 1), (4, 9))) == 4
    assert offset(held, waiting) == 3
    assert offset() == 0
