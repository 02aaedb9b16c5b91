"""Violations as tests in Python: what they say, and what cannot be one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from clients.duties import Duty
from clients.kit import CLIENTS, commands_of
from clients.pasted import python_module, python_test
from clients.scripts import ACKNOWLEDGE, HABITS, Do, Script
from clients.subjects import driver_of, known_of
from conformance.campaign import Fault
from conformance.cores.java_calls import NoTestError
from conformance.cores.java_test import JavaCase
from conformance.deviation import target_finding
from conformance.known import read_known
from conformance.target import TargetError
from sharespec.cli import cli
from tests.clients.controls import EXPLICIT, script
from tests.conformance.unbuilt import skip_unbuilt


def case(duty: Duty, chosen: Script) -> JavaCase:
    deviation = target_finding(duty.value, "", "", "", "")
    fault = Fault(deviation, commands_of(chosen), (), ())
    return JavaCase('"it"', fault, ('It says """ and \\.',), "sharespec verify-client x")


def test_each_step_that_needs_no_waiting_is_a_statement() -> None:
    said = [(do, 2) for do in ACKNOWLEDGE[:3]]
    broker = (*HABITS, Do.EVICT, Do.MISNUMBER, Do.LAPSE, Do.AT_ONCE, Do.EXPEL, Do.AT_ONCE, Do.FENCE)
    last = ((Do.IDLE, 5), (Do.RESTART, 1), Do.POLL_ONCE, Do.COMMIT)
    chosen = script(EXPLICIT, (Do.PRODUCE, 2), Do.POLL, *said, *broker, *last)
    name, text = python_test(case(Duty.LEAVES, chosen), {"test_it"})
    assert name == "test_it_again"
    source = python_module((text,))
    compile(source, "pasted", "exec")
    assert text.count("broker.happen(") == len(HABITS)
    assert (
        text.index("records[2:]") < text.index("broker.expel()") < text.index("time.sleep(0.005)")
    )
    for each in ('assert broker.violations("leaves-the-group") == []', 'opened(broker, "explicit"'):
        assert each in text


@pytest.mark.parametrize(
    ("duty", "steps", "why"),
    [
        (Duty.ONCE, (Do.POLL,), "delivers-once does not show by what goes over the wire alone"),
        (Duty.LEAVES, (Do.DRAIN,), "the step drain is none of a test in Python"),
        (Duty.LEAVES, (Do.EXPEL,), "the step expel is none of a test in Python"),
    ],
)
def test_what_cannot_be_a_test_is_said(duty: Duty, steps: tuple[Do, ...], why: str) -> None:
    with pytest.raises(NoTestError, match=why):
        python_test(case(duty, script(EXPLICIT, *steps)))


def test_tests_are_written_for_librdkafka_only() -> None:
    done = CliRunner().invoke(cli, ["verify-client", "kafkats", "--test", "x.py"])
    assert (done.exit_code, "--test is for librdkafka" in done.output) == (2, True)


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
    path, listed = tmp_path / "test_pasted.py", known_of("librdkafka")
    names, texts = list[str](), list[str]()
    assert listed is not None
    # Whether the first heartbeat is under way as the client closes, a busy machine decides.
    steady = (k for k in read_known(listed, CLIENTS.read) if k.name != "closes-while-it-joins")
    for known in steady:
        deviation = target_finding(known.signature[0], "", "", "", "")
        fault = Fault(deviation, known.sequence, (), ())
        name, text = python_test(JavaCase(known.name, fault, (known.title,)))
        names.append(name)
        texts.append(text)
    path.write_text(python_module(texts))
    wheel = older.partition("PYTHONPATH=")[2].partition(" ")[0].strip("'")
    for more, failing in (((), names), ((wheel,), names[1:])):
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-n0", "-q", "-p", "no:cacheprovider", str(path)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join((*more, str(Path.cwd())))},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert [name for name in names if f"::{name} " in done.stdout] == failing, done.stdout
