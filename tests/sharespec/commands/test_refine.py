import json
from typing import Any

import attrs
import pytest

from impl import acknowledge
from impl import layout as at
from impl.state import State
from model.profile import KIP
from proofs.refinement.families import FEW, Family
from sharespec.commands import refine
from tests.sharespec.running import runner

SMALL = Family("a few", KIP, FEW, offers=("member leaves",))


@pytest.fixture(autouse=True)
def _one_family(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refine, "QUICK", (SMALL,))
    monkeypatch.setattr(refine, "FAMILIES", (SMALL, attrs.evolve(SMALL, name="worn", form="worn")))


run = runner("refine")


def test_each_family_is_listed_with_what_was_compared() -> None:
    result = run()
    assert result.exit_code == 0
    small, worn, total = result.output.splitlines()
    assert small.split() == ["kip", "a", "few", "3", "states", "30", "steps"]
    assert worn.split()[1] == "worn"
    assert total == (
        "6 states, 60 steps, of which 12 are refused on both sides, by 2 guards and checks: "
        "none differ"
    )


def test_the_quick_ones_are_fewer_and_a_line_of_json_each() -> None:
    (line,) = run("--quick", "--json").output.splitlines()
    found = json.loads(line)
    assert (found["family"], found["states"], found["differ"]) == ("a few", 3, [])
    assert found["steps"] == {"MemberLeaves": 30}


def test_a_difference_is_shown_and_is_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    right = acknowledge.release

    def wrong(state: State, *arguments: Any) -> int:  # noqa: ANN401 - as they come
        verdict: int = right(state, *arguments)
        state.header[at.END] += 1
        return verdict

    monkeypatch.setattr(acknowledge, "release", wrong)
    result = run("--quick")
    assert result.exit_code == 1
    assert "DIFFER" in result.output
    assert "the implementation's window is" in result.output
