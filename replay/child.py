"""Work in a child that may die: some damaged files end PyArrow, and with it its process."""

import faulthandler
import os
import pickle
import signal
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import NoReturn, TypeVar

T_ = TypeVar("T_")


def in_child(work: Callable[[], Iterable[T_]]) -> Iterator[T_]:
    """Yield what ``work`` yields in a fork of this process, up to where that dies.

    Raises what it raises. Who ends early ends the child.
    """
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Newer versions of Python warn of threads: this child waits for none of them.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _answer(work, writing)
    os.close(writing)
    try:
        with os.fdopen(reading, "rb") as answers:
            while True:
                try:
                    # Written by this process's own fork.
                    result = pickle.load(answers)  # noqa: S301
                except (EOFError, pickle.UnpicklingError):
                    return
                if isinstance(result, BaseException):
                    raise result
                yield result
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _answer(work: Callable[[], Iterable[T_]], writing: int) -> NoReturn:
    """Write what the work yields, and end without anything that the parent would do at its end."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # C++ says there why it aborts.
        faulthandler.disable()
        with os.fdopen(writing, "wb") as answers:
            try:
                for result in work():
                    pickle.dump(result, answers)
                    answers.flush()
            except BaseException as error:  # noqa: BLE001 - the parent raises it
                pickle.dump(error, answers)
    finally:
        os._exit(0)
