import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import impl
from impl import cache, jit
from impl.rows import sort_rows
from tests.impl.helpers import interpreted


class Numba:
    """Stands for Numba: notes how it was told to compile, and where its cache was meanwhile."""

    __version__ = "1"

    def __init__(self, cache: str) -> None:
        """Take what it is told of the cache from outside."""
        self.config = SimpleNamespace(CACHE_DIR=cache)
        self.cached_in = ""
        self.options: dict[str, bool] = {}

    def njit(self, **options: bool) -> Callable[[object], object]:
        """Note the options, and with the function, as Numba does, where the cache is."""

        def compile_it(function: object) -> object:
            self.options, self.cached_in = options, self.config.CACHE_DIR
            return function

        return compile_it


def jit_on(monkeypatch: pytest.MonkeyPatch, stand_in: Numba) -> ModuleType:
    """Return the module, imported again with another Numba."""
    monkeypatch.setitem(sys.modules, "numba", stand_in)
    monkeypatch.setenv(cache.DISABLED, "0")
    monkeypatch.setattr(impl, "jit", jit)  # Importing it sets another.
    monkeypatch.delitem(sys.modules, "impl.jit")
    return importlib.import_module("impl.jit")


@pytest.mark.parametrize("kind", ["compiled", "entry_point"])
def test_functions_are_cached_and_need_not_count_references(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    stand_in = Numba("there")
    assert getattr(jit_on(monkeypatch, stand_in), kind)(len) is len
    assert stand_in.options == {
        "cache": True,
        "_nrt": False,
        "no_cfunc_wrapper": True,  # C calls none of them.
        "no_cpython_wrapper": kind == "compiled",  # Python calls the entry points alone.
    }


def test_inlined_functions_are_compiled_with_their_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = Numba("there")
    assert jit_on(monkeypatch, stand_in).inlined(len) is len
    assert stand_in.options == {
        "inline": "always",
        "_nrt": False,
        "no_cfunc_wrapper": True,
        "no_cpython_wrapper": True,
    }


@pytest.mark.parametrize("told", ["there", ""])
def test_numba_keeps_its_own_setting(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, told: str
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    cache.directory.cache_clear()
    stand_in = Numba(told)
    made = jit_on(monkeypatch, stand_in)
    made.compiled(len)
    assert stand_in.cached_in == (told or str(tmp_path))
    cache.directory.cache_clear()
    assert vars(stand_in.config) == {"CACHE_DIR": told, "CACHE_LOCATOR_CLASSES": ""}


@pytest.mark.parametrize("kind", ["compiled", "entry_point", "inlined", "by_reference"])
def test_what_is_interpreted_does_not_reach_numba(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    stand_in = Numba("there")
    made = jit_on(monkeypatch, stand_in)
    monkeypatch.setenv(cache.DISABLED, "1")
    assert getattr(made, kind)(len) is len
    assert stand_in.options == {}


def test_without_compilation_functions_stay_as_they_are() -> None:
    assert not hasattr(interpreted("rows").sort_rows, "py_func")
    assert hasattr(sort_rows, "py_func") or os.environ.get("NUMBA_DISABLE_JIT") == "1"
