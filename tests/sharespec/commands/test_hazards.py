import json

import attrs
import pytest

from proofs.hazards.catalogue import hazard_named
from proofs.hazards.hazard import Absence
from sharespec.commands import hazards as cli_hazards
from tests.sharespec.running import runner

FEW = (hazard_named("Z1"), hazard_named("Z17"))
WELL = (Absence("draft_resolved", 7, None),)


@pytest.fixture(autouse=True)
def _few_hazards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_hazards, "HAZARDS", FEW)
    monkeypatch.setattr(cli_hazards, "all_together", lambda: WELL)


run = runner("hazards")


def test_each_hazard_is_listed_with_its_finding() -> None:
    result = run()
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "Z1   A durable acceptance is lost",
        "     breaks: What was accepted and confirmed is never delivered again, failover or not.",
        "     found by search, 4 steps; draft_resolved: not there (13 states)",
        "Z17  The grace time keeps a record from everybody",
        "     breaks: What a member held is available right after it has left.",
        "     found by search, 4 steps; draft_resolved: remains, bounded (413 states)",
        "All properties together under draft_resolved: none is broken (7 states)",
    ]


def test_one_hazard_is_shown_in_full() -> None:
    result = run("--show", "z22")
    assert result.exit_code == 0
    assert result.output.startswith("### Z22. Every mark is a write\n\n| Time (ms) |")
    assert "**When:** `marks_are_written`." in result.output


def test_json_has_a_line_for_each_hazard() -> None:
    result = run("--json")
    first, second = (json.loads(line) for line in result.output.splitlines())
    assert (first["name"], second["name"]) == ("Z1", "Z17")
    case = first["cases"][0]
    assert case["shown"] is True
    assert case["readings"] == {"marks_are_written": "True"}
    assert (case["steps"], case["steps_as_written"]) == (4, 4)
    assert case["controls"][0]["states"] == 13
    assert case["draft_resolved"] == {"states": 13, "problem": None, "bound": None}
    assert second["cases"][0]["draft_resolved"]["bound"].startswith("What a member held")


def test_a_hazard_that_is_not_as_claimed_exits_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    case = attrs.evolve(FEW[0].cases[0], steps=3)
    monkeypatch.setattr(cli_hazards, "HAZARDS", (attrs.evolve(FEW[0], cases=(case,)),))
    result = run()
    assert result.exit_code == 1
    assert "NOT AS CLAIMED" in result.output


def test_a_property_broken_in_the_larger_worlds_exits_with_1(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cli_hazards, "all_together", lambda: (Absence("", 5, "a record is lost"),))
    result = run()
    assert result.exit_code == 1
    assert "under draft_resolved: a record is lost (5 states)" in result.output


def test_a_sentence_that_is_changed_leaves_some_hazards_and_not_others() -> None:
    result = run("--with", "marks_are_written")
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "Z1   A durable acceptance is lost: not there (13 states)",
        "Z17  The grace time keeps a record from everybody: remains, 4 steps",
        "gone: Z1; 1 remain",
    ]
    first, _ = map(json.loads, run("--with", "marks_are_written", "--json").output.splitlines())
    (case,) = first["cases"]
    assert (case["steps"], case["states"], case["unfinished"]) == (None, 13, None)
