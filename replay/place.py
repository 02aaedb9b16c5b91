"""Where a replay runs: small inputs in this process and its children, others on Spark."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from impl.cache import DISABLED, is_compiled
from replay.processes import HereRunner, Runner, get_ready, make_lean, open_processes
from replay.sources import SUFFIXES, NoSuchTraceError, find_sources, text_of

SMALL_BYTES = 48 << 20
"""Up to so much text runs without Spark, which takes longer to start than that saves."""

CHILD_BYTES = 1 << 20
"""How much text is worth a child: for less, its imports take longer than its tasks."""

INTERPRETED_BYTES = 1 << 20
"""Up to so much text is checked sooner by code that is not compiled: that is not loaded either."""

UNCOMPILED_BYTES = 16 << 20
"""Up to so much text is checked sooner than the code for it is compiled, if it never was."""

_MOST_FILES = 1000
"""In how many files is looked for how much text they hold."""

DEFAULT_MASTER = "local[*]"

TRACE_MODULES = (f"{__package__}.preload",)
LOG_MODULES = (f"{__package__}.observed.bundle",)
"""What children have ready that check traces, and that judge request logs."""


@contextmanager
def open_runner(
    text: int, master: str | None = None, modules: Sequence[str] = (), *, alone: bool = False
) -> Iterator[Runner]:
    """Choose what runs the tasks over so many bytes of text, and close it at the end.

    That is always Spark if a master is given, and under ``spark-submit``. Children import
    ``modules`` ahead of their tasks. Where nothing else uses this process it is ``alone``, and
    what no task uses is hidden from it for good. Raises SessionError if Spark does not start.
    """
    if master is None and _is_small(text):
        if alone:
            make_lean()
        if (children := _children(text)) > 1:
            with open_processes(children, modules) as runner:
                yield runner
        else:
            yield HereRunner()
        return
    from replay.session import SparkRunner, open_session  # noqa: PLC0415 - small inputs need no Spark

    with open_session(master or DEFAULT_MASTER) as session:
        yield SparkRunner(session)


def get_ready_for(paths: Iterable[str], modules: Sequence[str], *, alone: bool) -> None:
    """Have children get ready for these traces, and choose whether they need compiled code.

    What is compiled is loaded or made in more time than a little text takes without; the choice is
    for a process that is ``alone``, as ``open_runner`` has it. All this is a guess, of which
    nothing depends but the time: it says nothing of a bad path.
    """
    try:
        text = text_of(find_sources(_few_files(paths)).files)
    except (NoSuchTraceError, OSError):
        return
    if not _is_small(text):
        return
    if alone and DISABLED not in os.environ and _is_sooner_interpreted(text):
        os.environ[DISABLED] = "1"
    if _children(text) > 1:
        get_ready(modules)


def _few_files(paths: Iterable[str]) -> list[Path]:
    """Return the traces that lie there; none if there are many, or a path may be something else."""
    found: list[Path] = []
    for path in map(Path, paths):
        inside = list(islice(path.rglob("*"), _MOST_FILES)) if path.is_dir() else [path]
        if len(inside) == _MOST_FILES or not (path.is_dir() or _begins_a_trace(path)):
            return []
        named = (file for file in inside if file.name.endswith(SUFFIXES) and file.is_file())
        found += named if path.is_dir() else [path]
    return found


def _begins_a_trace(path: Path) -> bool:
    """Whether a file that is named may be a trace by its name, or by its first bytes."""
    if not path.is_file() or path.name.endswith(SUFFIXES):
        return path.is_file()
    with path.open("rb") as file:
        return file.read(4).startswith((b"{", b"\x1f\x8b", b"PAR1"))


def _is_sooner_interpreted(text: int) -> bool:
    return text <= INTERPRETED_BYTES or (text <= UNCOMPILED_BYTES and not is_compiled())


def _is_small(text: int) -> bool:
    return text <= SMALL_BYTES and "PYSPARK_GATEWAY_PORT" not in os.environ


def _children(text: int) -> int:
    return min(processors(), text // CHILD_BYTES)


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
