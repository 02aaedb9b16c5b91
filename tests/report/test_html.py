"""The page needs nothing else, shows what there is, escapes it, and is not too large."""

from html.parser import HTMLParser

from report.html import MAX_BYTES, html_text
from report.page import own_text
from tests.report.samples import EVIL, sample

CODES = ("AVL", "ACQ", "ACK", "DLQ", "ARC", "INP")


class Read(HTMLParser):
    """What a browser would see: elements that close, and their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _attributes in self.seen)


def test_everything_is_escaped_and_nothing_loaded() -> None:
    page = Read(html_text(sample()))
    assert (page.count("script"), page.count("img"), page.count("link")) == (1, 0, 0)
    assert page.text.count(EVIL.split(" ")[0]) > 8
    assert not {"\x1b", "\u202e"} & set(page.text)
    ids = {attributes.get("id") for _tag, attributes in page.seen}
    links = [attributes["href"] for _tag, attributes in page.seen if "href" in attributes]
    assert links == ["#section-1"]
    assert "section-1" in ids


def test_every_block_is_an_element_and_a_command_can_be_copied_without_a_script() -> None:
    page = Read(html_text(sample(text="x`y")))
    for tag, number in (("article", 1), ("table", 2), ("details", 1), ("button", 1), ("nav", 1)):
        assert page.count(tag) == number
    classes = [attributes.get("class") for _tag, attributes in page.seen]
    assert {"verdict deviates", "badge new", "badge also", "picture", "ACQ differs"} <= {*classes}
    assert all("hidden" in attributes for tag, attributes in page.seen if tag == "button")
    for said in ("the totals", "Seen", "Again: sharespec verify x`y", "a caption", "third"):
        assert said in page.text
    assert "Empty" not in page.text


def test_the_page_has_a_maximum_size_and_counts_what_it_leaves_out() -> None:
    whole = html_text(sample(sections=3))
    assert "left out" not in whole
    page = html_text(sample(1200, "x" * 400))
    assert MAX_BYTES - 300_000 < len(page.encode()) <= MAX_BYTES
    read = Read(page)
    assert read.count("article") < 1200
    assert f"{1200 - read.count('article'):,} more are left out" in read.text
    small = html_text(sample(3), 20_000)
    assert len(small.encode()) <= 20_000


def test_forms_are_left_out_before_a_section_is() -> None:
    page = Read(html_text(sample(2, "x" * 1000, forms=2000)))
    assert (page.count("article"), page.count("details")) == (2, 0)
    assert page.text.count("2,000 more forms are left out") == 2


def test_each_state_has_a_colour_by_day_by_night_and_on_paper() -> None:
    style = own_text("report", "document.css").text
    for code in CODES:
        assert f".{code}{{background:var(--{code.lower()})}}" in style
        assert style.count(f"--{code.lower()}:#") == 3
