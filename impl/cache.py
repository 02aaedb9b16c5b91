"""Where compiled code is kept on disk, and whether it is there; Numba is not needed to know."""

import hashlib
import os
import tempfile
from functools import cache
from importlib import metadata, resources
from pathlib import Path

import model

DISABLED = "NUMBA_DISABLE_JIT"
"""The variable of the environment that leaves functions as they are, as Numba has it."""

MODEL_MODULES = (
    "checks", "errors", "guards", "operation_table", "operations", "profile", "states",
)  # fmt: skip
"""The modules of model/ that compiled code takes constants from."""


def is_interpreted() -> bool:
    """Say whether functions stay as they are in this process: nothing is compiled, or loaded."""
    return os.environ.get(DISABLED) not in {None, "", "0"}


def is_compiled() -> bool:
    """Say whether the kernel was compiled before, so that the folder should have it."""
    return _mark().exists()


def note_compiled() -> None:
    """Note that the kernel is compiled, unless it is interpreted."""
    if not is_interpreted():
        _mark().touch()


@cache
def directory() -> str:
    """Return the folder for compiled code; ``NUMBA_CACHE_DIR`` is respected."""
    return os.environ.get("NUMBA_CACHE_DIR") or cache_directory()


def cache_directory() -> str:
    """Return the folder for code compiled from these sources: a temporary one if it must be."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    path = Path(base) / "sharespec" / source_digest()
    try:
        path.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    except OSError:
        return tempfile.mkdtemp(prefix="sharespec-")
    return str(path)


def _mark() -> Path:
    return Path(directory()) / f"compiled-{source_digest()[:16]}"


def source_digest() -> str:
    """Return a digest of the sources and of Numba's version: Numba itself checks one file only."""
    digest = hashlib.sha256(metadata.version("numba").encode())
    constants = resources.files(model.__name__)
    files = [f for f in resources.files(__package__).iterdir() if f.name.endswith(".py")]
    files.sort(key=lambda file: file.name)
    for file in (*files, *(constants / f"{name}.py" for name in MODEL_MODULES)):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()
