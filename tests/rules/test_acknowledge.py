import pytest

from model.errors import ErrorCode
from model.guards import Guard
from model.operations import AdvanceTime
from model.outcome import Choice
from model.profile import DRAFT_RESOLVED, KAFKA, KIP, Profile
from spec.partition import SharePartition
from tests.rules.share_partition import apply, durable, refusal, run, started, states
from tests.spec.worlds import BOTH, MARKS, acknowledgement, fetch, marking, written

NONE, INVALID_REQUEST = ErrorCode.NONE, ErrorCode.INVALID_REQUEST
INVALID_RECORD_STATE = ErrorCode.INVALID_RECORD_STATE


def holding(profile: Profile = KIP) -> SharePartition:
    """c1 holds 0 to 4 and 8 to 9, c2 holds 5 and 6; 7 is a natural gap."""
    partition = run(started(profile), fetch("c1", (0, 4)), fetch("c2", (5, 6)))
    return run(partition, fetch("c1", (8, 9), at=7))


def status(partition: SharePartition, *batches: tuple[int, ...], member: str = "c1") -> ErrorCode:
    return apply(partition, acknowledgement(member, *batches)).outcome.status


@BOTH
@pytest.mark.parametrize(
    ("kind", "shown", "state", "complete"),
    [(0, "X1", 4, 1), (1, "K1", 2, 1), (2, "A1", 0, 0), (3, "X1", 4, 1)],
    ids=["gap", "accept", "release", "reject"],
)
def test_each_type_ends_the_delivery_in_its_state(
    profile: Profile, kind: int, shown: str, state: int, complete: int
) -> None:
    step = apply(holding(profile), acknowledgement("c1", (1, 1, kind)))
    assert step.outcome.status is NONE
    assert states(step.partition) == f"0:Q1@c1 1:{shown} 2-4:Q1@c1 5-6:Q1@c2 8-9:Q1@c1"
    (write,) = step.outcome.writes
    assert written(write) == (0, complete, [(1, 1, state, 1)])
    assert durable(step.partition).state_batches == write.state_batches


def test_one_write_carries_all_changes_in_ranges_from_the_start_offset_of_before() -> None:
    step = apply(holding(), acknowledgement("c1", (0, 4, 1, 1, 3, 2, 2), (8, 9, 1)))
    assert [written(write) for write in step.outcome.writes] == [
        (0, 5, [(0, 1, 2, 1), (2, 2, 4, 1), (3, 4, 0, 1), (8, 9, 2, 1)])
    ]
    assert step.partition.window.start_offset == 3


@BOTH
@pytest.mark.parametrize(
    ("member", "batch"),
    [("c2", (0, 0, 1)), ("c3", (0, 0, 1)), ("c1", (4, 5, 1)), ("c2", (4, 6, 2)), ("c1", (6, 6, 4))],
    ids=str,
)
def test_records_of_another_member_are_refused(
    profile: Profile, member: str, batch: tuple[int, ...]
) -> None:
    step = apply(holding(profile), acknowledgement(member, batch))
    assert step.outcome.status is INVALID_RECORD_STATE
    assert (step.partition, step.outcome.writes) == (holding(profile), ())


def test_a_late_acknowledgement_counts_for_a_new_acquisition_of_the_same_member() -> None:
    partition = run(started(), fetch("c1", (0, 1)), AdvanceTime(100), fetch("c1", (0, 1)))
    assert status(partition, (0, 0, 1)) is NONE


@BOTH
@pytest.mark.parametrize("member", ["c1", "c9"])
def test_a_batch_before_the_window_is_passed_over_whoever_sends_it(
    profile: Profile, member: str
) -> None:
    partition = run(holding(profile), acknowledgement("c1", (0, 2, 1)))
    step = apply(partition, acknowledgement(member, (0, 2, 1), (1, 2, 4)))
    assert (step.outcome.status, step.outcome.writes) == (NONE, ())
    assert step.partition == partition


@BOTH
def test_natural_gaps_in_a_batch_are_passed_over(profile: Profile) -> None:
    step = apply(holding(profile), acknowledgement("c1", (7, 9, 1)))
    assert step.outcome.status is NONE
    assert [written(write)[2] for write in step.outcome.writes] == [[(8, 9, 2, 1)]]
    only_gap = apply(holding(profile), acknowledgement("c1", (7, 7, 0)))
    assert (only_gap.outcome.status, only_gap.outcome.writes) == (NONE, ())


ALLOWED = [
    ((0, 4, 1), {NONE}),
    ((7, 9, 1), {NONE, INVALID_REQUEST, INVALID_RECORD_STATE}),
    ((9, 10, 1), {INVALID_REQUEST, INVALID_RECORD_STATE}),
    ((5, 10, 1), {INVALID_REQUEST, INVALID_RECORD_STATE}),
    ((5, 6, 1), {INVALID_RECORD_STATE}),
    ((3, 1, 1), {INVALID_REQUEST}),
]


@BOTH
@pytest.mark.parametrize(("batch", "allowed"), ALLOWED, ids=[str(row[0]) for row in ALLOWED])
@pytest.mark.parametrize("answer", [NONE, INVALID_REQUEST, INVALID_RECORD_STATE])
def test_an_answer_is_one_that_the_states_allow(
    profile: Profile, batch: tuple[int, ...], allowed: set[ErrorCode], answer: ErrorCode
) -> None:
    operation, choice = acknowledgement("c1", batch), Choice(refusal=answer)
    if answer in allowed:
        assert apply(holding(profile), operation, choice).outcome.status is answer
        return
    refused = refusal(holding(profile), operation, choice)
    if batch == (9, 10, 1):
        assert refused == (Guard.ACKNOWLEDGED_WAS_DELIVERED, 10)
    else:
        assert refused[0] is Guard.ACKNOWLEDGEMENT_JUDGED


@pytest.mark.parametrize("batches", [((9, 60, 1),), ((9, 9, 1), (30, 31, 1)), ((10, 10, 0),)])
def test_what_lies_past_the_window_was_never_delivered(
    batches: tuple[tuple[int, ...], ...],
) -> None:
    guard, _ = refusal(holding(), acknowledgement("c1", *batches), Choice(refusal=NONE))
    assert guard is Guard.ACKNOWLEDGED_WAS_DELIVERED
    assert status(holding(), *batches) is INVALID_REQUEST


REFUSED = [
    (((0, 1, 4), (5, 5, 1)), None, {0, 1}),
    (((0, 4, 4, 4, 1, 4, 4), (5, 5, 1)), None, {0, 1, 3, 4}),
    (((3, 6, 4),), None, {3, 4}),
    (((5, 5, 1), (0, 1, 4)), None, set()),
    (((0, 1, 4), (9, 12, 4)), None, {0, 1}),
    (((0, 1, 4), (7, 8, 4), (2, 3, 4)), INVALID_REQUEST, {0, 1}),
    (((0, 1, 4), (7, 8, 4), (2, 3, 4)), INVALID_RECORD_STATE, {0, 1}),
    (((0, 1, 4), (7, 8, 4), (2, 5, 4)), INVALID_REQUEST, {0, 1}),
    (((0, 1, 4), (7, 8, 4), (2, 5, 4)), INVALID_RECORD_STATE, {0, 1, 2, 3, 4, 8}),
    (((0, 1, 4), (7, 7, 4), (2, 3, 4), (7, 7, 4)), INVALID_REQUEST, {0, 1}),
    (((0, 1, 4), (7, 8, 4), (9, 12, 1)), INVALID_REQUEST, {0, 1, 8}),
    (((0, 1, 4), (7, 8, 4), (9, 12, 1), (2, 3, 4)), INVALID_REQUEST, {0, 1, 8}),
    (((9, 12, 4), (5, 5, 4)), INVALID_RECORD_STATE, {9}),
    (((0, 1, 4), (9, 12, 4), (30, 31, 4)), INVALID_REQUEST, {0, 1}),
    (((0, 1, 4), (6, 8, 4), (2, 3, 4)), INVALID_REQUEST, {0, 1}),
]


@pytest.mark.parametrize(
    ("batches", "answer", "renewed"), REFUSED, ids=[str(i) for i in range(len(REFUSED))]
)
def test_renewals_before_the_failure_survive_a_refusal_under_kafka_only(
    batches: tuple[tuple[int, ...], ...], answer: ErrorCode | None, renewed: set[int]
) -> None:
    for profile, expected in ((KIP, set()), (KAFKA, renewed)):
        partition = run(holding(profile), AdvanceTime(60))
        step = apply(partition, acknowledgement("c1", *batches), Choice(refusal=answer))
        assert step.outcome.status is not NONE
        assert step.outcome.writes == ()
        assert states(step.partition) == states(partition)
        after = {o for o, record in step.partition.window.records.items() if record.deadline == 160}
        assert after == expected


def test_a_record_in_progress_is_acknowledged_and_not_renewed() -> None:
    partition = run(started(DRAFT_RESOLVED, config=MARKS), fetch("c1", (0, 3)))
    partition = run(partition, marking("c1", (1, 2)))
    assert status(partition, (0, 0, 4)) is NONE
    assert status(partition, (0, 1, 4)) is INVALID_RECORD_STATE
    assert status(partition, (0, 0, 1), (2, 2, 4)) is INVALID_RECORD_STATE
    assert status(partition, (0, 3, 1)) is NONE
    assert status(partition, (1, 2, 1), member="c2") is INVALID_RECORD_STATE
    refused = Choice(refusal=NONE)
    assert refusal(partition, acknowledgement("c1", (1, 1, 4)), refused)[0] is (
        Guard.ACKNOWLEDGEMENT_JUDGED
    )
