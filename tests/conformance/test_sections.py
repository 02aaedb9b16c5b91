"""Sections by digest: what a newer text changed, and what rests on it; the project has no text."""

import json
from pathlib import Path

import pytest

from conformance.sections import (
    ComparedSection,
    SectionFate,
    Sections,
    SectionsError,
    as_pinned,
    compared,
    digest,
    known_headings,
    pinned,
    read_pinned,
    resting_on,
    sections_of,
)
from conformance.vectors.source import cases

REVISIONS = Path(__file__).parents[1] / "data" / "golden" / "kip-932-revisions.jsonl"
TEXT = """Before.

Persistence

One. Two
Three.

Records

Four.
"""
CASES = [case for of_topic in cases().values() for case in of_topic]


def text_of(text: str) -> Sections:
    return sections_of(text, "KIP-1226")


def changes(before: str, now: str) -> dict[str, ComparedSection]:
    found = compared(text_of(before), text_of(now))
    return {each.heading: each for each in found if each.fate is not SectionFate.STANDS}


def test_a_text_is_divided_at_the_sections_that_are_known() -> None:
    assert {name: [words for _, words in of] for name, of in text_of(TEXT).places.items()} == {
        "": ["Before."],
        "Persistence": ["One.", "Two", "Three."],
        "Records": ["Four."],
    }
    assert text_of(TEXT).places["Records"] == ((10, "Four."),)
    assert changes(TEXT, TEXT) == {}


@pytest.mark.parametrize(
    ("old", "new", "heading", "expected"),
    [
        ("Two", "Too", "Persistence", (2, 1, ((5, "Too"),))),
        ("Three.\n", "", "Persistence", (2, 1, ())),
        ("Three.", "Three. More.", "Persistence", (3, 0, ((6, "More."),))),
        ("One. Two", "Two. One", "Persistence", (1, 2, ((5, "Two."), (5, "One")))),
        ("Before.", "Behind.", "", (0, 1, ((1, "Behind."),))),
    ],
)
def test_a_sentence_that_changed_is_of_its_section(
    old: str, new: str, heading: str, expected: tuple[int, int, tuple[tuple[int, str], ...]]
) -> None:
    found = changes(TEXT, TEXT.replace(old, new))
    assert list(found) == [heading]
    each = found[heading]
    assert each.fate is SectionFate.CHANGED
    assert (each.stand, each.gone, each.new) == expected


def test_a_section_that_is_gone_tells_which_of_its_sentences_are_elsewhere() -> None:
    found = changes(TEXT, TEXT.replace("Records\n", ""))
    assert found["Records"] == ComparedSection("Records", SectionFate.GONE, stand=1)
    assert found["Persistence"].new == ((9, "Four."),)
    assert changes(TEXT, TEXT[: TEXT.index("Records")])["Records"].gone == 1


def test_a_section_that_is_new_is_told() -> None:
    found = changes(TEXT, TEXT + "\nStatus\n\nDraft.\n")
    assert found == {"Status": ComparedSection("Status", SectionFate.NEW, new=((14, "Draft."),))}


def test_nothing_is_new_where_the_older_text_leaves_parts_out() -> None:
    partial = TEXT.replace("Two\n", "Two\n...\n")
    assert not text_of(partial).is_whole
    assert changes(partial, TEXT.replace("Three.", "Between. Three.") + "\nStatus\n\nNew.\n") == {}
    assert list(changes(partial, TEXT.replace("Three.", "Four."))) == ["Persistence"]


def test_spaces_quotation_marks_and_the_marks_of_a_page_do_not_matter() -> None:
    old = TEXT.replace("Two", "Two is “2” – or so")
    new = TEXT.replace("Two", 'Two  is\u00a0"2" - or so')
    assert changes(old, new) == {}
    page = "<html><body><p>Before.</p><h2>Persistence</h2><p>One. <b>Two</b></p><p>Three.</p>"
    assert changes(TEXT, page + "<h2>1.2 Records</h2><p>Four.</p></body></html>") == {}


def test_the_headings_of_a_page_divide_it_also_if_they_are_not_known() -> None:
    page = "<html><h1>Persistence</h1><p>One.</p><h3 id='x'>A <i>new</i> one</h3><p>Two.</p></html>"
    assert list(text_of(page).digests) == ["Persistence", "A new one"]
    longer = page.replace("One.", "İ" * 99)
    assert list(text_of(longer).digests) == ["Persistence", "A new one"]


@pytest.mark.parametrize("piece", ["<h1", "<h1 ", "<h2>", "<H3 x='", "</h1>", "<h1><h2></h3>"])
def test_a_hostile_page_takes_one_pass(piece: str) -> None:
    page = "<html><h4>Here</h4>" + piece * (400_000 // len(piece))
    assert "Here" in text_of(page).digests


def test_a_text_with_too_many_sentences_is_refused() -> None:
    with pytest.raises(
        SectionsError, match=r"^the text has 10,001 sentences; allowed: at most 10,"
    ):
        text_of("a\n" * 10_001)
    assert text_of("a\n" * 10_000).count() == 10_000


def test_headings_that_recur_are_told_apart() -> None:
    text = "Records\n\nRequest schema\n\na\n\nStatus\n\nRequest schema\n\nb\n\nStatus\n\nc\n"
    found = {name: of for name, of in text_of(text).digests.items() if of}
    assert found == {
        "Records: Request schema": (digest("a"),),
        "Status: Request schema": (digest("b"),),
        "Status (2)": (digest("c"),),
    }


def test_pins_have_no_word_of_the_text() -> None:
    line = as_pinned(text_of(TEXT))
    assert read_pinned(line) == Sections("KIP-1226", text_of(TEXT).digests)
    assert all(word not in line for word in ("One", "Two", "Three", "Four", "Before"))
    values = json.loads(line)["sections"]
    assert all(len(each) == 12 for of in values.values() for each in of)


@pytest.mark.parametrize("line", ["{", "[]", "{}", '{"source": "KIP-1", "sections": []}', "3"])
def test_what_are_no_digests_is_one_line(line: str) -> None:
    with pytest.raises(
        SectionsError, match="allowed: a text, or what `sharespec drift TEXT --pin`"
    ):
        read_pinned(line)


def test_the_texts_that_the_project_was_made_from_are_pinned() -> None:
    counts = {text.source: (text.is_whole, text.count()) for text in pinned()}
    assert counts == {
        "KIP-1226": (True, 324),
        "KAFKA-20458": (True, 68),
        "KIP-932": (False, 193),
    }
    assert "In-flight records" in known_headings("KIP-932")
    assert not [name for name in known_headings("KIP-1226") if ": " in name]


def test_between_the_revisions_of_kip_932_the_sections_differ_as_counted_by_hand() -> None:
    """The first comparison renames SSO to SPSO and SEO to SPEO; the next two have one in common.

    Of their example, BaseOffset became FirstOffset in five lines. The digests are of the texts
    before and after; what a comparison runs together is left out.
    """
    lines = REVISIONS.read_text().splitlines()
    before, after, second, third = map(read_pinned, lines)
    found = {each.heading: (each.stand, each.gone) for each in compared(before, after)}
    assert found == {
        "In-flight records": (19, 7),
        "Ordering": (3, 0),
        "Managing the SPSO and SPEO": (3, 7),
    }
    (example,) = compared(second, third)
    assert (example.heading, example.fate) == (
        "Examples with share-group state",
        SectionFate.CHANGED,
    )
    assert (example.stand, example.gone) == (129, 5)


def test_what_rests_on_a_section_is_known() -> None:
    rests = resting_on("KIP-932", "In-flight records", CASES)
    assert "spec.record.acquire" in rests.functions
    assert "ONLY_AVAILABLE_IS_ACQUIRED" in rests.rules
    assert "a-release-at-the-limit-archives" in rests.vectors
    assert 8 in rests.decisions
    assert "tests/rules/test_expire.py::test_a_lock_lasts_until_its_deadline" in rests.tests
    draft = resting_on("KAFKA-20458", "3.3 Staleness sweeper", CASES)
    assert "spec.expire.advance_time" in draft.functions
    part = resting_on("KIP-1226", "DescribeShareGroupOffsets: Request schema", CASES)
    assert "operations.describe.described" in part.functions
    assert resting_on("KIP-932", "Nothing of it", CASES).functions == ()
