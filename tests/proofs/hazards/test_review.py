from pathlib import Path

import attrs
import pytest

from model.states import PERSISTED_STATES, RecordState
from proofs.hazards.catalogue import HAZARDS, hazard_named
from proofs.hazards.hazard import Absence, examine
from proofs.hazards.review import edges_that_fall, review, verdict
from proofs.hazards.together import all_together

DOCUMENT = Path(__file__).parents[3] / "docs" / "in-progress-review.md"


@pytest.mark.slow
def test_the_document_says_what_is_found_now() -> None:
    written = review([examine(hazard) for hazard in HAZARDS], all_together())
    again = "run: python -m tools.documents --all"
    assert written == DOCUMENT.read_text(), again


def test_every_way_out_of_a_durable_in_progress_falls() -> None:
    assert {after for _, after in edges_that_fall()} == PERSISTED_STATES
    assert {before for before, _ in edges_that_fall()} == {RecordState.IN_PROGRESS}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Z22", "not there (3 states)"),
        ("Z17", "remains, bounded (413 states)"),
        ("Z19", "not there with a batch for each record (39 states)"),
    ],
)
def test_a_verdict_says_what_remains(name: str, said: str) -> None:
    assert verdict(examine(hazard_named(name))) == said


def test_a_hazard_under_the_resolved_rules_is_reported_loudly() -> None:
    found = examine(hazard_named("Z22"))
    bad = Absence("draft_resolved", 3, "a mark writes")
    worse = attrs.evolve(found, cases=(attrs.evolve(found.cases[0], resolved=bad),))
    assert verdict(worse) == "IS THERE"
    written = review([worse], [bad])
    assert "BROKEN: a mark writes" in written
    assert "UNDER `draft_resolved` IT IS THERE: a mark writes." in written
