from collections.abc import Callable, Sequence
from typing import Any


class Watching:
    """Progress that notes what it is shown, and stops the run as Ctrl-C does where asked."""

    def __init__(self, stops: Callable[[int, Sequence[Any]], bool] = lambda *_: False) -> None:
        self.stages: list[tuple[str, int]] = []
        self.seen: list[int] = []
        self._stops = stops

    def __call__(self, name: str, done: int, total: int, results: Sequence[Any]) -> None:
        if self.stages[-1:] != [(name, total)]:
            self.stages.append((name, total))
        self.seen.append(done)
        if self._stops(done, results):
            raise KeyboardInterrupt
