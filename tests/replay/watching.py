from collections.abc import Callable, Sequence
from typing import Any


class Watching:
    """Progress that notes what it is shown, and stops the run as Ctrl-C does where asked."""

    def __init__(self, stops: Callable[[int, Sequence[Any]], bool] = lambda *_: False) -> None:
        self.stages: list[tuple[str, int]] = []
        self.seen: list[int] = []
        self._stops = stops

    def stage(self, name: str, total: int) -> None:
        self.stages.append((name, total))

    def done(self, tasks: int, results: Sequence[Any]) -> None:
        self.seen.append(tasks)
        if self._stops(tasks, results):
            raise KeyboardInterrupt
