import pytest

from model.errors import ErrorCode, IllegalChoiceError, InvalidValueError
from model.guards import Guard
from model.operations import AdvanceLogStart, CompleteWrite, Release
from model.outcome import Answer, Completion
from tests.impl.scenario import ACCEPT, RELEASE, ack, fetch, partition, shown, wait

PENDING = ErrorCode.PENDING
FAILED = ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_a_write_that_fails_takes_the_change_back() -> None:
    made = partition((0, 4))
    fetch(made, "a", (0, 4))
    assert ack(made, "a", (0, 4, ACCEPT), answer=FAILED).status is FAILED
    assert shown(made) == "0-4:Q1a"
    assert made.durable().state_batches == ()


def test_a_pending_write_shows_the_new_state_and_holds_the_start() -> None:
    made = partition((0, 4))
    fetch(made, "a", (0, 4))
    ack(made, "a", (0, 1, ACCEPT), answer=PENDING, seq=7)
    ack(made, "a", (2, 2, ACCEPT))
    assert shown(made) == "0-1:K1! 2-2:K1 3-4:Q1a"
    assert made.snapshot().delivery_complete_count == 3
    done = made.apply(CompleteWrite(0, ErrorCode.NONE))
    assert done.completed == (Completion(7, ErrorCode.NONE),)
    assert made.snapshot().start_offset == 3
    assert [(b.first, b.last) for b in made.durable().state_batches] == [(0, 2)]


def test_writes_end_in_any_order_and_once() -> None:
    made = partition((0, 4))
    fetch(made, "a", (0, 4))
    for offset in range(3):
        ack(made, "a", (offset, offset, ACCEPT), answer=PENDING, seq=offset)
    for name in (1, 2, 0):
        assert made.apply(CompleteWrite(name, FAILED)).completed == (Completion(name, FAILED),)
        with pytest.raises(IllegalChoiceError) as raised:
            made.apply(CompleteWrite(name, FAILED))
        assert raised.value.guard is Guard.WRITE_IS_OUTSTANDING
    assert shown(made) == "0-4:Q1a"


@pytest.mark.parametrize(("limit", "after"), [(5, "0-4:A1"), (1, "")])
def test_a_lock_that_expired_meanwhile_is_not_restored(limit: int, after: str) -> None:
    made = partition((0, 4), record_lock_duration_ms=10, delivery_count_limit=limit)
    fetch(made, "a", (0, 4))
    ack(made, "a", (0, 1, ACCEPT), answer=PENDING)
    wait(made, 10)
    made.apply(CompleteWrite(0, FAILED))
    assert shown(made) == after


def test_a_lock_is_restored_until_its_last_ms() -> None:
    made = partition((0, 4), record_lock_duration_ms=10)
    fetch(made, "a", (0, 4))
    ack(made, "a", (0, 1, ACCEPT), answer=PENDING)
    wait(made, 9)
    made.apply(CompleteWrite(0, FAILED))
    assert shown(made) == "0-4:Q1a"


def test_what_is_refused_leaves_even_a_lock_that_is_due_now() -> None:
    made = partition((0, 4), record_lock_duration_ms=0)
    fetch(made, "a", (0, 4))
    refused = ack(made, "a", (0, 1, ACCEPT), (5, 5, ACCEPT))
    assert refused.status is not ErrorCode.NONE
    assert shown(made) == "0-4:Q1a"


def test_records_dropped_meanwhile_are_skipped() -> None:
    made = partition((0, 4))
    fetch(made, "a", (0, 4))
    ack(made, "a", (0, 3, RELEASE), answer=PENDING)
    made.apply(AdvanceLogStart(2))
    made.apply(CompleteWrite(0, FAILED))
    assert shown(made) == "2-4:Q1a"


def test_ids_are_given_or_count_on() -> None:
    made = partition((0, 4))
    fetch(made, "a", (0, 4))
    names = []
    for name in (None, 5, 2, None):
        names.append(made.apply(Release("a"), answers=(Answer(id=name),)).writes[0].id)
        fetch(made, "a", (0, 4))
    assert names == [0, 5, 2, 6]


def test_two_outstanding_writes_cannot_have_the_same_id() -> None:
    made = partition((0, 4))
    fetch(made, "a", (0, 4))
    ack(made, "a", (0, 0, ACCEPT), answer=PENDING)
    before = made.snapshot()
    with pytest.raises(InvalidValueError):
        made.apply(Release("a"), answers=(Answer(PENDING, 0),))
    assert made.snapshot() == before
