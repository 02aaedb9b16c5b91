"""When share sessions were certainly open, from requests that went on in them."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping

import attrs

from replay.observed.observation import Observation, SessionChange, SessionEvent

MemberKey = tuple[str, str]
"""The member and the broker."""

Moment = tuple[float, float, float]
"""When a request was answered, its epoch, and when it was received.

A member's requests at a broker ascend in it: each is sent after the one before was answered.
"""

Change = tuple[Moment, SessionChange]


@attrs.frozen
class Sessions:
    """The changes of each member's session at each broker, and its requests that succeeded.

    ``departures`` is when members left the group (ms), ``losses`` when sessions had their last
    request whose end was not seen. Times may be too late by ``margin``.
    """

    changes: Mapping[MemberKey, tuple[Change, ...]]
    requests: Mapping[MemberKey, tuple[Moment, ...]]
    departures: Mapping[str, float]
    losses: tuple[float, ...]
    margin: float

    def alive_until(self, key: MemberKey, moment: Moment) -> float:
        """Return until when the session of a request was certainly open."""
        change = self._next(key, moment)
        times = self.requests.get(key, ())
        nth = (bisect_left(times, change[0]) if change else len(times)) - 1
        last = max(moment[2], times[nth][2] if nth >= 0 else moment[2])
        if change and change[1] is SessionChange.CLOSED:
            last = change[0][2]
        return min(last - self.margin, self.departures.get(key[0], float("inf")))

    def closed(self, key: MemberKey, moment: Moment) -> bool:
        """Return whether the session of a request was closed, and no request in it was lost."""
        change = self._next(key, moment)
        return change is not None and change[1] is SessionChange.CLOSED

    def lost(self, time: float) -> int:
        """Return how many requests may have been sent by then that were never answered.

        In each session whose end was not seen, there may be one after the last that was answered.
        """
        return bisect_right(self.losses, time + self.margin)

    def _next(self, key: MemberKey, moment: Moment) -> Change | None:
        changes = self.changes.get(key, ())
        nth = bisect_right(changes, moment, key=lambda change: change[0])
        return changes[nth] if nth < len(changes) else None


def moment_of(each: Observation) -> Moment:
    """Return the moment of a request; the one that closes a session is its last."""
    closes = each.epoch is None or each.epoch < 0
    return each.end, float("inf") if closes else float(each.epoch or 0), each.earliest


def sessions_of(
    events: Iterable[SessionEvent], seen: Iterable[Observation], margin: float
) -> Sessions:
    """Bring together what is known of the sessions of one group."""
    changes: dict[MemberKey, list[Change]] = {}
    departures: dict[str, float] = {}
    for event in events:
        if event.change is SessionChange.LEFT:
            begin = event.begin - margin
            departures[event.member] = min(begin, departures.get(event.member, begin))
        else:
            key = event.member, event.broker
            epoch = 0 if event.change is SessionChange.OPENED else float("inf")
            changes.setdefault(key, []).append(((event.end, epoch, event.begin), event.change))
    requests: dict[MemberKey, list[Moment]] = {}
    for each in seen:
        if each.member:
            requests.setdefault((each.member, each.broker), []).append(moment_of(each))
    keys = changes.keys() | requests.keys()
    losses = [time for key in keys for time in _losses(changes.get(key, []), requests.get(key, []))]
    return Sessions(
        {key: tuple(sorted(items)) for key, items in changes.items()},
        {key: tuple(sorted(items)) for key, items in requests.items()},
        departures,
        tuple(sorted(losses)),
        margin,
    )


def _losses(changes: Iterable[Change], requests: Iterable[Moment]) -> Iterator[float]:
    """Yield when each session had its last request that was answered, unless that closed it."""
    last: float | None = None
    history: list[tuple[Moment, SessionChange | None]] = [*changes]
    history += ((moment, None) for moment in requests)
    for moment, change in sorted(history, key=lambda entry: (entry[0], entry[1] is None)):
        if change is SessionChange.CLOSED:
            last = None
            continue
        if change is not None and last is not None:
            yield last
        last = moment[2]
    if last is not None:
        yield last
