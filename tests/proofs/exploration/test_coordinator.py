"""The share coordinator of a small world, and that what is wrong with it is noticed."""

import attrs
import pytest
from immutables import Map

from model.states import RecordState
from proofs.exploration import coordinator
from proofs.exploration.coordinator import Coordinator, form_of
from proofs.exploration.normal import Content
from proofs.exploration.world import SmallWorld
from spec.coordinator import Durable

ACCEPT: Content = (0, 1, ((0, 0, 2, 1),))
RELEASE: Content = (0, 0, ((0, 0, 0, 1),))


@pytest.mark.parametrize(
    ("name", "fault", "sentence"),
    [
        ("merge_answered", lambda *_: None, "the implementation merges to"),
        ("merge", lambda d, *_: attrs.evolve(d, updates=d.updates + 1), "arrives again"),
    ],
    ids=["implementation", "not idempotent"],
)
def test_a_fault_is_noticed(
    monkeypatch: pytest.MonkeyPatch, name: str, fault: object, sentence: str
) -> None:
    monkeypatch.setattr(coordinator, name, fault)
    of = Coordinator(SmallWorld())
    _, wrong = of.merged(of.first(), ACCEPT)
    assert wrong is not None
    assert sentence in wrong


def test_a_write_that_takes_something_back_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    of = Coordinator(SmallWorld())
    state, empty = of.merged(of.first(), ACCEPT)[0], Durable()
    monkeypatch.setattr(coordinator, "merge", lambda *_: empty)
    assert of.merged(state, RELEASE)[1] == "a write takes back something durable"


def test_what_a_new_leader_finds_of_each_offset() -> None:
    entries = Map({1: (RecordState.AVAILABLE, 1), 2: (RecordState.ARCHIVED, 2)})
    form = form_of(SmallWorld(offsets=4), Durable(1, 1, entries))
    passed, never = (RecordState.ARCHIVED, 0), (RecordState.AVAILABLE, 0)
    assert form.found == {0: passed, **entries, 3: never}
    assert form.terminal == {0, 2}
    assert (form.start, form.reported) == (1, 2)


def test_a_durable_state_that_was_never_written() -> None:
    form = form_of(SmallWorld(offsets=4), Durable())
    assert not form.terminal
    assert (form.start, form.reported, form.resumed) == (-1, 0, 0)
