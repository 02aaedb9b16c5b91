from collections.abc import Sequence
from typing import Any


class Watching:
    """Progress that notes what it is shown, and stops the run as Ctrl-C does if asked."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.stages: list[tuple[str, int]] = []
        self.seen: list[int] = []
        self._stop_at = stop_at

    def stage(self, name: str, total: int) -> None:
        self.stages.append((name, total))

    def done(self, tasks: int, results: Sequence[Any]) -> None:  # noqa: ARG002
        self.seen.append(tasks)
        if self._stop_at is not None and tasks >= self._stop_at:
            raise KeyboardInterrupt
