import inspect

import attrs

from proofs.hazards.draft_readings import DRAFT_LITERAL, MENDED, LimitTest, Readings, Siblings

NAMES = [field.name for field in attrs.fields(Readings)]
AS_THE_WORDS_SAY = {"second_mark_is_refused", "renewal_counts_as_progress"}
"""What the draft's words have right, or do not say."""


def test_every_option_is_described() -> None:
    text = inspect.getdoc(Readings) or ""
    assert [name for name in NAMES if f"``{name}``:" not in text] == []


def test_every_other_sentence_is_mended() -> None:
    same = {name for name in NAMES if getattr(DRAFT_LITERAL, name) == getattr(MENDED, name)}
    assert same == AS_THE_WORDS_SAY


def test_an_option_that_is_no_flag_has_a_literal_and_a_mended_value() -> None:
    assert (DRAFT_LITERAL.siblings, MENDED.siblings) == ("rescheduled", "untouched")
    assert DRAFT_LITERAL.limit_test is LimitTest.NEVER
    assert MENDED.limit_test is LimitTest.BEFORE_ADDING


def test_choices_are_named_in_words() -> None:
    assert [choice.split()[0] for choice in (*LimitTest, *Siblings)] == [
        *("never", "before", "after", "untouched", "rescheduled", "cancelled"),
    ]
