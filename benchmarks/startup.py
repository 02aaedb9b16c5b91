"""How long commands take from the prompt, as ratios to the imports that they cannot do without."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence

import attrs
import click

from benchmarks.timing import KAFKA_TRACE

ROUNDS = 5
"""How often each command runs, in turn with the others; the median counts."""

SHARESPEC = (sys.executable, "-c", "from sharespec.cli import main; main()")
LIGHT = (sys.executable, "-c", "import click")
HEAVY = (sys.executable, "-c", "import pyarrow, numba")
REPLAY = (*SHARESPEC, "replay", str(KAFKA_TRACE))
COMPILED = {"NUMBA_DISABLE_JIT": "0"}
"""What has a replay use compiled code, and compile it if it must."""


@attrs.frozen
class Row:
    """A command, and the one that its time is divided by."""

    name: str
    command: Sequence[str]
    unit: Sequence[str]
    note: str = ""


ROWS = (
    Row("sharespec --help", (*SHARESPEC, "--help"), LIGHT, "× import click; to reach: 3"),
    Row(f"replay {KAFKA_TRACE.name}", REPLAY, HEAVY, "× import pyarrow, numba; to reach: 3"),
    Row("  the same on Spark", (*REPLAY, "--master", "local[2]"), HEAVY),
)


def show_startup() -> None:
    """Measure and print."""
    times: dict[Sequence[str], list[float]] = {}
    _seconds(REPLAY, COMPILED)  # So that the cache has it.
    for _ in range(ROUNDS):
        for command in dict.fromkeys(each for row in ROWS for each in (row.unit, row.command)):
            times.setdefault(command, []).append(_seconds(command))
    median = {command: statistics.median(each) for command, each in times.items()}
    for row in ROWS:
        _show(row.name, median[row.command], median[row.unit], row.note)
    with tempfile.TemporaryDirectory(prefix="sharespec-bench-") as cache:
        nothing = {"XDG_CACHE_HOME": cache, "NUMBA_CACHE_DIR": ""}
        first = statistics.median(_seconds(REPLAY, nothing) for _ in range(ROUNDS))
        compiling = _seconds(REPLAY, nothing | COMPILED)
    _show("  as long as nothing is compiled", first, median[HEAVY], "")
    _show("  where it must be compiled", compiling, median[HEAVY], "once")


def _show(name: str, seconds: float, unit: float, note: str) -> None:
    click.echo(f"{name:<32} {seconds:>10.2f} s {seconds / unit:>14.1f}  {note}")


def _seconds(command: Sequence[str], more: Mapping[str, str] | None = None) -> float:
    started = time.perf_counter()
    subprocess.run(  # noqa: S603 - the commands of this module
        command, env={**os.environ, **(more or {})}, stdout=subprocess.DEVNULL, check=True
    )
    return time.perf_counter() - started


if __name__ == "__main__":
    show_startup()
