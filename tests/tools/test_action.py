"""What the GitHub Action and the image run, as it stands in their files: no engine is needed."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
import tomllib
from pathlib import Path
from typing import Any

import attrs
import pytest
import yaml

from clients.subjects import NAMES
from serve.running import serving

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
DEVIATES = f'{sys.executable} -m tests.doubles.small_core "ignores the limit of the window"'
HERE = {"PYTHONPATH": os.pathsep.join((str(ROOT), sysconfig.get_path("purelib")))}
OFFLINE = {"PIP_NO_DEPS": "1", "PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0"}
"""What is installed already stands for what is downloaded; 0 is pip's word for no isolation."""


@attrs.frozen
class Job:
    """What became of a job: its status, what it printed, its outputs and summary."""

    status: int
    log: str
    outputs: dict[str, str]
    summary: str


def resolved(text: str, inputs: dict[str, str], temp: Path, told: dict[str, str]) -> str:
    """Return a text of the action with the values of its expressions."""

    def value(found: re.Match[str]) -> str:
        kind, _, name = found[1].partition(".")
        known = {"runner": {"temp": str(temp), "os": "Linux"}, "steps": told, "inputs": inputs}
        return str(known[kind][name])

    return re.sub(r"\$\{\{ ([\w.-]+) \}\}", value, text)


def run(temp: Path, *ids: str, **given: str) -> Job:
    """Run the commands of the steps with these ids, or of all, as they stand."""
    inputs = {name: each["default"] for name, each in ACTION["inputs"].items()}
    inputs |= {name.replace("_", "-"): text for name, text in given.items()}
    output, told, done = temp / "output", dict[str, str](), []
    (temp / "summary.md").touch()
    for step in (step for step in STEPS if "run" in step and (not ids or step.get("id") in ids)):
        output.write_text("")
        environment = {
            name: resolved(t, inputs, temp, told) for name, t in step.get("env", {}).items()
        }
        github = {
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(temp / "summary.md"),
            "RUNNER_TEMP": str(temp),
        }
        assert step["shell"] == "bash"
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        done.append(ended(command, {**HERE, **OFFLINE, **github, **environment}))
        lines = (line.partition("=") for line in output.read_text().splitlines())
        told |= {f"{step.get('id')}.outputs.{name}": text for name, _, text in lines}
        if done[-1].returncode:
            break
    outputs = {
        name: resolved(each["value"], inputs, temp, told)
        for name, each in ACTION["outputs"].items()
        if f"verify.outputs.{name}" in told
    }
    log = "".join(each.stdout for each in done)
    return Job(done[-1].returncode, log, outputs, (temp / "summary.md").read_text())


def ended(command: list[str], environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    """Run a command; interrupt it, with all that it started, if its driver is ``INTERRUPTED``.

    A runner of GitHub interrupts a step that is cancelled.
    """
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        if environment.get("DRIVER", "").startswith(INTERRUPTED):
            until, asked = time.monotonic() + 600, Path(environment["RUNNER_TEMP"], "begun")
            while not asked.exists() or asked.stat().st_size < WELL_BEGUN:
                assert process.poll() is None
                assert time.monotonic() < until
                time.sleep(0.05)
            os.killpg(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=600)
    return subprocess.CompletedProcess(command, process.returncode, output)


INTERRUPTED = "sh -c 'tee "
WELL_BEGUN = 200_000
"""Bytes that a driver was asked; the vectors are played before the search."""


def verify(temp: Path, **given: str) -> Job:
    """Run what the action does once it is installed; ``sharespec`` is that of this tree."""
    tools = temp / "sharespec" / "bin"
    tools.mkdir(parents=True)
    for name, command in (("sharespec", "-m sharespec "), ("python", "")):
        (tools / name).write_text(f'#!/bin/sh\nexec {sys.executable} {command}"$@"\n')
        (tools / name).chmod(0o755)
    return run(temp, "verify", **given)


def test_every_input_is_used_and_no_expression_is_read_by_a_shell() -> None:
    text = (ROOT / "action.yml").read_text()
    assert set(re.findall(r"\$\{\{ inputs\.([\w-]+) \}\}", text)) == set(ACTION["inputs"])
    assert all("${{" not in step["run"] for step in STEPS if "run" in step)
    script = (ROOT / "tools/action/verify.sh").read_text()
    (step,) = [step for step in STEPS if step.get("id") == "verify"]
    assert all(re.search(rf"\$\{{?{name}\b", script) for name in step["env"])
    assert ACTION["inputs"]["verify-client"]["description"].startswith(", ".join(NAMES))
    assert f"\n    {' | '.join(NAMES)}) command=" in script


@pytest.mark.slow
def test_the_whole_action_installs_and_finds_what_deviates(tmp_path: Path) -> None:
    job = run(tmp_path, exec=DEVIATES, operations="200")
    assert job.status == 1, job.log
    assert job.outputs["verdict"] == "deviates"
    names = {path.name for path in (tmp_path / "sharespec-reports").iterdir()}
    assert names == {f"report.{kind}" for kind in ("html", "json", "md", "xml")}
    assert job.summary == (tmp_path / "sharespec-reports/report.md").read_text()
    lines = (tmp_path / "sharespec-reports/report.json").read_text().splitlines()
    groups = {each["group"] for each in map(json.loads, lines) if each["kind"] == "new"}
    assert job.outputs["new"] == str(len(groups))
    assert len(re.findall("^::error title=", job.log, re.MULTILINE)) == min(10, len(groups))


@pytest.mark.slow
def test_known_deviations_do_not_fail_it(tmp_path: Path) -> None:
    known = tmp_path / "known 'x'.toml"
    arguments = ("--exec", DEVIATES, "--operations", "200", "--write-known", str(known))
    command = [sys.executable, "-m", "sharespec", "verify", *arguments]
    subprocess.run(command, cwd=ROOT, check=False, timeout=600)
    job = verify(tmp_path, exec=DEVIATES, operations="200", known=str(known))
    assert job.status == 0, job.log
    assert (job.outputs["verdict"], job.outputs["new"]) == ("known", "0")
    assert int(job.outputs["known"]) > 0


@pytest.mark.slow
@pytest.mark.broker
def test_a_broker_is_verified_at_its_address(tmp_path: Path) -> None:
    with serving() as broker:
        job = verify(tmp_path, bootstrap=broker.address, sequences="1")
    assert job.status == 0, job.log
    assert job.outputs == {"new": "0", "known": "0", "verdict": "conforms"}


@pytest.mark.slow
@pytest.mark.broker
@pytest.mark.parametrize(
    "client", ["librdkafka", f"{sys.executable} -m clients.targets.librdkafka.driver"]
)
def test_a_client_is_judged_and_one_script_is_too_little(tmp_path: Path, client: str) -> None:
    (tmp_path / "known.toml").touch()  # To play what is known takes minutes.
    known = str(tmp_path / "known.toml")
    job = verify(tmp_path, verify_client=client, sequences="1", known=known)
    assert job.status == 2, job.log
    assert job.outputs["verdict"] == "unknown"
    assert "librdkafka 2." in job.summary


@pytest.mark.parametrize(
    "given", [{}, {"exec": "x", "bootstrap": "h:1"}, {"exec": "x", "verify_client": "kafka"}]
)
def test_it_takes_one_target(tmp_path: Path, given: dict[str, str]) -> None:
    job = verify(tmp_path, **given)
    assert (job.status, job.outputs) == (2, {})
    assert "give one of exec, bootstrap and verify-client" in job.log


def test_a_driver_that_cannot_be_started_is_said(tmp_path: Path) -> None:
    (tmp_path / "sharespec-reports").mkdir()
    (tmp_path / "sharespec-reports" / "report.md").write_text("of an earlier step")
    job = verify(tmp_path, exec="/no/such/driver $(touch x)", seconds="1")
    assert (job.status, job.summary) == (2, "")
    assert "cannot be started" in job.log
    assert job.outputs == {"new": "0", "known": "0", "verdict": "unknown"}
    assert not (ROOT / "x").exists()


@pytest.mark.slow
def test_a_job_that_is_cancelled_has_its_reports(tmp_path: Path) -> None:
    driver = f"{INTERRUPTED}{tmp_path}/begun | {sys.executable} -m tests.doubles.small_core'"
    job = verify(tmp_path, exec=driver, sequences="100000")
    assert job.status == 130, job.log
    assert job.outputs == {"new": "0", "known": "0", "verdict": "unknown"}
    assert "interrupted" in job.summary


def test_an_annotation_ends_with_its_text(tmp_path: Path) -> None:
    lines = [
        {"kind": "new", "group": 1, "cause": "a:b,c", "sentence": "x\n::set-env::", "again": "50%"},
        {"kind": "new", "group": 1, "cause": "another form", "sentence": "", "again": ""},
        {"kind": "known", "name": "gone", "shows": False},
        {"kind": "summary", "verdict": "deviates"},
    ]
    (tmp_path / "r").write_text("\n".join(map(json.dumps, lines)))
    command = [sys.executable, str(ROOT / "tools/outputs.py"), str(tmp_path / "r")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "new=1\nknown=0\nverdict=deviates\n"
    assert done.stderr.splitlines() == [
        "::error title=a%3Ab%2Cc::x%0A::set-env::%0A50%25",
        "::error title=gone::known, and shows no more",
    ]


def instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile, each with its text on one line."""
    text = re.sub(r"(?m)^#.*\n", "", (ROOT / "Dockerfile").read_text()).replace("\\\n", "")
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in text.splitlines() if line]


def copy(sources: list[Path], folder: Path) -> None:
    """Copy files, and what folders have, of this tree without what .dockerignore leaves out."""
    for source in sources:
        if not source.is_dir():
            shutil.copy(source, folder)
            continue
        left = shutil.ignore_patterns("__pycache__", "build", "node_modules", "target")
        for part in source.iterdir():
            if source == ROOT and part.name not in sent():
                continue
            if part.is_dir():
                shutil.copytree(part, folder / part.name, ignore=left)
            else:
                shutil.copy(part, folder)


def sent() -> set[str]:
    """Return what .dockerignore lets an engine have."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    return {line[1:] for line in lines if line.startswith("!")}


def test_an_engine_has_every_package() -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert set(table["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]) <= sent()


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="an image is built by root")
def test_the_image_is_built_and_runs(tmp_path: Path) -> None:
    root, folder = tmp_path / "root", tmp_path
    python = [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")]
    subprocess.run(python, check=True)
    (tmp_path / "env/bin/pip").write_text(
        f'#!/bin/sh\nexec {tmp_path}/env/bin/python -m pip "$@"\n'
    )
    (tmp_path / "env/bin/pip").chmod(0o755)
    environment = {**os.environ, **OFFLINE, "PYTHONPATH": sysconfig.get_path("purelib")}
    environment["PATH"] = f"{tmp_path / 'env/bin'}{os.pathsep}{environment['PATH']}"

    def inside(path: str) -> Path:
        return root / path.removeprefix("/") if path.startswith("/") else folder / path

    for kind, text in instructions():
        if kind == "WORKDIR":
            folder = inside(text)
            folder.mkdir(parents=True, exist_ok=True)
        elif kind == "COPY":
            sources = [inside(path) for path in text.removeprefix("--from=build ").split()[:-1]]
            copy(sources if sources != [folder] else [ROOT], folder)
        elif kind == "ENV":
            name, _, value = text.partition("=")
            environment[name] = str(inside(value))
        elif kind == "RUN":
            subprocess.run(["sh", "-c", text], cwd=folder, env=environment, check=True)  # noqa: S607
    (entry,) = [json.loads(text) for kind, text in instructions() if kind == "ENTRYPOINT"]
    assert (folder.stat().st_uid, folder) == (1000, root / "work")
    os.chown(folder, 0, 0)  # Others may not read the Python of these tests.
    ran = subprocess.run(
        [inside(entry[0]), "--version"],
        cwd=folder,
        env=environment,
        capture_output=True,
        check=True,
    )
    assert ran.stdout == b"sharespec 0.1.0\n"
    assert list((root / "home/sharespec/.cache/sharespec").rglob("*.nbi"))


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root, setpriv")
@pytest.mark.parametrize("owner", [0, 12345])
def test_the_image_writes_as_the_owner_of_the_folder(tmp_path: Path, owner: int) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "sharespec").write_text('#!/bin/sh\necho "$@" > report\n')
    (tools / "sharespec").chmod(0o755)
    for part in (tmp_path, *tmp_path.parents):
        if not part.stat().st_mode & 0o077:  # pytest's own folders are for one user.
            part.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    os.chown(work, owner, owner)
    environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    script = ROOT / "tools/action/entrypoint.sh"
    subprocess.run([script, "verify", "a b"], cwd=work, env=environment, check=True)
    assert (work / "report").read_text() == "verify a b\n"
    assert (work / "report").stat().st_uid == owner
