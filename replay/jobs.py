"""Tasks on Spark whose results arrive one by one, so that nothing found is lost on the way."""

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

from pyspark import InheritableThread
from pyspark.accumulators import AccumulatorParam
from pyspark.sql import SparkSession

from replay.session import SessionError, first_line

__all__ = ["Progress", "Silent", "run_tasks"]

T_ = TypeVar("T_")
R_ = TypeVar("R_")

POLL_SECONDS = 0.05
"""How often progress is shown."""


class Progress(Protocol):
    """Told how far a stage is."""

    def stage(self, name: str, total: int) -> None:
        """Begin a stage of so many tasks."""

    def done(self, tasks: int, results: Sequence[Any]) -> None:
        """So many tasks of the stage are done; ``results`` are all of the stage so far."""


class Silent:
    """Progress that is not shown."""

    def stage(self, name: str, total: int) -> None:
        """Say nothing."""

    def done(self, tasks: int, results: Sequence[Any]) -> None:
        """Say nothing."""


class _Collected(AccumulatorParam[list[Any]]):
    """Lists that are appended to; Spark counts each task that succeeds exactly once."""

    def zero(self, value: list[Any]) -> list[Any]:  # noqa: ARG002 - given by Spark
        return []

    def addInPlace(self, value1: list[Any], value2: list[Any]) -> list[Any]:  # noqa: N802 - Spark's
        value1.extend(value2)
        return value1


def run_tasks(
    session: SparkSession,
    name: str,
    tasks: Sequence[T_],
    function: Callable[[T_], Iterable[R_]],
    progress: Progress,
) -> tuple[list[R_], bool]:
    """Run ``function`` on each task and return all results, in any order, and True.

    When interrupted (Ctrl-C), cancel what is running and return the results of the tasks that
    are done, and False. Raises SessionError if Spark gives up.
    """
    if not tasks:
        return [], True
    context = session.sparkContext
    results = context.accumulator([], _Collected())
    finished = context.accumulator(0)

    def work(task: T_) -> None:
        results.add(list(function(task)))
        finished.add(1)

    errors: list[BaseException] = []

    def job() -> None:
        try:
            context.setJobGroup(name, f"sharespec {name}", interruptOnCancel=True)
            context.parallelize(tasks, len(tasks)).foreach(work)
        except Exception as error:  # noqa: BLE001 - it goes on to the caller's thread
            errors.append(error)

    progress.stage(name, len(tasks))
    thread = InheritableThread(target=job, daemon=True)
    thread.start()
    try:
        _wait(thread, lambda: progress.done(finished.value, results.value))
    except KeyboardInterrupt:
        context.cancelJobGroup(name)
        thread.join(10)
        return list(results.value), False
    if errors:
        raise SessionError(f"Spark gave up: {first_line(errors[0])}") from errors[0]
    return list(results.value), True


def _wait(thread: threading.Thread, show: Callable[[], None]) -> None:
    while thread.is_alive():
        thread.join(POLL_SECONDS)
        show()
