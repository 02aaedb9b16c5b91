"""The requests that concern one share-partition, with the times between which they took effect.

From requests that went on in them it follows when share sessions were certainly open.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import attrs

from model.states import AcknowledgeType
from replay.observed.observation import Kind, Lapse, Observation, SessionChange, SessionEvent
from replay.observed.record import Act, Effect, Lock
from replay.observed.settings import Assumed

NONE = 0
REFUSALS = frozenset({29, 30, 42, 100, 112, 121, 122, 123, 133})
"""Errors that an acknowledgement gets before it changes anything: authorization, an invalid
request, an unknown topic, a wrong record state, and those of share sessions."""

JUDGED = frozenset({42, 121})
"""INVALID_REQUEST and INVALID_RECORD_STATE: what the records' own states decide."""

Range = tuple[int, int, int]
"""First, last, and the delivery count or the acknowledge type."""


@attrs.frozen(eq=False)
class LogRequest:
    """A request that acquires or acknowledges, numbered from 1 in the order of beginnings.

    It took effect after ``begin`` and before ``end`` (ms). ``changes`` says whether it has an
    effect at all. ``blind``: a part of the log is missing in that time. ``turn`` orders the
    requests of one member at one broker.
    """

    number: int
    turn: int
    seen: Observation
    begin: float
    end: float
    effect: Effect
    changes: bool
    blind: bool
    ranges: tuple[Range, ...]

    @property
    def acquires(self) -> bool:
        """Whether it is the fetch, and not an acknowledgement."""
        return self.seen.kind is Kind.ACQUIRE

    @property
    def accepted(self) -> bool:
        """Whether it was answered with success."""
        return self.seen.status == NONE

    def act(self, value: int, after: frozenset[int]) -> Act:
        """Return what it does to a record."""
        kind, count = (None, value) if self.acquires else (value, 0)
        member = self.seen.member
        return Act(self.number, member, self.begin, self.effect, kind, count, after)


Naming = tuple[tuple[LogRequest, int], ...]
"""Requests, each with the delivery count or the acknowledge type that it has of an offset."""

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


def requests_of(
    seen: Iterable[Observation], settings: Assumed, gaps: Sequence[Lapse], leader: str
) -> list[LogRequest]:
    """Return the requests of members, in the order of their beginnings."""
    asked = [each for each in seen if each.kind in (Kind.ACQUIRE, Kind.ACKNOWLEDGE)]
    asked.sort(key=lambda each: (each.begin, each.epoch or 0, each.line, each.kind is Kind.ACQUIRE))
    turns = {each: turn for turn, each in enumerate(sorted(asked, key=_turn))}
    requests = []
    for number, each in enumerate(asked, start=1):
        begin, end = bounds(each, settings, leader)
        blind = any(gap.begin <= end and gap.end >= begin for gap in gaps)
        ranges = tuple(sorted((first, last, value) for first, last, value in each.ranges))
        overlaps = any(a[1] >= b[0] for a, b in pairwise(ranges))
        requests.append(
            LogRequest(
                number,
                turns[each],
                each,
                begin,
                end,
                _effect(each),
                _changes(each),
                blind or each.malformed or overlaps,
                ranges,
            )
        )
    return requests


def bounds(each: Observation, settings: Assumed, leader: str) -> tuple[float, float]:
    """Return the times before and after which a request had no effect, on the leader's clock."""
    skew = 0 if each.broker == leader else settings.skew_ms
    return each.earliest - settings.slack_ms - 1 - skew, each.end + 1 + skew


def received_by(each: Observation, settings: Assumed, leader: str) -> float:
    """Return a time by which a request had been received, on the leader's clock."""
    return each.begin + 1 + (0 if each.broker == leader else settings.skew_ms)


def lock_of(request: LogRequest, others: tuple[int, int], sessions: Sessions, sweep: float) -> Lock:
    """Return when the lock that a request grants may end.

    ``others`` are the shortest and the longest duration that answers around it had (ms).
    """
    key = request.seen.member, request.seen.broker
    moment = moment_of(request.seen)
    alive = sessions.alive_until(key, moment)
    # That the session was closed does not end it: the session may have forgotten the partition.
    latest = request.end + others[1] + sweep
    return Lock(request.begin + others[0], latest, alive, sessions.closed(key, moment))


def _turn(each: Observation) -> tuple[float, float, float, bool]:
    return *moment_of(each), each.kind is Kind.ACQUIRE


def _effect(each: Observation) -> Effect:
    if each.status == NONE:
        return Effect.CERTAIN
    return Effect.POSSIBLE if each.status is None else Effect.UNDONE


def _changes(each: Observation) -> bool:
    if each.kind is Kind.ACQUIRE or each.status not in REFUSALS:
        return True
    return any(kind == AcknowledgeType.RENEW for _, _, kind in each.ranges)


class UnderWay:
    """The requests that have begun and not ended, by the offsets that they name."""

    def __init__(self) -> None:
        """Begin with none."""
        self._ranges: dict[LogRequest, tuple[list[int], list[int], list[int]]] = {}

    def acquiring(self) -> Iterator[LogRequest]:
        """Yield the fetches under way that acquire."""
        return (request for request in self._ranges if request.acquires)

    def begin(self, request: LogRequest) -> None:
        """Add a request; of its ranges that overlap the first counts."""
        firsts, lasts, values, reached = [], [], [], -1
        for first, last, value in request.ranges:
            if last > reached:
                firsts.append(max(first, reached + 1))
                lasts.append(reached := last)
                values.append(value)
        if firsts:
            self._ranges[request] = firsts, lasts, values

    def end(self, request: LogRequest) -> None:
        """Remove a request."""
        self._ranges.pop(request, None)

    def over(self, first: int, last: int) -> Iterator[tuple[int, int, Naming]]:
        """Yield each part of the offsets with the requests that name it; no range is joined."""
        near = [
            (request, *ranges)
            for request, ranges in self._ranges.items()
            if ranges[0][0] <= last and first <= ranges[1][-1]
        ]
        while first <= last:
            end, naming = last, []
            for request, firsts, lasts, values in near:
                nth = bisect_left(lasts, first)
                if nth == len(lasts) or firsts[nth] > end:
                    continue
                if firsts[nth] > first:
                    end = firsts[nth] - 1
                else:
                    naming.append((request, values[nth]))
                    end = min(end, lasts[nth])
            yield first, end, tuple(naming)
            first = end + 1


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
