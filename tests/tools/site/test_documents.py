"""Every link of the site leads to a page and to an anchor of it, as is seen without MkDocs."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tools.site.__main__ import configuration, site
from tools.site.documents import anchors, links, page_of, slug

ROOT = Path(__file__).parents[3]
PLACES = {
    "README.md": "index.md",
    "docs/a.md": "a.md",
    "docs/findings/b.md": "findings/b.md",
    "spec/record.py": "spec/record.md",
}


@cache
def found() -> dict[str, str]:
    return site()


def broken(pages: dict[str, str]) -> list[tuple[str, str, str]]:
    pictures = {path.name for path in (ROOT / "docs").glob("*.svg")}
    return [
        (page, target, anchor)
        for page, text in pages.items()
        for target, anchor in links(page, text)
        if target not in {*pages, *pictures}
        or (anchor and anchor not in anchors(pages.get(target, "")))
    ]


def test_every_link_leads_somewhere() -> None:
    assert broken(found()) == []
    assert sum(1 for page, text in found().items() for _ in links(page, text)) > 500


@pytest.mark.parametrize("target", ["nowhere.md", "verify.md#nothing-of-it", "#nothing"])
def test_a_link_that_leads_nowhere_is_noticed(target: str) -> None:
    pages = {**found(), "x.md": f"[x]({target})\n"}
    assert [page for page, _, _ in broken(pages)] == ["x.md"]


def test_every_page_is_in_the_navigation_once() -> None:
    def names(nav: Any) -> list[str]:  # noqa: ANN401 - a tree of lists and dictionaries
        if isinstance(nav, str):
            return [nav]
        parts = nav.values() if isinstance(nav, dict) else nav
        return [name for part in parts for name in names(part)]

    assert sorted(names(configuration(found())["nav"])) == sorted(found())


@pytest.mark.parametrize(
    ("source", "line", "expected"),
    [
        ("README.md", "[x](docs/a.md#b)", "[x](a.md#b)"),
        ("docs/a.md", "[x](../README.md), [`y`](a.md)", "[x](index.md), [`y`](a.md)"),
        ("docs/findings/b.md", "[x](../../spec/record.py)", "[x](../spec/record.md)"),
        ("docs/findings/b.md", "[x](../a.md#y)", "[x](../a.md#y)"),
        ("docs/a.md", "[x](../tests/spec/test_lag.py) and [y](#z)", "x and [y](#z)"),
        ("docs/a.md", "[x](https://example.org/a)", "[x](https://example.org/a)"),
        ("README.md", "![A picture](docs/states.svg)", "![A picture](states.svg)"),
        ("docs/a.md", "    [x](../tests/x.py)", "    [x](../tests/x.py)"),
        ("docs/a.md", "## A `b`, c -- D_e", "## A `b`, c -- D_e { #a-b-c----d_e }"),
    ],
    ids=str,
)  # fmt: skip
def test_a_line_of_a_page(source: str, line: str, expected: str) -> None:
    assert page_of(source, line, PLACES) == f"{expected}\n"


def test_code_stays_as_it_is() -> None:
    text = "```\n# no [heading](x)\n```\n"
    assert page_of("docs/a.md", text, PLACES) == text


def test_headings_that_recur_have_anchors_of_their_own() -> None:
    text = page_of("docs/a.md", "## A\n## A\n## A-1\n", PLACES)
    assert text == "## A { #a }\n## A { #a-1 }\n## A-1 { #a-1-1 }\n"


def test_anchors_are_those_of_github() -> None:
    assert slug("What `--out` receives") == "what---out-receives"
    assert slug("[Link](x.md) of (it)") == "link-of-it"
