import pytest

from proofs.hazards.draft_consumer import Given
from proofs.hazards.figures import figures, played
from proofs.hazards.machine import RESOLVED
from proofs.hazards.world import Act, HazardMove, HazardWorld

pytestmark = pytest.mark.slow

FETCH = Act(HazardMove.FETCH, "A")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("attempts", "3 of 5 deliveries (delivery count 5) and 6 of 10"),
        ("attempts", "1 of 2 deliveries (delivery count 2)"),
        ("dead_age", "30,000"),
        ("entries", "67"),
        ("exits", "AVAILABLE (0), ACKNOWLEDGED (2), ARCHIVING (3), ARCHIVED (4)"),
        ("longest_age", "1,822,500"),
        ("rate", "1.1"),
        ("sibling_range", "INVALID_RECORD_STATE"),
        ("stale_fields", "acquired by B at 100,000 ms until 130,000 ms"),
        ("sweep_silence", "112,500"),
    ],
)
def test_figures_are_those_known_from_reading_the_draft(name: str, value: str) -> None:
    assert value in figures()[name]


def test_a_delivery_count_does_not_name_a_delivery() -> None:
    acts = [FETCH, Act(HazardMove.FAIL_OVER), FETCH]
    counts = [
        state.view.records[0].delivery_count
        for state in played(HazardWorld(frozenset()), RESOLVED, acts)
    ]
    assert counts == [0, 1, 0, 1]


def test_a_run_can_be_played() -> None:
    states = played(
        HazardWorld(frozenset()), RESOLVED, [FETCH, Act(HazardMove.ACCEPT, "A", Given(0, 1, 0))]
    )
    assert [state.view.lag for state in states] == [1, 1, 0]
