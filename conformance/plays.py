"""Plays of sequences: one after another, or several at once, where each has a target of its own."""

from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterator
from concurrent.futures import FIRST_COMPLETED, FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Any, Self, TypeVar

A = TypeVar("A")
B = TypeVar("B")


class Plays:
    """So many threads that play; with one everything happens in the thread that asks for it.

    Behind it, what is still played is left to itself, and nothing else begins.
    """

    def __init__(self, at_once: int) -> None:
        """Take how many sequences may be played at once."""
        self._at_once = at_once
        self._pool = ThreadPoolExecutor(at_once) if at_once > 1 else None
        self._lines: dict[Hashable, ThreadPoolExecutor] = {}
        self._work: list[Future[None]] = []
        self._over = Future[Any]()

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *_error: object) -> None:
        """End: whoever waits for a play is interrupted, and has ended when this returns."""
        self._over.set_result(None)
        if self._pool:
            self._pool.shutdown(wait=False, cancel_futures=True)
        for line in self._lines.values():
            line.shutdown(cancel_futures=True)

    def in_order(self, play: Callable[[A], B], given: Iterator[A]) -> Iterator[B]:
        """Yield what each play gives, in their order; raise what work in a line has raised."""
        if self._pool is None:
            yield from map(play, given)
            return
        played = deque[Future[B]]()
        while True:
            for each in islice(given, self._at_once - len(played)):
                played.append(self._pool.submit(play, each))
            if not played:
                return
            result = self._awaited(played.popleft())
            self._settle([work for work in self._work if work.done()])
            yield result

    def first(self, play: Callable[[], B | None], tries: int) -> B | None:
        """Play up to so many times, and return the first that is not None; else None.

        Raises KeyboardInterrupt where all ends meanwhile.
        """
        if self._pool is None:
            return next((shown for _ in range(tries) if (shown := play()) is not None), None)
        played = [self._pool.submit(play) for _ in range(tries)]
        for each in played:
            if (shown := self._awaited(each)) is not None:
                for other in played:
                    other.cancel()
                return shown
        return None

    def in_line(self, line: Hashable, work: Callable[[], None]) -> None:
        """Do some work, which waits for plays, behind all other work of its line."""
        if self._pool is None:
            work()
            return
        if line not in self._lines:
            self._lines[line] = ThreadPoolExecutor(1)
        self._work.append(self._lines[line].submit(work))

    def finish(self) -> None:
        """Wait for the work in every line; raise what one has raised."""
        while self._work:
            self._settle(wait(self._work, return_when=FIRST_EXCEPTION).done)

    def _settle(self, done: Collection[Future[None]]) -> None:
        self._work = [work for work in self._work if work not in done]
        for work in done:
            work.result()

    def _awaited(self, play: Future[B]) -> B:
        wait((play, self._over), return_when=FIRST_COMPLETED)
        if not play.done():
            raise KeyboardInterrupt
        return play.result()
