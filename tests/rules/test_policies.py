import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.invariants import violated
from model.operations import Acquire, AdvanceTime
from model.outcome import Choice
from model.profile import KIP, Profile
from model.ranges import StateBatch
from model.states import AcquireMode, RecordState
from spec.partition import SharePartition
from tests.rules.share_partition import apply, run, started, states
from tests.spec.worlds import BOTH, acknowledgement, fetch, spans, taken

OPTIMIZED, LIMITED = AcquireMode.BATCH_OPTIMIZED, AcquireMode.RECORD_LIMIT


def takes(partition: SharePartition, operation: Acquire) -> list[tuple[int, int, int]]:
    return taken(apply(partition, operation).outcome)


@BOTH
@pytest.mark.parametrize(
    ("most", "limited", "optimized"),
    [
        (0, [], []),
        (1, [(0, 0, 1)], [(0, 2, 1)]),
        (3, [(0, 2, 1)], [(0, 2, 1)]),
        (4, [(0, 3, 1)], [(0, 5, 1)]),
        (100, [(0, 8, 1)], [(0, 8, 1)]),
    ],
)
def test_how_many_are_taken(
    profile: Profile,
    most: int,
    limited: list[tuple[int, int, int]],
    optimized: list[tuple[int, int, int]],
) -> None:
    read = (0, 2), (3, 5), (6, 8)
    assert takes(started(profile), fetch("c1", *read, most=most, mode=LIMITED)) == limited
    assert takes(started(profile), fetch("c1", *read, most=most)) == optimized


@pytest.mark.parametrize("mode", AcquireMode)
def test_only_what_can_be_acquired_is_taken_and_counts(mode: AcquireMode) -> None:
    partition = run(started(), fetch("c1", (0, 5)), acknowledgement("c1", (1, 1, 2), (3, 3, 2)))
    partition = run(partition, acknowledgement("c1", (4, 4, 1)))
    assert takes(partition, fetch("c2", (0, 5), (6, 6), most=2, mode=mode)) == [
        (1, 1, 2),
        (3, 3, 2),
    ]


@pytest.mark.parametrize("mode", AcquireMode)
def test_nothing_before_the_window_is_taken(mode: AcquireMode) -> None:
    partition = run(started(), fetch("c1", (0, 3)), acknowledgement("c1", (0, 3, 1)))
    assert takes(partition, fetch("c2", (0, 5), most=2, mode=mode)) == [(4, 5, 1)]


@BOTH
@pytest.mark.parametrize("mode", AcquireMode)
def test_from_a_full_window_only_what_is_in_it_is_taken(
    profile: Profile, mode: AcquireMode
) -> None:
    partition = run(started(profile), fetch("c1", (0, 9)), acknowledgement("c1", (4, 5, 2)))
    assert takes(partition, fetch("c2", (0, 19), at=0, mode=mode)) == [(4, 5, 2)]


@pytest.mark.parametrize("mode", AcquireMode)
def test_records_done_at_the_head_make_room_before_anything_is_taken(mode: AcquireMode) -> None:
    partition = run(started(), fetch("c1", (0, 9)))
    held_back = Choice(start_offset=0)
    partition = apply(partition, acknowledgement("c1", (0, 7, 1)), held_back).partition
    step = apply(partition, fetch("c2", (10, 19), mode=mode))
    assert taken(step.outcome) == [(10, 17, 1)]
    assert step.partition.window.start_offset == 8


@pytest.mark.parametrize("mode", AcquireMode)
def test_a_gap_found_at_initialization_is_taken_where_it_was_read(mode: AcquireMode) -> None:
    available = RecordState.AVAILABLE
    partition = started(KIP, StateBatch(0, 0, available, 1), StateBatch(6, 6, available, 1))
    assert takes(partition, fetch("c1", (0, 2), (5, 6), mode=mode)) == [
        (0, 0, 2),
        (1, 2, 1),
        (5, 5, 1),
        (6, 6, 2),
    ]


@st.composite
def logs(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Log batches with natural gaps between some."""
    found, at = [], 0
    for gap, length in draw(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 6)), min_size=1)):
        found.append((at + gap, at + gap + length - 1))
        at += gap + length
    return found


ROUNDS = st.lists(
    st.tuples(st.integers(0, 9), st.integers(1, 4), st.sampled_from([1, 2, 3])), max_size=6
)


@pytest.mark.parametrize("mode", AcquireMode)
@BOTH
@given(logs(), ROUNDS)
def test_a_policy_never_breaks_a_guard(
    profile: Profile,
    mode: AcquireMode,
    log: list[tuple[int, int]],
    rounds: list[tuple[int, int, int]],
) -> None:
    partition = started(profile)
    for most, batches, kind in rounds:
        at = partition.window.start_offset
        read = [batch for batch in log if batch[1] >= at][:batches]
        if not read:
            break
        step = apply(partition, fetch("c1", *read, most=most, at=at, mode=mode))
        assert violated(step.partition) == []
        count = sum(last - first + 1 for first, last, _ in taken(step.outcome))
        assert mode is OPTIMIZED or count <= most
        answers = [(first, last, kind) for first, last, _ in taken(step.outcome)]
        partition = run(step.partition, acknowledgement("c1", *answers[:1]), AdvanceTime(100))
        assert violated(partition) == []


def test_a_policy_takes_over_after_a_choice() -> None:
    choice = Choice(acquired=spans((0, 1)), end_offset=5)
    partition = apply(started(), fetch("c1", (0, 4)), choice).partition
    assert states(run(partition, fetch("c2", (0, 4)))) == "0-1:Q1@c1 2-4:Q1@c2"
