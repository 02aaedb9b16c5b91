from spec.partition import state_of
from tests.spec.worlds import acknowledgement, fetch, run, started


def test_offsets_before_the_window_are_archived_and_after_it_available() -> None:
    partition = run(started(), fetch("c1", (0, 4)), acknowledgement("c1", (0, 1, 1), (4, 4, 1)))
    assert [state_of(partition, o).name for o in (0, 1, 2, 4, 5)] == [
        "ARCHIVED",
        "ARCHIVED",
        "ACQUIRED",
        "ACKNOWLEDGED",
        "AVAILABLE",
    ]
