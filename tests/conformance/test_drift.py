"""What a newer text does to quoted sentences; the controls alter a text that has all of them."""

import html

import pytest

from conformance.drift import Compared, Fate, drift, plain_text
from conformance.vectors.source import Case, Quotation, cases

CASES: list[Case] = [case for listed in cases().values() for case in listed]
LIMIT = "the record moves into Archived state and is not eligible for additional delivery attempts."


def quoted(kip: int) -> list[Quotation]:
    return list(dict.fromkeys(case.rests_on for case in CASES if case.rests_on.kip == kip))


def text_of(kip: int) -> str:
    return "\n".join(f"{each.section}\n\n{each.says}\n" for each in quoted(kip))


def about(text: str, says: str) -> Compared:
    return next(each for each in drift(text, 932, CASES) if each.quotation.says == says)


@pytest.mark.parametrize("kip", sorted({case.rests_on.kip for case in CASES}))
def test_in_the_text_itself_every_sentence_stands(kip: int) -> None:
    found = list(drift(text_of(kip), kip, CASES))
    assert {each.fate for each in found} == {Fate.STANDS}
    assert sum(len(each.vectors) for each in found) == sum(c.rests_on.kip == kip for c in CASES)


def test_spaces_quotation_marks_and_line_ends_do_not_matter() -> None:
    text = text_of(932).replace(" ", "\u00a0 ").replace("“", '"').replace("queuing", "queuing\n")
    assert {each.fate for each in drift(text, 932, CASES)} == {Fate.STANDS}


def test_a_word_that_changed_is_shown_with_what_rests_on_it() -> None:
    text = text_of(932).replace("not eligible for additional", "eligible for three more")
    found = about(text, LIMIT)
    assert found.fate is Fate.CHANGED
    assert "eligible for three more delivery attempts" in found.now
    assert found.now in text.splitlines()[found.line - 1]
    assert "record.release" in found.pins
    assert "a-release-at-the-limit-archives" in found.vectors
    assert "ONLY_AVAILABLE_IS_ACQUIRED" in found.rules
    others = [each for each in drift(text, 932, CASES) if each.quotation.says != LIMIT]
    assert {each.fate for each in others} == {Fate.STANDS}


def test_a_sentence_that_is_gone_has_nothing_in_its_place() -> None:
    found = about(text_of(932).replace(LIMIT, ""), LIMIT)
    assert (found.fate, found.now, found.line) == (Fate.GONE, "", 0)


def test_a_page_is_read_as_its_text_and_scripts_are_not() -> None:
    body = "".join(f"<p>{html.escape(each.says)}</p>" for each in quoted(932))
    page = f"<!DOCTYPE html><html><head><title>x</title></head><body>{body}</body></html>"
    assert {each.fate for each in drift(page, 932, CASES)} == {Fate.STANDS}
    marked = page.replace("Archived state", "<b>Archived</b> <a href='x'>state</a>")
    assert about(marked, LIMIT).fate is Fate.STANDS
    broken = page.replace("Archived state", "Archived\nstate").replace("into ", "into\n<i>")
    assert about(broken, LIMIT).fate is Fate.STANDS
    hidden = page.replace(LIMIT, "").replace("<body>", f"<body><script>{LIMIT}</script>")
    assert about(hidden, LIMIT).fate is Fate.GONE
    assert plain_text("a < b") == "a < b"


@pytest.mark.parametrize("piece", ["<a href='x", "<script>", "<!--", "....", "a<b", "&amp;"])
def test_a_hostile_page_takes_one_pass(piece: str) -> None:
    page = "<html>" + piece * (200_000 // len(piece))
    assert {each.fate for each in drift(page, 1226, CASES)} == {Fate.GONE}


def test_an_empty_text_has_nothing() -> None:
    assert {each.fate for each in drift("", 932, CASES)} == {Fate.GONE}
