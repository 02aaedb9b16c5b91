import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numba
import pytest

from impl import jit
from impl.rows import sort_rows
from tests.impl.helpers import interpreted

ROOT = Path(__file__).parents[2]


def test_numba_keeps_its_own_setting() -> None:
    config = vars(numba.config)
    before = config.get("CACHE_DIR")
    jit.compiled(lambda x: x)
    assert config.get("CACHE_DIR") == before


def test_the_cache_falls_back_to_a_temporary_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert not jit.cache_directory().startswith(str(tmp_path))


def test_the_cache_is_in_the_home_folder_unless_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Path(jit.cache_directory()).parent == tmp_path / ".cache" / "sharespec"


def test_the_cache_is_named_after_the_sources(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = jit.cache_directory()
    monkeypatch.setattr(numba, "__version__", "another")
    assert jit.cache_directory() != first


def test_without_compilation_functions_stay_as_they_are() -> None:
    assert not hasattr(interpreted("rows").sort_rows, "py_func")
    assert hasattr(sort_rows, "py_func") or os.environ.get("NUMBA_DISABLE_JIT") == "1"


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
