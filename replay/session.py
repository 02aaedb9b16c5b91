"""Spark: the one session of a replay, and tasks whose results arrive one by one."""

import atexit
import contextlib
import functools
import logging
import os
import pickle
import re
import socket
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import attrs
from pyspark import InheritableThread, SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

# isort: split
# Behind PySpark, which is to be named where both are missing.
from py4j.protocol import Py4JError  # type: ignore[import-untyped] # not typed

import replay
from replay.java import JavaNotFoundError, prepare_environment
from replay.processes import (
    POLL_SECONDS,
    TASK_ATTEMPTS,
    Progress,
    SessionError,
    Work,
    ctrl_c_blocked,
)
from report.scratch import scratch_folder

T_ = TypeVar("T_")
R_ = TypeVar("R_")

_ANSWER_SECONDS = 10
"""How long a server of Spark may take to accept a connection."""

SPARK_ERRORS = (PySparkException, Py4JError)
"""What PySpark raises: the second where it does not translate an exception of Java."""

PACKAGES = ("model", "spec", "impl", "judge", "report", "replay")
"""What workers need, each beside this one."""
_SHIPPED = (".py", ".toml")
"""How the files end that those need: modules and tables."""


@contextlib.contextmanager
def open_session(master: str = "local[*]", packages: Sequence[str] = ()) -> Iterator[SparkSession]:
    """Start Spark, or use the session that is active, and stop it at the end if it was started.

    ``packages`` are Maven coordinates of what it needs besides, which Spark fetches; not under
    ``spark-submit``, nor where ``PYSPARK_SUBMIT_ARGS`` is set, which then name them.

    ``master`` may be the address of a Spark Connect server (``sc://host``), whose session knows
    tables only. Under ``spark-submit`` the session is the one that this command describes. Raises
    SessionError if there is no Java or the master cannot be used.
    """
    if active := SparkSession.getActiveSession():
        yield active
        return
    if master.startswith("sc://"):
        with connected(master) as session:
            yield session
        return
    with scratch_folder() as folder:
        if "PYSPARK_GATEWAY_PORT" in os.environ:
            session = SparkSession.builder.getOrCreate()
        else:
            session = _started(master, Path(folder) / "spark.log", packages)
        try:
            if is_local(session):
                # A clone has a folder of the same name, and workers begin where they are started.
                root = Path(replay.__file__).parents[len(replay.__name__.split("."))]
                workers = {"PYTHONSAFEPATH": "1", "PYTHONPATH": str(root)}
                session.sparkContext.environment.update(workers)
            else:
                session.sparkContext.addPyFile(str(shipped_code(Path(folder))))
            yield session
        finally:
            session.stop()


def is_local(session: SparkSession) -> bool:
    """Return whether tasks run on this machine, and so see its folders and its compiled code."""
    return (session.sparkContext.master or "").startswith("local[")


@attrs.frozen
class SparkRunner:
    """Runs tasks on Spark's workers of this machine; Spark runs them again if one dies."""

    session: SparkSession

    @property
    def place(self) -> str:
        """Where the tasks run, as a report says it."""
        is_here, master = is_local(self.session), self.session.sparkContext.master
        return f"Spark local[{self.parallelism}]" if is_here else f"Spark {master}"

    @property
    def parallelism(self) -> int:
        """How many tasks run at once."""
        return self.session.sparkContext.defaultParallelism

    def run(
        self, name: str, tasks: Sequence[T_], work: Work[T_, R_], progress: Progress
    ) -> tuple[list[R_], bool]:
        """Run the tasks as ``Runner.run`` says; when interrupted, return no results of them.

        What waits here is no call to Java, which an interrupt would break off.
        """
        context, results, errors = self.session.sparkContext, list[R_](), list[BaseException]()
        if not tasks:
            return results, True

        def job() -> None:
            try:
                context.setJobGroup(name, f"sharespec {name}", interruptOnCancel=True)
                results.extend(context.parallelize(tasks, len(tasks)).flatMap(work).collect())
            except Exception as error:  # noqa: BLE001 - raised again in the caller's thread
                errors.append(error)

        progress(name, 0, len(tasks), [])
        tracker = context.statusTracker()
        thread = InheritableThread(target=job, daemon=True)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(POLL_SECONDS)
                running = map(tracker.getStageInfo, tracker.getActiveStageIds())
                done = sum(stage.numCompletedTasks for stage in running if stage)
                progress(name, done, len(tasks), [])
        except KeyboardInterrupt:
            context.cancelJobGroup(name)
            return [], False
        if errors:
            raise SessionError(f"Spark gave up: {first_line(errors[0])}") from errors[0]
        progress(name, len(tasks), len(tasks), results)
        return results, True


def first_line(error: BaseException) -> str:
    """Return the line of an error, often Java's, that has the cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by:")]
    text = (causes or [line for line in lines if "Exception" in line] or lines or ["?"])[-1]
    return re.sub(r"^(Caused by: |: )", "", text)[:300]


def shipped_code(folder: Path) -> Path:
    """Write the packages that workers import as one zip in the folder and return its path.

    With the tables that they read. Installed, they are parts of the package sharespec, and so they
    are for the workers.
    """
    target = folder / "sharespec.zip"
    parent = Path(replay.__file__).parent.parent
    *above, _replay = replay.__name__.split(".")
    paths = [parent / "__init__.py"] if above else []
    for package in PACKAGES:
        paths += sorted(path for end in _SHIPPED for path in (parent / package).rglob(f"*{end}"))
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in paths:
            archive.write(path, Path(*above) / path.relative_to(parent))
    return target


def ship(session: SparkSession) -> None:
    """Give the workers of a session of your own the code that ``check`` needs there.

    What stays to be installed on every node is in docs/replay.md. It serves what is used after it.
    """
    session.addArtifacts(_shipped_for_all(), pyfile=True)


@functools.cache
def _shipped_for_all() -> str:
    """Return the code as a file that is there until this process ends: Spark reads it later."""
    kept = contextlib.ExitStack()
    atexit.register(kept.close)
    return str(shipped_code(Path(kept.enter_context(scratch_folder()))))


def for_workers(task: Callable[[Iterable[R_]], Iterator[R_]]) -> Callable[..., Iterator[R_]]:
    """Return a task that says what to do where a worker lacks a module.

    Spark sends it by value, as if the user had written it, and it loads the task there.
    """
    sent = pickle.dumps(task)

    def run(batches):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202 - a worker has no types
        import pickle  # noqa: PLC0415 - in the worker

        try:
            loaded = pickle.loads(sent)  # noqa: S301 - of the driver
        except ModuleNotFoundError as error:
            text = f"a worker of Spark lacks the module {error.name}: call sharespec.ship(session)"
            raise RuntimeError(f"{text} first, and see docs/replay.md, A cluster") from None
        return loaded(batches)

    run.__module__ = "__main__"
    return run


@contextlib.contextmanager
def connected(address: str) -> Iterator[SparkSession]:
    """Use a Spark Connect server, which gets the code that its workers import.

    Raises SessionError if there is none, or PySpark's packages for it are not installed.
    """
    if refusal := refusal_of(address.removeprefix("sc://"), 15002):  # PySpark tries for minutes.
        raise SessionError(f"no session at {address}: {refusal}")
    try:
        session = SparkSession.builder.remote(address).getOrCreate()
    except ImportError as error:
        reason = " ".join(str(error).split())[:300]
        install = "pip install 'sharespec[connect]'"
        raise SessionError(f"Spark Connect needs more packages: {install} ({reason})") from None
    except (ValueError, PySparkException) as error:
        reason = " ".join(str(error).split())[:300]
        raise SessionError(f"no session at {address}: {reason}") from None
    try:
        ship(session)
        yield session
    finally:
        session.stop()


def _started(master: str, log: Path, packages: Sequence[str]) -> SparkSession:
    """Start Spark; Java prints to ``log``, whose last error is reported if the start fails."""
    # Spark's Python side logs each exception of a call to Java that we handle.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    if master.startswith("spark://"):
        check_answers(master)
    try:
        prepare_environment()
        conf = SparkConf().setMaster(_with_attempts(master)).setAll(_settings(master, log.parent))
        if packages and "PYSPARK_SUBMIT_ARGS" not in os.environ:
            conf.set("spark.jars.packages", ",".join(packages))
        # Java that nobody waits for to start would stay, with the pipe of who reads our output.
        with log.open("wb") as errors, ctrl_c_blocked():
            gateway = launch_gateway(conf, {"stderr": errors})  # type: ignore[no-untyped-call]
        context = SparkContext(conf=conf, gateway=gateway)
        return SparkSession(context)
    except JavaNotFoundError as error:
        raise SessionError(str(error)) from None
    except Exception as error:
        printed = log.read_text(errors="replace").splitlines() if log.exists() else []
        reason = printed_reason(printed) or first_line(error)
        raise SessionError(f"Spark did not start on {master}: {reason}") from error


def printed_reason(lines: Sequence[str]) -> str | None:
    """Return the last line that Java printed with an error, and no frame of its stack."""
    errors = [line for line in lines if re.search("[Ee]rror|Exception", line)]
    causes = [line.strip() for line in errors if not line.strip().startswith("at ")]
    return re.sub(r'^Exception in thread "[^"]*" ', "", causes[-1])[:300] if causes else None


def check_answers(master: str) -> None:
    """Raise SessionError if no master of ``spark://HOST:PORT,…`` accepts a connection.

    Spark itself tries for a minute, and then says that its context is stopped.
    """
    if reason := refusal_of(master.removeprefix("spark://"), 7077):
        raise SessionError(f"no Spark answers at {master}: {reason}")


def refusal_of(servers: str, port: int = 0) -> str | None:
    """Return why none of HOST:PORT,… accepts a connection, None if one does.

    ``port`` is that of a server which names none.
    """
    reason = "no address"
    for server in servers.split(","):
        try:
            place = urlsplit(f"//{server}")
            where = place.hostname or "", place.port or port
            socket.create_connection(where, _ANSWER_SECONDS).close()
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split())[:200]
        else:
            return None
    return reason


def _settings(master: str, folder: Path) -> list[tuple[str, str]]:
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
        # What Spark keeps is removed with the rest if this process is killed.
        settings["spark.local.dir"] = str(folder)
    return list(settings.items())


def _with_attempts(master: str) -> str:
    """Return ``local[N]`` as ``local[N,4]``, so that a worker that dies is replaced there too."""
    threads = re.fullmatch(r"local\[(\*|\d+)\]", "local[1]" if master == "local" else master)
    return f"local[{threads[1]},{TASK_ATTEMPTS}]" if threads else master
