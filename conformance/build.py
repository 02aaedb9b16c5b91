"""Programs that drive implementations in other languages, built when their sources are newer."""

import shutil
import subprocess
from pathlib import Path

import attrs

from conformance.target import TargetError

__all__ = ["Recipe", "build"]

_SAID = 500


@attrs.frozen
class Recipe:
    """How a program is built, in its project's directory.

    ``sources`` are patterns of the files that it depends on; ``output`` is the directory of what
    is built. ``seconds``: how long building may take. ``needs`` says in words what must be there.
    """

    name: str
    needs: str
    command: tuple[str, ...]
    sources: tuple[str, ...]
    output: str
    seconds: float


def build(project: Path, recipe: Recipe) -> None:
    """Build, unless what was built is as new as every source.

    Raises TargetError if the tool is missing, or fails, as it does where its registry cannot be
    reached.
    """
    stamp = project / recipe.output / "built"
    sources = [path for pattern in recipe.sources for path in project.glob(pattern)]
    newest = max(source.stat().st_mtime for source in sources)
    if stamp.exists() and stamp.stat().st_mtime >= newest:
        return
    _run(project, recipe)
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.touch()


def _run(project: Path, recipe: Recipe) -> None:
    tool, *arguments = recipe.command
    found = shutil.which(tool)
    if found is None:
        raise TargetError(f"{recipe.name} needs {recipe.needs}: there is no {tool} on the path")
    try:
        done = subprocess.run(  # noqa: S603 - fixed arguments
            [found, *arguments],
            cwd=project,
            capture_output=True,
            text=True,
            timeout=recipe.seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TargetError(f"{tool} was not done after {recipe.seconds:g} s") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip() or f"exit status {done.returncode}"
        raise TargetError(f"{tool} could not build {recipe.name}: {said[-_SAID:]}")
