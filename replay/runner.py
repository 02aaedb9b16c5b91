"""Where tasks run: what a replay asks of Spark, or of processes on this machine."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

T_ = TypeVar("T_")
R_ = TypeVar("R_")

TASK_ATTEMPTS = 4
"""How often a task is tried; Spark's default everywhere but in ``local[N]``, where it is 1."""

POLL_SECONDS = 0.05
"""How often progress is shown."""


class SessionError(RuntimeError):
    """What runs the tasks could not be started, or gave up; one line."""


class Progress(Protocol):
    """Shows how far a stage is."""

    def stage(self, name: str, total: int) -> None:
        """Start a stage of ``total`` tasks."""

    def done(self, tasks: int, results: Sequence[Any]) -> None:
        """Show that ``tasks`` of the stage are done; ``results`` are all of the stage so far."""


class Silent:
    """Progress that is not shown."""

    def stage(self, name: str, total: int) -> None:
        """Show nothing."""

    def done(self, tasks: int, results: Sequence[Any]) -> None:
        """Show nothing."""


class Runner(Protocol):
    """Runs the tasks of a stage and returns their results."""

    @property
    def place(self) -> str:
        """Where the tasks run, as a report says it."""

    @property
    def parallelism(self) -> int:
        """How many tasks run at once."""

    @property
    def local(self) -> bool:
        """Whether tasks run on this machine, and so see its folders and its compiled code."""

    def run(
        self,
        name: str,
        tasks: Sequence[T_],
        function: Callable[[T_], Iterable[R_]],
        progress: Progress,
    ) -> tuple[list[R_], bool]:
        """Run ``function`` on each task; return all results, in the tasks' order, and True.

        When interrupted (Ctrl-C), stop what is running and return the results so far, and False.
        Raises SessionError if a task fails TASK_ATTEMPTS times.
        """


def flat(results: Mapping[int, list[R_]]) -> list[R_]:
    """Return the results of tasks in the order of the tasks' numbers."""
    return [result for nth in sorted(results) for result in results[nth]]
