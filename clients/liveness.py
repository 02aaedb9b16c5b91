"""Polls that bring nothing: what the client has in hand meanwhile, and how often it asks."""

from collections.abc import Iterator

from clients.duties import Duty
from clients.held import Held, Holdings
from clients.leadership import Leadership

EMPTY_FETCHES = 50
"""How many fetches that bring nothing a poll may send, and how many more each second."""

_SECOND = 1000


def withheld(holdings: Holdings, leadership: Leadership) -> list[Held]:
    """Return what the client was given of partitions that it is assigned, and keeps to itself."""
    return [held for held in holdings.every() if held.is_idle and leadership.assigns(held.place)]


def empty_handed(holdings: Holdings, began: int) -> Iterator[tuple[Duty, str]]:
    """Judge a poll that returned nothing by what the client had in hand when it began."""
    for held in holdings.every():
        known = held.moved_on is not None and held.moved_on < began
        if known and held.is_idle and not (held.reported or held.is_corrupt):
            held.reported = True
            yield Duty.NONE_DROPPED, f"{held.where} was acquired, and poll is empty"


def too_often(empty_fetches: int, elapsed: int) -> Iterator[tuple[Duty, str]]:
    """Judge how many fetches brought nothing in the ms that a poll waited."""
    most = EMPTY_FETCHES + EMPTY_FETCHES * elapsed // _SECOND
    if empty_fetches > most:
        text = f"{empty_fetches} fetches in {elapsed} ms brought nothing; at most {most}"
        yield Duty.NOT_BUSY, text


def starved(
    holdings: Holdings, leadership: Leadership, waited_ms: int
) -> Iterator[tuple[Duty, str]]:
    """Judge polls that brought nothing for so long, though there was something, to a member.

    What its application has in hand it may have to acknowledge first.
    """
    if any(held.waits and held.lost is None for held in holdings.every()):
        return
    lost = list(leadership.starved(waited_ms))
    yield from lost
    if not lost:
        given = next((held.where for held in withheld(holdings, leadership)), None)
        why = f"{given} was acquired" if given else "a fetch could get records"
        yield Duty.RECEIVES, f"polls brought nothing for {waited_ms} ms, and {why}"
