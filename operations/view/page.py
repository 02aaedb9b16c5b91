"""One or many share-partitions as one HTML page without other files, of a bounded size.

The data is JSON beside the page, and the script sets text only as text.
"""

from collections.abc import Sequence
from typing import Any

import attrs

from judge.words import many, printable
from operations.view.drawing import MAX_NAME, MAX_TEXT, Drawing, as_json
from operations.view.rules import transition_texts
from report.page import data_script, own_text, page_text, tag

MAX_BYTES = 6_000_000
"""The maximum size of a page."""

MAX_PARTITIONS = 500
"""How many share-partitions the overview lists."""

_ROWS_PART = 4
"""A page keeps at most this part of its size for the rows of events."""


@attrs.frozen
class Listed:
    """A share-partition in the overview; ``lag`` are values of the leader's lag over time.

    ``times`` are those of the first and the last event that was checked, and ``faults`` those of
    what diverges, in ms since 1970; none where no real clock tells them.
    """

    name: str
    verdict: str
    events: int
    checked: int
    fault: str = ""
    lag: tuple[int, ...] = ()
    times: tuple[int, ...] = ()
    faults: tuple[int, ...] = ()


def page(
    title: str,
    listed: Sequence[Listed],
    drawings: Sequence[Drawing],
    max_bytes: int = MAX_BYTES,
) -> str:
    """Return a page of at most ``max_bytes`` bytes; it says what it leaves out.

    Where it would be larger, the drawings become coarser together, and the last go.
    """
    rows = max_bytes // _ROWS_PART
    drawn, halvings = list(drawings), 0
    while True:
        share = rows // (len(drawn) or 1) >> halvings
        left_out = " ".join(_left_out(listed, drawn, len(drawings), halvings))
        text = _page(title, listed, drawn, share, left_out)
        if len(text.encode()) <= max_bytes or not (drawn or listed):
            return text
        if halvings >= _MOST_HALVINGS:
            drawn, halvings = drawn[: len(drawn) // 2], 0
            listed = listed if drawn else listed[: len(listed) // 2]
            continue
        for drawing in drawn:
            drawing.smaller()
        halvings += 1


_MOST_HALVINGS = 5


def _page(
    title: str,
    listed: Sequence[Listed],
    drawn: Sequence[Drawing],
    row_bytes: int,
    left_out: str,
) -> str:
    names = {drawing.name: number for number, drawing in enumerate(drawn)}
    verdicts = {each.name: each.verdict for each in listed}
    data = {
        "transitions": transition_texts(),
        "left_out": left_out,
        "partitions": [_partition(each, names) for each in listed[:MAX_PARTITIONS]],
        "drawings": [
            {**as_json(drawing, row_bytes), "verdict": verdicts.get(drawing.name, "")}
            for drawing in drawn
        ],
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


def _partition(listed: Listed, drawings: dict[str, int]) -> dict[str, Any]:
    texts = {"name": printable(listed.name, MAX_NAME), "fault": printable(listed.fault, MAX_TEXT)}
    return attrs.asdict(listed, recurse=False) | texts | {"drawing": drawings.get(listed.name)}


def _left_out(
    listed: Sequence[Listed], drawn: Sequence[Drawing], wanted: int, halvings: int
) -> list[str]:
    """Return a sentence for each thing that the page does not show."""
    notes = []
    if len(listed) > MAX_PARTITIONS:
        notes.append(f"{len(listed) - MAX_PARTITIONS:,} more share-partitions are not listed.")
    undrawn = len({each.name for each in listed} - {drawing.name for drawing in drawn})
    if undrawn:
        notes.append(f"Listed and not drawn: {many(undrawn, 'share-partition')}.")
    if wanted > len(drawn):
        notes.append(f"{wanted - len(drawn):,} drawings are left out: the page would be too large.")
    if halvings:
        notes.append(f"Drawn {2**halvings} times coarser: the page would be too large.")
    coarse = [d for d in drawn if len(d.detail) < d.events]
    if coarse:
        most = max(d.events - len(d.detail) for d in coarse)
        notes.append(
            f"Of long traces the events around one are shown one by one (blue bar), and up to "
            f"{most:,} others in columns of several; where a column changes much, neighbouring "
            "offsets are drawn as one."
        )
    return notes
