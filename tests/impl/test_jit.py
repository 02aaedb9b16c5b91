import ast
import importlib
import io
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numba
import pytest

import impl
from impl import jit
from impl.rows import sort_rows
from tests.impl.helpers import interpreted

ROOT = Path(__file__).parents[2]
SOURCES = {
    "impl/__init__.py": "",
    "impl/a.py": "1",
    "impl/b.py": "2",
    **{f"model/{name}.py": "3" for name in jit.MODEL_MODULES},
}


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
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    stand_in = Numba(told)
    made = jit_on(monkeypatch, stand_in)
    made.compiled(len)
    assert stand_in.cached_in == (told or made.cache_directory())
    assert vars(stand_in.config) == {"CACHE_DIR": told}


def cannot_be_made(_monkeypatch: pytest.MonkeyPatch, base: Path) -> None:
    (base / "sharespec").write_text("not a directory")


def cannot_be_written(monkeypatch: pytest.MonkeyPatch, base: Path) -> None:
    def file(*, dir: Path | None = None) -> io.BytesIO:  # noqa: A002 - as it is there
        if dir and dir.is_relative_to(base):
            raise PermissionError
        return io.BytesIO()

    monkeypatch.setattr(tempfile, "TemporaryFile", file)


@pytest.mark.parametrize("obstacle", [cannot_be_made, cannot_be_written])
def test_the_cache_falls_back_to_a_new_temporary_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, obstacle: Callable[..., None]
) -> None:
    for folder in ("base", "temporary"):
        (tmp_path / folder).mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "base"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    obstacle(monkeypatch, tmp_path / "base")
    made = [Path(jit.cache_directory()) for _ in range(2)]
    assert {path.parent for path in made} == {tmp_path / "temporary"}
    assert all(path.name.startswith("sharespec-") and path.is_dir() for path in made)
    assert made[0] != made[1]


def test_the_cache_is_in_the_home_folder_by_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Path(jit.cache_directory()).parent == tmp_path / ".cache" / "sharespec"


def test_the_cache_is_in_the_folder_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "not" / "yet"))
    first = Path(jit.cache_directory())
    assert first.parent == tmp_path / "not" / "yet" / "sharespec"
    assert first.is_dir()
    assert Path(jit.cache_directory()) == first


@pytest.fixture
def cache_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[dict[str, str]], str]:
    """Return a function that tells the cache of other sources, of which it makes an archive."""

    def cache(sources: dict[str, str]) -> str:
        archive = tmp_path / f"{len(list(tmp_path.iterdir()))}.zip"
        with zipfile.ZipFile(archive, "w") as packed:
            for name, text in sources.items():
                packed.writestr(name, text)
        packages = {name: zipfile.Path(archive, f"{name}/") for name in ("impl", "model")}
        monkeypatch.setattr(resources, "files", packages.__getitem__)
        return jit.cache_directory()

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return cache


@pytest.mark.parametrize(
    "sources",
    [
        {**SOURCES, "impl/b.py": "x"},
        {**SOURCES, "impl/c.py": ""},
        {**SOURCES, "model/guards.py": "x"},
        {**SOURCES, "model/states.py": "x"},
        {**SOURCES, "impl/a.py": "2", "impl/b.py": "1"},
    ],
)
def test_other_sources_have_another_cache(
    cache_of: Callable[[dict[str, str]], str], sources: dict[str, str]
) -> None:
    assert cache_of(sources) != cache_of(SOURCES)


@pytest.mark.parametrize(
    "sources",
    [
        {**SOURCES, "impl/py.typed": "x"},
        {**SOURCES, "model/config_table.py": "x"},
        dict(reversed(SOURCES.items())),
    ],
)
def test_other_files_and_the_order_of_the_sources_leave_the_cache(
    cache_of: Callable[[dict[str, str]], str], sources: dict[str, str]
) -> None:
    assert cache_of(sources) == cache_of(SOURCES)


def imports_of(path: Path) -> set[str]:
    """Return the modules that a module imports from, and each name with its module."""
    nodes = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ImportFrom)]
    names = {f"{node.module}.{alias.name}" for node in nodes for alias in node.names}
    return names | {f"{node.module}" for node in nodes}


def test_the_cache_depends_on_each_module_of_the_model_that_compiled_code_reads() -> None:
    """Those that a module with compiled code imports, and those that define its constants."""
    imports = {f"impl.{path.stem}": imports_of(path) for path in (ROOT / "impl").glob("*.py")}
    with_code = {name for name, names in imports.items() if "impl.jit" in names}
    near = with_code.union(*(imports[name] & imports.keys() for name in with_code))
    model = {name.split(".")[1] for i in near for name in imports[i] if name.startswith("model.")}
    assert {"guards", "checks"} <= model
    assert model == set(jit.MODEL_MODULES)


def test_what_was_compiled_is_noted_beside_the_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 0)
    monkeypatch.setattr(jit, "_DIRECTORY", str(tmp_path))
    assert not jit.is_compiled()
    jit.note_compiled()
    jit.note_compiled()
    assert jit.is_compiled()
    monkeypatch.setattr(jit, "_digest", lambda: "of other sources")
    assert not jit.is_compiled()


def test_without_compilation_nothing_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    monkeypatch.setattr(jit, "_DIRECTORY", str(tmp_path))
    jit.note_compiled()
    assert jit.is_compiled()
    assert not list(tmp_path.iterdir())


def test_another_numba_has_another_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = jit.cache_directory()
    monkeypatch.setattr(numba, "__version__", "another")
    assert jit.cache_directory() != first


def test_without_compilation_functions_stay_as_they_are() -> None:
    assert not hasattr(interpreted("rows").sort_rows, "py_func")
    assert hasattr(sort_rows, "py_func") or os.environ.get("NUMBA_DISABLE_JIT") == "1"


@pytest.mark.slow
def test_it_works_from_a_zip_as_on_spark_workers(tmp_path: Path) -> None:
    archive = tmp_path / "shipped.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for package in ("impl", "model"):
            for file in (ROOT / package).glob("*.py"):
                packed.write(file, f"{package}/{file.name}")
    code = (
        "import impl.kernel, model.profile, model.trace_arrow as t;"
        "print(impl.kernel.replay_partition(t.SCHEMA.empty_table(), model.profile.KAFKA).events)"
    )
    environment = {**os.environ, "PYTHONPATH": str(archive), "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.stdout.strip() == b"0", done.stderr.decode()
