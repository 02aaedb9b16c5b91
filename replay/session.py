"""Spark: the one session of a replay, and tasks whose results arrive one by one."""

import contextlib
import logging
import re
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pyspark import InheritableThread, SparkConf, SparkContext
from pyspark.accumulators import AccumulatorParam
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

import replay
from replay.java import JavaNotFoundError, prepare_environment

T_ = TypeVar("T_")
R_ = TypeVar("R_")

PACKAGES = ("model", "spec", "impl", "judge", "replay")
"""What workers need, by import name."""

TASK_ATTEMPTS = 4
"""How often a task is tried; Spark's default everywhere but in ``local[N]``, where it is 1."""


class SessionError(RuntimeError):
    """Spark could not be started, or it stopped; one line."""


POLL_SECONDS = 0.05
"""How often progress is shown."""


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


class _Collected(AccumulatorParam[list[Any]]):
    """Lists that are appended to; Spark counts each task that succeeds exactly once."""

    def zero(self, value: list[Any]) -> list[Any]:  # noqa: ARG002 - given by Spark
        return []

    def addInPlace(self, value1: list[Any], value2: list[Any]) -> list[Any]:  # noqa: N802 - Spark's
        value1.extend(value2)
        return value1


@contextlib.contextmanager
def open_session(master: str = "local[*]") -> Iterator[SparkSession]:
    """Start Spark, or use the session that is active, and stop it at the end if it was started.

    Raises SessionError if there is no Java or the master cannot be used.
    """
    if active := SparkSession.getActiveSession():
        yield active
        return
    with tempfile.TemporaryDirectory(prefix="sharespec-code-") as folder:
        session = _started(master, Path(folder) / "spark.log")
        try:
            if not master.startswith("local["):
                session.sparkContext.addPyFile(str(shipped_code(Path(folder))))
            yield session
        finally:
            session.stop()


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
        except Exception as error:  # noqa: BLE001 - raised again in the caller's thread
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


def first_line(error: BaseException) -> str:
    """Return the line of an error, often Java's, that has the cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by:")]
    text = (causes or [line for line in lines if "Exception" in line] or lines or ["?"])[-1]
    return re.sub(r"^(Caused by: |: )", "", text)[:300]


def shipped_code(folder: Path) -> Path:
    """Write the packages that workers import as one zip in the folder and return its path."""
    target = folder / "sharespec.zip"
    root = Path(replay.__file__).parent.parent
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for package in PACKAGES:
            for path in sorted((root / package).rglob("*.py")):
                archive.write(path, path.relative_to(root))
    return target


def _started(master: str, log: Path) -> SparkSession:
    """Start Spark; Java prints to ``log``, whose last error is reported if the start fails."""
    # Spark's Python side logs each exception of a call to Java that we handle.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    try:
        prepare_environment()
        conf = SparkConf().setMaster(_with_attempts(master)).setAll(_settings(master))
        with log.open("wb") as errors:
            gateway = launch_gateway(conf, {"stderr": errors})  # type: ignore[no-untyped-call]
        context = SparkContext(conf=conf, gateway=gateway)
        return SparkSession(context)
    except JavaNotFoundError as error:
        raise SessionError(str(error)) from None
    except Exception as error:
        printed = log.read_text(errors="replace").splitlines() if log.exists() else []
        reason = next((line for line in reversed(printed) if "rror" in line), first_line(error))
        raise SessionError(f"Spark did not start on {master}: {reason[:300]}") from error


def _settings(master: str) -> list[tuple[str, str]]:
    log4j = Path(replay.__file__).parent / "log4j2.properties"
    settings = {
        "spark.app.name": "sharespec",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{log4j}",
        "spark.task.maxFailures": str(TASK_ATTEMPTS),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if master.startswith("local"):
        # Nothing outside this machine takes part, so no name has to be looked up.
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return list(settings.items())


def _with_attempts(master: str) -> str:
    """Return ``local[N]`` as ``local[N,4]``, so that a worker that dies is replaced there too."""
    threads = re.fullmatch(r"local\[(\*|\d+)\]", "local[1]" if master == "local" else master)
    return f"local[{threads[1]},{TASK_ATTEMPTS}]" if threads else master


def _wait(thread: threading.Thread, show: Callable[[], None]) -> None:
    while thread.is_alive():
        thread.join(POLL_SECONDS)
        show()
