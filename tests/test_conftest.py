"""What fails once in real time, or hangs, runs again and is shown; nothing else does.

And what a test interrupts ends, though whoever began the tests ignores interrupts.
"""

import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = """
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

def fails_at_first(name):
    path = Path(__file__).with_name(name)
    first = not path.exists()
    path.touch()
    assert not first, "the first time of " + name

@pytest.mark.broker
def test_of_a_broker():
    fails_at_first("a broker")

@pytest.mark.broker
def test_of_a_broken_broker():
    assert False, "always"

@pytest.mark.timeout(1)
def test_that_hangs():
    while not Path(__file__).with_name("hung").exists():
        Path(__file__).with_name("hung").touch()
        time.sleep(600)

def test_of_nothing_else():
    fails_at_first("nothing else")

def test_that_interrupts():
    slow = "import time; print(flush=True); time.sleep(30)"
    with subprocess.Popen([sys.executable, "-c", slow], stdout=-1, stderr=-1) as program:
        program.stdout.readline()
        program.send_signal(signal.SIGINT)
    assert program.returncode
"""


def test_only_what_needs_a_broker_or_hangs_runs_again_and_is_shown(tmp_path: Path) -> None:
    tests = tmp_path / "test_reruns.py"
    tests.write_text(TESTS)
    options = ("-c", ROOT / "pyproject.toml", "--rootdir", tmp_path, "-p", "tests.conftest")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-p", "no:cacheprovider", "-m", "", tests],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_IGN),
    )
    *_, last = done.stdout.splitlines()
    assert "2 failed, 3 passed, 3 rerun" in last
    assert "FAILED, AND RUN AGAIN: test_reruns.py::test_that_hangs" in done.stdout
    assert "FAILED, AND RUN AGAIN: test_reruns.py::test_of_a_broker" in done.stdout
    assert "the first time of a broker" in done.stdout
    assert "the first time of nothing else" in done.stdout
