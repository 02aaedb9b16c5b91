"""Build programs in other languages when a source is newer than the last build."""

import fcntl
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs

from conformance.target import TargetError

_MAX_QUOTED = 500


@attrs.frozen
class Recipe:
    """How to build a program in its project's directory.

    ``needs`` names the tool and its version, for an error. ``sources`` are patterns of the files
    that the program depends on; ``output`` is the directory of the result. ``seconds`` limits the
    build. If it fails, the error quotes the first line with ``error_mark``; without one, or if the
    mark is empty, the end of the output.
    """

    name: str
    needs: str
    command: tuple[str, ...]
    sources: tuple[str, ...]
    output: str
    seconds: float
    error_mark: str = ""


def build(project: Path, recipe: Recipe) -> None:
    """Build, unless the last build is as new as every source.

    Of several processes one builds and the others wait for it: Maven has no lock on its output.
    Raises TargetError if the tool is missing or fails, for example without its registry.
    """
    output = project / recipe.output
    output.mkdir(parents=True, exist_ok=True)
    stamp = output / "built"
    sources = [path for pattern in recipe.sources for path in project.glob(pattern)]
    newest = max(source.stat().st_mtime for source in sources)
    with _alone(output / "building"):
        if stamp.exists() and stamp.stat().st_mtime >= newest:
            return
        _run(project, recipe)
        stamp.touch()


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Keep other processes out; the system lets them in when this one ends, however it ends."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _run(project: Path, recipe: Recipe) -> None:
    tool, *arguments = recipe.command
    path = shutil.which(tool)
    if path is None:
        raise TargetError(f"{recipe.name} needs {recipe.needs}: there is no {tool} on the path")
    try:
        done = subprocess.run(  # noqa: S603 - fixed arguments
            [path, *arguments],
            cwd=project,
            capture_output=True,
            text=True,
            timeout=recipe.seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TargetError(f"{tool} was not done after {recipe.seconds:g} s") from None
    if done.returncode:
        raise TargetError(f"{tool} could not build {recipe.name}: {_quoted(done, recipe)}")


def _quoted(done: subprocess.CompletedProcess[str], recipe: Recipe) -> str:
    if recipe.error_mark:
        for line in done.stdout.splitlines():
            if recipe.error_mark in line:
                return line[:_MAX_QUOTED]
    text = (done.stderr or done.stdout).strip() or f"exit status {done.returncode}"
    return text[-_MAX_QUOTED:]
