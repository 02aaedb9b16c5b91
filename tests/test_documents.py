"""The documents say what is true of the code."""

import re
from pathlib import Path

import pytest

from tools.documents.coverage import names_of_tests

ROOT = Path(__file__).parent.parent


def _rows(name: str) -> list[str]:
    text = (ROOT / "docs" / name).read_text()
    return [line for line in text.splitlines() if re.match(r"\| \d+ \|", line)]


ROWS = _rows("decisions.md")
TABLE = _rows("in-progress.md")


def _pin(row: str) -> tuple[str, str]:
    found = re.search(r"\| `([\w/]+\.py)::(test_\w+)` \|$", row)
    assert found, f"no test pins this decision: {row}"
    return found[1], found[2]


def test_decisions_are_numbered_without_a_hole() -> None:
    numbers = [int(row.split("|")[1]) for row in ROWS]
    assert numbers == list(range(1, len(ROWS) + 1))
    assert numbers


def test_the_table_of_records_in_progress_is_numbered_without_a_hole() -> None:
    assert [int(row.split("|")[1]) for row in TABLE] == list(range(1, 23))


@pytest.mark.parametrize("rows", [ROWS, TABLE], ids=["decisions", "records in progress"])
def test_every_row_is_pinned_by_a_test_that_exists(rows: list[str]) -> None:
    missing = [
        (path, name) for path, name in map(_pin, rows) if name not in names_of_tests(ROOT / path)
    ]
    assert missing == []


def test_a_decision_without_its_test_is_noticed() -> None:
    with pytest.raises(AssertionError, match="no test pins"):
        _pin("| 1 | question | answer | tests/rules/test_lag.py |")


def test_links_of_the_documents_lead_somewhere() -> None:
    for document in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_readme_tells_how_much_is_not_covered() -> None:
    _, listed = (ROOT / "docs/coverage.md").read_text().split("## Not covered")
    rows = [line for line in listed.splitlines() if re.match(r"\| (?!What)\w", line)]
    assert f"are {len(rows)} things" in (ROOT / "README.md").read_text()
