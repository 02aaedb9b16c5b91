import fcntl
import gc
import os
import signal
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

# A machine may be busy with something else: how long one example takes says nothing. A change is
# judged by the same examples everywhere; `make test-all DRAW=search` draws others.
settings.register_profile(
    "search", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=False
)
settings.register_profile("same", settings.get_profile("search"), derandomize=True)
settings.register_profile(  # Of python -m tools.mutation: what fails first is enough.
    "mutants",
    settings.get_profile("same"),
    database=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("same")

# Spark, here and in each process that a test starts.
os.environ["SPARK_CONF_DIR"] = str(Path(__file__).with_name("spark"))

# Terms, states and rows are many and live on: to look for garbage at every turn takes a fourteenth
# of the time of proofs.
gc.set_threshold(20_000)

# Who begins tests in the background of a script ignores interrupts, and so would what tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

COMPILING = "compile"
"""The group of tests that compile nearly everything."""

PLAIN = tuple(
    f"tests/{folder}/"
    for folder in ("model", "spec", "proofs/theorems", "conformance/coordinators", "report")
)
"""Folders whose tests need nothing compiled, so that no worker waits for the one that compiles."""

LONGEST = "spark", "wheel", "hdfs", "recorder", "simulated"
"""The groups that take longest, so that no worker is alone with one of them at the end."""


RERUNS = 1
"""How often a test of a real broker or client, in real time, may fail on a machine that stalls.

So often may any test hang (`timeout` in pyproject.toml).
"""


def pytest_configure() -> None:
    if "PYTEST_XDIST_WORKER" in os.environ:
        from tests.one_compiler import take_turns  # noqa: PLC0415 - Numba takes a second

        take_turns()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let one worker collect alone: what it compiles, assertions above all, the others read."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return (yield)
    path = Path(tempfile.gettempdir()) / f"sharespec-collecting-{os.getuid()}.lock"
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(lock, fcntl.LOCK_SH)
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item: pytest.Item) -> None:
    only = None if item.get_closest_marker("broker") else [r"Timeout \(>"]
    item.add_marker(pytest.mark.flaky(reruns=RERUNS, only_rerun=only))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show also the failures after which a test was run again: nothing that failed is hidden."""
    for report in terminalreporter.getreports("rerun"):
        terminalreporter.write_sep("=", f"FAILED, AND RUN AGAIN: {report.nodeid}")
        terminalreporter.write_line(report.longreprtext)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep groups together, and let one worker compile while the other needs nothing compiled.

    Groups come before single tests: a long one that begins last leaves the other worker idle.
    pytest-xdist 3.8 forgets groups under pytest 9.2 (pytest-dev/pytest-xdist#1386).
    """
    if not config.getoption("loadgroup", default=False):
        return
    for item in items:
        group = item.get_closest_marker("xdist_group")
        if group and "@" not in item.nodeid.rpartition("]")[2]:
            item._id = type(item.id).parse(f"{item.nodeid}@{group.args[0]}")  # noqa: SLF001
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> tuple[bool, bool, bool, int]:
    group = item.nodeid.rpartition("]")[2].partition("@")[2]
    rank = LONGEST.index(group) if group in LONGEST else len(LONGEST)
    return group != COMPILING, not item.nodeid.startswith(PLAIN), not group, rank
