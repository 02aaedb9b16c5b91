import pytest

from model.errors import ErrorCode, IllegalChoiceError
from model.guards import Guard
from model.operations import EntryPoint, Release
from model.outcome import Choice
from model.profile import KAFKA, KIP, Profile
from tests.impl.scenario import (
    ACCEPT,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    ack,
    fetch,
    partition,
    shown,
    wait,
    written,
)

REQUEST = ErrorCode.INVALID_REQUEST
STATE = ErrorCode.INVALID_RECORD_STATE


def test_every_type_and_one_write() -> None:
    made = partition((0, 9))
    fetch(made, "a", (0, 9))
    outcome = ack(made, "a", (1, 5, GAP, ACCEPT, RELEASE, REJECT, RENEW), (7, 8, ACCEPT))
    assert shown(made) == "0-0:Q1a 1-1:X1 2-2:K1 3-3:A1 4-4:X1 5-6:Q1a 7-8:K1 9-9:Q1a"
    batches = [(1, 1, 4, 1), (2, 2, 2, 1), (3, 3, 0, 1), (4, 4, 4, 1), (7, 8, 2, 1)]
    assert written(outcome) == [(0, 5, batches)]


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
def test_what_is_malformed_is_an_invalid_request(batch: tuple[int, ...]) -> None:
    made = partition((0, 4))
    fetch(made, "a", (0, 4))
    assert ack(made, "a", (0, 0, ACCEPT), batch).status is REQUEST
    assert shown(made) == "0-4:Q1a"
    with pytest.raises(IllegalChoiceError, match=r"at -1$") as raised:
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


def test_renewal_can_be_disabled() -> None:
    made = partition((0, 4), renew_acknowledge_enable=False)
    fetch(made, "a", (0, 4))
    assert ack(made, "a", (0, 1, ACCEPT, RENEW)).status is STATE
    assert shown(made) == "0-4:Q1a"


def test_a_renewal_writes_nothing() -> None:
    made = partition((0, 4))
    fetch(made, "a", (0, 4))
    assert ack(made, "a", (0, 4, RENEW)).writes == ()


def test_a_member_that_leaves_releases_what_it_holds() -> None:
    made = partition((0, 4), (5, 9))
    fetch(made, "a", (0, 4))
    fetch(made, "b", (5, 9))
    ack(made, "a", (1, 1, ACCEPT), answer=ErrorCode.PENDING)
    outcome = made.apply(Release("a"))
    assert written(outcome) == [(0, 1, [(0, 0, 0, 1), (2, 4, 0, 1)])]
    assert shown(made) == "0-0:A1 1-1:K1! 2-4:A1 5-9:Q1b"
    assert made.apply(Release("nobody")).writes == ()
