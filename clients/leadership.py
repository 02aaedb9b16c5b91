"""Where partitions are led, as the client was told, and where it asks for them."""

from collections import defaultdict
from collections.abc import Iterator

import attrs

from clients.duties import Duty
from clients.events import Answered, Asked, Deleted, Moved, Place, place_name
from model.share_messages import INITIAL_EPOCH

MOST_ASKED = 50
"""How many fetches may ask a former leader for a partition once the client was told."""

MOST_UNASSIGNED = 3
"""How many fetches may ask for a partition that is not assigned."""


@attrs.define
class Leadership:
    """Leaders that moved, and what the client knows of them.

    ``unvisited``: the new leader of a partition, until a fetch asks for it there. ``told``: how
    many fetches asked a broker for a partition since its answer named another leader; ``strange``
    for one that is not ``assigned``.
    """

    _sessions: dict[int, set[Place]] = attrs.field(factory=lambda: defaultdict(set))
    _unvisited: dict[Place, int] = attrs.field(factory=dict)
    _told: dict[tuple[int, Place], int] = attrs.field(factory=dict)
    _assigned: frozenset[Place] | None = None
    _strange: dict[tuple[int, Place], int] = attrs.field(factory=dict)
    _deleted: set[str] = attrs.field(factory=set)

    def assigned(self, places: tuple[Place, ...] | None) -> None:
        """Take note of what the member is to fetch; None where that is not known."""
        self._assigned = None if places is None else frozenset(places)
        self._strange.clear()

    def assigns(self, place: Place) -> bool:
        """Whether the member is to fetch a partition, as far as is known."""
        return self._assigned is None or place in self._assigned

    def moved(self, event: Moved) -> None:
        """Take note of a leader that moved."""
        self._unvisited[event.place] = event.broker
        self._told.pop((event.broker, event.place), None)

    def deleted(self, event: Deleted) -> None:
        """Take note of a deleted topic, whose partitions go by its former name now.

        How often it is asked for is not judged: only its refusals tell a client that it is gone.
        Until the next assignment a client may take that of a topic for the next of its name.
        """
        self._deleted.add(event.former)
        for broker, places in self._sessions.items():
            self._sessions[broker] = set(map(event.place_of, places))
        if self._assigned is not None:
            self._assigned |= frozenset(map(event.place_of, self._assigned))
        for key in [key for key in self._told if key[1][0] == event.topic]:
            del self._told[key]
        for place in [place for place in self._unvisited if place[0] == event.topic]:
            del self._unvisited[place]

    def asked(self, event: Asked) -> Iterator[tuple[Duty, str]]:
        """Take note of a request; yield what it violates.

        One that asks for no record may put partitions into the session, or only acknowledge; what
        it forgets leaves the session all the same.
        """
        places = self._sessions[event.broker]
        if event.acknowledgements and not event.fetches:
            places.difference_update(event.forgotten)
            return
        if event.epoch == INITIAL_EPOCH:
            places.clear()
        places.update(event.named)
        places.difference_update(event.forgotten)
        for place in sorted(places) if event.fetches else ():
            if self._unvisited.get(place) == event.broker:
                del self._unvisited[place]
            yield from self._unassigned(event.broker, place)
            count = self._told.get((event.broker, place))
            if count is None:
                continue
            self._told[event.broker, place] = count + 1
            if count == MOST_ASKED:
                text = f"broker {event.broker} is asked for {place_name(place)} {count + 1} times"
                yield Duty.FOLLOWS, f"{text} after it has named another leader"

    def _unassigned(self, broker: int, place: Place) -> Iterator[tuple[Duty, str]]:
        if self.assigns(place) or place[0] in self._deleted:
            return
        count = self._strange.get((broker, place), 0)
        self._strange[broker, place] = count + 1
        if count == MOST_UNASSIGNED:
            text = f"{count + 1} fetches to broker {broker} ask for {place_name(place)}"
            yield Duty.ASSIGNED, f"{text}, which is not assigned to the member"

    def answered(self, broker: int, event: Answered) -> None:
        """Take note of the leaders that an answer names in place of the one asked."""
        for place, leader in event.elsewhere:
            if leader not in (-1, broker):
                self._told.setdefault((broker, place), 0)

    def missed(self, waiting: tuple[Place, ...]) -> Iterator[str]:
        """Yield why a client may get nothing of partitions that have records, each reason once."""
        unassigned = [place for place in waiting if not self.assigns(place)]
        asked = {place for places in self._sessions.values() for place in places}
        unasked = [p for p in waiting if p not in asked and p not in unassigned]
        if unassigned:
            yield f"{place_name(unassigned[0])}, which is subscribed to, is not assigned to it"
        if unasked:
            yield f"no fetch asks for {place_name(unasked[0])}, which is assigned to it"
        if len(unassigned) + len(unasked) < len(waiting) or not waiting:
            yield "a fetch could get records"

    def starved(self, waited_ms: int) -> Iterator[tuple[Duty, str]]:
        """Judge that polls brought nothing for so long although there were records."""
        for place, leader in sorted(self._unvisited.items()):
            if not self.assigns(place):
                continue
            text = f"broker {leader}, which leads {place_name(place)} now, is not asked for it"
            yield Duty.FOLLOWS, f"{text} in {waited_ms} ms of polls"
