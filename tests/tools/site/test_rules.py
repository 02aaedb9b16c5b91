"""A rule stands beside the sentences that vectors about it quote, with links both ways."""

import ast
import re
from functools import cache
from pathlib import Path

from conformance.vectors.source import cases
from tools.site.documents import links
from tools.site.rules import pages, rules

ROOT = Path(__file__).parents[3]


@cache
def found() -> dict[str, str]:
    return pages()


def part(page: str, heading: str) -> str:
    """Return what a page has under a heading."""
    text = found()[page].split(f"{{ #{heading} }}\n", 1)[1]
    return re.split(r"^## ", text, maxsplit=1, flags=re.MULTILINE)[0]


def test_a_rule_has_its_sentence_its_section_its_vectors_and_its_source() -> None:
    text = part("spec/record.md", "release")
    assert "> the record moves into Archived state and is not eligible for additional" in text
    assert "(../kips/kip-932.md#in-flight-records)" in text
    assert "`a-release-at-the-limit-archives`" in text
    assert "def release(" in text


def test_a_section_has_its_sentences_and_what_rests_on_it() -> None:
    text = part("kips/kip-932.md", "in-flight-records")
    assert "> the record moves into Archived state and is not eligible for additional" in text
    assert "[record.release](../spec/record.md#release)" in text
    assert "`ONLY_AVAILABLE_IS_ACQUIRED`" in text
    assert "tests/spec/test_expire.py::test_a_lock_lasts_until_its_deadline" in text
    assert "[Decisions](../decisions.md): 8, 22, 141." in text
    assert "#staleness-sweeper" in "".join(found()["kips/kafka-20458.md"].split(" "))


def test_the_sections_of_a_kip_are_there_once_and_in_the_order_of_its_text() -> None:
    for page in (page for page in found() if page.startswith("kips/")):
        headings = re.findall(r"^## (.*) \{ #", found()[page], re.MULTILINE)
        assert len(headings) == len(set(headings))
    lag = found()["kips/kip-1226.md"]
    sections = ("Share Partition Lag Computation", "Handling Control and Compacted", "Persistence")
    places = [lag.index(f"\n## {name}") for name in sections]
    assert places == sorted(places)


def test_what_a_rule_links_to_links_back() -> None:
    ways = {
        (page, anchor, target, there)
        for page in found()
        for anchor in re.findall(r"^## .*\{ #(\S+) \}$", found()[page], re.MULTILINE)
        for target, there in links(page, part(page, anchor))
        if there
    }
    assert len(ways) > 200
    lonely = [way for way in ways if (way[2], way[3], way[0], way[1]) not in ways]
    assert lonely == []


def test_every_definition_of_the_specification_is_shown_with_its_lines() -> None:
    for stem, of in rules().items():
        lines = (ROOT / "spec" / f"{stem}.py").read_text().splitlines()
        tree = ast.parse("\n".join(lines))
        kinds = ast.FunctionDef | ast.ClassDef
        assert [rule.name for rule in of] == [n.name for n in tree.body if isinstance(n, kinds)]
        for rule in of:
            count = len(rule.source.splitlines())
            assert lines[rule.line - 1 : rule.line - 1 + count] == rule.source.splitlines()
            assert f'linenums="{rule.line}"\n{rule.source}\n```' in found()[f"spec/{stem}.md"]


def test_every_quoted_sentence_is_on_the_page_of_its_kip() -> None:
    for case in (case for of_topic in cases().values() for case in of_topic):
        page = found()[f"kips/kip-{case.rests_on.kip}.md"]
        assert f"> {case.rests_on.says}\n" in page
        assert f"`{case.name}`" in page
