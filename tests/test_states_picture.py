"""The picture of the first page has the arrows of the rules, with what is said at each.

They come from running the rules of ``spec.record`` on records in every state.
"""

from itertools import product
from pathlib import Path
from xml.etree import ElementTree as ET

import attrs

from model.states import HELD_STATES, RecordState
from proofs.theorems.any_partition import AnyPartition
from proofs.theorems.record_operations import TRANSITIONS, Transition
from spec.record import Record

LIMIT, NOW, LONG = 2, 10, 1_000
WORDS = {
    "acknowledge as gap": "gap",
    "acknowledge as release": "release",
    "expire": "lock expires",
    "vanish": "the log lost it",
    "archive aborted": "transaction aborted",
    "withhold": "transaction aborted",
    "finish dead letter": "dead letter done",
    "mark": "mark in progress",
}
UNSEEN = ("enter", "stay for the grace", "commit", "roll back")
"""Transitions that begin a record, keep its state, or end a write."""


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
        if transition.name in UNSEEN:
            continue
        ends: dict[RecordState, set[tuple[int, bool]]] = {}
        for count, queue in product((1, LIMIT), (False, True)):
            after = applied(transition, before, count, queue=queue)
            if after is not None:
                ends.setdefault(after, set()).add((count, queue))
        drawn += (
            Arrow(before, after, transition.name, only_if(cases)) for after, cases in ends.items()
        )
    return drawn


def applied(
    transition: Transition, state: RecordState, count: int, *, queue: bool
) -> RecordState | None:
    """Return the state after the transition; None where its guard does not allow it."""
    held = state in HELD_STATES
    record = Record(state, count, "m", NOW, acquisition=1) if held else Record(state, count)
    if state is RecordState.IN_PROGRESS:
        record = attrs.evolve(record, progress_start=NOW, last_progress=NOW)
    situation = AnyPartition(
        record=record,
        member="m",
        now=NOW,
        lock=LONG,
        limit=LIMIT,
        acquisition=1,
        marks=True,
        threshold=0,
        extension=LONG,
        dead_letter_queue=queue,
    )
    after = transition.after(situation)
    return None if after is None else RecordState(after.state)


def only_if(ends: set[tuple[int, bool]]) -> str:
    """Return the condition that the delivery counts and dead-letter queues have in common."""
    counts, queues = {count for count, _queue in ends}, {queue for _count, queue in ends}
    limit = {1: "below the limit", LIMIT: "at the delivery limit"}
    queue = {True: "with a dead-letter queue", False: ""}
    conditions = (
        limit[min(counts)] if len(counts) == 1 else "",
        queue[min(queues)] if len(queues) == 1 else "",
    )
    return ", ".join(filter(None, conditions))


def labels(drawn: list[Arrow]) -> dict[tuple[str, str], list[str]]:
    """Return the words on each arrow; of what happens to every held record, one arrow for both."""
    pairs: dict[tuple[str, str], dict[str, list[str]]] = {}
    for arrow in drawn:
        alike = {attrs.evolve(arrow, before=state) for state in HELD_STATES}
        both = (
            arrow.before in HELD_STATES and arrow.after not in HELD_STATES and alike <= set(drawn)
        )
        pair = ("held" if both else arrow.before.name, arrow.after.name)
        word = WORDS.get(arrow.transition, arrow.transition)
        listed = pairs.setdefault(pair, {}).setdefault(arrow.only, [])
        if word not in listed:
            listed.append(word)
    return {
        pair: [line for only, words in by.items() for line in (", ".join(words), only) if line]
        for pair, by in pairs.items()
    }


def pictured() -> dict[tuple[str, str], list[str]]:
    """Return the words that follow each arrow of the picture."""
    found: dict[tuple[str, str], list[str]] = {}
    words: list[str] = []
    for element in ET.parse(Path(__file__).parents[1] / "docs" / "states.svg").getroot():  # noqa: S314 - our own
        if arrow := element.get("data-arrow"):
            before, after = arrow.split()
            words = found.setdefault((before, after), [])
        else:
            words.append(element.text or "")
    return found


def test_the_picture_has_the_arrows_of_the_rules_and_no_other() -> None:
    drawn = arrows()
    assert pictured() == labels(drawn)
    new = Arrow(RecordState.ACKNOWLEDGED, RecordState.AVAILABLE, "expire")
    assert pictured() != labels([*drawn, new])
    assert pictured() != labels(drawn[1:])
