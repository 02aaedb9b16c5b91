import pytest

from model.operations import AdvanceLogStart, Initialize
from model.profile import KAFKA, KIP, Profile
from model.snapshot import DurableState
from model.states import AcquireMode
from tests.impl.held import held
from tests.impl.scenario import ACCEPT, RELEASE, ack, fetch, partition, shown

LIMITED = AcquireMode.RECORD_LIMIT


def test_batch_optimized_takes_whole_log_batches() -> None:
    made = partition((0, 4), (5, 9), (10, 14))
    fetch(made, "a", (0, 4), (5, 9), (10, 14), limit=6)
    assert shown(made) == "0-9:Q1a"


def test_record_limit_stops_at_the_maximum() -> None:
    made = partition((0, 4), (5, 9))
    fetch(made, "a", (0, 4), (5, 9), limit=6, mode=LIMITED)
    assert shown(made) == "0-5:Q1a"


def test_the_lowest_available_records_come_first() -> None:
    made = partition((0, 4), (5, 9))
    fetch(made, "a", (0, 4))
    ack(made, "a", (1, 1, RELEASE), (3, 3, RELEASE))
    outcome = fetch(made, "b", (0, 4), (5, 9), limit=3, mode=LIMITED)
    assert [(r.first, r.last, r.delivery_count) for r in outcome.acquired] == [
        (1, 1, 2), (3, 3, 2), (5, 5, 1),
    ]  # fmt: skip


@pytest.mark.parametrize("mode", AcquireMode)
def test_a_fetch_of_no_records_acquires_none(mode: AcquireMode) -> None:
    made = partition((0, 4))
    assert fetch(made, "a", (0, 4), limit=0, mode=mode).acquired == ()
    assert fetch(made, "a", limit=5, mode=mode).acquired == ()


def test_a_full_window_takes_no_new_records_but_released_ones() -> None:
    made = partition((0, 4), (5, 9), (10, 14), partition_max_record_locks=7)
    fetch(made, "a", (0, 4), (5, 9), (10, 14))
    assert shown(made) == "0-9:Q1a"
    ack(made, "a", (2, 3, RELEASE))
    fetch(made, "b", (0, 4), (5, 9), (10, 14))
    assert shown(made) == "0-1:Q1a 2-3:Q2b 4-9:Q1a"


def test_record_limit_ends_at_the_window_limit() -> None:
    made = partition((0, 4), (5, 9), partition_max_record_locks=7)
    fetch(made, "a", (0, 4), (5, 9), mode=LIMITED)
    assert shown(made) == "0-6:Q1a"


@pytest.mark.parametrize("profile", [KIP, KAFKA])
def test_a_gap_at_the_head_does_not_use_up_the_window(profile: Profile) -> None:
    made = partition((100, 104), partition_max_record_locks=3, profile=profile)
    fetch(made, "a", (100, 104), mode=LIMITED)
    assert shown(made) == "100-102:Q1a"
    ack(made, "a", (100, 102, ACCEPT))
    assert made.snapshot().start_offset == 103


def test_a_batch_that_begins_before_the_window_is_at_its_head() -> None:
    made = partition((0, 4), (8, 9), (14, 15), partition_max_record_locks=7)
    made.apply(AdvanceLogStart(3))
    fetch(made, "a", (0, 4), (8, 9), (14, 15))
    assert shown(made) == "3-4:Q1a 8-9:Q1a"


def test_a_batch_that_ends_before_the_window_is_not_at_its_head() -> None:
    made = partition((0, 2), (5, 7), (11, 12), partition_max_record_locks=7)
    made.apply(AdvanceLogStart(3))
    fetch(made, "a", (0, 2), (5, 7), (11, 12))
    assert shown(made) == "5-7:Q1a 11-12:Q1a"


def test_a_batch_that_ends_with_the_first_offset_of_the_window_is_at_its_head() -> None:
    made = partition((0, 3), (5, 7), (11, 12), partition_max_record_locks=7)
    made.apply(AdvanceLogStart(3))
    fetch(made, "a", (0, 3), (5, 7), (11, 12))
    assert shown(made) == "3-3:Q1a 5-7:Q1a"


def test_ranges_of_different_fetches_are_not_joined() -> None:
    made = partition((0, 7), delivery_count_limit=9)
    fetch(made, "a", (0, 7))
    ack(made, "a", (1, 1, RELEASE), (3, 3, RELEASE), (5, 5, RELEASE))
    fetch(made, "b", (0, 7))
    assert shown(made) == "0-0:Q1a 1-1:Q2b 2-2:Q1a 3-3:Q2b 4-4:Q1a 5-5:Q2b 6-7:Q1a"
    ack(made, "b", (1, 1, RELEASE))
    ack(made, "a", (4, 4, RELEASE))
    fetch(made, "c", (0, 7))
    assert shown(made) == "0-0:Q1a 1-1:Q3c 2-2:Q1a 3-3:Q2b 4-4:Q2c 5-5:Q2b 6-7:Q1a"
    ack(made, "c", (1, 1, RELEASE))
    ack(made, "a", (6, 6, RELEASE))
    fetch(made, "d", (0, 7))
    assert shown(made) == "0-0:Q1a 1-1:Q4d 2-2:Q1a 3-3:Q2b 4-4:Q2c 5-5:Q2b 6-6:Q2d 7-7:Q1a"


def test_a_window_that_begins_below_the_log_start_has_its_room_from_there() -> None:
    made = held((0, 4), (5, 9), (10, 14), partition_max_record_locks=5)
    made.apply(Initialize(made.spec.config, 3, 15, DurableState(0, 0)))
    fetch(made, "a", (0, 4), (5, 9), (10, 14))
    assert shown(made) == "3-9:Q1a"
