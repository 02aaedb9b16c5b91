from pathlib import Path

import attrs

from proofs.hazards import properties as hold
from proofs.hazards.catalogue import HAZARDS, hazard_named
from proofs.hazards.hazard import Absence, examine
from proofs.hazards.page import page, property_text, steps_table

DOCUMENT = Path(__file__).parents[3] / "docs" / "in-progress-review.md"
A_PAGE = 40
"""Lines of Markdown, of which tables and paragraphs are one each."""


def test_a_page_has_the_run_the_property_and_the_change() -> None:
    found = examine(hazard_named("Z1"))
    text = page(found)
    assert text.startswith("### Z1. A durable acceptance is lost\n")
    assert "> §3.2: “5. Async-write delta record to __share_group_state.”" in text
    assert "| 0 | a new leader takes over **←** | 0: passed → AVAILABLE(1) |" in text
    assert "**When:** `marks_are_written`." in text
    assert "Strike step 5 of §3.2" in text
    assert "Under `draft_resolved` it is not there: 13 states" in text


def test_no_page_is_longer_than_a_page() -> None:
    _, hazards = DOCUMENT.read_text().split("## The hazards\n")
    pages = hazards.split("## Questions")[0].split("### Z")[1:]
    assert len(pages) == len(HAZARDS)
    assert max(len(text.splitlines()) for text in pages) <= A_PAGE


def test_rows_show_answers_and_what_became_of_records() -> None:
    found = examine(hazard_named("Z11")).cases[0]
    assert found.run is not None
    rows = list(steps_table(found.run))
    assert rows[2] == "| 0 | the leader has read an untouched state | – | start 0, complete 0 | 1 |"
    assert "A marks 0: not answered yet" in rows[4] or "IN_PROGRESS(1) A" in rows[4]
    assert "A accepts 0: INVALID_RECORD_STATE **←** | – |" in rows[5]


def test_a_further_case_is_one_paragraph() -> None:
    text = page(examine(hazard_named("Z18")))
    assert "**Also: implicit acknowledgement: poll() accepts the record first**" in text
    assert "A fetches, A calls markInProgress(0), A calls poll()." in text


def test_a_hazard_without_a_cause_says_what_remains() -> None:
    text = page(examine(hazard_named("Z17")))
    assert "**When:** under every reading." in text
    assert "With a grace time of 0 it is not there" in text
    assert "Under `draft_resolved` it remains, bounded: what a member held is available" in text


def test_what_was_not_found_is_said() -> None:
    found = examine(hazard_named("Z22"))
    case = attrs.evolve(
        found.cases[0], run=None, literal=None, controls=(Absence("Without marks", 3, "why"),)
    )
    text = page(attrs.evolve(found, cases=(case,)))
    assert "**Not found.**" in text
    assert "no run; no run with every sentence as written" in text
    assert "Without marks it is STILL THERE: why (3 states)." in text


def test_a_property_is_a_sentence() -> None:
    assert property_text(hold.in_progress_has_an_owner) == "An IN_PROGRESS record has an owner."
