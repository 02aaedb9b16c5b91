import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from judge.finding import Finding, FindingKind
from model.profile import KAFKA
from operations.frames import frames
from operations.view.columns import Column
from operations.view.drawing import Divergence, Drawing, EventText, drawing_of
from operations.view.page import page
from operations.view.rules import BrokenRule
from tests.operations.view.browser import needs_chromium, opened
from tests.replay.samples import Row, events, kafka_rows

HOSTILE = (
    "</script><script>document.title='pwned'</script>"
    "<img src=x onerror=document.title='pwned'><!--<script>"
)


def drawn(rows: list[Row], name: str = "core:orders:0") -> Drawing:
    return drawing_of(name, frames(events(rows), KAFKA))


def wrong_rows() -> list[Row]:
    rows = kafka_rows(count=30)
    rows[12]["after"]["end_offset"] += 1
    return rows


def data_of(text: str) -> Any:  # noqa: ANN401 - JSON
    [data] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text)
    return json.loads(data)


def of_one(drawing: Drawing, max_bytes: int = 10**9) -> str:
    return page(drawing.name, drawing, "diverges", max_bytes)


def test_a_page_needs_nothing_but_itself() -> None:
    text = of_one(drawn(wrong_rows()))
    assert re.findall(r"""(?:src|href)=["']?|@import|url\(|fetch\(|XMLHttp""", text) == []
    assert data_of(text)["drawing"]["divergence"]["rule"]["name"] == "END_OFFSET"


def test_the_script_writes_no_markup() -> None:
    [script] = re.findall(r"<script>(.*?)</script>", of_one(drawn(wrong_rows())), re.DOTALL)
    for way in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function("):
        assert way not in script


def hostile() -> Drawing:
    rows = wrong_rows()
    for row in rows:
        row["partition"] = f"{HOSTILE}:{HOSTILE}:0"
        if row.get("member"):
            row["member"] = HOSTILE + row["member"]
        for record in row["after"]["records"]:
            record["member"] = record["member"] and HOSTILE + record["member"]
    drawing = drawn(rows, f"{HOSTILE}:{HOSTILE}:0")
    drawing.row = lambda _number: HOSTILE
    drawing.notes.append(HOSTILE)
    return drawing


def test_no_text_of_a_trace_ends_its_element() -> None:
    drawing = hostile()
    text = of_one(drawing)
    assert "<img" not in text
    assert text.count("</script>") == 2
    shown = data_of(text)["drawing"]
    assert any(member.startswith(HOSTILE) for member in shown["members"])


@needs_chromium
def test_a_browser_shows_hostile_text_as_text(tmp_path: Path) -> None:
    text = page(HOSTILE, hostile(), "diverges")
    document = opened(tmp_path, text, script=_PROBE)
    assert 'data-ready="true"' in document
    assert "<title>pwned" not in document
    assert "<img" not in document
    assert "&lt;/script&gt;&lt;script&gt;document.title" in document
    assert _probed(document)["announced"].startswith("seq 12")
    # A page that does not escape is seen to be one.
    unescaped = text.replace("\\u003c", "<").replace("\\u003e", ">")
    assert "<title>pwned" in opened(tmp_path, unescaped, script=" ")


_PROBE = """
const key = (key) => $("strip").dispatchEvent(new KeyboardEvent("keydown", { key }));
const texts = () => ({ announced: $("announced").textContent, event: $("event").textContent,
  offset: $("offset").textContent, rule: $("rule").textContent });
const seen = { ...texts() };
key("ArrowLeft"); seen.left = texts();
$("number").value = 5; $("number").dispatchEvent(new Event("change")); seen.five = texts();
key("ArrowUp"); seen.six = texts();
key("+"); seen.zoomed = view; key("0"); seen.whole = view; key("d"); seen.fault = texts();
$("axis").value = "time"; $("axis").dispatchEvent(new Event("change")); seen.time = view;
$("table").open = true; showTable(); seen.rows = $("rows").children.length;
seen.caption = $("caption").textContent;
draw();
const pixels = $("strip").getContext("2d").getImageData(0, 0, $("strip").width, $("strip").height);
seen.colours = new Set(new Uint32Array(pixels.data.buffer)).size;
const note = el("pre", JSON.stringify(seen), { id: "probe" });
document.body.append(note);
"""


def _probed(document: str) -> Any:  # noqa: ANN401 - JSON
    [text] = re.findall(r'<pre id="probe">(.*?)</pre>', document, re.DOTALL)
    return json.loads(html.unescape(text))


@pytest.mark.slow
@needs_chromium
def test_keys_and_fields_choose_what_is_shown(tmp_path: Path) -> None:
    seen = _probed(opened(tmp_path, of_one(drawn(wrong_rows())), script=_PROBE))
    assert "Event: seq 12" in seen["event"]
    assert "END_OFFSET (difference)" in seen["rule"]
    assert "KIP-932" in seen["rule"]
    assert seen["left"]["announced"].startswith("seq 11")
    assert "Life of offset 5" in seen["five"]["offset"]
    assert "acquire by m1" in seen["five"]["offset"]
    assert "Life of offset 6" in seen["six"]["offset"]
    assert seen["zoomed"][1] - seen["zoomed"][0] < seen["whole"][1] - seen["whole"][0] == 30
    assert "Event: seq 12" in seen["fault"]["event"]
    assert seen["rows"] == 30
    assert seen["caption"] == "Events 1 to 30 of 30"
    assert seen["colours"] > 5


def large(columns: int, pieces: int) -> Drawing:
    """Return a drawing as a long trace fills it: all limits reached, texts as long as allowed."""

    def filled() -> Iterator[Column]:
        for n in range(columns):
            changed = [(n + 7 * p, n + 7 * p + 3, p % 50) for p in range(pieces)]
            values = tuple(n + v for v in range(11))
            yield Column(n, n, n, n * 10, n, n + 900, n, n, 0, values, changed)

    text = EventText("acquire", "x" * 600, "y" * 600, ("z" * 600,) * 8, tuple(range(400)))
    every = list(filled())
    kinds = [(1, n, n % 7, 0) for n in range(50)]
    members = [f"member-{n}" for n in range(7)]
    detail = [(column, text) for column in every]
    drawing = Drawing(
        "large", 10 * columns, every, detail, [], kinds, members, columns // 2, None, []
    )
    drawing.row = lambda number: f"{number}" * 800
    return drawing


@pytest.mark.parametrize("max_bytes", [250_000, 2_000_000])
def test_a_page_stays_under_its_size_and_says_what_is_left_out(max_bytes: int) -> None:
    text = page("t", large(500, 20), "conforms", max_bytes)
    assert len(text.encode()) <= max_bytes
    assert "coarser: the page would be too large" in data_of(text)["left_out"]
    assert "coarser" not in data_of(of_one(drawn(kafka_rows(count=5))))["left_out"]


@pytest.mark.parametrize("after", ["a", "b"])
def test_a_divergence_reaches_the_page_as_it_is(after: str) -> None:
    rule = BrokenRule("N", "s", "KIP", "says", ("spec/a.py:1",))
    finding = Finding(3, "spec", FindingKind.GUARD, "N", "s", "r", "e", "b", after, 7)
    wrong = Divergence(3, rule, attrs.evolve(finding, recorded_after="ra"))
    drawing = attrs.evolve(large(5, 1), divergence=wrong)
    shown = data_of(of_one(drawing))["drawing"]["divergence"]
    assert shown["rule"]["places"] == ["spec/a.py:1"]
    assert (shown["recorded_after"], shown["offset"]) == ("ra", 7)
    assert shown["after"] == ("a" if after == "a" else ""), "what is refused leads to nothing"
