"""Compilation with a cache on disk that a change of the compiled code's sources invalidates.

Where functions stay as they are, Numba is not imported.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from impl.cache import directory, is_interpreted

F_ = TypeVar("F_", bound=Callable[..., Any])
T_ = TypeVar("T_", bound=type)


def compiled(function: F_) -> F_:
    """Compile a function that only compiled code calls, on its first call or from the cache.

    It may neither make an array nor return one: then Numba need not count references to arrays,
    which makes the code twice as fast and halves the time to compile it. Called from Python it
    crashes, unless ``NUMBA_DISABLE_JIT=1`` leaves it as it is. ``NUMBA_CACHE_DIR`` is respected.
    """
    return _compile(function, cache=True, no_cpython_wrapper=True)


def entry_point(function: F_) -> F_:
    """Compile a function that Python calls too; it takes longer to compile."""
    return _compile(function, cache=True, no_cpython_wrapper=False)


def inlined(function: F_) -> F_:
    """Compile a function as a part of the one compiled function that calls it.

    For long ones over much code, which LLVM would optimise once more in their caller.
    """
    return _compile(function, inline="always", no_cpython_wrapper=True)


def _compile(function: F_, **options: bool | str) -> F_:
    if is_interpreted():
        return function
    import numba  # noqa: PLC0415 - it takes longer to load than all else here

    untyped: Any = numba  # Its types know neither its settings nor all options of njit.
    with _cache_here(untyped.config):
        wrapped: F_ = untyped.njit(no_cfunc_wrapper=True, _nrt=False, **options)(function)
    return wrapped


@contextmanager
def _cache_here(config: Any) -> Iterator[None]:  # noqa: ANN401 - Numba's settings
    """Set Numba's cache folder while it chooses where to store a function, and only then."""
    before = config.CACHE_DIR, getattr(config, "CACHE_LOCATOR_CLASSES", "")
    config.CACHE_DIR = before[0] or directory()
    config.CACHE_LOCATOR_CLASSES = before[1] or f"{__package__}.locator.SourceLocator"
    try:
        yield
    finally:
        config.CACHE_DIR, config.CACHE_LOCATOR_CLASSES = before


def by_reference(of: T_) -> T_:
    """Have compiled code take a class of named tuples by reference; ``_replace`` is for Python."""
    if not is_interpreted():
        from impl.reference import take_by_reference  # noqa: PLC0415 - it loads Numba

        take_by_reference(of)
    return of
