"""The interval of heartbeats that an answer to one gives, and whether a client keeps to it."""

from collections.abc import Iterator

import attrs

from clients.duties import Duty
from clients.events import Heartbeat, Place

LATE_MS = 2500
"""How late a heartbeat may be beyond twice the interval: of a busy machine, or of a thread."""

MOST_EARLY, LEAST_MS = 3, 1000
"""How many heartbeats may come before an interval of so many ms or more is over.

Shorter ones are not judged by it: what a busy machine held up may come at once.
"""


@attrs.define
class Pulse:
    """What the client was told last: ``interval_ms``, 0 where that is not known, and ``since``.

    ``early`` counts heartbeats that came since ``first``, which nothing called for; ``assigned`` is
    what was assigned last.
    """

    interval_ms: int = 0
    since: int = 0
    first: int = 0
    early: int = 0
    assigned: tuple[Place, ...] | None = None

    def take(self, beat: Heartbeat) -> Iterator[tuple[Duty, str]]:
        """Take note of a heartbeat; yield how it disregards what the client was told."""
        yield from self.silent(beat.at_ms)
        given = 0 if beat.error else beat.interval_ms
        is_new = beat.epoch != beat.given or beat.assigned not in (None, self.assigned)
        if is_new or given != self.interval_ms or beat.at_ms - self.first >= given:
            self.first, self.early = beat.at_ms, 0
        else:
            self.early += 1
        if self.early == MOST_EARLY + 1 and given >= LEAST_MS:
            passed = beat.at_ms - self.first
            text = f"{self.early} heartbeats come in {passed} ms after one that told {given} ms"
            yield Duty.INTERVAL, text
        self.assigned = self.assigned if beat.assigned is None else beat.assigned
        self.interval_ms, self.since = given, beat.at_ms + beat.throttle_ms

    def silent(self, at_ms: int) -> Iterator[tuple[Duty, str]]:
        """Judge that no heartbeat came until now."""
        waited = at_ms - self.since
        if self.interval_ms and waited > 2 * self.interval_ms + LATE_MS:
            text = f"no heartbeat comes in {waited} ms after one that told {self.interval_ms} ms"
            yield Duty.INTERVAL, text

    def cut(self) -> None:
        """Take note that the client may seek its coordinator first, and know of no answer."""
        self.interval_ms = 0
