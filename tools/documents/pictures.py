"""The picture of the first page: the states of a record.

It is not drawn by hand: the arrows come from running the rules of ``spec.record`` on records in
every state.
"""

from itertools import product
from xml.etree import ElementTree as ET

import attrs

from model.states import HELD_STATES, RecordState
from proofs.theorems.record_operations import TRANSITIONS, OneRecord, Transition
from spec.record import Record

_LIMIT, _NOW, _LONG = 2, 10, 1_000
_WORDS = {
    "acknowledge as gap": "gap",
    "acknowledge as release": "release",
    "expire": "lock expires",
    "vanish": "the log lost it",
    "archive aborted": "transaction aborted",
    "withhold": "transaction aborted",
    "finish dead letter": "dead letter done",
    "mark": "mark in progress",
}
_UNSEEN = ("enter", "stay for the grace", "commit", "roll back")
"""Transitions that begin a record, keep its state, or end a write."""

_STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328; }
.name { font-weight: 600; } .note { font-size: 11.5px; fill: #57606a; }
rect { fill: #f6f8fa; stroke: #57606a; } .held { fill: none; stroke-dasharray: 4 4; }
.end rect, rect.end { fill: #dafbe1; stroke: #1a7f37; }
path { fill: none; stroke: #57606a; } marker path { fill: #57606a; stroke: none; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .note { fill: #9198a1; }
  rect { fill: #161b22; stroke: #9198a1; } rect.end { fill: #12261e; stroke: #3fb950; }
  path { stroke: #9198a1; } marker path { fill: #9198a1; }
}
"""


@attrs.frozen(order=True)
class Arrow:
    """A transition of a record from one state to another; ``only`` says under which condition."""

    before: RecordState
    after: RecordState
    transition: str
    only: str = ""


def arrows() -> list[Arrow]:
    """Return what the rules do to a record in each state, its write answered with success."""
    drawn: list[Arrow] = []
    for transition, before in product(TRANSITIONS, RecordState):
        if transition.name in _UNSEEN:
            continue
        ends: dict[RecordState, set[tuple[int, bool]]] = {}
        for count, queue in product((1, _LIMIT), (False, True)):
            after = _applied(transition, before, count, queue=queue)
            if after is not None:
                ends.setdefault(after, set()).add((count, queue))
        drawn += (
            Arrow(before, after, transition.name, _only(cases)) for after, cases in ends.items()
        )
    return drawn


def _applied(
    transition: Transition, state: RecordState, count: int, *, queue: bool
) -> RecordState | None:
    """Return the state after the transition; None where its guard does not allow it."""
    held = state in HELD_STATES
    record = Record(state, count, "m", _NOW, acquisition=1) if held else Record(state, count)
    if state is RecordState.IN_PROGRESS:
        record = attrs.evolve(record, progress_start=_NOW, last_progress=_NOW)
    situation = OneRecord(
        record=record,
        member="m",
        now=_NOW,
        lock=_LONG,
        limit=_LIMIT,
        acquisition=1,
        marks=True,
        threshold=0,
        extension=_LONG,
        dead_letter_queue=queue,
    )
    after = transition.after(situation)
    return None if after is None else RecordState(after.state)


def _only(ends: set[tuple[int, bool]]) -> str:
    """Return the condition that the delivery counts and dead-letter queues have in common."""
    counts, queues = {count for count, _queue in ends}, {queue for _count, queue in ends}
    limit = {1: "below the limit", _LIMIT: "at the delivery limit"}
    queue = {True: "with a dead-letter queue", False: ""}
    conditions = (
        limit[min(counts)] if len(counts) == 1 else "",
        queue[min(queues)] if len(queues) == 1 else "",
    )
    return ", ".join(filter(None, conditions))


# Where each state lies (x, y), and for each pair of places how its arrow runs and where its
# words begin. An arrow for which there is no place is an error, so that none can be left out.
_WIDTH, _HEIGHT = 140, 36
_PLACES = {
    RecordState.AVAILABLE: (20, 162),
    RecordState.ACQUIRED: (340, 162),
    RecordState.IN_PROGRESS: (340, 62),
    RecordState.ACKNOWLEDGED: (780, 62),
    RecordState.ARCHIVED: (780, 190),
    RecordState.ARCHIVING: (600, 340),
}
_HELD = (320, 34, 200, 210)
"""The frame around the two states in which a record is held: x, y, width, height."""

_ROUTES = {
    ("AVAILABLE", "ACQUIRED"): ("M160 172 H336", (176, 165)),
    ("AVAILABLE", "ARCHIVED"): (
        "M60 198 V396 Q60 408 72 408 H900 Q912 408 912 396 V230",
        (76, 401),
    ),
    ("ACQUIRED", "ACQUIRED"): ("M366 198 C356 228 416 228 404 202", (418, 222)),
    ("ACQUIRED", "IN_PROGRESS"): ("M404 162 V102", (412, 136)),
    ("IN_PROGRESS", "IN_PROGRESS"): ("M366 62 C356 34 416 34 404 58", (420, 54)),
    ("held", "AVAILABLE"): ("M320 188 H164", (176, 205)),
    ("held", "ACKNOWLEDGED"): ("M520 80 H776", (540, 73)),
    ("held", "ARCHIVED"): ("M520 130 C600 130 640 200 776 200", (636, 122)),
    ("held", "ARCHIVING"): ("M350 244 C350 334 380 358 596 358", (384, 272)),
    ("ACQUIRED", "ARCHIVED"): ("M480 184 C560 186 620 214 776 214", (540, 226)),
    ("ARCHIVING", "ARCHIVED"): ("M740 358 H784 Q796 358 796 346 V230", (803, 300)),
}


def states_picture() -> str:
    """Return the states of a record and the transitions between them, as SVG."""
    svg = _canvas(940, 424)
    x, y, width, height = _HELD
    ET.SubElement(svg, "rect", _box(x, y, width, height, "held"))
    _text(svg, x + 6, y - 8, "held by a member, under an acquisition lock", "note")
    for state, (x, y) in _PLACES.items():
        terminal = state in (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED)
        ET.SubElement(svg, "rect", _box(x, y, _WIDTH, _HEIGHT, "end" if terminal else ""))
        _text(svg, x + 12, y + 23, state.name, "name")
    for (before, after), words in _labels().items():
        route, (x, y) = _ROUTES[before, after]
        ET.SubElement(svg, "path", {"d": route, "marker-end": "url(#arrow)"})
        for line, text in enumerate(words):
            _text(svg, x, y + 15 * line, text, "note")
    return _written(svg)


def _labels() -> dict[tuple[str, str], list[str]]:
    """Return the words on each arrow; of what happens to every held record, one arrow for both."""
    drawn = arrows()
    pairs: dict[tuple[str, str], dict[str, list[str]]] = {}
    for arrow in drawn:
        alike = {attrs.evolve(arrow, before=state) for state in HELD_STATES}
        both = (
            arrow.before in HELD_STATES and arrow.after not in HELD_STATES and alike <= set(drawn)
        )
        pair = ("held" if both else arrow.before.name, arrow.after.name)
        word = _WORDS.get(arrow.transition, arrow.transition)
        listed = pairs.setdefault(pair, {}).setdefault(arrow.only, [])
        if word not in listed:
            listed.append(word)
    return {
        pair: [line for only, words in by.items() for line in (", ".join(words), only) if line]
        for pair, by in pairs.items()
    }


def _canvas(width: int, height: int) -> ET.Element:
    view = {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {width} {height}"}
    svg = ET.Element("svg", view)
    ET.SubElement(svg, "style").text = _STYLE
    shape = {"id": "arrow", "viewBox": "0 0 8 8", "refX": "7", "refY": "4", "orient": "auto"}
    marker = ET.SubElement(svg, "marker", {**shape, "markerWidth": "8", "markerHeight": "8"})
    ET.SubElement(marker, "path", {"d": "M0 0 L8 4 L0 8 Z"})
    return svg


def _box(x: float, y: float, width: float, height: float, kind: str = "") -> dict[str, str]:
    sizes = {"x": x, "y": y, "width": width, "height": height, "rx": 6}
    drawn = {key: f"{size:g}" for key, size in sizes.items()}
    return drawn | ({"class": kind} if kind else {})


def _text(svg: ET.Element, x: float, y: float, text: str, kind: str) -> None:
    ET.SubElement(svg, "text", {"x": f"{x:g}", "y": f"{y:g}", "class": kind}).text = text


def _written(svg: ET.Element) -> str:
    ET.indent(svg)
    return ET.tostring(svg, encoding="unicode") + "\n"
