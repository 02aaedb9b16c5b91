import attrs
import pytest

from impl.partition import FastSharePartition
from model.config import SharePartitionConfig
from model.errors import ErrorCode, IllegalChoiceError, InvalidValueError
from model.guards import Guard
from model.operations import (
    AdvanceLogStart,
    AdvanceTime,
    AlterConfig,
    Compact,
    CompleteWrite,
    FinishDeadLetter,
    Initialize,
    MemberLeaves,
    ResetOffset,
)
from model.outcome import Answer, Choice
from tests.impl.scenario import (
    ACCEPT,
    GAP,
    REJECT,
    RELEASE,
    ack,
    fetch,
    partition,
    ranges,
    shown,
    wait,
    written,
)

NO_QUEUE = attrs.evolve(SharePartitionConfig(), delivery_count_limit=1)
PENDING = ErrorCode.PENDING
FAILED = ErrorCode.COORDINATOR_NOT_AVAILABLE


def queued(*batches: tuple[int, int], limit: int = 1, queue: bool = True) -> FastSharePartition:
    """Return a share-partition with a dead-letter queue and locks of 10 ms."""
    return partition(
        *batches,
        dead_letter_queue=queue,
        delivery_count_limit=limit,
        record_lock_duration_ms=10,
    )


def test_rejected_and_exhausted_records_wait_for_the_queue() -> None:
    made = queued((0, 5))
    fetch(made, "a", (0, 5))
    outcome = ack(made, "a", (0, 3, REJECT, GAP, ACCEPT, RELEASE))
    assert written(outcome) == [(0, 2, [(0, 0, 3, 1), (1, 1, 4, 1), (2, 2, 2, 1), (3, 3, 3, 1)])]
    assert shown(made) == "0-0:G1 1-1:X1 2-2:K1 3-3:G1 4-5:Q1a"
    assert made.snapshot().start_offset == 0
    assert made.lag() == 4
    assert written(wait(made, 10)) == [(0, 2, [(4, 5, 3, 1)])]


def test_a_member_that_leaves_at_the_limit() -> None:
    made = queued((0, 1))
    fetch(made, "a", (0, 1))
    assert written(made.apply(MemberLeaves("a"))) == [(0, 0, [(0, 1, 3, 1)])]


def test_below_the_limit_it_is_available_again() -> None:
    made = queued((0, 1), limit=2)
    fetch(made, "a", (0, 1))
    ack(made, "a", (0, 0, RELEASE))
    wait(made, 10)
    assert shown(made) == "0-1:A1"


def test_an_archiving_record_is_neither_acquired_nor_acknowledged() -> None:
    made = queued((0, 1))
    fetch(made, "a", (0, 1))
    ack(made, "a", (0, 1, REJECT))
    assert fetch(made, "a", (0, 1)).acquired == ()
    assert ack(made, "a", (0, 0, ACCEPT)).status is ErrorCode.INVALID_RECORD_STATE


def test_the_record_is_archived_when_the_queue_has_finished() -> None:
    made = queued((0, 4))
    fetch(made, "a", (0, 4))
    ack(made, "a", (0, 3, REJECT))
    outcome = made.apply(FinishDeadLetter(ranges((2, 3), (0, 0), (2, 2), (0, 0))))
    assert outcome.status is ErrorCode.NONE
    assert written(outcome) == [(0, 3, [(0, 0, 4, 1), (2, 3, 4, 1)])]
    assert shown(made) == "1-1:G1 2-3:X1 4-4:Q1a"
    assert written(made.apply(FinishDeadLetter(ranges((0, 1))))) == [(1, 3, [(1, 1, 4, 1)])]
    assert made.snapshot().start_offset == 4


def test_offsets_below_the_start_are_ignored_but_written() -> None:
    made = queued((0, 4))
    fetch(made, "a", (0, 4))
    ack(made, "a", (0, 1, ACCEPT), (4, 4, REJECT))
    below = made.apply(FinishDeadLetter(ranges((0, 1))), answers=(Answer(PENDING, 7),))
    assert written(below) == [(2, 0, [])]
    assert made.apply(CompleteWrite(7, ErrorCode.NONE)).completed == ()
    assert written(made.apply(FinishDeadLetter(ranges((0, 1), (4, 4))))) == [(2, 1, [(4, 4, 4, 1)])]
    assert made.durable().delivery_complete_count == 1
    assert made.apply(FinishDeadLetter(())).writes == ()


def test_records_of_several_counts_leave_together() -> None:
    made = queued((0, 9), limit=3)
    fetch(made, "a", (0, 9))
    for first in (4, 5):
        ack(made, "a", (first, 5, RELEASE))
        fetch(made, "a", (first, 5))
    ack(made, "a", (3, 5, REJECT))
    assert shown(made) == "0-2:Q1a 3-3:G1 4-4:G2 5-5:G3 6-9:Q1a"
    outcome = made.apply(FinishDeadLetter(ranges((3, 5))))
    assert written(outcome) == [(0, 3, [(3, 3, 4, 1), (4, 4, 4, 2), (5, 5, 4, 3)])]
    assert shown(made) == "0-2:Q1a 3-3:X1 4-4:X2 5-5:X3 6-9:Q1a"


def test_ranges_inside_one_another_and_inside_a_run_are_a_set() -> None:
    made = queued((0, 9))
    fetch(made, "a", (0, 9))
    ack(made, "a", (1, 9, REJECT))
    outcome = made.apply(FinishDeadLetter(ranges((3, 7), (4, 5), (6, 6))))
    assert written(outcome) == [(0, 5, [(3, 7, 4, 1)])]
    assert shown(made) == "0-0:Q1a 1-2:G1 3-7:X1 8-9:G1"


def test_records_never_in_flight_do_not_leave_for_the_queue() -> None:
    made = partition(persisted=((0, 0, 3, 1), (2, 2, 3, 1)), dead_letter_queue=True)
    with pytest.raises(IllegalChoiceError, match="at 1"):
        made.apply(FinishDeadLetter(ranges((0, 2))))


def test_records_dropped_by_a_reset_do_not_leave_for_the_queue() -> None:
    made = queued((0, 1))
    fetch(made, "a", (0, 1))
    ack(made, "a", (0, 1, REJECT))
    made.apply(ResetOffset(0))
    with pytest.raises(IllegalChoiceError, match="at 0"):
        made.apply(FinishDeadLetter(ranges((0, 1))))


def test_an_id_that_is_outstanding_is_not_given_again() -> None:
    made = queued((0, 1))
    fetch(made, "a", (0, 1))
    ack(made, "a", (1, 1, REJECT))
    ack(made, "a", (0, 0, ACCEPT), answer=PENDING)
    with pytest.raises(InvalidValueError, match=r"writes\.id"):
        made.apply(FinishDeadLetter(ranges((1, 1))), answers=(Answer(PENDING, 1),))


@pytest.mark.parametrize(
    ("named", "where"),
    [
        ([(0, 1)], 1),
        ([(2, 2)], 2),
        ([(3, 3)], 3),
        ([(4, 4)], 4),
        ([(5, 2**20)], 5),
        ([(0, 0), (5, 5)], 5),
    ],
)
def test_only_an_archiving_record_leaves_for_the_queue(
    named: list[tuple[int, int]], where: int
) -> None:
    made = queued((0, 4))
    fetch(made, "a", (0, 4))
    ack(made, "a", (0, 1, REJECT, ACCEPT), (4, 4, GAP))
    ack(made, "a", (3, 3, REJECT), answer=PENDING)
    before = shown(made)
    with pytest.raises(IllegalChoiceError, match=f"at {where}") as raised:
        made.apply(FinishDeadLetter(ranges(*named)))
    assert raised.value.guard is Guard.DEAD_LETTER_IS_ARCHIVING
    assert shown(made) == before


@pytest.mark.parametrize("status", [ErrorCode.NONE, FAILED])
def test_the_answer_decides_only_the_durable_state(status: ErrorCode) -> None:
    made = queued((0, 1))
    fetch(made, "a", (0, 1))
    ack(made, "a", (0, 1, REJECT))
    outcome = made.apply(FinishDeadLetter(ranges((0, 1))), answers=(Answer(PENDING, 8),))
    assert (outcome.status, outcome.writes[0].status) == (ErrorCode.NONE, PENDING)
    assert made.snapshot().start_offset == 2
    assert made.apply(CompleteWrite(8, status)).completed == ()
    states = [int(b.state) for b in made.durable().state_batches]
    assert states == ([4] if status is ErrorCode.NONE else [3])


def test_an_answer_at_once_is_merged_or_ignored() -> None:
    made = queued((0, 1))
    fetch(made, "a", (0, 1))
    ack(made, "a", (0, 1, REJECT))
    made.apply(FinishDeadLetter(ranges((1, 1))), answers=(Answer(FAILED),))
    assert shown(made) == "0-0:G1 1-1:X1"
    assert [int(b.state) for b in made.durable().state_batches] == [3]


def test_archiving_survives_a_new_leader_whatever_its_queue() -> None:
    made = queued((0, 2))
    fetch(made, "a", (0, 2))
    ack(made, "a", (0, 1, REJECT))
    made.apply(Initialize(NO_QUEUE, 0, 3, made.durable()))
    assert shown(made) == "0-1:G1"
    made.apply(FinishDeadLetter(ranges((0, 1))))
    assert made.snapshot().start_offset == 2


def test_the_current_queue_setting_applies() -> None:
    made = queued((0, 4))
    fetch(made, "a", (0, 4))
    ack(made, "a", (0, 0, REJECT))
    ack(made, "a", (1, 2, ACCEPT), answer=PENDING)
    made.apply(AlterConfig(NO_QUEUE))
    ack(made, "a", (3, 3, REJECT))
    wait(made, 10)
    made.apply(CompleteWrite(1, FAILED))
    assert shown(made) == "0-0:G1 1-4:X1"


def test_a_new_queue_receives_records_that_are_rolled_back() -> None:
    made = queued((0, 1), queue=False)
    fetch(made, "a", (0, 1))
    ack(made, "a", (0, 0, ACCEPT), answer=PENDING)
    made.apply(AlterConfig(attrs.evolve(NO_QUEUE, dead_letter_queue=True)))
    wait(made, 10)
    made.apply(CompleteWrite(0, FAILED))
    assert shown(made) == "0-1:G1"


def test_a_pending_rejection_that_fails_is_taken_back() -> None:
    made = queued((0, 0))
    fetch(made, "a", (0, 0))
    ack(made, "a", (0, 0, REJECT), answer=PENDING)
    assert shown(made) == "0-0:G1!"
    made.apply(CompleteWrite(0, FAILED))
    assert shown(made) == "0-0:Q1a"


def test_vanished_records_stay_archiving() -> None:
    made = queued((0, 4), (5, 5))
    fetch(made, "a", (0, 4))
    ack(made, "a", (0, 0, REJECT))
    made.apply(Compact(ranges((0, 4))))
    fetch(made, "b", (5, 5), offset=0)
    assert shown(made) == "0-0:G1 1-4:Q1a 5-5:Q1b"
    made.apply(AdvanceLogStart(1))
    assert shown(made) == "1-4:Q1a 5-5:Q1b"


@pytest.mark.parametrize("status", [ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE])
def test_what_ended_may_stay_pending_until_its_write_is_answered(status: ErrorCode) -> None:
    made = queued((0, 9), limit=2)
    fetch(made, "a", (0, 9), choice=Choice(acquired=ranges((0, 3))))
    ack(made, "a", (0, 1, REJECT))
    kept = (Answer(ErrorCode.PENDING, 7, keeps_back=True),)
    made.apply(FinishDeadLetter(ranges((0, 1))), answers=kept)
    made.apply(AdvanceTime(10), answers=(attrs.evolve(kept[0], id=8),))
    assert shown(made) == "0-1:X1! 2-3:A1!"
    assert made.snapshot().start_offset == 0
    with pytest.raises(IllegalChoiceError, match="NO_ACQUIRE_DURING_WRITE: at 2"):
        fetch(made, "b", (0, 9), choice=Choice(acquired=ranges((2, 2))))
    made.apply(CompleteWrite(7, status))
    made.apply(CompleteWrite(8, status))
    assert shown(made) == "2-3:A1"
    assert made.snapshot().start_offset == 2
