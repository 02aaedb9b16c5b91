import copy
from itertools import permutations, product

import pytest

from model.config import SharePartitionConfig
from model.errors import ErrorCode, IllegalChoiceError, InvalidValueError
from model.operations import (
    Acknowledge,
    AcknowledgementBatch,
    AdvanceLogStart,
    AdvanceTime,
    AlterConfig,
    CompleteWrite,
    MemberLeaves,
    Operation,
)
from model.outcome import Answer, Choice, Composed, Outcome
from model.profile import DRAFT_RESOLVED, KAFKA, Profile
from model.ranges import StateBatch
from model.snapshot import DurableState
from model.states import RecordState
from tests.impl.held import Held, held
from tests.impl.scenario import (
    ACCEPT,
    GAP,
    REJECT,
    RELEASE,
    ack,
    fetch,
    mark,
    partition,
    ranges,
    shown,
    wait,
    written,
)

PENDING = ErrorCode.PENDING
FAILED = ErrorCode.COORDINATOR_NOT_AVAILABLE
ENDS = (ErrorCode.NONE, FAILED)


def accept(made: Held, name: int, *offsets: int, status: ErrorCode = PENDING) -> Outcome:
    """Let a accept records under a write with this id."""
    batches = tuple(AcknowledgementBatch(offset, offset, (ACCEPT,)) for offset in offsets)
    return made.apply(Acknowledge("a", batches), answers=(Answer(status, name),))


def three_outstanding() -> Held:
    """Return writes 0 to 2, each of three records apart; b holds 12 and 13, for 1 ms only."""
    made = held((0, 11), (12, 13), record_lock_duration_ms=10)
    fetch(made, "a", (0, 11))
    for i in range(3):
        batches = ((i, i, ACCEPT), (4 + i, 4 + i, RELEASE), (8 + i, 8 + i, REJECT))
        ack(made, "a", *batches, answer=PENDING, seq=10 + i)
    made.apply(AlterConfig(SharePartitionConfig(record_lock_duration_ms=1)))
    fetch(made, "b", (12, 13))
    assert shown(made) == ("0-2:K1! 3-3:Q1a 4-6:A1! 7-7:Q1a 8-10:X1! 11-11:Q1a 12-13:Q1b")
    return made


@pytest.mark.parametrize(
    "meanwhile", [AdvanceTime(0), AdvanceTime(10), AdvanceLogStart(5), AdvanceLogStart(14)]
)
def test_writes_are_answered_in_any_order(meanwhile: Operation) -> None:
    before = three_outstanding()
    before.apply(meanwhile, answers=(Answer(PENDING),))
    for order, ends in product(permutations(before.spec.outstanding), product(ENDS, repeat=2)):
        made = copy.copy(before)
        for i, name in enumerate(order):
            made.apply(CompleteWrite(name, ends[i % 2]))
            ack(made, "a", (4 * i + 3, 4 * i + 3, RELEASE), answer=PENDING)
        wait(made, 1)
        for name in sorted(made.spec.outstanding, reverse=True):
            made.apply(CompleteWrite(name, ends[name % 2]))
        wait(made, 10)


@pytest.mark.parametrize("profile", [KAFKA, DRAFT_RESOLVED])
@pytest.mark.parametrize("limit", [1, 2, 5])
@pytest.mark.parametrize("kind", [GAP, ACCEPT, RELEASE, REJECT])
def test_a_record_that_is_settled_or_restored_is_like_those_beside_it(
    profile: Profile, limit: int, kind: int
) -> None:
    """Whether those were never acquired, or are still held: all of equal records is one run."""
    batches = tuple(
        StateBatch(first, last, state, 1)
        for first, last, state in [
            (0, 1, RecordState.AVAILABLE),
            (4, 5, RecordState.ARCHIVED),
            (8, 9, RecordState.ACKNOWLEDGED),
        ]
    )
    durable = DurableState(0, 0, batches)
    before = held(
        (10, 11), told=False, profile=profile, durable=durable, delivery_count_limit=limit
    )
    for taken in [((1, 3),), ((6, 7), (10, 11))]:
        fetch(before, "a", (0, 11), choice=Choice(acquired=ranges(*taken)))
    if profile.in_progress:
        wait(before, 5)
        assert mark(before, "a", (3, 3, 0), (6, 6, 1), (10, 10, 1)) == ["NONE"] * 3
    some = [((1, 3), (6, 7), (10, 11)), ((2, 2), (7, 7)), ((3, 6),), ((3, 3), (6, 6), (10, 10))]
    for named, status, end, ms in product(some, (*ENDS, PENDING), ENDS, (0, 200_000)):
        made = copy.copy(before)
        pending = ack(made, "a", *((*one, kind) for one in named), answer=status).status is PENDING
        wait(made, ms)
        if pending:
            made.apply(CompleteWrite(0, end))
        made.apply(MemberLeaves("a"))


@pytest.mark.parametrize("status", [*ENDS, PENDING])
def test_a_write_has_one_batch_for_each_range_of_equal_state_and_count(status: ErrorCode) -> None:
    batches = (StateBatch(1, 2, RecordState.AVAILABLE, 1),)
    made = held((0, 5), durable=DurableState(0, 0, batches))
    fetch(made, "a", (0, 5))
    kinds = (0, 3, ACCEPT), (4, 4, RELEASE), (5, 5, ACCEPT)
    assert written(ack(made, "a", *kinds, answer=status)) == [
        (0, 5, [(0, 0, 2, 1), (1, 2, 2, 2), (3, 3, 2, 1), (4, 4, 0, 1), (5, 5, 2, 1)])
    ]


def test_a_refused_change_is_undone_at_the_end_of_its_lock() -> None:
    made = held((0, 4), record_lock_duration_ms=0)
    fetch(made, "a", (0, 4))
    refused = ack(made, "a", (0, 2, ACCEPT), (3, 5, ACCEPT))
    assert refused.status is ErrorCode.INVALID_REQUEST
    assert shown(made) == "0-4:Q1a"


def test_records_dropped_meanwhile_are_skipped() -> None:
    made = partition((0, 4))
    fetch(made, "a", (0, 4))
    ack(made, "a", (0, 3, RELEASE), answer=PENDING)
    made.apply(AdvanceLogStart(2))
    made.apply(CompleteWrite(0, FAILED))
    assert shown(made) == "2-4:Q1a"


@pytest.mark.parametrize("names", list(permutations((9, 3, 4))))
def test_records_wait_for_their_own_write_whatever_the_ids(names: tuple[int, int, int]) -> None:
    made = held((0, 5))
    fetch(made, "a", (0, 5))
    accept(made, names[0], 5)
    accept(made, names[1], 0, 4)
    accept(made, names[2], 2)
    made.apply(CompleteWrite(names[1], FAILED))
    assert shown(made) == "0-1:Q1a 2-2:K1! 3-4:Q1a 5-5:K1!"


def test_an_id_is_given_again_unless_both_writes_would_be_outstanding() -> None:
    made = held((0, 4))
    fetch(made, "a", (0, 4))
    accept(made, 7, 0)
    with pytest.raises(InvalidValueError, match=r"^writes.id is 7; allowed: an id that no outst"):
        accept(made, 7, 1)
    for offset, status in enumerate(ENDS, 1):
        assert accept(made, 7, offset, status=status).writes[0].id == 7
    made.apply(CompleteWrite(7, FAILED))
    assert shown(made) == "0-0:Q1a 1-1:K1 2-4:Q1a"


def test_a_write_takes_its_numbers_after_the_call_that_it_names() -> None:
    made = partition((0, 9))
    fetch(made, "a", (0, 9))
    sent = Acknowledge("a", (AcknowledgementBatch(5, 5, (ACCEPT,)),))
    pending = ErrorCode.PENDING
    made.apply(sent, answers=(Answer(pending, 3, made_after=3),), seq=1)
    first = Acknowledge("a", (AcknowledgementBatch(0, 0, (ACCEPT,)),))
    assert made.apply(first, answers=(Answer(pending, 1, made_after=3),), seq=2).composed == ()
    with pytest.raises(IllegalChoiceError, match="WRITE_IS_OUTSTANDING"):
        made.apply(CompleteWrite(3, ErrorCode.NONE), seq=3)
    assert made.apply(AdvanceTime(0), seq=3).composed == (Composed(1, 0, 2), Composed(3, 0, 2))
    assert made.apply(AdvanceTime(0), seq=4).composed == ()
    made.apply(CompleteWrite(1, ErrorCode.NONE), seq=5)
    made.apply(CompleteWrite(3, ErrorCode.NONE), seq=6)
    state = made.durable()
    assert (state.start_offset, state.delivery_complete_count) == (0, 2)
