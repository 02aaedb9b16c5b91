"""What callbacks and commits tell of acknowledgements, and whether it is so."""

import attrs
import pytest

from clients.duties import Duty
from clients.events import (
    ACCEPT,
    RELEASE,
    RENEW,
    Answered,
    Called,
    Completed,
    Delivered,
    Event,
    Returned,
)
from tests.clients.test_judge import (
    HELD,
    PLACE,
    POLL,
    SAID,
    fetch,
    found,
    gives,
    returns,
    says,
    sends,
    value,
)

TOLD = (Completed(PLACE, (0,), None),)


@pytest.mark.parametrize(
    ("handed_over", "meanwhile", "expected"),
    [((), (), [Duty.TOLD_IN_TIME]), ((), TOLD, []), ((Called(0, "commit_async"),), (), [])],
)
def test_a_callback_comes_before_the_commit_returns_that_sent_what_it_tells_of(
    handed_over: tuple[Event, ...], meanwhile: tuple[Completed, ...], expected: list[Duty]
) -> None:
    done = Returned(0, "commit", results=((PLACE, None),), completed=meanwhile)
    commit = (Called(0, "commit"), sends(2, ACCEPT), Answered(0, 2), done)
    later = () if meanwhile else (POLL, returns(completed=TOLD))
    assert found(*HELD, says(ACCEPT), SAID, *handed_over, *commit, *later) == expected


@pytest.mark.parametrize(("in_time", "expected"), [(TOLD, []), ((), [Duty.TOLD_IN_TIME])])
@pytest.mark.parametrize(
    ("first", "told"),
    [
        ((*HELD, says(RELEASE), SAID, POLL), TOLD),
        ((fetch(), gives()), ()),  # No callback is due of what the client releases undelivered.
    ],
)
def test_a_callback_tells_of_the_delivery_of_a_record_of_which_none_told_yet(
    first: tuple[Event, ...],
    told: tuple[Completed, ...],
    in_time: tuple[Completed, ...],
    expected: list[Duty],
) -> None:
    second, third = (
        attrs.evolve(returns(0), records=(Delivered(PLACE, 0, count, value(0)),))
        for count in (2, 3)
    )
    events = (
        *(*first, sends(2, RELEASE), Answered(0, 2), fetch(5, 2), gives(5, count=2)),
        *(attrs.evolve(second, completed=told), says(RELEASE), SAID, Called(0, "commit")),
        *(sends(3, RELEASE), Answered(0, 3)),
        Returned(0, "commit", results=((PLACE, None),), completed=in_time),
        *(fetch(6, 4), gives(6, count=3), third, says(ACCEPT), SAID, POLL),
        *(sends(4, ACCEPT), Answered(0, 4), returns(completed=TOLD)),
    )
    assert found(*events, of=(Duty.TOLD_IN_TIME,)) == expected


FAILURE = (Completed(PLACE, (0,), "it came to nothing"),)
CLOSE = Called(0, "close")


@pytest.mark.parametrize(
    ("type_", "told", "expected"),
    [
        *((type_, TOLD, []) for type_ in (ACCEPT, RENEW)),
        *((type_, (), [Duty.SUCCESS_TOLD]) for type_ in (ACCEPT, RENEW)),
        *((type_, (*TOLD, *TOLD), [Duty.SUCCESS_TOLD]) for type_ in (ACCEPT, RENEW)),
        (ACCEPT, FAILURE, [Duty.SUCCESS_TOLD]),
        (RENEW, FAILURE, []),
    ],
)
def test_a_success_is_told_once(
    type_: int, told: tuple[Completed, ...], expected: list[Duty]
) -> None:
    sent = (says(type_), SAID, Called(0, "commit"), sends(2, type_), Answered(0, 2))
    done = (Returned(0, "commit"), CLOSE, Returned(0, "close", completed=told))
    assert found(*HELD, *sent, *done, of=(Duty.SUCCESS_TOLD,)) == expected


@pytest.mark.parametrize("more", [{"callbacks": False}, {"listens": True}])
def test_an_application_without_a_callback_is_told_nothing(more: dict[str, bool]) -> None:
    sent = (says(ACCEPT), SAID, Called(0, "commit"), sends(2, ACCEPT), Answered(0, 2))
    done = (Returned(0, "commit"), CLOSE, Returned(0, "close"))
    assert found(*HELD, *sent, *done, of=(Duty.SUCCESS_TOLD,), **more) == []


@pytest.mark.parametrize(("refused", "expected"), [(False, []), (True, [Duty.REFUSAL_TOLD])])
def test_a_callback_may_tell_of_a_renewal_while_the_next_acknowledgement_is_under_way(
    *, refused: bool, expected: list[Duty]
) -> None:
    events = (
        *(*HELD, says(RENEW), sends(2, RENEW)),
        *(Answered(0, 2, refused=((PLACE, 3),) if refused else ()), SAID),
        *(says(ACCEPT), sends(3, ACCEPT), attrs.evolve(SAID, completed=TOLD)),
        *(Answered(0, 3), Called(0, "close"), Returned(0, "close", completed=TOLD)),
    )
    assert found(*events, of=(Duty.REFUSAL_TOLD,)) == expected
