"""The throttle time of an answer, for which the client is to send nothing on that connection."""

import attrs

UNDERWAY_MS = 50
"""How long a request may be under way that was sent before the last answer was known."""


@attrs.define
class Throttle:
    """When the answer came that asks for quiet the longest, and until when, in ms."""

    since: int = 0
    until: int = 0

    def told(self, at_ms: int, throttle_ms: int) -> None:
        """Take note of an answer; one whose throttle time ends earlier changes nothing."""
        if at_ms + throttle_ms > self.until:
            self.since, self.until = at_ms, at_ms + throttle_ms

    def haste(self, what: str, at_ms: int) -> str | None:
        """Return how a request disregards what the client was told, or None."""
        if self.since + UNDERWAY_MS <= at_ms < self.until - UNDERWAY_MS:
            waited, told = at_ms - self.since, self.until - self.since
            return f"{what} comes {waited} ms after an answer with throttle time {told}"
        return None
