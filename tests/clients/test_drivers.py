import re

import pytest

from clients.drivers import ClientCapabilities, Values, hello, opened, returned
from clients.duties import Duty
from clients.events import Completed, Delivered, Returned, Settings
from conformance.target import TargetError


class Scripted:
    """A driver that answers what it is given."""

    def __init__(self, answer: Values) -> None:
        self.answer = answer
        self.asked: list[Values] = []

    def ask(self, command: Values) -> Values:
        self.asked.append(command)
        return self.answer

    def close(self) -> None:
        """Nothing to close."""


GOOD = {"protocol": 1, "name": "a client"}


def test_a_driver_describes_its_client() -> None:
    given = {"callbacks": True, "acquire_modes": ["record_limit"], "modes": ["explicit"]}
    client = hello(Scripted({**GOOD, **given, "without": ["delivers-in-order"], "more": 1}))
    assert client.name == "a client"
    assert client.capabilities == ClientCapabilities(
        *(True, ("record_limit",), ("explicit",), (Duty.IN_ORDER,))
    )
    plain = hello(Scripted({**GOOD, "renews": True, "modes": []})).capabilities
    assert plain == ClientCapabilities(renews=True)
    assert plain.acquire_modes == ("batch_optimized",)
    assert plain.modes == ("implicit", "explicit")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({}, "protocol None, and not 1"),
        ({**GOOD, "protocol": 2}, "protocol 2, and not 1"),
        ({"protocol": 1}, "no name"),
        ({**GOOD, "name": ""}, "no name"),
        ({**GOOD, "callbacks": 1}, "callbacks is 1"),
        ({**GOOD, "renews": "yes"}, "renews is 'yes'"),
        ({**GOOD, "acquire_modes": "record_limit"}, "acquire_modes is 'record_limit'"),
        ({**GOOD, "acquire_modes": [{}]}, "acquire_modes is [{}]"),
        (
            {**GOOD, "modes": ["manual"]},
            "modes is ['manual']; allowed are, of a list: implicit, explicit",
        ),
        ({**GOOD, "without": ["tact"]}, "without is ['tact']; allowed are, of a list: delivers-"),
        ({**GOOD, "acquire_modes": ["fast"]}, "acquire_modes is ['fast']"),
    ],
    ids=str,
)
def test_a_description_that_is_none_is_refused(wrong: Values, said: str) -> None:
    with pytest.raises(TargetError, match=re.escape(said)):
        hello(Scripted(wrong))


def test_a_client_is_opened_with_its_settings() -> None:
    driver = Scripted({})
    opened(driver, "127.0.0.1:1", Settings(explicit=True, record_limit=True, recycles=True))
    assert driver.asked == [
        {
            "do": "open",
            "bootstrap": "127.0.0.1:1",
            "group": "g",
            "mode": "explicit",
            "acquire_mode": "record_limit",
            "max_poll_records": 500,
            "recycles": True,
            "listens": False,
        }
    ]
    with pytest.raises(TargetError, match="cannot open a client: no such setting"):
        opened(Scripted({"error": "no such setting"}), "127.0.0.1:1", Settings())


RECORD = {"topic": "t", "partition": 0, "offset": 5, "delivery_count": 1, "value": "5"}


def test_an_answer_becomes_an_event() -> None:
    answer = {
        "error": None,
        "records": [RECORD],
        "results": [{"topic": "t", "partition": 1, "error": "X"}],
        "completed": [{"topic": "t", "partition": 0, "offsets": [3, 4], "error": None}],
    }
    assert returned("poll", answer, 9) == Returned(
        9,
        "poll",
        None,
        (Delivered(("t", 0), 5, 1, "5"),),
        ((("t", 1), "X"),),
        (Completed(("t", 0), (3, 4), None),),
    )


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"error": 5}, "error is 5"),
        ({"records": {}}, "records is not a list of objects"),
        ({"records": [5]}, "its records is not a list of objects"),
        ({"records": [{}] * 100_001}, "records has 100,001 items; at most 100,000"),
        ({"records": [{**RECORD, "offset": -1}]}, "offset is -1; allowed: a whole number from 0"),
        ({"records": [{**RECORD, "offset": True}]}, "offset is True"),
        ({"records": [{**RECORD, "delivery_count": 1 << 15}]}, "delivery_count is 32768"),
        ({"records": [{**RECORD, "topic": None}]}, "topic is None"),
        ({"records": [{**RECORD, "value": 5}]}, "value is 5"),
        ({"results": [{"topic": "t", "partition": "0"}]}, "partition is '0'"),
        ({"completed": [{"topic": "t", "partition": 0}]}, "offsets is not a list"),
        ({"completed": [{"topic": "t", "partition": 0, "offsets": ["1"]}]}, "offset is '1'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "answer",
)
def test_an_answer_that_is_none_is_refused(wrong: Values, said: str) -> None:
    with pytest.raises(TargetError, match=re.escape(said)):
        returned("poll", wrong, 0)
