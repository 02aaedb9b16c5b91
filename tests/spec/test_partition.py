import attrs
import pytest
from immutables import Map

from model.config import SharePartitionConfig
from model.errors import IllegalChoiceError
from model.guards import Guard
from model.profile import KAFKA, KIP, Profile
from model.states import RecordState
from spec.coordinator import Durable
from spec.log import Log
from spec.partition import SharePartition, complete_count, move_start, new_partition, require
from spec.record import Record
from spec.window import Window
from tests.spec.worlds import SMALL, window_of

DONE = Record(RecordState.ACKNOWLEDGED, 1)
HELD = Record(RecordState.ACQUIRED, 1, "c1", 100)


def holding(profile: Profile = KIP) -> SharePartition:
    """Offsets 0 and 1 done, 2 to 4 not in the log, 5 held, 6 done."""
    window = window_of(0, 7, {0: DONE, 1: DONE, 5: HELD, 6: DONE})
    return SharePartition(profile, SMALL, log=Log(0, 10, ((2, 4),)), window=window, ready=True)


def test_a_new_share_partition_knows_nothing() -> None:
    assert new_partition(KAFKA) == SharePartition(
        profile=KAFKA,
        config=SharePartitionConfig(),
        now=0,
        log=Log(0, 0, (), known=False),
        window=Window(0, 0, Map(), Map(), 0, 0),
        outstanding=Map(),
        next_write=0,
        durable=Durable(-1, -1, Map(), 0, 0, 0, 0),
        ready=False,
        highest_limit=0,
    )


@pytest.mark.parametrize("profile", [KIP, KAFKA], ids=lambda profile: profile.name)
def test_offsets_that_the_log_lacks_are_not_complete(profile: Profile) -> None:
    assert complete_count(holding(profile)) == 3


def test_the_start_offset_moves_as_far_as_it_may_by_default() -> None:
    moved = move_start(holding(), None)
    assert moved.window.start_offset == 5
    assert set(moved.window.records) == {5, 6}
    assert complete_count(moved) == 1


@pytest.mark.parametrize("chosen", range(6))
def test_the_start_offset_may_stop_anywhere_before(chosen: int) -> None:
    moved = move_start(holding(), chosen)
    assert moved.window.start_offset == chosen
    assert set(moved.window.records) == {o for o in (0, 1, 5, 6) if o >= chosen}
    if chosen == 0:
        assert moved == holding()


def test_the_start_offset_never_passes_an_unfinished_record() -> None:
    with pytest.raises(IllegalChoiceError, match="to 6, past offset 5") as caught:
        move_start(holding(), 6)
    assert caught.value.guard is Guard.START_STOPS_AT_UNFINISHED


def test_the_start_offset_never_goes_back() -> None:
    partition = attrs.evolve(holding(), window=window_of(3, 7, {5: HELD}))
    with pytest.raises(IllegalChoiceError, match="from 3 to 2") as caught:
        move_start(partition, 2)
    assert caught.value.guard is Guard.START_NEVER_GOES_BACK


def test_require_raises_with_the_guard_unless_the_condition_holds() -> None:
    require(condition=True, guard=Guard.CAN_ACQUIRE, detail="never said")
    with pytest.raises(IllegalChoiceError, match="CAN_ACQUIRE: said"):
        require(condition=False, guard=Guard.CAN_ACQUIRE, detail="said")
