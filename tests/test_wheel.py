"""The wheel as its users have it: one name, and nothing of the repository beside it."""

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import attrs
import pytest

ROOT = Path(__file__).parents[1]
TRACE = ROOT / "tests" / "data" / "traces" / "kafka-core.jsonl.gz"
SECONDS = 600
"""How long one command may take (s), on whatever machine this is."""

PLAIN: Mapping[str, str] = MappingProxyType({})
SLOWLY = MappingProxyType({"NUMBA_DISABLE_JIT": "1"})
COMPILED = MappingProxyType({"NUMBA_DISABLE_JIT": "0"})
ONE_FUNCTION = """
from sharespec.impl.state import new_state
from sharespec.impl.writes import forget_redundant
from sharespec.model.profile import KIP
forget_redundant(new_state(KIP))
"""

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheel")]


@attrs.frozen
class Installed:
    """An environment with the wheel, and with what this one has of other packages."""

    wheel: Path
    bin: Path
    site: Path
    cache: Path

    def run(
        self,
        *command: str,
        status: int = 0,
        more: Mapping[str, str] = PLAIN,
        where: Path | None = None,
    ) -> str:
        """Run a command far from the repository; return what it printed.

        ``more`` is what its environment has besides.
        """
        environment = {
            **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            "XDG_CACHE_HOME": str(self.cache),
            **more,
        }
        done = subprocess.run(
            [str(self.bin / command[0]), *command[1:]],
            cwd=where or self.cache,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == status, done.stdout
        return done.stdout

    def files(self) -> Mapping[Path, str]:
        """Return the digest of each file that is installed."""
        return {
            path: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in self.site.rglob("*")
            if path.is_file()
        }


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    pytest.importorskip("hatchling", reason="this environment is older than pyproject.toml: `make`")
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    build = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run([*pip, *build], check=True, timeout=SECONDS)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "env", symlinks=True)
    python = folder / "env" / "bin" / "python"
    install = ["--python", str(python), "install", "--no-deps", "--no-index", str(wheel)]
    subprocess.run([*pip, *install], check=True, timeout=SECONDS)
    (site,) = (folder / "env" / "lib").glob("python*/site-packages")
    (site / "other.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (folder / "cache").mkdir()
    return Installed(wheel, python.parent, site, folder / "cache")


def test_it_installs_one_name(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as archive:
        names = archive.namelist()
    assert {name.split("/")[0] for name in names} == {"sharespec", "sharespec-0.1.0.dist-info"}
    assert {path.name for path in installed.site.iterdir()} == {
        "sharespec",
        "sharespec-0.1.0.dist-info",
        "other.pth",
    }


def test_it_has_each_file_of_the_packages_once(installed: Installed) -> None:
    git = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"]
    packages = [path.parent.name for path in ROOT.glob("*/py.typed") if path.parent.name != "tools"]
    packages.append("recorder")
    try:
        listed = subprocess.run([*git, *packages], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is no clone of the repository")
    expected = [
        name if name.startswith("sharespec/") else f"sharespec/{name}"
        for name in listed.stdout.split()
        if (ROOT / name).exists()
    ]
    with zipfile.ZipFile(installed.wheel) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name]
    assert sorted(names) == sorted(expected)


def test_no_import_of_it_names_a_package_of_the_repository(installed: Installed) -> None:
    code = (
        "import json, pkgutil, sys, sharespec\n"
        "spared = 'targets', '__main__'\n"
        "for module in pkgutil.walk_packages(sharespec.__path__, 'sharespec.'):\n"
        "    if not set(spared) & set(module.name.split('.')):\n"
        "        __import__(module.name)\n"
        "tops = {name.split('.')[0] for name in sys.modules}\n"
        "print(json.dumps([len(sys.modules), sorted(tops)]))\n"
    )
    count, tops = json.loads(installed.run("python", "-c", code).splitlines()[-1])
    assert count > 400
    packages = {path.parent.name for path in ROOT.glob("*/py.typed")} - {"sharespec"}
    assert "model" in packages
    assert packages & set(tops) == set()


def test_its_commands_work_and_write_nothing_where_it_is_installed(installed: Installed) -> None:
    before = installed.files()
    run = installed.run
    assert run("sharespec", "--version") == "sharespec 0.1.0\n"
    assert "Commands:" in run("python", "-m", "sharespec", "--help")
    assert "6 conform   0 diverge" in run("sharespec", "replay", str(TRACE), "--profile", "kafka")
    assert "conforms: 0 new" in run("sharespec", "verify", "spec", "--seconds", "1")
    assert run("sharespec", "vectors", "--check") == ""
    assert "12 of them written" in run("sharespec", "vectors", "out")
    proved = run("sharespec", "prove", "--only", "release", "--controls")
    assert "22 controls fail" in proved
    life = run("sharespec", "explain", str(TRACE), "--partition", "core:orders:0", "--offset", "3")
    assert "rule  spec.produce.produce: Append" in life
    assert installed.files() == before


def test_an_application_has_a_broker_for_its_tests(installed: Installed) -> None:
    pytest.importorskip("confluent_kafka")
    folder = shutil.copytree(ROOT / "docs" / "example-worker", installed.cache / "application")
    text = installed.run("python", "-m", "pytest", "-W", "error", str(folder))
    assert "1 passed" in text
    refuted = (folder / "test_worker.py").read_text().replace('"orders") == 0', '"orders") == 1')
    (folder / "test_worker.py").write_text(refuted)
    assert "assert 0 == 1" in installed.run("python", "-m", "pytest", str(folder), status=1)


@pytest.mark.parametrize(
    "command",
    [
        ("python", "-c", ONE_FUNCTION),
        pytest.param(
            ("sharespec", "replay", str(TRACE), "--against", "impl"), marks=pytest.mark.long
        ),
    ],
    ids=["one function", "all"],
)
def test_what_it_compiles_is_in_the_cache_of_the_user(
    installed: Installed, command: tuple[str, ...], tmp_path: Path
) -> None:
    more = {**COMPILED, "XDG_CACHE_HOME": str(tmp_path)}
    for _ in range(2):
        installed.run(*command, more=more)
    compiled = [path for path in tmp_path.rglob("*.nbi") if "sharespec" in path.parts]
    assert compiled
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb?")}
    installed.run(*command, more=more)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb?")} == before


def test_a_divergence_names_the_lines_of_the_specification(installed: Installed) -> None:
    lines = gzip.decompress(TRACE.read_bytes()).decode().splitlines()
    rows = [json.loads(line) for line in lines]
    row = next(row for row in rows if row["seq"] == 40)
    row["after"]["start_offset"] += 1
    bad = installed.cache / "bad.jsonl"
    bad.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    page = installed.cache / "page.html"
    place = ("--partition", row["partition"], "--profile", "kafka")
    arguments = ("view", str(bad), *place, "--html", str(page))
    text = installed.run("sharespec", *arguments, status=1, more=SLOWLY)
    assert "diverges" in text
    assert "spec/" in page.read_text()
    assert "sharespec/spec" not in page.read_text()


@pytest.mark.parametrize(
    "master", ["local[1]", pytest.param("local-cluster[1,1,1024]", marks=pytest.mark.long)]
)
def test_workers_of_spark_get_it(installed: Installed, tmp_path: Path, master: str) -> None:
    arguments = ("replay", str(TRACE), "--profile", "kafka", "--sample", "0.3")
    (tmp_path / "sharespec").mkdir()
    (tmp_path / "sharespec" / "__init__.py").touch()  # As in a clone.
    more = {**SLOWLY, "SPARK_WORKER_DIR": str(installed.cache / "work")}
    text = installed.run("sharespec", *arguments, "--master", master, more=more, where=tmp_path)
    assert re.search(r"\n[1-5] conform   0 diverge   0 unreadable", text)
    assert f"Spark {master}" in text


def test_what_workers_get_suffices_where_it_is_not_installed(
    installed: Installed, tmp_path: Path
) -> None:
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from sharespec.replay.session import shipped_code\n"
        "print(shipped_code(Path(sys.argv[1])))\n"
    )
    archive = installed.run("python", "-c", code, str(tmp_path)).splitlines()[-1]
    with zipfile.ZipFile(archive) as shipped:
        assert {name.split("/")[0] for name in shipped.namelist()} == {"sharespec"}
    shutil.copy(archive, tmp_path / "copy.zip")
    code = "import sharespec.replay.check as check; print(check.__file__)"
    environment = {**SLOWLY, "PYTHONPATH": str(tmp_path / "copy.zip")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    assert done.stdout.strip() == str(tmp_path / "copy.zip" / "sharespec/replay/check.py")


def test_a_program_in_another_language_is_built_in_the_cache(installed: Installed) -> None:
    before = installed.files()
    tools = installed.cache / "tools"
    tools.mkdir()
    (tools / "npm").write_text("#!/bin/sh\nmkdir node_modules/@kafkats\n")
    (tools / "npm").chmod(0o755)
    code = (
        "from sharespec.clients.subjects import driver_of\n"
        "print(driver_of('kafkats', None, 1).command)\n"
    )
    more = {"PATH": f"{tools}:{os.environ['PATH']}"}
    command = installed.run("python", "-c", code, more=more).split()
    driver = Path(command[1])
    assert command[0] == "node"
    assert driver.is_relative_to(installed.cache / "sharespec" / "builds")
    assert (driver.parent / "node_modules" / "@kafkats").is_dir()
    assert installed.files() == before
