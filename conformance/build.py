"""Build programs in other languages when a source is newer than the last build."""

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import attrs

from conformance.target import TargetError

_MAX_QUOTED = 500

IS_INSTALLED = __name__ != "conformance.build"
"""Whether this is a part of the installed package sharespec, and not of its repository."""


@attrs.frozen
class BuildRecipe:
    """How to build a program in its project's directory.

    ``needs`` names the tool and its version, for an error. ``sources`` are patterns of the files
    that the program depends on; ``output`` is the directory of the result. ``seconds`` limits the
    build. If it fails, the error quotes the first line with ``error_mark``; without one, or if the
    mark is empty, the end of the output. ``beside``: a project in the same folder that it includes.
    """

    name: str
    needs: str
    command: tuple[str, ...]
    sources: tuple[str, ...]
    output: str
    seconds: float
    error_mark: str = ""
    beside: str | None = None


def go_recipe(name: str, output: str, *flags: str) -> BuildRecipe:
    """Return how to build a program in Go, as ``build/`` and ``output``."""
    command = ("go", "build", *flags, "-o", f"build/{output}", ".")
    return BuildRecipe(
        name, "Go 1.26 or newer", command, ("go.mod", "go.sum", "*.go"), "build", 600
    )


def cargo_recipe(name: str, *flags: str, beside: str | None = None) -> BuildRecipe:
    """Return how to build the programs of a crate, into ``target/debug``, which takes minutes."""
    sources = ("Cargo.toml", "Cargo.lock", "src/**/*.rs")
    command = ("cargo", "build", "--locked", *flags)
    return BuildRecipe(name, "Rust 1.95 or newer", command, sources, "target", 3600, beside=beside)


def maven_recipe(
    name: str,
    *flags: str,
    sources: tuple[str, ...],
    output: str = "target",
    beside: str | None = None,
) -> BuildRecipe:
    """Return how to build a project in Java."""
    command = ("mvn", "--quiet", "--batch-mode", "package", *flags)
    return BuildRecipe(name, "Maven", command, sources, output, 900, "ERROR", beside)


Content = Callable[[PurePosixPath, bytes], bytes | None]
"""Returns what a copy has for a file of a project, None if it has it not."""


def build(project: Path, recipe: BuildRecipe, content: Content | None = None) -> Path:
    """Build, unless the last build is as new as every source; return the folder that has it.

    That is the project, or where sharespec is installed or ``content`` changes it a copy in the
    user's cache. Of several processes one builds and the others wait for it: Maven has no lock on
    its output. Raises TargetError if the tool is missing or fails, for example without its
    registry.
    """
    if IS_INSTALLED or content:
        project = cached_copy(project, recipe, content)
    output = project / recipe.output
    output.mkdir(parents=True, exist_ok=True)
    stamp = output / "built"
    sources = [
        path
        for folder in _folders(project, recipe)
        for pattern in recipe.sources
        for path in folder.glob(pattern)
    ]
    newest = max(source.stat().st_mtime for source in sources)
    with _alone(output / "building"):
        if stamp.exists() and stamp.stat().st_mtime >= newest:
            return project
        output.mkdir(parents=True, exist_ok=True)
        try:
            _run(project, recipe)
        except TargetError:
            if not stamp.exists():
                shutil.rmtree(output, ignore_errors=True)  # Nothing stays that is half built.
            raise
        stamp.touch()
    return project


def cache() -> Path:
    """Return the user's folder for what can be made or fetched again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "sharespec"


def cached_copy(project: Path, recipe: BuildRecipe, content: Content | None = None) -> Path:
    """Return a copy of a project in the user's cache, made if these files have none yet.

    What is installed may be another user's, and is no place for builds. Raises TargetError if the
    cache cannot be written.
    """
    files: dict[PurePosixPath, bytes] = {}
    for folder in _folders(project, recipe):
        for path in sorted(folder.rglob("*")):
            name = PurePosixPath(path.relative_to(folder).as_posix())
            if path.is_file() and name.parts[0] != recipe.output:
                has = content(name, path.read_bytes()) if content else path.read_bytes()
                files |= {} if has is None else {folder.name / name: has}
    digest = hashlib.sha256()
    for name, has in files.items():
        digest.update(f"{name}\0{len(has)}\0".encode() + has)
    copy = cache() / "builds" / f"{project.name}-{digest.hexdigest()[:16]}"
    try:
        copy.mkdir(parents=True, exist_ok=True)
        with _alone(copy / "copying"):
            for name, has in files.items():
                target = copy / name
                if not target.exists():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    # Under its name it is whole: this process may be ended at any time.
                    part = target.with_name(f"{target.name}.part")
                    part.write_bytes(has)
                    part.replace(target)
    except OSError as error:
        text = f"{recipe.name} is built in {copy}, which cannot be written: {error.strerror}"
        raise TargetError(text) from None
    return copy / project.name


def _folders(project: Path, recipe: BuildRecipe) -> list[Path]:
    return [project, *([project.parent / recipe.beside] if recipe.beside else [])]


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Keep other processes out; the system lets them in when this one ends, however it ends."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _run(project: Path, recipe: BuildRecipe) -> None:
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


def _quoted(done: subprocess.CompletedProcess[str], recipe: BuildRecipe) -> str:
    if recipe.error_mark:
        for line in done.stdout.splitlines():
            if recipe.error_mark in line:
                return line[:_MAX_QUOTED]
    text = (done.stderr or done.stdout).strip() or f"exit status {done.returncode}"
    return text[-_MAX_QUOTED:]
