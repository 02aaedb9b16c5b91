"""What is due at which time; to find what comes next looks at nothing that does not."""

import asyncio
from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Generic, TypeVar

import attrs

_What = TypeVar("_What")


@attrs.define
class Deadlines(Generic[_What]):
    """A heap of times in ms of one clock; ``earlier`` is set when something comes first."""

    earlier: asyncio.Event
    _heap: list[tuple[int, _What]] = attrs.field(factory=list)
    _times: dict[_What, int] = attrs.field(factory=dict)

    def schedule(self, what: _What, when: int) -> None:
        """Let something be due at ``when``, unless it is due before that anyway."""
        if when < self._times.get(what, when + 1):
            self._times[what] = when
            heappush(self._heap, (when, what))
            if self._heap[0][0] == when:
                self.earlier.set()

    def due(self, now: int) -> Iterator[_What]:
        """Yield what is due, each once; it is due again only once it is scheduled again."""
        while self._heap and self._heap[0][0] <= now:
            when, what = heappop(self._heap)
            if self._times.get(what) == when:
                del self._times[what]
                yield what

    def next(self) -> int | None:
        """Return when the next is due, or None where nothing is."""
        return self._heap[0][0] if self._heap else None
