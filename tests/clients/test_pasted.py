"""Violations as tests: what they say, and what cannot be one."""

import os
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

from clients import targets
from clients.broker import Broker
from clients.duties import Duty
from clients.kit import CLIENTS, commands_of
from clients.pasted import python_module, python_test
from clients.scripts import HABITS, Script
from clients.subjects import driver_of, known_of
from conformance.campaign import Fault
from conformance.deviation import target_finding
from conformance.java import JavaCase, NoTestError
from conformance.known import read_known
from conformance.target import TargetError
from sharespec.cli import cli
from tests.clients.controls import script
from tests.conformance.unbuilt import skip_unbuilt


def case(duty: Duty, chosen: Script) -> JavaCase:
    deviation = target_finding(duty.value, "", "", "", "")
    fault = Fault(deviation, commands_of(chosen), (), ())
    return JavaCase('"it"', fault, ('It says """ and \\.',), "sharespec verify-client x")


def pasted() -> list[tuple[str, str]]:
    """Return the tests of what is known of librdkafka, but where time decides, with names."""
    listed = known_of("librdkafka")
    assert listed is not None
    tests = []
    for known in read_known(listed, CLIENTS.read):
        fault = Fault(target_finding(known.signature[0], "", "", "", ""), known.sequence, (), ())
        # Whether the first heartbeat is under way as the client closes, a busy machine decides.
        if known.name != "closes-while-it-joins":
            with suppress(NoTestError):
                tests.append(python_test(JavaCase(known.name, fault, (known.title,))))
    return tests


def run(*command: str, cwd: Path, **more: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, **more}
    return subprocess.run(
        command, env=environment, cwd=cwd, capture_output=True, text=True, check=False
    )


def test_each_step_that_needs_no_waiting_is_a_statement() -> None:
    habits = ", ".join(do.value for do in HABITS)
    said, broker = "accept 2, release 2, reject 2", "evict, misnumber, lapse, at-once, expel"
    last = "at-once, fence, idle 5, restart 1, poll-once, commit"
    chosen = script(f"explicit: produce 2, poll, {said}, {habits}, {broker}, {last}")
    name, text = python_test(case(Duty.LEAVES, chosen), {"test_it"})
    assert name == "test_it_again"
    source = python_module((text,))
    compile(source, "pasted", "exec")
    assert {*re.findall(r"\bbroker\.(\w+)", source)} <= {*dir(Broker)}
    assert text.count("broker.happen(") == len(HABITS)
    assert (
        text.index("records[2:]") < text.index("broker.expel()") < text.index("time.sleep(0.005)")
    )
    for each in ('assert broker.violations("leaves-the-group") == []', 'opened(broker, "explicit"'):
        assert each in text


@pytest.mark.parametrize(
    ("duty", "steps", "why"),
    [
        (Duty.ONCE, "poll", "delivers-once does not show by what goes over the wire alone"),
        (Duty.LEAVES, "drain", "the step drain is none of a test in Python"),
        (Duty.LEAVES, "expel", "the step expel is none of a test in Python"),
    ],
)
def test_what_cannot_be_a_test_is_said(duty: Duty, steps: str, why: str) -> None:
    with pytest.raises(NoTestError, match=why):
        python_test(case(duty, script(f"explicit: {steps}")))


@pytest.mark.parametrize("given", [("kafkats", "x.py"), ("librdkafka", "x")])
def test_a_file_of_tests_is_for_librdkafka(given: tuple[str, str]) -> None:
    done = CliRunner().invoke(cli, ["verify-client", given[0], "--test", given[1]])
    assert (done.exit_code, "--test is FILE.py, for librdkafka" in done.output) == (2, True)


@pytest.mark.slow
@pytest.mark.broker
def test_the_tests_of_what_is_known_fail_and_pass_on_a_release_without_the_fault(
    tmp_path: Path,
) -> None:
    pytest.importorskip("confluent_kafka")
    try:
        older = driver_of("librdkafka", None, 90, "2.15.0").command
    except TargetError as missing:
        skip_unbuilt(missing)
    path = tmp_path / "test_pasted.py"
    names, texts = zip(*pasted(), strict=True)
    path.write_text(python_module(texts))
    wheel = older.partition("PYTHONPATH=")[2].partition(" ")[0].strip("'")
    for more, failing in (((), names), ((wheel,), names[1:])):
        path_of = os.pathsep.join((*more, str(Path.cwd())))
        options = ("-m", "pytest", "-n0", "-q", "-p", "no:cacheprovider", str(path))
        done = run(sys.executable, *options, cwd=tmp_path, PYTHONPATH=path_of)
        assert tuple(name for name in names if f"::{name} " in done.stdout) == failing, done.stdout


@pytest.mark.slow
@pytest.mark.broker
@pytest.mark.parametrize(
    ("client", "kfake", "verdict"),
    [
        ("v1.22.2", "v0.0.0-20260918054303-01f206a7e32c", "--- FAIL: TestOpensASecondSession"),
        ("v1.21.6", "v0.0.0-20260515175617-8268a5d078c0", "ok "),
    ],
)
def test_the_test_in_go_fails_and_passes_on_a_release_without_the_fault(
    client: str, kfake: str, verdict: str, tmp_path: Path
) -> None:
    source = Path(targets.__file__).parent / "franzgo" / "opens_second_session_test.go.txt"
    shutil.copy(source, tmp_path / "pasted_test.go")
    module = "github.com/twmb/franz-go"
    requires = f"require {module} {client}\nrequire {module}/pkg/kfake {kfake}\n"
    (tmp_path / "go.mod").write_text(f"module pasted\n\ngo 1.26.0\n\n{requires}")
    if shutil.which("go") is None:
        pytest.skip("Go is not installed")
    got = run("go", "mod", "tidy", cwd=tmp_path)
    if got.returncode:
        pytest.skip(f"the modules cannot be had: {got.stderr[-200:]}")
    done = run("go", "test", "-count=1", ".", cwd=tmp_path)
    assert verdict in done.stdout, done.stdout + done.stderr
