"""The review of the draft says what searches find."""

import re
from pathlib import Path

import attrs
import pytest

from model.errors import InvalidValueError
from proofs.hazards import hazard as module
from proofs.hazards import properties
from proofs.hazards.catalogue import CHANGES, HAZARDS, hazard_named
from proofs.hazards.draft_readings import MENDED, NAMES, LimitTest, Siblings
from proofs.hazards.hazard import Absence, as_written, examine, gone, ranked, reading_of
from proofs.hazards.page import page
from proofs.hazards.review import examine_all, parts, verdict
from proofs.hazards.together import all_together

DOCUMENT = (Path(__file__).parents[3] / "docs" / "in-progress-review.md").read_text()
README = (Path(__file__).parents[3] / "README.md").read_text()
A_PAGE = 44
"""Lines of Markdown, of which tables and paragraphs are one each."""


@pytest.mark.slow
def test_every_hazard_is_shown_and_the_document_says_what_is_found_now() -> None:
    findings = examine_all()
    assert [name for name, found in findings.items() if not all(f.is_shown for f in found)] == []
    together = all_together()
    assert [absence.problem for absence in together] == [None, None]
    for name, part in parts(findings, together).items():
        current = f"<!-- begin: {name} -->\n\n{part}\n\n<!-- end: {name} -->" in DOCUMENT
        assert current, f"{name}: run python -m tools.documents --all"


def test_each_hazard_has_a_page_that_quotes_the_sections_which_cause_it() -> None:
    numbers = ["Z1", "Z1b", *(f"Z{number}" for number in range(2, 24))]
    assert [hazard.name for hazard in HAZARDS] == numbers
    assert f"{len(HAZARDS)} hazards, " in DOCUMENT
    assert f"[{len(HAZARDS)} hazards](docs/in-progress-review.md)" in README
    pages = re.split(r"\n(?=### Z)", DOCUMENT.split("## Questions")[0])[1:]
    for hazard, text in zip(HAZARDS, pages, strict=True):
        assert text.startswith(f"### {hazard.name}. {hazard.title}\n")
        quoted = re.findall(r"^> (§[^:]*): “", text, re.MULTILINE)
        assert ", ".join(dict.fromkeys(quoted)) == hazard.sections
        assert "**Smallest change of the text.** " in text
        assert len(text.splitlines()) <= A_PAGE


def test_a_page_names_a_change_that_its_hazard_needs_or_is_gone_with() -> None:
    table = DOCUMENT.split("<!-- begin: changes -->")[1].split("<!-- end: changes -->")[0]
    rows = re.findall(r"^\| (\d) \| .* \| ([^|]*) \| ([^|]*) \|$", table, re.MULTILINE)
    removes = {number: f"{needed}, {alone}".split(", ") for number, needed, alone in rows}
    page_with_change = r"^### (Z\w+)\.(?:(?!^### ).)*?\[[Cc]hange (\d)\]"
    named = re.findall(page_with_change, DOCUMENT, re.MULTILINE | re.DOTALL)
    assert len(named) > 15
    assert [pair for pair in named if pair[0] not in removes[pair[1]]] == []


def test_each_property_is_broken_by_a_hazard_or_bounds_one() -> None:
    """And the lag that is resumed is not where a write is lost (``test_together``)."""
    cases = [case for hazard in HAZARDS for case in hazard.cases]
    known = {case.holds for case in cases} | {case.bound for case in cases if case.bound}
    every = {
        value
        for name, value in vars(properties).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == properties.__name__
    }
    assert every - known == {properties.the_lag_is_resumed}


def test_what_is_not_as_it_should_be_is_said_loudly() -> None:
    hazard = hazard_named("z22")
    (found,) = examine(hazard)
    bad = Absence("draft_resolved", 3, "a mark writes")
    assert verdict(hazard, [attrs.evolve(found, resolved=bad)]) == "IS THERE"
    controls = (Absence("Without marks", 3, "why"),)
    none = attrs.evolve(found, run=None, steps=None, literal=None, controls=controls, resolved=bad)
    text = page([none])
    assert "**Not found.**" in text
    assert "no run; no run with every sentence as written" in text
    assert "Without marks it is STILL THERE: why (3 states)." in text
    assert "UNDER `draft_resolved` IT IS THERE: a mark writes." in text


def test_a_hazard_that_there_is_not_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="hazard is 'Z24'; allowed: Z1, Z1b, Z2"):
        hazard_named("Z24")


def remaining(changed: dict[str, object]) -> set[str]:
    """Return the names of the hazards that remain where sentences are changed."""
    return {
        hazard.name
        for hazard in HAZARDS
        if any(as_written(case, changed).violation for case in hazard.cases)
    }


def test_a_sentence_that_is_mended_ends_its_hazard_and_no_other() -> None:
    everything = {hazard.name for hazard in HAZARDS}
    changed = dict([reading_of("staleness_adds_a_delivery")])
    assert everything - remaining(changed) == {"Z2", "Z3"}


def test_each_change_is_needed_and_together_they_decide_every_reading() -> None:
    every = [name for change in CHANGES for name in change.readings]
    assert sorted(every) == sorted(NAMES)
    small = [hazard_named(name) for name in ("Z6", "Z8", "Z17", "Z23")]
    removed = gone(CHANGES, small)
    rows = ranked(CHANGES, small, removed)
    assert [(row.needed, row.alone) for row in rows] == [
        (("Z6", "Z8"), ("Z6",)),
        (("Z23",), ("Z23",)),
        (("Z8",), ("Z17",)),  # Z8 needs two, and Z17 is back once the other is made.
        *[((), ())] * 3,
    ]
    assert removed == ("Z6", "Z8", "Z23")


def test_where_every_sentence_is_mended_only_what_the_rules_bound_remains() -> None:
    bounded = {hazard.name for hazard in HAZARDS if any(case.bound for case in hazard.cases)}
    assert remaining(attrs.asdict(MENDED, recurse=False)) == bounded


def test_a_search_that_sees_too_little_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_STATES", 5)
    (case,) = hazard_named("Z2").cases
    found = as_written(case, dict([reading_of("staleness_adds_a_delivery")]))
    assert (found.violation, found.unfinished) == (None, "more than 5 states")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((name, (name, getattr(MENDED, name))) for name in NAMES),
        ("marks_are_written=no", ("marks_are_written", False)),
        ("second_mark_is_refused=Yes", ("second_mark_is_refused", True)),
        ("limit_test=after_adding", ("limit_test", LimitTest.AFTER_ADDING)),
        ("siblings=UNTOUCHED", ("siblings", Siblings.UNTOUCHED)),
    ],
)
def test_a_reading_is_as_the_resolved_rules_have_it_or_as_given(
    text: str, expected: tuple[str, object]
) -> None:
    assert reading_of(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("colour", "reading is 'colour'; allowed: one of staleness_adds_a_delivery, limit_test"),
        ("", "reading is ''; allowed: one of"),
        ("limit_test=maybe", "limit_test is 'maybe'; allowed: never or before_adding or after_add"),
        ("marks_are_written=", "marks_are_written is ''; allowed: yes or no"),
    ],
)
def test_what_is_no_reading_is_named(text: str, message: str) -> None:
    with pytest.raises(InvalidValueError) as error:
        reading_of(text)
    assert str(error.value).startswith(message)
