"""A driver in a process: it may be good, silent, dead, mad or loud."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.cores.process import core_target
from conformance.cores.protocol import DriverTarget
from conformance.cores.target import Capabilities
from conformance.target import TargetError

GOOD = f"{sys.executable} -m tests.doubles.small_core"


def driver(code: str, seconds: float = 20.0) -> DriverTarget[Capabilities]:
    return core_target(f"{sys.executable} -c '{code}'", seconds)


@pytest.fixture
def good() -> Iterator[DriverTarget[Capabilities]]:
    target = core_target(GOOD)
    yield target
    target.close()


def test_a_driver_introduces_itself_and_answers(good: DriverTarget[Capabilities]) -> None:
    assert good.hello().name == "small core: does as specified"
    good.reset()
    reply = good.apply(0, {"op": "produce", "log_batches": [], "log_end_offset": 0}, ())
    assert reply["result"] == {"status": "NONE"}


def test_a_fault_is_named_on_the_command_line() -> None:
    target = core_target(f'{GOOD} "does not count redeliveries"')
    assert target.hello().name == "small core: does not count redeliveries"
    target.close()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import time; time.sleep(900)", r"it was silent for 0\.2 s"),
        ("import os; os.close(1); import time; time.sleep(900)", "it ended"),
        ("import sys; sys.exit(3 * chr(111))", "it (ended|is gone).*status 1; it said: ooo"),
        ("print(3 * chr(63), flush=True); input()", "its answer is not JSON"),
        ("print(1, flush=True); input()", "its answer is not an object"),
        ("import sys\nwhile True: sys.stdout.write(100 * chr(120))", "longer than 1,000 bytes"),
    ],
)
def test_a_bad_driver_is_reported_and_nothing_hangs(
    monkeypatch: pytest.MonkeyPatch, code: str, said: str
) -> None:
    monkeypatch.setattr("conformance.cores.process.MAX_LINE_BYTES", 1000)
    began = time.monotonic()
    target = driver(code, 0.2 if "silent" in said else 300.0)
    with pytest.raises(TargetError, match=said):
        target.hello()
    target.close()
    assert time.monotonic() - began < 300


@pytest.mark.parametrize("command", ["/no/such/command", "", "'unbalanced"])
def test_a_command_that_cannot_be_started_is_named(command: str) -> None:
    with pytest.raises(TargetError, match="cannot be started"):
        core_target(command)


def test_a_driver_that_cannot_reset_is_reported() -> None:
    target = driver("import json; input(); print(json.dumps(dict(error=1)), flush=True); input()")
    with pytest.raises(TargetError, match="it cannot reset: 1"):
        target.reset()
    target.close()


NEVER_READS = """
import sys, time
sys.stdin.readline()
for _ in range(20000):
    sys.stdout.write(chr(123) + chr(125) + chr(10))
sys.stdout.flush()
time.sleep(600)
"""


def reset_often(target: DriverTarget[Capabilities]) -> None:
    for _ in range(20_000):
        target.reset()


def test_a_driver_that_answers_and_does_not_read_is_stopped() -> None:
    target = driver(NEVER_READS, 1.0)
    with pytest.raises(TargetError, match="it did not read for 1 s"):
        reset_often(target)
    target.close()


LEAVES_A_CHILD = """
import os, sys, time
child = os.fork()
if child == 0:
    time.sleep(600)
sys.stdin.readline()
print(chr(123) + chr(34) + "error" + chr(34) + ": " + str(child) + chr(125), flush=True)
sys.stdin.readline()
"""


def is_running(process: int) -> bool:
    """Return whether a process is there and no zombie."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")
def test_what_a_driver_leaves_behind_ends_with_it() -> None:
    target = driver(LEAVES_A_CHILD)
    with pytest.raises(TargetError, match="it cannot reset") as error:
        target.reset()
    child = int(str(error.value).rpartition(" ")[2])
    assert is_running(child)
    target.close()
    until = time.monotonic() + 60
    while is_running(child) and time.monotonic() < until:
        time.sleep(0.01)
    assert not is_running(child)
