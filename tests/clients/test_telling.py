"""What an application is told of its acknowledgements, judged by the order of what it is told."""

import attrs
import pytest

from clients.duties import Duty
from clients.events import ACCEPT, RELEASE, Answered, Called, Completed, Delivered, Event, Returned
from tests.clients.test_judge import (
    PLACE,
    POLL,
    SAID,
    TOLD,
    fetch,
    found,
    gives,
    returns,
    says,
    sends,
    value,
)


@pytest.mark.parametrize(("in_time", "expected"), [(TOLD, []), ((), [Duty.TOLD_IN_TIME])])
def test_no_callback_is_due_of_a_record_that_the_client_released_undelivered(
    in_time: tuple[Completed, ...], expected: list[Duty]
) -> None:
    second, third = (
        attrs.evolve(returns(0), records=(Delivered(PLACE, 0, count, value(0)),))
        for count in (2, 3)
    )
    undelivered = (fetch(), gives(), sends(2, RELEASE), Answered(0, 2), fetch(5, 2))
    committed: tuple[Event, ...] = (
        *(gives(5, count=2), second, says(RELEASE), SAID, Called(0, "commit")),
        *(sends(3, RELEASE), Answered(0, 3)),
        Returned(0, "commit", results=((PLACE, None),), completed=in_time),
    )
    again = (fetch(6, 4), gives(6, count=3), third, says(ACCEPT), SAID, POLL, sends(4, ACCEPT))
    events = (*undelivered, *committed, *again, Answered(0, 4), returns(completed=TOLD))
    assert found(*events, of=(Duty.TOLD_IN_TIME,)) == expected
