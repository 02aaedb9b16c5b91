import ast
import io
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from importlib import metadata, resources
from pathlib import Path

import pytest

from impl import cache

ROOT = Path(__file__).parents[2]
SOURCES = {
    "impl/__init__.py": "",
    "impl/a.py": "1",
    "impl/b.py": "2",
    **{f"model/{name}.py": "3" for name in cache.MODEL_MODULES},
}


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
    made = [Path(cache.cache_directory()) for _ in range(2)]
    assert {path.parent for path in made} == {tmp_path / "temporary"}
    assert all(path.name.startswith("sharespec-") and path.is_dir() for path in made)
    assert made[0] != made[1]


def test_the_cache_is_in_the_home_folder_by_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Path(cache.cache_directory()).parent == tmp_path / ".cache" / "sharespec"


def test_the_cache_is_in_the_folder_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "not" / "yet"))
    first = Path(cache.cache_directory())
    assert first.parent == tmp_path / "not" / "yet" / "sharespec"
    assert first.is_dir()
    assert Path(cache.cache_directory()) == first


@pytest.fixture
def cache_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[dict[str, str]], str]:
    """Return a function that tells the cache of other sources, of which it makes an archive."""

    def folder_of(sources: dict[str, str]) -> str:
        archive = tmp_path / f"{len(list(tmp_path.iterdir()))}.zip"
        with zipfile.ZipFile(archive, "w") as packed:
            for name, text in sources.items():
                packed.writestr(name, text)
        packages = {name: zipfile.Path(archive, f"{name}/") for name in ("impl", "model")}
        monkeypatch.setattr(resources, "files", packages.__getitem__)
        return cache.cache_directory()

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder_of


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
    compiling = {f"impl.jit.{each}" for each in ("compiled", "entry_point", "inlined")}
    with_code = {name for name, names in imports.items() if compiling & names}
    near = with_code.union(*(imports[name] & imports.keys() for name in with_code))
    model = {name.split(".")[1] for i in near for name in imports[i] if name.startswith("model.")}
    assert {"guards", "checks"} <= model
    assert model == set(cache.MODEL_MODULES)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Have compiled code kept in an empty folder."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    cache.directory.cache_clear()
    yield tmp_path
    cache.directory.cache_clear()


@pytest.mark.parametrize("disabled", ["", "0", None])
def test_what_was_compiled_is_noted_beside_the_cache(
    monkeypatch: pytest.MonkeyPatch, folder: Path, disabled: str | None
) -> None:
    if disabled is None:
        monkeypatch.delenv(cache.DISABLED, raising=False)
    else:
        monkeypatch.setenv(cache.DISABLED, disabled)
    assert not cache.is_compiled()
    cache.note_compiled()
    cache.note_compiled()
    assert cache.is_compiled()
    assert len(list(folder.iterdir())) == 1
    monkeypatch.setattr(cache, "source_digest", lambda: "of other sources")
    assert not cache.is_compiled()


def test_what_is_interpreted_is_not_noted(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv(cache.DISABLED, "1")
    assert cache.is_interpreted()
    cache.note_compiled()
    assert not cache.is_compiled()
    assert not list(folder.iterdir())


def test_without_a_setting_of_numba_the_folder_is_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache.directory.cache_clear()
    assert cache.directory() == cache.cache_directory()
    cache.directory.cache_clear()


def test_another_numba_has_another_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = cache.cache_directory()
    monkeypatch.setattr(metadata, "version", lambda name: {"numba": "another"}[name])
    assert cache.cache_directory() != first


def test_to_look_for_compiled_code_needs_no_numba() -> None:
    code = "import sys, impl.cache as c; c.is_compiled(); print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, cwd=ROOT)
    assert done.stdout.strip() == b"False"
