"""Which deliveries of a record its leader must know."""

import pytest

from tests.conformance.cluster.written import AVAILABLE, LOCK_MS, Written, begun, broken


@pytest.mark.parametrize("is_dropped", [True, False])
def test_an_object_that_is_dropped_as_it_reads_need_not_count(*, is_dropped: bool) -> None:
    history = Written().add("reads")
    if is_dropped:
        history.left("is disconnected", sessions=0)
    history.add("read").acquired([4, 4, 1], member="m2").after(LOCK_MS)
    expected = [] if is_dropped else [("DELIVERIES_ARE_COUNTED", 4)]
    assert broken(history.acquired([4, 4, 1], member="m3")) == expected


def test_what_is_being_written_is_known_without_sessions() -> None:
    history = begun()
    del history.lines[1]
    history.write(1, [4, 4, AVAILABLE, 1]).after(LOCK_MS)
    assert broken(history.acquired([4, 4, 1], member="m2")) == [("DELIVERIES_ARE_COUNTED", 4)]
