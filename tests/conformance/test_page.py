"""The page needs nothing else, shows what there is, escapes it, and is not too large."""

from html.parser import HTMLParser
from typing import Any, cast

import attrs
import pytest

from conformance.campaign import Limits, campaign
from conformance.cores.kit import CORES
from conformance.deviation import StepText
from conformance.goals import Coverage
from conformance.known import Known, Replayed
from conformance.page import MAX_BYTES, as_html
from conformance.picture import CODES
from conformance.report import Report
from report.page import own_text
from tests.doubles.miniature import FaultKind, Miniature

EVIL = "<script>alert(1)</script><img src=http://x.example/y>"

NONE = Coverage()


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


@pytest.fixture(scope="module")
def report() -> Report:
    found = campaign(Miniature(FaultKind.COUNT_STAYS), Limits(sequences=40, examples=1), CORES)
    fault = found.faults[0]
    one = Known("name", "A title", fault.deviation.signature, "It is so.", fault.sequence)
    known = attrs.evolve(one, consequence="It hurts.", cause="A slip in `f`.")
    gone = attrs.evolve(known, name="other", title="Another")
    return Report(found, (Replayed(known, fault), Replayed(gone, None)), (fault,))


def test_a_deviation_has_its_rule_its_picture_and_its_steps(report: Report) -> None:
    page = Read(as_html(report))
    fault = report.new[0]
    (group,) = report.groups
    assert f"{group.title}" in page.text
    assert f"Shown by {group.often}." in page.text
    assert f"{fault.deviation.name}: {fault.deviation.sentence}" in page.text
    assert fault.deviation.recorded in page.text
    assert fault.deviation.expected in page.text
    assert "KIP-932" in page.text
    assert page.count("article") == 3
    classes = [attributes.get("class") for _tag, attributes in page.seen]
    assert classes.count("picture") == classes.count("steps") == 2
    assert any("differs" in (name or "").split() for name in classes)
    for said in ("It hurts.", "A slip in f.", "Another", "deviates: 1 new, 1 known, 1 gone"):
        assert said in page.text


def test_goals_that_were_not_covered_are_listed_with_the_reason(report: Report) -> None:
    page = Read(as_html(report))
    assert f"Not covered: {len(report.coverage.missed)}" in page.text
    assert "it cannot: dead_letter_queue" in page.text
    everything = (*report.coverage.missed, *(item for item, _why in report.coverage.skipped))
    assert all(item.name in page.text for item in everything)


def test_the_page_loads_nothing(report: Report) -> None:
    page = Read(as_html(report))
    assert page.count("link") == page.count("img") == 0
    addresses = [
        value
        for _tag, attributes in page.seen
        for name, value in attributes.items()
        if name in ("src", "href")
    ]
    ids = {attributes.get("id") for _tag, attributes in page.seen}
    assert addresses
    assert all(value and value[0] == "#" and value[1:] in ids for value in addresses)


def test_a_command_can_be_copied_and_read_without_a_script(report: Report) -> None:
    page = Read(as_html(attrs.evolve(report, command="sharespec verify spec")))
    buttons = [attributes for tag, attributes in page.seen if tag == "button"]
    assert len(buttons) == page.text.count("Again: sharespec verify spec --") == 2
    assert all("hidden" in attributes for attributes in buttons)
    assert Read(as_html(report)).count("button") == 0


def test_everything_is_escaped(report: Report) -> None:
    fault = report.new[0]
    deviation = attrs.evolve(
        fault.deviation, recorded=EVIL, expected=EVIL, sentence=EVIL, name=EVIL
    )
    steps = (StepText(EVIL, EVIL, EVIL, fault.steps[-1].state),)
    hello = attrs.evolve(cast("Any", report.campaign.hello), name=EVIL, version=EVIL, profile=EVIL)
    known = attrs.evolve(report.replayed[0].known, title=EVIL, cause=EVIL, reason=f"`{EVIL}`")
    evil = attrs.evolve(fault, deviation=deviation, steps=steps, kinds=(EVIL,))
    page = as_html(
        Report(
            attrs.evolve(report.campaign, hello=hello, asked={f"{EVIL} {EVIL}": 1}),
            (Replayed(known, evil), Replayed(known, None)),
            (evil,),
            command=EVIL,
        )
    )
    read = Read(page)
    assert (read.count("script"), read.count("img")) == (1, 0)
    assert read.text.count(EVIL) > 10
    assert page.count("<script") == 1


def test_the_page_has_a_maximum_size_and_counts_omissions(report: Report) -> None:
    fault = report.new[0]
    long = attrs.evolve(fault, steps=tuple(StepText("x" * 2000, "y", "z") for _ in range(100)))
    others = (
        attrs.evolve(long, deviation=attrs.evolve(fault.deviation, cause=("cause", str(number))))
        for number in range(20)
    )
    page = as_html(attrs.evolve(report, new=(fault, *others)))
    assert MAX_BYTES - 300_000 < len(page.encode()) <= MAX_BYTES
    read = Read(page)
    left_out = 23 - read.count("article")
    assert left_out > 0
    assert f"{left_out} more deviations are left out" in read.text
    assert len(as_html(report, 60_000).encode()) <= 60_000
    assert "left out" not in Read(as_html(report)).text


def test_a_cause_shows_its_forms_as_far_as_there_is_room(report: Report) -> None:
    fault = report.new[0]
    long = attrs.evolve(fault, steps=tuple(StepText("x" * 2000, "y", "z") for _ in range(100)))
    page = as_html(attrs.evolve(report, new=(fault, *[long] * 20)))
    assert MAX_BYTES - 300_000 < len(page.encode()) <= MAX_BYTES
    read = Read(page)
    forms = sum(attributes.get("class") == "form" for _tag, attributes in read.seen)
    assert 0 < forms < 20
    assert f"{20 - forms} more forms are left out" in read.text
    assert read.count("article") == 3
    assert "more forms" not in Read(as_html(attrs.evolve(report, new=(fault, fault)))).text


@pytest.mark.parametrize(
    ("new", "gone", "steps", "said"),
    [
        (True, False, 1, "It does what no rule allows and nobody knew of."),
        (False, True, 1, "A deviation that is known does not show any more."),
        (False, False, 1, "Nothing was found."),
        (False, False, 0, "Nothing was tried, so nothing is known."),
    ],
)
def test_the_verdict_is_in_words(
    report: Report, *, new: bool, gone: bool, steps: int, said: str
) -> None:
    known = report.replayed[1:] if gone else ()
    searched = attrs.evolve(report.campaign, steps=steps, coverage=NONE)
    page = Read(as_html(Report(searched, known, report.new if new else ())))
    assert said in page.text


def test_each_state_has_a_colour_by_day_by_night_and_on_paper() -> None:
    style = own_text("conformance", "page.css").text
    for code in CODES.values():
        assert f".{code}{{background:var(--{code.lower()})}}" in style
        assert style.count(f"--{code.lower()}:#") == 3
