"""What a newer text does to quoted sentences; the controls alter a text that has all of them."""

import html
import json

import pytest

from conformance.drift import Compared, drift
from conformance.vectors.source import cases
from tests.sharespec.running import runner

CASES = [case for listed in cases().values() for case in listed]
LIMIT = "the record moves into Archived state and is not eligible for additional delivery attempts."


def text_of(kip: int) -> str:
    says = dict.fromkeys(case.rests_on.says for case in CASES if case.rests_on.kip == kip)
    return "\n\n".join(says)


def fates(text: str, kip: int = 932) -> set[str]:
    return {each.fate for each in drift(text, kip, CASES)}


def about(text: str) -> Compared:
    return next(each for each in drift(text, 932, CASES) if each.quotation.says == LIMIT)


@pytest.mark.parametrize("kip", sorted({case.rests_on.kip for case in CASES}))
def test_in_the_text_itself_every_sentence_stands(kip: int) -> None:
    assert fates(text_of(kip), kip) == {"stands"}
    spaced = text_of(kip).replace(" ", "\u00a0 ").replace("queuing", "queuing\n")
    assert fates(spaced, kip) == {"stands"}


def test_a_word_that_changed_is_shown_with_what_rests_on_it() -> None:
    text = text_of(932).replace("not eligible for additional", "eligible for three more")
    found = about(text)
    assert found.fate == "changed"
    assert "eligible for three more delivery attempts" in found.now
    assert "record.release" in found.about
    assert "a-release-at-the-limit-archives" in found.vectors
    assert "ONLY_AVAILABLE_IS_ACQUIRED" in found.rules
    assert sum(each.fate != "stands" for each in drift(text, 932, CASES)) == 1


def test_a_sentence_that_is_gone_has_nothing_in_its_place() -> None:
    assert about(text_of(932).replace(LIMIT, "")).now == ""
    assert fates("") == {"gone"}


def test_a_page_is_read_as_its_text_and_scripts_are_not() -> None:
    body = "".join(f"<p>{html.escape(says)}</p>" for says in text_of(932).splitlines())
    page = f"<!DOCTYPE html><html><head><title>x</title></head><body>{body}</body></html>"
    assert fates(page) == {"stands"}
    marked = page.replace("Archived state", "<b>Arch</b>ived\n<a href='x'>state</a>")
    assert about(marked).fate == "stands"
    hidden = page.replace(LIMIT, "").replace("<body>", f"<body><script>{LIMIT}</script>")
    assert about(hidden).fate == "gone"


@pytest.mark.parametrize("piece", ["<a href='x", "<script>", "<!--", "....", "a<b", "&amp;"])
def test_a_hostile_page_takes_one_pass(piece: str) -> None:
    assert fates("<html>" + piece * (200_000 // len(piece)), 1226) == {"gone"}


def shown(text: str, *arguments: str) -> tuple[int, str]:
    result = runner("drift", "-")(*arguments, input=text)
    return result.exit_code, result.output


def test_the_command_tells_the_kip_and_what_changed() -> None:
    assert shown(text_of(1226)) == (0, "KIP-1226: 5 sentences are quoted, 5 stand\n")
    text = text_of(932).replace("not eligible", "never again\x1b[31m eligible")
    status, output = shown(text)
    assert status == 1
    assert "changed: In-flight records\n" in output
    assert "never again" in output
    assert "\x1b[31m" not in output
    status, line = shown(text, "--json")
    assert (status, json.loads(line)["quotation"]["says"]) == (1, LIMIT)
    assert shown(text_of(1226), "--json") == (0, "")


def test_a_text_of_something_else_is_one_line() -> None:
    unknown = "no sentence that is quoted of a KIP stands in the text: is it the right one?"
    assert shown("nothing of it") == (2, f"sharespec: {unknown}\n")
    long = "sharespec: the text is longer than 8,388,608 characters\n"
    assert shown("x" * (9 << 20)) == (2, long)
