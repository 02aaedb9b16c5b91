"""A folder is watched: what is told, when it ends, and with which status."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import attrs
import pytest

from model.profile import KAFKA
from replay.judged import Counts
from replay.state_file import write_states
from replay.stream import Batch
from replay.stream_file import Left, Summary
from replay.verdict import Problem
from sharespec.commands.watch import _awaited, _interruption, _last_line, _teller, _Totals
from sharespec.exit import Exit
from tests.replay.conftest import spark
from tests.replay.samples import write_lines
from tests.replay.streams import batches
from tests.replay.test_state_file import DIVERGENCE, STATES
from tests.sharespec.running import runner

__all__ = ["spark"]

pytestmark = pytest.mark.xdist_group("spark")

SUMMARY = Summary(7, Counts(100, 1, 2, 3, 4, 5), 3, 1, 1, 6, 0.5, 1.25)
BATCH = Batch(SUMMARY, Left(total=SUMMARY.counts), (DIVERGENCE,), (Problem("f", 3, "cut", "p"),))

run = runner("watch")


def test_an_alarm_is_told_as_a_replay_tells_a_divergence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    totals = _Totals()
    tell = _teller("kafka", totals, tmp_path / "m.prom", json_lines=False)
    tell(BATCH)
    out, err = capsys.readouterr()
    assert "Divergence: b, seq 3, f:4" in out
    assert "Unreadable: p: f:3: cut" in out
    assert err.startswith("batch 7: 100 events checked of 3 share-partitions, 1 diverge; ")
    assert "3 came again, 6 wait, 3 passed over, 4 unreadable, 0 share-partitions unknown; " in err
    assert "0.5 s, 200 events/s, 1.2 s after they came" in err
    assert totals == _Totals(100, 2, 6, 1)
    assert "sharespec_watch_events_checked_total 100" in (tmp_path / "m.prom").read_text()
    tell(attrs.evolve(BATCH, again=True))
    out, err = capsys.readouterr()
    assert (out, err.startswith("batch 7, done before: ")) == ("", True)
    assert totals.wrong == 4
    assert (
        _last_line(totals) == "200 events checked in 2 batches, 6 wait for events that are missing"
    )
    assert _last_line(_Totals()) == "The stream read nothing."


def test_json_tells_a_batch_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    _teller("kip", _Totals(), None, json_lines=True)(BATCH)
    told = json.loads(capsys.readouterr().out)
    assert (told["batch"], told["counts"]["checked"], told["again"]) == (7, 100, False)
    assert [(each["partition"], each["seq"]) for each in told["divergences"]] == [("b", 3)]
    assert [each["message"] for each in told["unreadable"]] == ["cut"]


class Query:
    """A query that ends when it is stopped, or with an error."""

    def __init__(self, error: Exception | None = None) -> None:
        self.ended, self._error = threading.Event(), error

    def awaitTermination(self) -> None:  # noqa: N802 - as Spark has it
        if self._error:
            raise self._error
        self.ended.wait(300)

    def stop(self) -> None:
        self.ended.set()


def test_ctrl_c_stops_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    query = Query()
    with monkeypatch.context() as patch:
        patch.setattr("threading.Thread.join", interrupted)
        assert not _awaited(query, threading.Event())  # type: ignore[arg-type] # what of it is used
    assert query.ended.is_set()
    assert _awaited(query, threading.Event())  # type: ignore[arg-type] # as above
    with pytest.raises(ValueError, match="gone"):
        _awaited(Query(ValueError("gone")), threading.Event())  # type: ignore[arg-type] # as above


def test_ctrl_c_breaks_off_no_call_to_java() -> None:
    """It is noted, also while the stream is being started, and stops what was started."""
    query = Query()
    with _interruption() as interrupted:
        signal.raise_signal(signal.SIGINT)
        assert not _awaited(query, interrupted)  # type: ignore[arg-type] # what of it is used
    assert query.ended.is_set()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.slow
def test_ctrl_c_while_spark_starts_leaves_no_java_with_the_output(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sharespec", "watch", str(tmp_path), "--state"]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [*command, str(tmp_path / "states")], env=environment, stdout=-1, stderr=-1
    ) as process:
        while not list(tmp_path.glob("*/spark.log")):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        # The output ends when all have closed it.
        assert process.communicate(timeout=300) == (b"", b"sharespec: interrupted\n")
    assert process.returncode == Exit.INTERRUPTED


@pytest.mark.parametrize("spoil", ["no folder", "states"])
def test_what_cannot_be_used_is_one_line_before_spark_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: str
) -> None:
    monkeypatch.setattr("replay.session.open_session", lambda *_: 1 // 0)
    source, states = tmp_path / "in", tmp_path / "states"
    if spoil == "states":
        source.mkdir()
        write_states(states, KAFKA, STATES)
    done = run(source, "--state", states, "--profile", "kip")
    assert done.exit_code == 2
    text = "is no folder" if spoil == "no folder" else "is of other rules"
    assert text in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("kafka:127.0.0.1:1/events", "no broker answers at 127.0.0.1:1: "),
        ("kafka:events", "kafka:events names no topic; allowed: kafka:HOST:PORT/TOPIC"),
    ],
)
def test_a_topic_that_cannot_be_read_is_one_line_before_spark_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, text: str
) -> None:
    monkeypatch.setattr("replay.session.open_session", lambda *_: 1 // 0)
    done = run(source, "--state", tmp_path / "states")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"sharespec: {text}")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_a_faulty_trace_raises_its_alarms_once_and_nothing_is_no_success(tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    options = ("--state", tmp_path / "states", "--out", out, "--once")
    done = run(folder, *options)
    assert (done.exit_code, done.stdout) == (2, "The stream read nothing.\n")
    assert "nothing was checked, so nothing is known" in done.stderr
    rows = [row for batch in batches() for row in batch if row["seq"] is not None]
    write_lines(folder / "t.jsonl", rows)
    done = run(folder, *options)
    assert done.exit_code == 1
    assert "Divergence: b, seq 15" in done.stdout
    assert "Divergence: e, seq 27" in done.stdout
    assert "124 events checked in 1 batch" in done.stdout
    assert len(list(out.glob("alarms-*.jsonl"))) == 1
    write_lines(folder / "again.jsonl", rows)
    done = run(folder, *options)
    assert "Divergence" not in done.stdout
    assert (done.exit_code, len(list(out.iterdir()))) == (2, 1)
