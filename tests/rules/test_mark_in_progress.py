import attrs
import pytest

from model.errors import ErrorCode
from model.operations import AdvanceTime, Initialize, MemberLeaves
from model.profile import DRAFT_RESOLVED
from model.snapshot import DurableState
from spec.partition import SharePartition
from spec.step import new_partition
from tests.rules.share_partition import apply, durable, lag, run, snapshot, started, states
from tests.spec.worlds import MARKS, fetch, marking

NONE, INVALID_REQUEST = ErrorCode.NONE, ErrorCode.INVALID_REQUEST
INVALID_RECORD_STATE = ErrorCode.INVALID_RECORD_STATE


def held() -> SharePartition:
    """c1 has 0 to 3 by its acquisition 0, c2 has 4 and 5 by acquisition 1; 6 is never read."""
    partition = started(DRAFT_RESOLVED, config=MARKS)
    return run(partition, fetch("c1", (0, 3)), fetch("c2", (4, 5)))


def test_a_mark_changes_its_own_records_and_nothing_else() -> None:
    before = held()
    step = apply(before, marking("c1", (1, 2)))
    assert states(step.partition) == "0:Q1@c1 1-2:P1@c1 3:Q1@c1 4-5:Q1@c2"
    for offset in (0, 3, 4, 5):
        assert step.partition.window.records[offset] == before.window.records[offset]
    assert durable(step.partition) == durable(before)
    assert lag(step.partition) == lag(before)
    assert snapshot(step.partition).delivery_complete_count == 0
    assert step.outcome.writes == ()


def test_batches_are_judged_one_by_one_in_order() -> None:
    step = apply(held(), marking("c1", (0, 1), (1, 4), (3, 3)))
    assert step.outcome.status is NONE
    assert step.outcome.marked == (NONE, INVALID_RECORD_STATE, NONE)
    assert states(step.partition) == "0-1:P1@c1 2:Q1@c1 3:P1@c1 4-5:Q1@c2"


@pytest.mark.parametrize(
    ("first", "last", "answer"),
    [
        (-1, 0, INVALID_REQUEST),
        (-9, -8, INVALID_REQUEST),
        (1, 0, INVALID_REQUEST),
        (5, 6, INVALID_REQUEST),
        (2**62, 2**62, INVALID_REQUEST),
        (4, 5, INVALID_RECORD_STATE),
    ],
)
def test_an_impossible_batch_is_refused(first: int, last: int, answer: ErrorCode) -> None:
    step = apply(held(), marking("c1", (first, last), (0, 0)))
    assert step.outcome.marked == (answer, NONE)


def test_a_mark_of_an_earlier_delivery_to_the_same_member_is_refused() -> None:
    again = run(held(), AdvanceTime(10), fetch("c1", (0, 0)))
    assert apply(again, marking("c1", (0, 0))).outcome.marked == (INVALID_RECORD_STATE,)
    assert apply(again, marking("c1", (0, 0), acquisition=2)).outcome.marked == (NONE,)


def test_progress_begins_again_with_each_delivery() -> None:
    marked = run(held(), marking("c1", (0, 0)), AdvanceTime(30), fetch("c1", (0, 0)))
    assert marked.window.records[0].progress_start is None
    again = run(marked, marking("c1", (0, 0), acquisition=2))
    assert again.window.records[0].progress_start == 30


def test_grace_is_over_where_the_owner_marks_and_only_there() -> None:
    left = run(held(), marking("c1", (0, 1)), MemberLeaves("c1"))
    back = run(left, marking("c1", (0, 0)))
    deadlines = [back.window.records[offset].deadline for offset in (0, 1)]
    assert deadlines == [30, 5]


@pytest.mark.parametrize("reader", ["the same leader", "a leader of a later epoch"])
def test_a_mark_of_a_delivery_before_the_state_was_read_again_is_refused(reader: str) -> None:
    persisted = DurableState(0, 0, (), 0, 7)
    led = run(new_partition(DRAFT_RESOLVED), Initialize(MARKS, 0, 100, persisted))
    led = run(led, fetch("c1", (0, 0)))
    epoch = 7 if reader == "the same leader" else 8
    after = run(led, Initialize(MARKS, 0, 100, attrs.evolve(persisted, leader_epoch=epoch)))
    again = apply(after, fetch("c1", (0, 0)))
    token = (epoch, again.outcome.acquisition)
    assert token == ((7, 1) if epoch == 7 else (8, 0))
    late = marking("c1", (0, 0), acquisition=0, epoch=7)
    assert apply(again.partition, late).outcome.marked == (INVALID_RECORD_STATE,)
