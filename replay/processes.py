"""Where tasks run: in this process, in children of it, or elsewhere, as on Spark (``session``)."""

import gc
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib import import_module
from multiprocessing import forkserver, resource_tracker, util
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Protocol, TypeVar

import attrs

from report.scratch import scratch_folder

TASK_ATTEMPTS = 4
"""How often a task is tried; Spark's default everywhere but in ``local[N]``, where it is 1."""

ALLOCATIONS = 50_000
"""After how many objects more than before a process of our own looks for garbage in cycles."""

POLL_SECONDS = 0.05
"""How often progress is shown."""


class SessionError(RuntimeError):
    """What runs the tasks could not be started, or gave up; one line."""


T_ = TypeVar("T_")
R_ = TypeVar("R_")


Work = Callable[[T_], Iterable[R_]]
"""What is done with a task, and what comes of it."""

Progress = Callable[[str, int, int, Sequence[Any]], None]
"""Is told a stage, how many of how many tasks of it are done, and the results since it was told."""


def silent(*_: object) -> None:
    """Show nothing of how far a stage is."""


class Runner(Protocol):
    """Runs the tasks of a stage on this machine and returns their results."""

    @property
    def place(self) -> str:
        """Where the tasks run, as a report says it."""

    @property
    def parallelism(self) -> int:
        """How many tasks run at once."""

    def run(
        self, name: str, tasks: Sequence[T_], work: Work[T_, R_], progress: Progress
    ) -> tuple[list[R_], bool]:
        """Do the ``work`` of each task; return all results, in the tasks' order, and True.

        When interrupted (Ctrl-C), stop what is running and return the results so far, and False.
        Raises SessionError if a task fails TASK_ATTEMPTS times.
        """


def flat(results: Mapping[int, list[R_]]) -> list[R_]:
    """Return the results of tasks in the order of the tasks' numbers."""
    return [result for nth in sorted(results) for result in results[nth]]


_CONTEXT = multiprocessing.get_context("forkserver")
"""A fork of this process would copy locks and not the threads that hold them: those of Arrow and of
a bar. So children are forks of a process that does nothing but import.
"""


def get_ready(modules: Iterable[str]) -> None:
    """Have the modules imported, once for all children, while this process does something else."""
    _CONTEXT.set_forkserver_preload(list(modules))
    _keep_apart()
    with ctrl_c_blocked():
        forkserver.ensure_running()


@contextmanager
def ctrl_c_blocked() -> Iterator[None]:
    """Start processes that Ctrl-C, which reaches all of a terminal, does not end: this one does."""
    resource_tracker.ensure_running()  # To start it lets Ctrl-C through again.
    noted = list[object]()
    is_main = threading.current_thread() is threading.main_thread()
    # Another thread may take what this one blocks: Python would raise it here all the same.
    former = signal.signal(signal.SIGINT, lambda *_: noted.append(None)) if is_main else None
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if former is not None:
            signal.signal(signal.SIGINT, former)
        if noted:
            signal.raise_signal(signal.SIGINT)


@cache
def _keep_apart() -> None:
    """Have multiprocessing keep its socket where the next start removes it if this is killed."""
    stack = ExitStack()
    before, tempfile.tempdir = tempfile.tempdir, stack.enter_context(scratch_folder())
    try:
        util.get_temp_dir()
    finally:
        tempfile.tempdir = before
    util.Finalize(None, stack.close, exitpriority=-101)  # After what it does itself at the end.


@attrs.frozen
class HereRunner:
    """Runs one task after another in this process."""

    place = "in this process"
    parallelism = 1

    def run(
        self, name: str, tasks: Sequence[T_], work: Work[T_, R_], progress: Progress
    ) -> tuple[list[R_], bool]:
        """Run the tasks as ``Runner.run`` says, but each once: one that fails would fail again.

        When interrupted, return the results so far of the task that was running too.
        """
        results: list[R_] = []
        told = 0
        if tasks:
            progress(name, 0, len(tasks), [])
        try:
            for done, task in enumerate(tasks):
                shown = time.monotonic()
                for result in work(task):
                    results.append(result)
                    if time.monotonic() >= shown + POLL_SECONDS:
                        progress(name, done, len(tasks), results[told:])
                        shown, told = time.monotonic(), len(results)
                progress(name, done + 1, len(tasks), results[told:])
                told = len(results)
        except KeyboardInterrupt:
            return results, False
        except Exception as error:
            raise SessionError(_gave_up(name, _text(error))) from error
        return results, True


@attrs.define(eq=False)
class _Child:
    """A process that runs tasks, and the number of the one that it is running."""

    process: BaseProcess
    connection: "Connection[Any, Any]"
    task: int | None = None


class ProcessRunner:
    """Runs tasks in children of this process, and again if one of them dies."""

    def __init__(self, parallelism: int, modules: Iterable[str] = ()) -> None:
        """Take the modules that children need; ``get_ready`` before has them imported by then."""
        self.parallelism = parallelism
        self._modules = tuple(modules)
        self._children: list[_Child] = []
        get_ready(self._modules)

    @property
    def place(self) -> str:
        """Where the tasks run, as a report says it."""
        return f"in this process and {self.parallelism} children"

    def run(
        self, name: str, tasks: Sequence[T_], work: Work[T_, R_], progress: Progress
    ) -> tuple[list[R_], bool]:
        """Run the tasks as ``Runner.run`` says; a task that ends its child has failed.

        When interrupted, end the children that work and return the results of the tasks that are
        done.
        """
        done: dict[int, list[R_]] = {}
        if tasks:
            progress(name, 0, len(tasks), [])
        try:
            for nth, results in self._results(name, tasks, work):
                if nth is not None:
                    done[nth] = results
                progress(name, len(done), len(tasks), results)
        except KeyboardInterrupt:
            return flat(done), False
        finally:  # The next run would take a late answer for one of its own.
            self._end([child for child in self._children if child.task is not None])
        return flat(done), True

    def close(self) -> None:
        """End the children."""
        self._end(list(self._children))

    def _end(self, children: Iterable[_Child]) -> None:
        for child in children:
            self._children.remove(child)
            child.connection.close()
            child.process.kill()
            child.process.join()

    def _results(
        self, name: str, tasks: Sequence[T_], work: Work[T_, R_]
    ) -> Iterator[tuple[int | None, list[R_]]]:
        """Yield the number and the results of each task, and None every POLL_SECONDS."""
        waiting, failures = deque(range(len(tasks))), Counter[int]()
        missing = len(tasks)
        while missing:
            self._hand_out(tasks, work, waiting)
            answers = list(self._answers())
            for nth, results, failure in answers:
                if failure is None:
                    missing -= 1
                    yield nth, results
                    continue
                failures[nth] += 1
                if failures[nth] == TASK_ATTEMPTS:
                    raise SessionError(_gave_up(name, failure))
                waiting.append(nth)
            if not answers:
                yield None, []

    def _hand_out(self, tasks: Sequence[T_], work: Work[T_, R_], waiting: deque[int]) -> None:
        """Give each idle child a task."""
        while len(self._children) < self.parallelism:
            self._children.append(self._started())
        for child in self._children:
            if child.task is None and waiting:
                child.task = waiting.popleft()
                try:
                    child.connection.send((work, tasks[child.task]))
                except OSError:
                    continue  # It is dead, which is seen when its answer is awaited.

    def _answers(self) -> Iterator[tuple[int, list[Any], str | None]]:
        """Yield the number of each task that has ended, its results, and why it failed."""
        busy = {child.connection: child for child in self._children if child.task is not None}
        for ready in wait(list(busy), POLL_SECONDS):
            child = busy[ready]  # type: ignore[index] # wait returns what it was given
            nth, child.task = child.task, None
            if nth is None:
                continue
            try:
                results, failure = child.connection.recv()
            except (EOFError, OSError):
                self._end([child])
                results, failure = [], _death(child.process)
            yield nth, results, failure

    def _started(self) -> _Child:
        ours, theirs = _CONTEXT.Pipe()
        given = theirs, self._modules, dict(os.environ)
        process = _CONTEXT.Process(target=_serve, args=given, daemon=True)
        with ctrl_c_blocked():
            process.start()
        theirs.close()
        return _Child(process, ours)


@contextmanager
def open_processes(parallelism: int, modules: Iterable[str] = ()) -> Iterator[ProcessRunner]:
    """Start the children of a ProcessRunner, and end them at the end."""
    runner = ProcessRunner(parallelism, modules)
    try:
        yield runner
    finally:
        runner.close()


class _Absent:
    """Hides modules that Arrow and Numba would import only because they are installed.

    None in ``sys.modules`` would not do: Arrow's first look at such a module fails.
    """

    NAMES = frozenset(("pandas", "scipy", "coverage"))

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        """Find nothing; raise ModuleNotFoundError for the hidden modules."""
        if name in self.NAMES:
            raise ModuleNotFoundError(f"{name} is not used here", name=name)


def make_lean() -> None:
    """Hide for good, in a process of our own, what it would import and never use.

    Nearly nothing that a replay makes is in a cycle: to look for such garbage at every turn takes
    a seventh of its time.
    """
    gc.set_threshold(ALLOCATIONS)
    if not any(isinstance(finder, _Absent) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Absent())


def _serve(
    connection: "Connection[Any, Any]", modules: Sequence[str], environment: Mapping[str, str]
) -> None:
    """Run tasks in a child until its parent closes the connection or is gone.

    The environment is the parent's of now: what it was forked from has that of its own start.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # Others may have started its parent.
    os.environ.clear()
    os.environ.update(environment)
    make_lean()
    for module in modules:
        import_module(module)
    while True:
        try:
            work, task = connection.recv()
        except EOFError:
            return
        try:
            answer: tuple[list[Any], str | None] = list(work(task)), None
        except Exception as error:  # noqa: BLE001 - the parent tries the task again
            answer = [], _text(error)
        try:
            connection.send(answer)
        except OSError:
            return


def _death(process: BaseProcess) -> str:
    code = process.exitcode or 0
    how = f"by signal {-code}" if code < 0 else f"with status {code}"
    return f"the process that ran it ended {how}"


def _gave_up(name: str, why: str) -> str:
    return f"a task of the stage {name!r} failed: {why}"


def _text(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    lines = str(error).split("\n", maxsplit=1)
    return f"{type(error).__name__}: {lines[0]}"[:300]
