"""Without an extra the other commands work, and what needs it says what to install."""

import json
import os
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from sharespec.cli import COMMANDS
from sharespec.extras import EXTRAS, what_to_install
from tests.replay.samples import kafka_rows, write_lines

ROOT = Path(__file__).parents[2]
NEED_PROVE = {"explore": "scipy", "prove": "z3"}
"""Commands that do nothing without the extra prove, and what they import of it first."""

HIDE = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
"""


def hiding(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Return an environment whose processes, and their children, lack some modules."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(HIDE.replace("HIDDEN", repr(sorted(names))))
    return {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}


@pytest.fixture
def without(tmp_path: Path) -> dict[str, str]:
    """Return an environment without any extra."""
    return hiding(tmp_path / "hide", EXTRAS)


def run(environment: dict[str, str], *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "sharespec", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )
    return done.returncode, done.stdout


def text(what: str, module: str) -> str:
    install = f"pip install 'sharespec[{EXTRAS[module]}]'"
    return f"sharespec: {what} needs {module}, which is not installed: {install}\n"


def test_every_module_of_an_extra_is_known_and_the_others_are_not() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    modules: dict[str, set[str]] = {}
    for module, distributions in packages_distributions().items():
        for name in distributions:
            modules.setdefault(name.lower().replace("_", "-"), set()).add(module)
    extras = project["optional-dependencies"]
    for name in ("mock", "prove", "spark"):
        for line in extras[name]:
            known = {EXTRAS.get(module) for module in modules.get(Requirement(line).name, ())}
            assert name in known or not known, line
    base = {Requirement(line).name for line in project["dependencies"]}
    assert {m for name in base for m in modules.get(name, ())} & EXTRAS.keys() == set()
    assert set(EXTRAS.values()) <= extras.keys()
    everything = {name for line in extras["dev"] for name in Requirement(line).extras}
    assert everything == {"connect", "docs", "mock", "prove"}  # connect has spark


def test_the_other_commands_explain_themselves_without_extras(without: dict[str, str]) -> None:
    code = (
        "import json, sys\n"
        "from click.testing import CliRunner\n"
        "from sharespec.cli import cli\n"
        "runs = [CliRunner().invoke(cli, [name, '--help']) for name in sys.argv[1:]]\n"
        "print(json.dumps([(run.exit_code, run.output[:6]) for run in runs]))\n"
    )
    names = [name for name in COMMANDS if name not in NEED_PROVE]
    done = subprocess.run(
        [sys.executable, "-c", code, *names],
        env=without,
        check=True,
        capture_output=True,
        text=True,
    )
    assert json.loads(done.stdout) == [[0, "Usage:"]] * len(names)


@pytest.mark.parametrize("name", NEED_PROVE)
def test_a_command_that_does_nothing_without_an_extra_names_it(
    without: dict[str, str], name: str
) -> None:
    assert run(without, name) == (2, text(name, NEED_PROVE[name]))


@pytest.mark.slow
def test_the_commands_of_a_drivers_author_need_no_extra(
    without: dict[str, str], tmp_path: Path
) -> None:
    without["NUMBA_DISABLE_JIT"] = "1"
    trace = str(write_lines(tmp_path / "t.jsonl", kafka_rows(count=20)))
    page = str(tmp_path / "page.html")
    commands = (
        ("verify", "spec", "--seconds", "1"),
        ("vectors", "--check"),
        ("replay", trace, "--html", page, "--out", str(tmp_path / "out")),
        ("explain", trace),
        ("view", trace, "--html", page),
    )
    results = [(run(without, *command), command[0]) for command in commands]
    assert [(status, name, output) for (status, output), name in results if status] == []


@pytest.mark.parametrize(
    "arguments", [("replay", "TRACE", "--master", "local[1]"), ("watch", "FOLDER", "--state", "s")]
)
def test_what_runs_on_spark_names_the_extra(
    without: dict[str, str], tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    trace = write_lines(tmp_path / "t.jsonl", kafka_rows(count=5))
    places = {"TRACE": str(trace), "FOLDER": str(tmp_path), "s": str(tmp_path / "state")}
    command = [places.get(argument, argument) for argument in arguments]
    assert run(without, *command) == (2, text(arguments[0], "pyspark"))


def test_what_spark_connect_needs_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        master = f"sc://127.0.0.1:{server.getsockname()[1]}"
        environment = hiding(tmp_path / "hide", ["grpc"])
        status, output = run(environment, "replay", "--table", "t", "--master", master)
    assert status == 2
    assert output.startswith(
        "sharespec: Spark Connect needs more packages: pip install 'sharespec[c"
    )
    assert output.count("\n") == 1


def test_names_that_need_no_spark_can_be_imported_without_it(without: dict[str, str]) -> None:
    code = (
        "import json, sharespec\n"
        "assert sharespec.replay_sources and sharespec.Plan\n"
        "try:\n    sharespec.check\nexcept ImportError as error:\n    text = str(error)\n"
        "try:\n    sharespec.chek\nexcept AttributeError as error:\n    other = str(error)\n"
        "print(json.dumps([text, other]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=without, check=True, capture_output=True, text=True
    )
    said = text("sharespec.check", "pyspark").removeprefix("sharespec: ").strip()
    assert json.loads(done.stdout) == [said, "sharespec has no chek"]


@pytest.mark.parametrize(
    "error",
    [
        ModuleNotFoundError("No module named 'nothing'", name="nothing"),
        ModuleNotFoundError("no name"),
        ImportError("cannot import name 'x' from 'pyspark'", name="pyspark"),
    ],
    ids=str,
)
def test_other_imports_that_fail_are_no_missing_extra(error: ImportError) -> None:
    assert what_to_install(error, "replay") is None


def test_a_part_of_a_module_names_the_extra_too() -> None:
    error = ModuleNotFoundError("No module named 'pyspark.sql'", name="pyspark.sql")
    expected = text("replay", "pyspark").removeprefix("sharespec: ").strip()
    assert what_to_install(error, "replay") == expected
