"""Beside the lockstep, in which each side goes on from the other's whole state."""

import re

import attrs
import pytest

from model.whole_state import ReplayState, first_difference
from tests.whole_states import FULL, altered, fields_of

ALTERED = list(altered(FULL))


def test_equal_states_do_not_differ() -> None:
    assert first_difference(FULL, attrs.evolve(FULL)) is None


@pytest.mark.parametrize(("path", "other"), ALTERED, ids=[path for path, _ in ALTERED])
def test_any_one_field_that_is_altered_is_noticed_and_named(path: str, other: ReplayState) -> None:
    difference = first_difference(FULL, other)
    assert difference is not None
    assert difference.startswith(f"state{path} ")


def test_no_field_is_left_out_of_those_that_are_altered() -> None:
    paths = {path.rpartition(".")[2] for path, _ in ALTERED}
    bare = {re.sub(r"\[.*", "", path) for path in paths}
    inside = {"config", "log", "durable", "stuck", "state"}
    assert bare == {name.partition(".")[2] for name in fields_of(FULL)} - inside | {"state"}
