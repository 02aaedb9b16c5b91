import inspect

import attrs

from spec.draft.readings import DRAFT_LITERAL, MENDED, Readings

NAMES = [field.name for field in attrs.fields(Readings)]
AS_THE_WORDS_SAY = {"second_mark_is_refused", "renewal_counts_as_progress"}
"""What the draft's words have right, or do not say."""


def test_every_option_is_described() -> None:
    text = inspect.getdoc(Readings) or ""
    assert [name for name in NAMES if f"``{name}``:" not in text] == []


def test_every_other_sentence_is_mended() -> None:
    same = {name for name in NAMES if getattr(DRAFT_LITERAL, name) == getattr(MENDED, name)}
    assert same == AS_THE_WORDS_SAY
