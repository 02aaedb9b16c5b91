"""Run the checks against each mutant, in a process of its own with limits."""

import os
import resource
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from multiprocessing import get_context
from typing import NoReturn
from unittest.mock import patch

import attrs

from tools.mutation.checks import checks_of, install, warm_up
from tools.mutation.mutants import Mutant, code_of

_MEMORY_BYTES = 3 << 30
_SETTINGS = {
    "NUMBA_DISABLE_JIT": "1",  # To compile impl anew would take longer than every check.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
}
_LONGEST = 200
"""The longest detail that is kept, in characters."""


@attrs.frozen
class MutantJudgement:
    """The result of a mutant: ``by`` is the check that killed it, empty if it survived.

    ``detail`` is what failed; ``seconds`` is the wall time of all checks.
    """

    mutant: Mutant
    by: str
    detail: str
    seconds: float

    @property
    def killed(self) -> bool:
        """Whether a check killed the mutant."""
        return self.by != ""


def judgements(
    mutants: Iterable[Mutant], processes: int = 1, checks: Sequence[str] | None = None
) -> Iterator[MutantJudgement]:
    """Yield the result of each mutant as soon as it is known; ``checks`` names those to run.

    A mutant with index -1 is the unchanged module. Closing the iterator ends every process.
    """
    with patch.dict(os.environ, _SETTINGS):
        os.environ.pop("COVERAGE_PROCESS_START", None)
        pool = get_context("spawn").Pool(processes, _begin)
    with pool:
        yield from pool.imap_unordered(partial(_judge, checks=checks), mutants)


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The first process ends this one, by SIGTERM.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    warm_up()


def _judge(mutant: Mutant, checks: Sequence[str] | None) -> MutantJudgement:
    """Run the checks in a fork of this process, which reports through a pipe."""
    for prepared in checks_of(mutant.module.split(".")[0], checks):
        prepared.prepare()
    began = time.perf_counter()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        _run(mutant, checks, write)
    os.close(write)
    try:
        with os.fdopen(read) as pipe:
            lines = pipe.read().splitlines()
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        status = os.waitpid(child, 0)[1]
    check, _, detail = lines[-1].partition("\t") if lines else ("import", "", "")
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        detail = "too much time" if name == "SIGPROF" else f"ended by {name}"
    return MutantJudgement(mutant, check if detail else "", detail, time.perf_counter() - began)


def _run(mutant: Mutant, checks: Sequence[str] | None, write: int) -> NoReturn:
    """Report each check that starts, and what failed in the one that kills the mutant."""
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(silence, stream)
        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_BYTES, _MEMORY_BYTES))
        install(mutant.module, code_of(mutant.module, mutant.index))
        for check in checks_of(mutant.module.split(".")[0], checks):
            os.write(write, f"{check.name}\n".encode())
            signal.setitimer(signal.ITIMER_PROF, check.cpu_s)
            try:
                noticed = check.notices(mutant.module, mutant.function)
            except BaseException as error:  # noqa: BLE001 - a mutant may raise anything
                noticed = f"{type(error).__name__}: {error}"
            if noticed:
                detail = " ".join(noticed.split())[:_LONGEST]
                os.write(write, f"{check.name}\t{detail}\n".encode())
                break
    finally:
        os._exit(0)
