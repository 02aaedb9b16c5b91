"""Members that crash, brokers that end, transactions, dead letters, and attaching late."""

import time
from itertools import pairwise
from pathlib import Path

import pytest

from tests.recorder.account import Row, Trace, numbers_that_differ, problems, read
from tests.recorder.judged import conforms
from tests.recorder.released import Broker, broker, end, eventually

pytestmark = [pytest.mark.slow, pytest.mark.broker]

MANY = 100
DEAD_LETTERS = "errors.deadletterqueue.topic.name=dlq.g"
CREATE = "errors.deadletterqueue.auto.create.topics.enable=true"


def sound(trace: Trace) -> bool:
    """Return whether the rows are as they should be, and the rules allow all of them."""
    return (problems(trace), numbers_that_differ(trace)) == ([], []) and conforms(trace)


def test_a_member_that_crashes_and_brokers_that_end(tmp_path: Path) -> None:
    with broker(tmp_path, "records=1") as first:
        crashing = first.work_on("produce,mixed,mixed")
        first.work("produce,accept", 2)
        end(crashing)
        first.work("trickle,accept,limit", 2)
        first.stop()
    with broker(tmp_path, "records=1") as second:
        second.work("produce,mixed", 1)
        second.kill()
    with broker(tmp_path, "records=1") as third:
        third.work("produce,accept", 1)
        third.stop()
    trace = read(tmp_path / "trace")
    assert sound(trace)
    assert (len(trace.headers), len(trace.trailers)) == (3, 2)
    epochs = {key[1] for key in trace.instances}
    assert len(epochs) == len(trace.headers)
    persisted = [
        row["persisted"]["start_offset"] for row in trace.rows if row["op"] == "initialize"
    ]
    assert min(persisted) == -1
    assert max(persisted) > 0


def test_transactions_and_dead_letters(tmp_path: Path) -> None:
    features, settings = ["share.version=2"], [CREATE]
    words = "produce,transactions,transactions,mixed,accept"
    with broker(tmp_path, "records=1", features=features, settings=settings) as running:
        committed = "share.isolation.level=read_committed"
        running.work_until(lambda: archives(read(running.trace)), words, 4, committed, DEAD_LETTERS)
        trace = running.recorded()
    assert sound(trace)
    assert archives(trace)


def archives(trace: Trace) -> bool:
    """Return whether records were archived in each way that there is."""
    states = {part[2] for row in trace.rows for part in row["after"].get("records", ())}
    ops = trace.count("archive_aborted"), trace.count("finish_dead_letter")
    return min(ops) > 0 and "ARCHIVING" in states


@pytest.mark.long
def test_attached_and_switched_while_members_work(tmp_path: Path) -> None:
    with broker(tmp_path, None) as running:
        running.work_on("produce,produce,accept,mixed,mixed,stall")
        options = f"dir={running.trace},records=1,settle_ms=2000,min_free=0"
        running.attach(options)
        eventually(lambda: len(read(running.trace).rows) > MANY)
        running.attach("off")
        between = len(_settled(running).rows)
        time.sleep(3)
        assert len(read(running.trace).rows) == between
        running.attach("on")
        eventually(lambda: len(read(running.trace).rows) > between + MANY)
        (running.trace / "off").touch()
        assert len(_settled(running).rows) > between
        trace = running.recorded()
    assert sound(trace)
    assert {rows[0]["op"] for rows in trace.instances.values()} == {"checkpoint"}
    assert {key[2] for key in trace.instances} == {0, 1}
    assert len(trace.trailers) == len(trace.headers) >= 2


@pytest.mark.parametrize("seconds", [0, pytest.param(2, marks=pytest.mark.long)])
def test_a_checkpoint_comes_after_some_time_too(seconds: int, tmp_path: Path) -> None:
    with broker(tmp_path, f"checkpoint_s={seconds}") as running:
        running.work("produce,accept,mixed", 3 + 3 * seconds)
        trace = running.recorded()
    assert sound(trace)
    for rows in trace.instances.values():
        # What was not heard of while it was initialized is told at once.
        told = [row["time_ms"] for row in rows[5:] if row["op"] == "checkpoint"]
        assert bool(told) == bool(seconds)
        assert all(later - before >= 1000 * seconds for before, later in pairwise(told))


@pytest.mark.long
def test_a_write_that_fails_after_a_checkpoint_gives_its_records_back(tmp_path: Path) -> None:
    with broker(tmp_path, None, broken="unwritten") as running:
        running.work_on("produce,mixed,mixed,mixed", "share.record.lock.duration.ms=10000")
        running.attach(f"dir={running.trace},records=1,settle_ms=1500,min_free=0")
        eventually(lambda: switched(running) and bool(given_back(read(running.trace))))
        trace = running.recorded()
    assert sound(trace)
    assert given_back(trace)


def switched(running: Broker) -> bool:
    """Let the recorder write for a while, then begin anew with a checkpoint."""
    time.sleep(5)
    running.attach("off")
    running.attach("on")
    return True


def given_back(trace: Trace) -> list[Row]:
    """Return the writes that fail and were outstanding at the beginning of an instance."""
    found = []
    for rows in trace.instances.values():
        told = {write["id"] for write in rows[0].get("outstanding", ())}
        waiting = any(part[4] and part[5] for part in rows[0]["after"]["records"])
        for row in rows[1:]:
            failed = row["op"] == "complete_write" and row["result"]["status"] != "NONE"
            found += [row] if waiting and failed and row["id"] in told else []
    return found


def _settled(running: Broker) -> Trace:
    """Return the trace once it is switched off and its file has ended."""
    eventually(lambda: _ended(read(running.trace)))
    return read(running.trace)


def _ended(trace: Trace) -> bool:
    return len(trace.trailers) >= len(trace.headers)
