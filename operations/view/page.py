"""A share-partition as one HTML page without other files, of a bounded size.

The data is JSON beside the page, and the script sets text only as text.
"""

from collections.abc import Iterator

from judge.words import printable
from operations.view.drawing import MAX_TEXT, Drawing, as_json
from operations.view.rules import transition_texts
from report.page import data_script, own_text, page_text, tag

MAX_BYTES = 6_000_000
"""The maximum size of a page."""

_ROWS_PART = 4
"""A page keeps at most this part of its size for the rows of events."""

_MOST_HALVINGS = 12


def page(title: str, drawing: Drawing, verdict: str, max_bytes: int = MAX_BYTES) -> str:
    """Return a page of at most ``max_bytes`` bytes; it says what it leaves out.

    Where it would be larger, the drawing becomes coarser.
    """
    for halvings in range(_MOST_HALVINGS):
        rows = max_bytes // _ROWS_PART >> halvings
        text = _page(
            title, {**as_json(drawing, rows), "verdict": verdict}, _left_out(drawing, halvings)
        )
        if len(text.encode()) <= max_bytes:
            break
        drawing.smaller()
    return text


def _page(title: str, drawing: dict[str, object], left_out: Iterator[str]) -> str:
    data = {
        "transitions": transition_texts(),
        "left_out": " ".join(left_out),
        "drawing": drawing,
    }
    body, style, script = (own_text(__package__, f"page.{form}") for form in ("html", "css", "js"))
    heading = tag("h1", printable(title, MAX_TEXT))
    return page_text(
        title,
        [tag("p", "sharespec view", class_="kicker"), heading, body],
        style=style,
        script=script,
        data=data_script(data),
    )


def _left_out(drawing: Drawing, halvings: int) -> Iterator[str]:
    """Yield a sentence for each thing that the page does not show."""
    if halvings:
        yield f"Drawn {2**halvings} times coarser: the page would be too large."
    if (others := drawing.events - len(drawing.detail)) > 0:
        yield (
            f"Of long traces the events around one are shown one by one (blue bar), and {others:,} "
            "others in columns of several; where a column changes much, neighbouring offsets are "
            "drawn as one."
        )
