"""Run in a process of its own: a replay on a cluster, one of whose workers is killed midway.

Arguments: the master, the address of the traces, that of the results, and the process that holds
the worker to kill, or ``-``. Prints one object: what a worker sees of this machine (``where``), how
many of its tasks the last stage had done when the worker was killed (``killed``), and the verdicts.
"""

import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import click
from pyspark import SparkContext

from replay.distant import replay_distant
from replay.plan import Plan
from replay.report import verdict_lines
from replay.session import open_session

PLAN = Plan(max_divergences=100)
_POLL_S = 0.05


def where(folders: list[str]) -> list[object]:
    """What a worker sees: where its code is, and which of these folders hold something."""
    import replay.check  # noqa: PLC0415 - that of the worker

    seen = [folder for folder in folders if Path(folder).is_dir() and os.listdir(folder)]  # noqa: PTH208
    return [replay.check.__file__, seen]


class Killing(threading.Thread):
    """Kills a worker when some tasks of a stage of many are done, and not all."""

    def __init__(self, context: SparkContext, victim: str) -> None:
        super().__init__(daemon=True)
        self._context, self._victim = context, victim
        self.killed: list[int] = []
        self.over = threading.Event()

    def run(self) -> None:
        tracker = self._context.statusTracker()
        while self._victim != "-" and not self.over.wait(_POLL_S):
            for stage in tracker.getActiveStageIds():
                info = tracker.getStageInfo(stage)
                if info and info.numTasks > 2 and 1 < info.numCompletedTasks < info.numTasks - 1:
                    os.kill(int(self._victim), signal.SIGKILL)
                    self.killed = [info.numCompletedTasks, info.numTasks]
                    return


@contextlib.contextmanager
def killing(context: SparkContext, victim: str) -> Iterator[Killing]:
    thread = Killing(context, victim)
    thread.start()
    try:
        yield thread
    finally:
        thread.over.set()
        thread.join()


def main(master: str, traces: str, out: str, victim: str, *folders: str) -> None:
    with open_session(master) as session:
        context = session.sparkContext
        seen = context.parallelize([list(folders)] * 8, 8).map(where).collect()
        with killing(context, victim) as thread:
            result = replay_distant(session, [traces], PLAN, out)
        told = {
            "where": seen,
            "killed": thread.killed,
            "verdicts": list(verdict_lines(result, lambda _: "")),
            "runner": result.runner,
        }
        click.echo(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
