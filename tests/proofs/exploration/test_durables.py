"""The coordinator's part, and that what is wrong with it is noticed."""

import pytest
from immutables import Map

from model.errors import ErrorCode
from proofs.exploration import durables
from proofs.exploration.durables import Coordinator
from proofs.exploration.network import NetworkAct
from proofs.exploration.normal import Content
from proofs.exploration.world import SmallWorld
from spec.coordinator import merge

ACCEPT: Content = (0, 1, ((0, 0, 2, 1),))
RELEASE: Content = (0, 0, ((0, 0, 0, 1),))


def _merged(coordinator: Coordinator, *writes: Content) -> int:
    return coordinator.apply(tuple((NetworkAct.MERGE, write) for write in writes), 0)


def test_the_order_of_writes_does_not_matter() -> None:
    coordinator = Coordinator(SmallWorld())
    assert _merged(coordinator, ACCEPT, RELEASE) == _merged(coordinator, RELEASE, ACCEPT)
    assert coordinator.wrong == {}
    state = _merged(coordinator, ACCEPT)
    assert coordinator.states[state].entries == Map({0: (2, 1)})
    assert coordinator.covers(state, RELEASE)
    assert not coordinator.covers(0, RELEASE)


def test_a_reset_discards_what_is_in_flight() -> None:
    coordinator = Coordinator(SmallWorld())
    state = coordinator.apply(((NetworkAct.RESET, 2),), _merged(coordinator, ACCEPT))
    assert coordinator.states[state].start_offset == 2
    assert coordinator.states[state].entries == Map()


@pytest.mark.parametrize(
    ("name", "fault", "sentence"),
    [
        ("write", lambda d, w, _epochs, p: (ErrorCode.NONE, merge(d, w, p)), "should be refused"),
        ("write", lambda d, _w, _e, _p: (ErrorCode.FENCED_STATE_EPOCH, d), "is answered FENCED"),
        ("merge_answered", lambda *_: None, "the implementation merges to"),
        ("merge", lambda _d, _w, _p: None, "arrives again"),
    ],
    ids=["no fence", "fenced", "implementation", "not idempotent"],
)
def test_a_fault_is_noticed(
    monkeypatch: pytest.MonkeyPatch, name: str, fault: object, sentence: str
) -> None:
    monkeypatch.setattr(durables, name, fault)
    coordinator = Coordinator(SmallWorld())
    _merged(coordinator, ACCEPT)
    assert [sentence in wrong for wrong in coordinator.wrong.values()] == [True]


def test_a_write_that_takes_something_back_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    coordinator = Coordinator(SmallWorld())
    state, empty = _merged(coordinator, ACCEPT), coordinator.states[0]
    monkeypatch.setattr(durables, "write", lambda *_: (ErrorCode.NONE, empty))
    monkeypatch.setattr(durables, "merge", lambda durable, *_: durable)
    coordinator.apply(((NetworkAct.MERGE, RELEASE),), state)
    assert list(coordinator.wrong.values()) == ["a write takes back something durable"]
