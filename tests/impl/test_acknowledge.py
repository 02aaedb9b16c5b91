from collections.abc import Callable

import attrs
import numpy as np
import pytest

from impl import layout as at
from impl.partition import FastSharePartition
from model.checks import MAX_INT64
from model.config import SharePartitionConfig
from model.errors import ErrorCode, IllegalChoiceError, InvalidValueError
from model.guards import Guard
from model.operations import (
    Acknowledge,
    AcknowledgementBatch,
    AdvanceLogStart,
    AlterConfig,
    CompleteWrite,
    EntryPoint,
    Initialize,
    MemberLeaves,
)
from model.outcome import Answer, Choice, Completion, Outcome
from model.profile import DRAFT_RESOLVED, KAFKA, KIP, Profile
from model.snapshot import DurableState
from tests.impl.helpers import interpreted
from tests.impl.scenario import (
    ACCEPT,
    ANY,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    ack,
    fetch,
    mark,
    partition,
    shown,
    wait,
    written,
)

REQUEST = ErrorCode.INVALID_REQUEST
STATE = ErrorCode.INVALID_RECORD_STATE


def runs(made: FastSharePartition) -> int:
    """Return how many runs the records are kept in, also those that are shown as one."""
    header = made._state.header  # noqa: SLF001 - no event can show it
    return int(header[at.TAIL] - header[at.HEAD])


def alter(made: FastSharePartition, **config: int) -> None:
    """Replace the configuration by the default but for these settings."""
    made.apply(AlterConfig(attrs.evolve(SharePartitionConfig(), **config)))  # type: ignore[arg-type]


def test_every_type_and_one_write() -> None:
    made = partition((0, 9))
    fetch(made, "a", (0, 9))
    outcome = ack(made, "a", (1, 5, GAP, ACCEPT, RELEASE, REJECT, RENEW), (7, 8, ACCEPT))
    assert shown(made) == "0-0:Q1a 1-1:X1 2-2:K1 3-3:A1 4-4:X1 5-6:Q1a 7-8:K1 9-9:Q1a"
    batches = [(1, 1, 4, 1), (2, 2, 2, 1), (3, 3, 0, 1), (4, 4, 4, 1), (7, 8, 2, 1)]
    assert written(outcome) == [(0, 5, batches)]


def test_offsets_of_one_type_are_taken_together() -> None:
    inner = interpreted("acknowledge")
    types = [ACCEPT, ACCEPT, ACCEPT, RELEASE, RELEASE, REJECT]
    rows = np.array([(10, 15, 0, 6), (20, 29, 3, 4)])
    sent = inner.Acknowledgement(0, 0, rows, np.array(types))

    def taken(batch: int, offset: int, last: int) -> tuple[int, int]:
        kind, end = inner._type_from(sent, batch, offset, last)  # noqa: SLF001 - as above
        return kind, end

    ends = [12, 12, 12, 14, 14, 15]
    assert [taken(0, 10 + i, 15) for i in range(6)] == list(zip(types, ends, strict=True))
    assert [taken(0, 10, 11), taken(0, 13, 13)] == [(ACCEPT, 11), (RELEASE, 13)]
    assert taken(1, 22, 28) == (RELEASE, 28)


def test_a_release_at_the_limit_archives() -> None:
    made = partition((0, 1), delivery_count_limit=1)
    fetch(made, "a", (0, 1))
    ack(made, "a", (0, 0, ACCEPT), (1, 1, RELEASE))
    assert made.snapshot().start_offset == 2


@pytest.mark.parametrize(
    "batch",
    [(-1, 1, ACCEPT), (2, 1, ACCEPT), (0, 1), (0, 4, ACCEPT, ACCEPT), (0, 1, 5), (0, 1, -1),
     (0, 2**70, 9)],
)  # fmt: skip
def test_a_malformed_request_is_an_invalid_request(batch: tuple[int, ...]) -> None:
    made = partition((0, 4))
    fetch(made, "a", (0, 4))
    assert ack(made, "a", (0, 0, ACCEPT), batch).status is REQUEST
    assert shown(made) == "0-4:Q1a"
    with pytest.raises(IllegalChoiceError, match=r": Acknowledge\(") as raised:
        ack(made, "a", batch, choice=Choice(refusal=STATE))
    assert raised.value.guard is Guard.ACKNOWLEDGEMENT_JUDGED


@pytest.mark.parametrize(
    ("profile", "second", "status"),
    [(KAFKA, 2, STATE), (KAFKA, 1, REQUEST), (KIP, 2, REQUEST), (KIP, 3, ErrorCode.NONE)],
)
def test_only_a_request_must_have_ascending_batches(
    profile: Profile, second: int, status: ErrorCode
) -> None:
    made = partition((0, 4), profile=profile)
    fetch(made, "a", (0, 4))
    batches = ((0, 2, ACCEPT), (second, 4, ACCEPT))
    assert ack(made, "a", *batches, entry=EntryPoint.REQUEST).status is status


def test_a_later_batch_sees_what_an_earlier_one_did() -> None:
    made = partition((0, 4))
    fetch(made, "a", (0, 4))
    assert ack(made, "a", (2, 4, ACCEPT), (0, 2, ACCEPT)).status is STATE
    assert shown(made) == "0-4:Q1a"
    assert ack(made, "a", (2, 4, RENEW), (0, 2, ACCEPT)).status is ErrorCode.NONE


@pytest.mark.parametrize(
    ("member", "batch", "policy", "refusals"),
    [
        ("a", (3, 4, ACCEPT), ErrorCode.NONE, []),
        ("a", (0, 4, ACCEPT), ErrorCode.NONE, []),  # Partly below the start offset.
        ("z", (0, 1, ACCEPT), ErrorCode.NONE, []),  # Wholly below it, whoever asks.
        ("z", (3, 4, ACCEPT), STATE, [STATE]),
        ("a", (2, 3, ACCEPT), ErrorCode.NONE, []),
        ("a", (4, 5, ACCEPT), STATE, [STATE]),  # 5 is available.
        ("a", (3, 2**60, ACCEPT), REQUEST, [REQUEST, STATE]),
        ("a", (2**61, 2**62, ACCEPT), REQUEST, [REQUEST, STATE]),
    ],
)
def test_how_a_batch_is_judged(
    member: str, batch: tuple[int, ...], policy: ErrorCode, refusals: list[ErrorCode]
) -> None:
    assert _answers(member, batch, None) is policy
    assert [refusal for refusal in (REQUEST, STATE) if _answers(member, batch, refusal)] == refusals


@pytest.mark.parametrize(
    ("batch", "refusal", "where"),
    [
        ((3, 4, ACCEPT), STATE, "Acknowledge(.*)"),
        ((3, 5, RELEASE), ErrorCode.NONE, "at 5"),
        ((3, 5, RENEW), REQUEST, "at 5"),
        ((3, 5, RENEW), ErrorCode.NOT_COORDINATOR, "at 5"),
        ((0, 9, ACCEPT), ErrorCode.NOT_COORDINATOR, "at 5"),
        ((6, 9, ACCEPT), ErrorCode.NOT_COORDINATOR, "Acknowledge(.*)"),
    ],
)
def test_an_illegal_refusal_names_the_record_that_fails(
    batch: tuple[int, ...], refusal: ErrorCode, where: str
) -> None:
    made = partition((0, 6))
    fetch(made, "a", (0, 6))
    ack(made, "a", (5, 5, RELEASE))
    with pytest.raises(IllegalChoiceError, match=f": {where}$") as raised:
        ack(made, "a", batch, choice=Choice(refusal=refusal))
    assert raised.value.guard is Guard.ACKNOWLEDGEMENT_JUDGED


def _answers(member: str, batch: tuple[int, ...], refusal: ErrorCode | None) -> ErrorCode | None:
    made = partition((0, 6))
    fetch(made, "a", (0, 6))
    ack(made, "a", (0, 1, ACCEPT), (5, 5, RELEASE))
    try:
        return ack(made, member, batch, choice=Choice(refusal=refusal)).status
    except IllegalChoiceError:
        return None


def test_offsets_never_in_flight_inside_the_window_may_be_ignored() -> None:
    made = partition(persisted=((0, 0, 0, 1), (5, 5, 0, 1)))
    fetch(made, "a", (0, 0), (5, 5))
    outcome = ack(made, "a", (0, 5, ACCEPT))
    assert outcome.status is ErrorCode.NONE
    assert written(outcome) == [(0, 2, [(0, 0, 2, 2), (5, 5, 2, 2)])]


def test_offsets_never_in_flight_inside_the_window_may_be_refused() -> None:
    made = partition(persisted=((0, 0, 0, 1), (5, 5, 0, 1)))
    fetch(made, "a", (0, 0), (5, 5))
    assert ack(made, "a", (0, 5, ACCEPT), choice=Choice(refusal=REQUEST)).status is REQUEST


def test_renewals_before_what_was_never_in_flight_survive_whatever_the_refusal() -> None:
    made = partition((0, 4), record_lock_duration_ms=10)
    fetch(made, "a", (0, 4))
    wait(made, 5)
    refused = ack(made, "a", (0, 0, RENEW), (1, 9, RENEW), choice=Choice(refusal=STATE))
    assert refused.status is STATE
    wait(made, 5)
    assert shown(made) == "0-0:Q1a 1-4:A1"


@pytest.mark.parametrize("profile", [KAFKA, KIP])
def test_a_renewal_before_the_point_of_failure_survives_in_kafka(profile: Profile) -> None:
    made = partition((0, 4), profile=profile, record_lock_duration_ms=10)
    fetch(made, "a", (0, 4))
    wait(made, 5)
    refused = ack(made, "a", (0, 0, RENEW), (1, 9, RENEW), choice=Choice(refusal=REQUEST))
    assert refused.status is REQUEST
    wait(made, 5)
    assert shown(made) == ("0-0:Q1a 1-4:A1" if profile is KAFKA else "0-4:A1")


def test_renewals_at_lower_offsets_of_the_failing_batch_survive() -> None:
    made = partition((0, 4), record_lock_duration_ms=10)
    fetch(made, "a", (0, 4))
    ack(made, "a", (3, 3, RELEASE))
    wait(made, 5)
    assert ack(made, "a", (1, 4, ACCEPT, RENEW, RENEW, RENEW)).status is STATE
    wait(made, 5)
    assert shown(made) == "0-1:A1 2-2:Q1a 3-4:A1"


NO_FAULT = ((3, 3, RENEW), (5, 5, RENEW), (8, 12, RENEW), (1, 1, RENEW), (9, 12, RENEW))
FAULT_LATER = ((3, 3, RENEW), (8, 12, RENEW), (1, 1, RENEW), (7, 7, RENEW))
FAULT_ONLY = ((3, 3, RENEW), (6, 8, RENEW), (1, 1, RENEW))


@pytest.mark.parametrize(
    ("batches", "refusal", "kept"),
    [
        (NO_FAULT, REQUEST, {3, 5}),
        (NO_FAULT, STATE, {3, 5}),
        (FAULT_LATER, REQUEST, {3}),
        (FAULT_LATER, STATE, {1, 3, 8, 9}),
        (FAULT_ONLY, STATE, {3, 6}),
    ],
)
@pytest.mark.parametrize("basis", [KAFKA, KIP])
@pytest.mark.parametrize("survives", [True, False])
def test_which_renewals_survive_a_refusal(
    batches: tuple[tuple[int, ...], ...],
    refusal: ErrorCode,
    kept: set[int],
    basis: Profile,
    *,
    survives: bool,
) -> None:
    profile = attrs.evolve(basis, renewal_survives_refusal=survives)
    made = partition((0, 9), profile=profile, record_lock_duration_ms=10)
    fetch(made, "a", (0, 9))
    ack(made, "a", (7, 7, RELEASE))
    wait(made, 5)
    assert ack(made, "a", *batches, choice=Choice(refusal=refusal)).status is refusal
    wait(made, 5)
    held = {o for r in made.snapshot().records or () if r.owner for o in range(r.first, r.last + 1)}
    assert held == (kept if survives else set())


def test_a_renewal_sets_one_lock_for_records_acquired_at_different_times() -> None:
    made = partition((0, 5), record_lock_duration_ms=10)
    for batch in (0, 1), (2, 3), (4, 5):
        fetch(made, "a", batch)
        wait(made, 1)
    assert runs(made) == 3
    ack(made, "a", (0, 5, RENEW))
    assert runs(made) == 1
    wait(made, 9)
    assert shown(made) == "0-5:Q1a"
    wait(made, 1)
    assert shown(made) == "0-5:A1"


def test_a_renewal_under_a_shorter_lock_duration_ends_earlier() -> None:
    made = partition((0, 4), record_lock_duration_ms=30)
    fetch(made, "a", (0, 4))
    alter(made, record_lock_duration_ms=10)
    ack(made, "a", (1, 2, RENEW))
    wait(made, 9)
    assert shown(made) == "0-4:Q1a"
    wait(made, 1)
    assert shown(made) == "0-0:Q1a 1-2:A1 3-4:Q1a"


def test_records_in_progress_are_not_renewed() -> None:
    made = partition((0, 4), profile=DRAFT_RESOLVED)
    fetch(made, "a", (0, 4))
    mark(made, "a", (2, 3, 0))
    assert ack(made, "a", (0, 1, RENEW), (4, 4, RENEW)).status is ErrorCode.NONE
    assert ack(made, "a", (0, 4, RENEW)).status is STATE
    assert ack(made, "a", (0, 4, ACCEPT, ACCEPT, RENEW, ACCEPT, ACCEPT)).status is STATE
    assert shown(made) == "0-1:Q1a 2-3:P1a 4-4:Q1a"


def test_refused_records_keep_owner_and_lock() -> None:
    made = partition((0, 4), record_lock_duration_ms=0)
    fetch(made, "a", (0, 4))
    assert (
        ack(made, "a", (0, 1, ACCEPT), (3, 5, ACCEPT), choice=Choice(refusal=STATE)).status is STATE
    )
    assert (shown(made), runs(made)) == ("0-4:Q1a", 1)


def test_the_largest_offsets_of_all() -> None:
    top = MAX_INT64 - 2  # The end of the window is an offset too.
    made = FastSharePartition(KAFKA)
    made.apply(Initialize(SharePartitionConfig(), top - 4, top + 1, DurableState(top - 4, 0)))
    fetch(made, "a", (top - 4, top))
    with pytest.raises(IllegalChoiceError) as raised:
        ack(made, "a", (top, 2**70, RENEW), choice=Choice(refusal=ErrorCode.NONE))
    assert raised.value.guard is Guard.ACKNOWLEDGED_WAS_DELIVERED
    assert raised.value.detail == f"at {top + 1}"
    outcome = ack(made, "a", (top, top, ACCEPT))
    assert written(outcome) == [(top - 4, 1, [(top, top, 2, 1)])]
    outcome = made.apply(MemberLeaves("a"))
    assert written(outcome) == [(top - 4, 1, [(top - 4, top - 1, 0, 1)])]


def test_renewal_can_be_disabled() -> None:
    made = partition((0, 4), renew_acknowledge_enable=False)
    fetch(made, "a", (0, 4))
    assert ack(made, "a", (0, 1, ACCEPT, RENEW)).status is STATE
    assert shown(made) == "0-4:Q1a"


def test_a_renewal_writes_nothing() -> None:
    made = partition((0, 4))
    fetch(made, "a", (0, 4))
    assert ack(made, "a", (0, 4, RENEW)).writes == ()


def test_a_member_that_leaves_releases_its_records() -> None:
    made = partition((0, 4), (5, 9))
    fetch(made, "a", (0, 4))
    fetch(made, "b", (5, 9))
    ack(made, "a", (1, 1, ACCEPT), answer=ErrorCode.PENDING)
    outcome = made.apply(MemberLeaves("a"))
    assert written(outcome) == [(0, 1, [(0, 0, 0, 1), (2, 4, 0, 1)])]
    assert shown(made) == "0-0:A1 1-1:K1! 2-4:A1 5-9:Q1b"
    assert made.apply(MemberLeaves("nobody")).writes == ()


@pytest.mark.parametrize(("profile", "times"), [(KAFKA, 1), (KIP, 0)])
def test_a_release_of_what_the_start_offset_has_passed_may_be_written(
    profile: Profile, times: int
) -> None:
    made = partition((0, 4), profile=profile)
    fetch(made, "a", (0, 4))
    made.apply(AdvanceLogStart(5))
    outcome = made.apply(MemberLeaves("a"), Choice(written=True), (Answer(ErrorCode.PENDING),), 9)
    assert written(outcome) == [(5, 0, [])] * times
    if times:
        completed = made.apply(CompleteWrite(0, ErrorCode.NONE)).completed
        assert (completed, made.durable().start_offset) == ((Completion(9, ErrorCode.NONE),), 5)


def _acknowledge_again(made: FastSharePartition, answers: tuple[Answer, ...]) -> Outcome:
    batch = AcknowledgementBatch(2, 2, (ACCEPT,))
    return made.apply(Acknowledge("a", (batch,), EntryPoint.REQUEST), ANY, answers)


def _release(made: FastSharePartition, answers: tuple[Answer, ...]) -> Outcome:
    return made.apply(MemberLeaves("a"), ANY, answers)


@pytest.mark.parametrize("again", [_acknowledge_again, _release])
def test_a_write_cannot_have_the_id_of_one_without_an_answer(
    again: Callable[[FastSharePartition, tuple[Answer, ...]], Outcome],
) -> None:
    made = partition((0, 4))
    fetch(made, "a", (0, 4))
    ack(made, "a", (0, 1, ACCEPT), answer=ErrorCode.PENDING)
    with pytest.raises(InvalidValueError) as raised:
        again(made, (Answer(ErrorCode.PENDING, id=0),))
    assert raised.value.name == "writes.id"
    assert shown(made) == "0-1:K1! 2-4:Q1a"
    assert [write.id for write in again(made, (Answer(ErrorCode.PENDING, id=1),)).writes] == [1]


def in_progress(grace: int) -> FastSharePartition:
    """Return a share-partition where a, at time 3, has marked 1 to 3 of 0 to 4 for 20 ms."""
    made = partition(
        (0, 4),
        profile=DRAFT_RESOLVED,
        record_lock_duration_ms=10,
        in_progress_staleness_threshold_ms=20,
        in_progress_rebalance_grace_ms=grace,
    )
    fetch(made, "a", (0, 4))
    wait(made, 3)
    assert mark(made, "a", (1, 3, 0)) == ["NONE"]
    return made


@pytest.mark.parametrize(("grace", "kept_for"), [(0, 0), (5, 5), (19, 19), (30, 20)])
def test_a_member_that_leaves_keeps_progress_for_the_grace_or_its_lock(
    grace: int, kept_for: int
) -> None:
    made = in_progress(grace)
    released = made.apply(MemberLeaves("a"))
    assert written(released) == [(0, 0, [(0, 0, 0, 1), (4, 4, 0, 1)])]
    assert shown(made) == "0-0:A1 1-3:P1a 4-4:A1"
    if kept_for:
        wait(made, kept_for - 1)
        assert shown(made) == "0-0:A1 1-3:P1a 4-4:A1"
    wait(made, 1 if kept_for else 0)
    assert shown(made) == "0-4:A1"


@pytest.mark.parametrize(("age", "after"), [(7, "0-0:A1 1-3:P1a 4-4:A1"), (8, "0-4:A1")])
def test_a_member_that_leaves_keeps_only_fresh_progress(age: int, after: str) -> None:
    made = in_progress(5)
    wait(made, age)
    alter(made, record_lock_duration_ms=1, in_progress_staleness_threshold_ms=8)
    made.apply(MemberLeaves("a"))
    assert shown(made) == after


def test_locks_that_the_grace_makes_equal_are_of_one_run() -> None:
    made = in_progress(5)
    mark(made, "a", (0, 4, 0))
    alter(
        made,
        record_lock_duration_ms=10,
        in_progress_staleness_threshold_ms=60,
        in_progress_rebalance_grace_ms=5,
    )
    mark(made, "a", (0, 1, 0))
    assert (shown(made), runs(made)) == ("0-4:P1a", 2)
    assert made.apply(MemberLeaves("a")).writes == ()
    assert (shown(made), runs(made)) == ("0-4:P1a", 1)
