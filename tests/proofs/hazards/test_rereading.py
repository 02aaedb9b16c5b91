import attrs
import pytest

from model.errors import InvalidValueError
from proofs.hazards import hazard as module
from proofs.hazards.catalogue import HAZARDS, hazard_named
from proofs.hazards.draft_readings import MENDED, LimitTest, Siblings
from proofs.hazards.hazard import examine
from proofs.hazards.rereading import NAMES, reading_of, remainders


@pytest.mark.parametrize("hazard", HAZARDS, ids=lambda hazard: hazard.name)
def test_where_nothing_is_changed_every_hazard_is_there_as_written(hazard: module.Hazard) -> None:
    steps = [case.literal for case in examine(hazard).cases]
    assert [case.steps for case in remainders(hazard, {})] == steps
    assert None not in steps


def test_a_sentence_that_is_mended_ends_its_hazard_and_no_other() -> None:
    changed = dict([reading_of("staleness_adds_a_delivery")])
    gone = {
        hazard.name
        for hazard in HAZARDS
        if all(case.steps is None for case in remainders(hazard, changed))
    }
    assert gone == {"Z2", "Z3"}


def test_where_every_sentence_is_mended_only_what_the_rules_bound_remains() -> None:
    mended = attrs.asdict(MENDED, recurse=False)
    there = {
        hazard.name
        for hazard in HAZARDS
        if any(case.steps is not None for case in remainders(hazard, mended))
    }
    bounded = {hazard.name for hazard in HAZARDS if any(case.bound for case in hazard.cases)}
    assert there == bounded


def test_a_search_that_sees_too_little_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_STATES", 5)
    (case,) = remainders(hazard_named("Z2"), dict([reading_of("staleness_adds_a_delivery")]))
    assert (case.steps, case.unfinished) != (None, None)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_alone_is_answered_as_the_resolved_rules_do(name: str) -> None:
    assert reading_of(name) == (name, getattr(MENDED, name))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("marks_are_written=no", ("marks_are_written", False)),
        ("second_mark_is_refused=Yes", ("second_mark_is_refused", True)),
        ("limit_test=after_adding", ("limit_test", LimitTest.AFTER_ADDING)),
        ("siblings=UNTOUCHED", ("siblings", Siblings.UNTOUCHED)),
    ],
)
def test_a_value_is_taken_as_given(text: str, expected: tuple[str, object]) -> None:
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
