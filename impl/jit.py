"""Compilation with a cache on disk that a change of the compiled code's sources invalidates."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import numba

import model

F_ = TypeVar("F_", bound=Callable[..., Any])

_NUMBA: Any = numba  # Its types know neither its settings nor all options of njit.

MODEL_MODULES = (
    "checks", "errors", "guards", "operation_table", "operations", "profile", "states",
)  # fmt: skip
"""The modules of model/ that compiled code takes constants from."""


def _digest() -> str:
    """Return a digest of the sources and of Numba's version: Numba itself checks one file only."""
    digest = hashlib.sha256(numba.__version__.encode())
    constants = resources.files(model.__name__)
    files = [f for f in resources.files(__package__).iterdir() if f.name.endswith(".py")]
    files.sort(key=lambda file: file.name)
    for file in (*files, *(constants / f"{name}.py" for name in MODEL_MODULES)):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def cache_directory() -> str:
    """Return the folder for code compiled from these sources: a temporary one if it must be."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    path = Path(base) / "sharespec" / _digest()
    try:
        path.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    except OSError:
        return tempfile.mkdtemp(prefix="sharespec-")
    return str(path)


_DIRECTORY: str = _NUMBA.config.CACHE_DIR or cache_directory()


@contextmanager
def _cache_here() -> Iterator[None]:
    """Set Numba's cache folder while it chooses where to store a function, and only then."""
    before = _NUMBA.config.CACHE_DIR
    _NUMBA.config.CACHE_DIR = _DIRECTORY
    try:
        yield
    finally:
        _NUMBA.config.CACHE_DIR = before


def compiled(function: F_) -> F_:
    """Compile a function that only compiled code calls, on its first call or from the cache.

    It may neither make an array nor return one: then Numba need not count references to arrays,
    which makes the code twice as fast and halves the time to compile it. Called from Python it
    crashes, unless ``NUMBA_DISABLE_JIT=1`` leaves it as it is. ``NUMBA_CACHE_DIR`` is respected.
    """
    return _compile(function, no_cpython_wrapper=True)


def entry_point(function: F_) -> F_:
    """Compile a function that Python calls too; it takes longer to compile."""
    return _compile(function, no_cpython_wrapper=False)


def inlined(function: F_) -> F_:
    """Compile a function as a part of the one compiled function that calls it.

    For long ones over much code, which LLVM would optimise once more in their caller.
    """
    wrapped: F_ = _NUMBA.njit(
        inline="always", no_cfunc_wrapper=True, no_cpython_wrapper=True, _nrt=False
    )(function)
    return wrapped


def is_compiled() -> bool:
    """Say whether the kernel was compiled before, so that the cache should have it."""
    return bool(_NUMBA.config.DISABLE_JIT) or _mark().exists()


def note_compiled() -> None:
    """Note that the kernel is compiled."""
    if not is_compiled():
        _mark().touch()


def _mark() -> Path:
    return Path(_DIRECTORY) / f"compiled-{_digest()[:16]}"


def _compile(function: F_, *, no_cpython_wrapper: bool) -> F_:
    with _cache_here():
        wrapped: F_ = _NUMBA.njit(
            cache=True, no_cfunc_wrapper=True, no_cpython_wrapper=no_cpython_wrapper, _nrt=False
        )(function)
    return wrapped
