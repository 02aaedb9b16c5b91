from itertools import groupby
from pathlib import Path
from typing import Any

import attrs
import pytest

from tools.documents.coverage import MARKS, CoverageItem, covered, items, not_covered, wrong

ITEMS = items()
GOOD = next(item for item in ITEMS if item.properties)


def test_every_item_is_covered_or_has_a_reason() -> None:
    problems = {item.what: list(wrong(item)) for item in ITEMS}
    assert {what: problem for what, problem in problems.items() if problem} == {}


def test_items_are_unique_and_sections_contiguous() -> None:
    assert len({item.what for item in ITEMS}) == len(ITEMS) == 85
    sections = [item.section for item in ITEMS]
    assert [name for name, _ in groupby(sections)] == list(dict.fromkeys(sections))
    assert {item.mark for item in ITEMS} == set(MARKS)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"mark": "other"}, "mark is other; allowed: core, supporting, data"),
        ({"functions": ()}, "it has neither functions and tests nor a reason"),
        ({"tests": ()}, "it has neither functions and tests nor a reason"),
        ({"functions": ("spec.record:conquer",)}, "there is no spec.record:conquer"),
        ({"functions": ("spec.nowhere:x",)}, "there is no spec.nowhere:x"),
        ({"properties": ("all_is_well",)}, "no theorem is about all_is_well"),
        ({"tests": ("tests/no.py::test_x",)}, "there is no tests/no.py::test_x"),
        (
            {"tests": ("tests/rules/test_lag.py::test_x",)},
            "there is no tests/rules/test_lag.py::test_x",
        ),
    ],
)
def test_each_problem_of_an_item_is_reported(changes: dict[str, Any], said: str) -> None:
    assert list(wrong(GOOD)) == []
    assert list(wrong(attrs.evolve(GOOD, **changes))) == [said]


def test_a_data_item_that_a_constant_lists_is_not_covered_by_it() -> None:
    listed: dict[str, Any] = {"functions": ("model.config_table:CONFIGURATIONS",)}
    constant = attrs.evolve(GOOD, mark="data", **listed)
    problem = "model.config_table:CONFIGURATIONS is a constant, which does nothing"
    assert list(wrong(constant)) == [problem]
    assert list(wrong(attrs.evolve(constant, mark="core"))) == []


def test_what_is_not_covered_is_listed_at_the_end() -> None:
    rest = {item.what for item in ITEMS if not covered(item)}
    metrics = {"Eleven broker metrics", "Thirty metrics of the client"}
    assert {*metrics, "Twenty-one options of kafka-share-groups.sh"} <= rest
    assert {item.what for item in ITEMS if f"| {item.what} |" in not_covered()} == rest
    readme = Path(__file__).parents[3].joinpath("README.md").read_text(encoding="utf-8")
    assert "docs/coverage.md#not-covered" in readme


def test_an_item_that_is_missing_something_is_not_covered() -> None:
    assert covered(GOOD)
    assert not covered(attrs.evolve(GOOD, missing="half of it"))
    without: dict[str, Any] = {"tests": ()}
    assert not covered(attrs.evolve(GOOD, **without))


def test_an_uncovered_item_needs_only_a_reason() -> None:
    assert list(wrong(CoverageItem("s", "k", "w", "data", reason="a name only"))) == []
