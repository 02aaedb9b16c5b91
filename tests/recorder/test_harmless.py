"""Whatever happens to the recorder, the broker serves; the trace says what it lacks."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.recorder.account import Trace, problems, read
from tests.recorder.judged import conforms
from tests.recorder.released import JAVA, Broker, broker, end, eventually, recorder

pytestmark = [pytest.mark.slow, pytest.mark.broker]

WORDS = "produce,produce,accept,mixed"
THREADS = 16
"""More than a broker's threads that can be in the recorder at once: request handlers and timers."""


def sound(trace: Trace) -> bool:
    """Return whether the rows are as they should be, and the rules allow all of them."""
    return problems(trace) == [] and conforms(trace)


def serves(running: Broker) -> bool:
    """Return whether members work on the broker and none is refused."""
    return running.work(WORDS, 1)["consumed"] > 100


@pytest.mark.long
def test_a_class_that_is_not_as_expected_is_left_alone(tmp_path: Path) -> None:
    with broker(tmp_path, broken="renamed") as running:
        assert serves(running)
        running.stop()
    assert len(running.said) == 1
    assert "maybeUpdateCachedStateAndOffsets() occurs 0 times" in running.said[0]
    assert not running.trace.exists()


@pytest.mark.parametrize("options", ["sample=2", "colour=red", "quota=0", "groups="])
def test_options_that_are_wrong_stop_nothing(options: str) -> None:
    """Any program shows it: this one runs on, and asks for arguments."""
    command = [*JAVA, f"-javaagent:{recorder()}={options}", "-jar", str(recorder())]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.stderr.count("not recording, the broker runs on") == 1
    assert "usage: java -jar sharespec-recorder.jar" in done.stderr


def test_faults_of_its_own_end_recording(tmp_path: Path) -> None:
    with broker(tmp_path, "faults=3", broken="faulty") as running:
        assert serves(running)
        trace = running.recorded()
    assert [("recording is off: 3 faults" in line) for line in running.said].count(True) == 1
    assert "on purpose" in running.log
    # Threads that were in the recorder when it stopped may count a fault more each.
    assert 3 <= sum(trailer["faults"] for trailer in trace.trailers) <= 3 + THREADS
    assert trace.count("acquire") == 0


@pytest.mark.long
def test_a_queue_that_is_full_loses_rows_and_says_so(tmp_path: Path) -> None:
    with broker(tmp_path, "queue=3,records=1") as running:
        running.work_until(lambda: read(running.trace).count("gap") > 0, WORDS, 10)
        trace = running.recorded()
    dropped = sum(trailer["dropped"] for trailer in trace.trailers)
    assert sound(trace)
    assert dropped >= sum(row["lost"] for row in trace.rows if row["op"] == "gap") > 0


def test_a_disk_that_is_full_is_survived(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "250k") as disk:
        options = f"dir={disk / 'trace'},records=1"
        with broker(tmp_path / "kafka", options) as running:
            disk.joinpath("ballast").write_bytes(bytes(200_000))
            working = running.work_on(WORDS)
            eventually(lambda: says(running, "nothing is written, the broker runs on"))
            disk.joinpath("ballast").unlink()
            eventually(lambda: says(running, "writing again"))
            eventually(lambda: read(disk / "trace").count("gap") > 0)
            end(working)
            assert serves(running)
            running.stop()
        trace = read(disk / "trace")
        assert sound(trace)
        assert trace.count("gap") > 0
        assert len(trace.trailers) < len(trace.headers)


def says(running: Broker, text: str) -> bool:
    """Return whether the recorder says something."""
    return any(text in line for line in running.said)


@pytest.mark.long
def test_a_folder_that_cannot_be_made_is_survived(tmp_path: Path) -> None:
    tmp_path.joinpath("file").touch()
    with broker(tmp_path, f"dir={tmp_path / 'file' / 'trace'}") as running:
        assert serves(running)
        running.stop()
    assert any("nothing is written" in line for line in running.said)


@pytest.mark.long
def test_a_disk_that_is_nearly_full_is_left_alone(tmp_path: Path) -> None:
    with broker(tmp_path, "min_free=100000g") as running:
        assert serves(running)
        running.stop()
    assert any("less than min_free" in line for line in running.said)
    assert list(running.trace.glob("*.gz")) == []


def test_files_follow_one_another_within_the_quota(tmp_path: Path) -> None:
    with broker(tmp_path, "records=1,max_file=20k,quota=100k") as running:
        running.work_until(lambda: not list(running.trace.glob("*-000000.jsonl.gz")), WORDS, 4)
        running.stop()
        sizes = {path.name: path.stat().st_size for path in running.trace.glob("*.gz")}
        trace = read(running.trace)
    assert len(sizes) > 2
    assert sum(sizes.values()) < 130_000
    for path in sorted(running.trace.glob("*.gz"))[:-1]:
        assert "checkpoint" in {row["op"] for row in alone(path, tmp_path)}
    assert len(trace.trailers) == len(trace.headers)


def alone(path: Path, folder: Path) -> list[dict[str, object]]:
    """Return the rows of one file."""
    apart = folder / path.stem
    apart.mkdir()
    apart.joinpath(path.name).write_bytes(path.read_bytes())
    return read(apart).rows


def test_only_what_is_asked_for_is_recorded_and_no_name_is_told(tmp_path: Path) -> None:
    with broker(tmp_path, "topics=o*r|x,groups=g,hash=secret,sample=0.5") as running:
        running.work(WORDS, 1, topic="other")
        running.work(WORDS, 1, topic="topic")
        trace = running.recorded()
    text = json.dumps(trace.rows) + json.dumps(trace.headers)
    (name,) = {key[0] for key in trace.instances}
    assert name.endswith(":1")  # Partition 0 is not in the sample.
    assert "other" not in text
    assert '"g:' not in text
    assert sound(trace)


@contextmanager
def small_disk(at: Path, size: str) -> Iterator[Path]:
    """A disk of a size; skips where this process may not mount one."""
    at.mkdir()
    mount = ["/bin/mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(at)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("a full disk needs the right to mount one")
    try:
        yield at
    finally:
        subprocess.run(["/bin/umount", str(at)], check=True)
