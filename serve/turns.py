"""Turns: who works on many share-partitions waits for it, so that others are answered meanwhile."""

import asyncio
from heapq import heappop, heappush
from itertools import count

import attrs

FEW = 10
"""Up to so many share-partitions a request costs about as much as any other, and takes no turn."""
_BETWEEN = 5
"""Turns of the event loop between two: more than a request takes from its socket to its answer."""


@attrs.define
class Turns:
    """Pieces of work on many share-partitions, one after the other, the smallest first.

    As many others at most as it has share-partitions, of those that come later, go before one.
    """

    _waiting: "list[tuple[int, int, asyncio.Future[None]]]" = attrs.field(factory=list)
    _numbers: "count[int]" = attrs.field(factory=count)
    _giving: "asyncio.Task[None] | None" = None

    async def take(self, size: int) -> None:
        """Return when it is the turn of a piece of work on ``size`` share-partitions."""
        if size <= FEW:
            return
        mine = asyncio.get_running_loop().create_future()
        number = next(self._numbers)
        heappush(self._waiting, (number + size, number, mine))
        if self._giving is None or self._giving.done():
            self._giving = asyncio.create_task(self._give())
        await mine

    async def _give(self) -> None:
        while self._waiting:
            *_, mine = heappop(self._waiting)
            if not mine.done():  # Its connection may have ended.
                mine.set_result(None)
                for _ in range(_BETWEEN):
                    await asyncio.sleep(0)
