import json
from typing import Any

import attrs
import pytest

from model.errors import InvalidValueError
from replay.observed.inputs import sorted_out
from replay.observed.observation import (
    EpochRun,
    Fact,
    Lapse,
    ListedBroker,
    LogExtent,
    NamedTopic,
    SentRun,
    SessionChange,
    SessionEvent,
    SettingEvent,
)
from replay.observed.rows import FACTS, fact_lines, fact_of, line_of, observation_of
from replay.observed.run import read_all
from tests.replay.observed.real import LOG

PLAIN = {
    "observed": "acquire",
    "topic": "t",
    "partition": 0,
    "source": "log",
    "line": 1,
    "begin": 1.0,
    "end": 2.0,
}


def test_observations_survive_lines() -> None:
    _, seen = read_all(sorted_out([LOG])[0])
    again = [observation_of(json.loads(line_of(each))) for each in seen]
    assert list(map(attrs.asdict, again)) == list(map(attrs.asdict, seen))


def test_facts_survive_lines() -> None:
    facts: list[Fact] = [
        SessionEvent("g", "m", "b", SessionChange.OPENED, 1.0, 2.0),
        SettingEvent("g", "share.delivery.count.limit", None, 1.0, 2.0),
        EpochRun("g", "m", "b", 0, 7, 1.0, 2.0),
        SentRun("c", 1, 2, 1.0, 2.0),
        Lapse("b", 1.0, 2.0, "why"),
        LogExtent("b", 1.0, 2.0),
        NamedTopic("id", "name"),
        ListedBroker(1),
        ListedBroker(2),
    ]
    assert {type(fact) for fact in facts} == set(FACTS.values())
    assert [fact_of(json.loads(line)) for line in fact_lines(facts)] == facts


@pytest.mark.parametrize(
    "change",
    [
        {"observed": "nothing"},
        {"partition": "0"},
        {"begin": "now"},
        {"begin": None},
        {"line": None},
        {"status": "NONE"},
        {"ranges": [[1, 2]]},
        {"ranges": [[2, 1, 1]]},
        {"ranges": [[-1, 1, 1]]},
        {"ranges": 7},
        {"named": 1},
        {"offset": 2**64},
        {"begin": float("-inf")},
        {"another": 1},
    ],
    ids=str,
)
def test_a_row_that_is_no_observation_is_refused(change: dict[str, Any]) -> None:
    assert observation_of(PLAIN).line == 1
    with pytest.raises(InvalidValueError):
        observation_of({**PLAIN, **change})


@pytest.mark.parametrize(
    "row",
    [
        {"observed": "gap", "broker": "b"},
        {"observed": "gap", "broker": "b", "begin": "1", "end": 2, "reason": ""},
        {"observed": "session", "change": "moved"},
        {"observed": "gap", "broker": "b", "begin": float("nan"), "end": 2, "reason": ""},
        {"observed": "node", "node": "x"},
        {"observed": "node", "node": float("inf")},
        {"observed": "name"},
        {"observed": "name", "topic": [], "name": ""},
    ],
    ids=str,
)
def test_a_row_that_is_no_fact_is_refused(row: dict[str, Any]) -> None:
    with pytest.raises(InvalidValueError):
        fact_of(row)
