"""A standalone cluster of Spark whose workers share no folder with each other or with the driver.

Each worker runs in a namespace of mounts and processes of its own, at an address of its own: in it
the temporary folders, the caches and this repository are empty. What is left in common is what an
administrator installs on every node: Java, and Python with its packages. To kill a namespace kills
all that runs in it.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import attrs
import pyspark
import pytest

from replay.java import find_java

ROOT = Path(__file__).parents[2]
SPARK_HOME = Path(pyspark.__file__).parent
VENV = Path(sys.prefix)
_ALONE = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
_CLASS = str(SPARK_HOME / "bin" / "spark-class")
_DEPLOY = "org.apache.spark.deploy"
_START_SECONDS = 300
_POLL_S = 0.2


def settings(host: str = "127.0.0.1") -> dict[str, str]:
    """The environment of who takes part at an address."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTHONPATH")},
        "JAVA_HOME": str(find_java()),
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": host,
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONHASHSEED": "0",
        "NUMBA_DISABLE_JIT": "1",
    }


@attrs.frozen
class Standalone:
    """A cluster that runs: its master, and the processes that hold a worker each."""

    master: str
    workers: tuple["subprocess.Popen[bytes]", ...]


@contextmanager
def standalone(folder: Path, workers: int = 2) -> Iterator[Standalone]:
    """Start a cluster, and end it; skip the test where namespaces are not allowed."""
    if shutil.which("unshare") is None:
        pytest.skip("a worker in a namespace of its own needs unshare: it is not on the path")
    mount = ("mount", "-t", "tmpfs", "tmpfs", "/mnt")
    tried = subprocess.run([*_ALONE, *mount], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"no namespaces for the workers: {tried.stderr.strip()}")
    with ExitStack() as stack:
        log = folder / "master.log"
        ports = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        master = stack.enter_context(_running((_CLASS, f"{_DEPLOY}.master.Master", *ports), log))
        address = _told(log, r"Starting Spark master at (spark://\S+)", master)
        started = []
        for nth in range(workers):
            # At one address Spark would read the files of the other worker.
            host = f"127.0.0.{nth + 2}"
            script, log = folder / f"worker{nth}.sh", folder / f"worker{nth}.log"
            script.write_text(_worker_script(address, host))
            worker = stack.enter_context(_running(("sh", str(script)), log, host))
            _told(log, "Successfully registered with master", worker)
            started.append(worker)
        yield Standalone(address, tuple(started))


@contextmanager
def _running(
    command: Sequence[str], log: Path, host: str = "127.0.0.1"
) -> Iterator["subprocess.Popen[bytes]"]:
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*_ALONE, *command],
            env=settings(host),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _told(log: Path, pattern: str, process: "subprocess.Popen[bytes]") -> str:
    """Wait for a line of the log of a process and return what the pattern finds in it."""
    until = time.monotonic() + _START_SECONDS
    while (found := re.search(pattern, log.read_text(errors="replace"))) is None:
        runs = process.poll() is None and time.monotonic() < until
        assert runs, log.read_text(errors="replace")
        time.sleep(_POLL_S)
    return found[found.re.groups]


def hidden() -> list[Path]:
    """The folders that a worker has empty ones for."""
    folders = [ROOT, VENV.parent, Path.home() / ".cache", Path("/tmp"), Path("/var/tmp")]  # noqa: S108
    folders += [Path(tempfile.gettempdir()), Path("/dev/shm")]  # noqa: S108 - as the line above
    found = sorted({folder for folder in folders if folder.is_dir()})
    # What lies in another of them is hidden with it.
    return [folder for folder in found if not any(above in folder.parents for above in found)]


def _worker_script(master: str, host: str) -> str:
    """Return what a worker does first: what is not installed is hidden from it."""
    kept = [VENV, Path(sys.base_prefix), find_java()]
    inside = [path for path in kept if any(path.is_relative_to(each) for each in hidden())]
    lines = ["set -e", "mount -t tmpfs tmpfs /mnt"]
    for nth, path in enumerate(inside):
        lines += [f"mkdir /mnt/{nth}", f"mount --bind {shlex.quote(str(path))} /mnt/{nth}"]
    lines += [f"mount -t tmpfs tmpfs {shlex.quote(str(folder))}" for folder in hidden()]
    for nth, path in enumerate(inside):
        quoted = shlex.quote(str(path))
        lines += [f"mkdir -p {quoted}", f"mount --bind /mnt/{nth} {quoted}"]
    worker = (f"{_DEPLOY}.worker.Worker", "--host", host, "--webui-port", "0")
    size = ("--cores", "1", "--memory", "1g", "--work-dir", "/var/tmp/work")  # noqa: S108 - its own
    lines.append(f"exec {shlex.join([_CLASS, *worker, *size, master])}")
    return "\n".join(lines)
