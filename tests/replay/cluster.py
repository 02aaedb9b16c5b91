"""Run in a process of its own: a replay on a cluster, one executor of which is killed midway.

Arguments: the master and the trace. Prints where the workers' code was, the line of JSON, and how
many executors were killed.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from replay.plan import Plan
from replay.report import json_line
from replay.run import replay_sources
from replay.session import SparkRunner, open_session
from replay.sources import find_sources


def executors(parent: int) -> Iterator[int]:
    """Yield the processes below ``parent`` that are executors."""
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            command = (entry / "cmdline").read_bytes()
            if b"CoarseGrainedExecutorBackend" in command and descends(int(entry.name), parent):
                yield int(entry.name)


def descends(process: int, parent: int) -> bool:
    while process > 1:
        if process == parent:
            return True
        process = int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])
    return False


class Killing:
    """Progress that kills one executor when the second stage begins."""

    killed = 0

    def stage(self, name: str, total: int) -> None:
        if name == "check" and total:
            victim = min(executors(os.getpid()))
            os.kill(victim, signal.SIGKILL)
            self.killed += 1

    def done(self, tasks: int, results: Sequence[Any]) -> None: ...


def where(_: int) -> str:
    import replay.check  # noqa: PLC0415 - that of the worker

    return replay.check.__file__


def main(master: str, trace: str) -> None:
    progress = Killing()
    plan = Plan(against=("spec", "impl"), invariants_every=0)
    with open_session(master) as session:
        click.echo(session.sparkContext.parallelize([0]).map(where).first())
        sources = find_sources([trace])
        result = replay_sources(SparkRunner(session), sources, plan, None, progress)
        click.echo(json_line(result))
    click.echo(progress.killed)


if __name__ == "__main__":
    main(*sys.argv[1:])
