"""What the recorder costs a broker: ``python -m tests.recorder.cost [ROUNDS] [RECORDS]``.

Two brokers of the same release run side by side, one with the recorder at its default settings, and
two share consumers take the same number of records from one and then from the other; who is first
alternates. The CPU time is that of the broker while they do. It is the figure to compare: how fast
they are depends on what else the machine does. Needs Linux, and on an idle machine five minutes.
"""

import json
import os
import sys
import tempfile
from pathlib import Path
from statistics import median

from tests.recorder.released import Broker, broker

JAVA = ("java", "-Xms512m", "-Xmx512m")
COLUMNS = ("records/s", "commit p50 ms", "p95", "p99", "CPU µs/record")
_UTIME, _STIME = 11, 12
"""Where the times are in /proc/PID/stat after the name of the command."""


def main(rounds: int = 5, records: int = 200_000) -> None:
    """Print each round, the medians, and the ratio of the CPU time a record in each round."""
    with (
        tempfile.TemporaryDirectory() as folder,
        broker(Path(folder, "without"), None, java=JAVA) as without,
        broker(Path(folder, "with"), java=JAVA) as recorded,
    ):
        brokers = {"without": without, "with": recorded}
        figures: dict[str, list[list[float]]] = {name: [] for name in brokers}
        for number in range(rounds + 1):  # The first warms up.
            order = list(brokers) if number % 2 else list(reversed(brokers))
            for name in order:
                found = measure(brokers[name], f"r{number}", records)
                print(number, name, *(f"{value:.2f}" for value in found), flush=True)  # noqa: T201
                if number:
                    figures[name].append(found)
        recorded.stop()
        size = sum(path.stat().st_size for path in recorded.trace.glob("*.gz"))
    report(figures)
    print(f"{size / records / (rounds + 1):.2f} bytes a record")  # noqa: T201


def report(figures: dict[str, list[list[float]]]) -> None:
    """Print the medians of both, and how the CPU time of each round compares."""
    for column, title in enumerate(COLUMNS):
        both = [median(row[column] for row in rows) for rows in figures.values()]
        print(f"{title:14} {both[0]:10.2f} {both[1]:10.2f} {both[1] / both[0] - 1:+.1%}")  # noqa: T201
    ratios = sorted(b[-1] / a[-1] for a, b in zip(*figures.values(), strict=True))
    print(  # noqa: T201
        f"CPU time a record, with / without: {median(ratios):.3f} "
        f"(rounds: {', '.join(f'{ratio:.3f}' for ratio in ratios)})"
    )


def measure(running: Broker, name: str, records: int) -> list[float]:
    """Return records per second, the percentiles of a commit, and the broker's CPU µs a record."""
    running.run("Cost", name, str(records), "prepare")
    before = cpu_seconds(running)
    out = running.run("Cost", name, str(records), "consume")
    spent = cpu_seconds(running) - before
    return [*(float(value) for value in json.loads(out)), spent / records * 1e6]


def cpu_seconds(running: Broker) -> float:
    """Return the CPU time that the process of a broker has spent."""
    stat = Path(f"/proc/{running.process.pid}/stat").read_text("ascii")
    fields = stat.rpartition(")")[2].split()
    return (int(fields[_UTIME]) + int(fields[_STIME])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
