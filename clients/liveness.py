"""Calls that achieve nothing: what the client has in hand meanwhile, and how often it asks."""

from bisect import bisect
from collections.abc import Iterator, Sequence

from clients.duties import Duty
from clients.events import RENEW, Drained
from clients.held import Fate, Held, Holdings, Violation
from clients.leadership import Leadership

EMPTY_FETCHES = 50
"""How many fetches that bring nothing a poll may send, and how many more each second."""

COMMIT_MS = 10_000
"""How long a commit may wait that fails and sends nothing."""

LATE_MS = 2000
"""How long before a poll ends without a record its client has nothing in hand."""

_SECOND = 1000


def withheld(holdings: Holdings, leadership: Leadership) -> list[Held]:
    """Return what the client was given of partitions that it is assigned, and keeps to itself."""
    return [held for held in holdings.every() if held.is_idle and leadership.assigns(held.place)]


def empty_handed(holdings: Holdings, began: int, times: Sequence[int]) -> Iterator[Violation]:
    """Judge a poll that returned nothing by what the client had in hand when it began.

    And one that waited long by what it was given long before it ended. ``times`` are those of all
    events so far.
    """
    late = bisect(times, times[-1] - LATE_MS) if times[-1] - times[began] >= LATE_MS else 0
    for held in holdings.every():
        known = held.moved_on is not None and held.moved_on < began
        idle = held.is_idle and not (held.reported or held.is_corrupt)
        if idle and (known or held.answer < late):
            held.reported = True
            text = "poll is empty" if known else "a poll waits on and is empty"
            yield Duty.NONE_DROPPED, f"{held.where} was acquired, and {text}", held


def gaps_kept(
    holdings: Holdings, leadership: Leadership, began: int, *, acknowledging: bool
) -> Iterator[Violation]:
    """Judge what has no record, once polls have brought whatever there was.

    The client had fetched again before the last of them. While it is ``acknowledging``, others are
    not answered yet, and those that it has to send beside the gap may wait for that with it.
    """
    unsent = [h for h in holdings.every() if h.fate is Fate.UNSENT and h.lost is None]
    waiting = {held.place for held in unsent if held.due and acknowledging}
    for held in unsent:
        known = held.moved_on is not None and held.moved_on < began and held.place not in waiting
        if known and held.is_gap and not held.reported and leadership.assigns(held.place):
            held.reported = True
            text = f"{held.where} has no record, polls brought all there was, and it never was"
            yield Duty.GAPS, f"{text} acknowledged", held


def too_often(empty_fetches: int, elapsed: int) -> Iterator[Violation]:
    """Judge how many fetches brought nothing in the ms that a poll waited."""
    most = EMPTY_FETCHES + EMPTY_FETCHES * elapsed // _SECOND
    if empty_fetches > most:
        text = f"{empty_fetches} fetches in {elapsed} ms brought nothing; at most {most}"
        yield Duty.NOT_BUSY, text


def starved(holdings: Holdings, leadership: Leadership, drained: Drained) -> Iterator[Violation]:
    """Judge polls that brought nothing for so long, though there was something, to a member.

    What its application has in hand it may have to acknowledge first.
    """
    if any(held.waits and held.lost is None for held in holdings.every()):
        return
    lost = list(leadership.starved(drained.starved_ms))
    yield from lost
    if lost:
        return
    text = f"polls brought nothing for {drained.starved_ms} ms, and"
    for held in withheld(holdings, leadership)[:1]:
        yield Duty.RECEIVES, f"{text} {held.where} was acquired", held
        return
    for why in leadership.missed(drained.waiting):
        yield Duty.RECEIVES, f"{text} {why}"


def uncommitted(holdings: Holdings, waited_ms: int | None) -> Iterator[Violation]:
    """Judge what a commit did not send that returned, or failed after so many ms."""
    for held in holdings.every():
        unsent = held.fate is Fate.UNSENT and held.lost is None and not held.told_failure
        if unsent and waited_ms is None and held.due == RENEW:
            yield Duty.ALL_SENT, f"{held.where} was to be renewed, and a commit sent nothing"
        elif unsent and held.due is not None and (waited_ms or 0) >= COMMIT_MS:
            text = f"{held.where} was acknowledged, and a commit sent nothing in {waited_ms} ms"
            yield Duty.ALL_SENT, text
