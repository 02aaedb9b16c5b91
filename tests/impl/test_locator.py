import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def shipped(archive: Path) -> Path:
    """Make an archive of the sources, as Spark workers have it."""
    with zipfile.ZipFile(archive, "w") as packed:
        for package in ("impl", "model"):
            for file in (ROOT / package).glob("*.*"):
                packed.write(file, f"{package}/{file.name}")
    return archive


def run_from(archive: Path, code: str, **environment: str) -> bytes:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(archive), **environment},
        cwd=archive.parent,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.strip()


@pytest.mark.slow
def test_what_is_compiled_is_kept_by_its_sources_wherever_they_lie(tmp_path: Path) -> None:
    code = "import numpy, impl.state as s; s.rows_needed(numpy.zeros(64, numpy.int64), 1)"
    kept = []
    for place in ("one", "other"):
        (tmp_path / place).mkdir()
        settings = {"NUMBA_DISABLE_JIT": "0", "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
        run_from(shipped(tmp_path / place / "shipped.zip"), code, **settings)
        files = (tmp_path / "kept").rglob("*.nb*")
        kept.append({file: file.stat().st_mtime_ns for file in files})
    assert kept[0] == kept[1] != {}


@pytest.mark.slow
def test_it_works_from_a_zip_as_on_spark_workers(tmp_path: Path) -> None:
    code = (
        "import impl.kernel, model.profile, model.trace_arrow as t;"
        "print(impl.kernel.replay_partition(t.SCHEMA.empty_table(), model.profile.KAFKA).events)"
    )
    archive = shipped(tmp_path / "shipped.zip")
    assert run_from(archive, code, NUMBA_DISABLE_JIT="1") == b"0"
