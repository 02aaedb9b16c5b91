"""Members that crash, brokers that end, transactions, dead letters, and attaching late."""

import time
from pathlib import Path

import pytest

from tests.recorder.account import Row, Trace, numbers_that_differ, problems, read
from tests.recorder.judged import conforms
from tests.recorder.released import Broker, broker

pytestmark = [pytest.mark.slow, pytest.mark.broker]

DEAD_LETTERS = "errors.deadletterqueue.topic.name=dlq.g"
CREATE = "errors.deadletterqueue.auto.create.topics.enable=true"


def sound(trace: Trace) -> bool:
    """Return whether the rows are as they should be, and the rules allow all of them."""
    return (problems(trace), numbers_that_differ(trace)) == ([], []) and conforms(trace)


def test_a_member_that_crashes_and_brokers_that_end(tmp_path: Path) -> None:
    with broker(tmp_path, "records=1") as first:
        crashing = first.start_work("produce,mixed,mixed", 60)
        first.work("produce,accept", 5)
        crashing.kill()
        crashing.communicate()
        first.work("accept,limit", 4)
        first.stop()
    with broker(tmp_path, "records=1") as second:
        second.work("produce,mixed", 4)
        second.kill()
    with broker(tmp_path, "records=1") as third:
        third.work("produce,accept", 4)
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
    with broker(tmp_path, "records=1", features=features, settings=settings) as running:
        committed = "share.isolation.level=read_committed"
        running.work("produce,transactions,transactions,mixed,accept", 12, committed, DEAD_LETTERS)
        running.stop()
        trace = read(running.trace)
    assert sound(trace)
    assert trace.count("archive_aborted") > 0
    assert trace.count("finish_dead_letter") > 0
    states = {part[2] for row in trace.rows for part in row["after"].get("records", ())}
    assert "ARCHIVING" in states


def test_attached_and_switched_while_members_work(tmp_path: Path) -> None:
    with broker(tmp_path, None) as running:
        working = running.start_work("produce,produce,accept,mixed,mixed,stall", 50)
        time.sleep(10)
        options = f"dir={running.trace},records=1,settle_ms=2000,min_free=0"
        running.attach(options)
        time.sleep(10)
        running.attach("off")
        between = len(_settled(running).rows)
        time.sleep(3)
        assert len(read(running.trace).rows) == between
        running.attach("on")
        time.sleep(8)
        (running.trace / "off").touch()
        assert len(_settled(running).rows) > between
        working.kill()
        working.communicate()
        running.stop()
        trace = read(running.trace)
    assert sound(trace)
    assert {rows[0]["op"] for rows in trace.instances.values()} == {"checkpoint"}
    assert {key[2] for key in trace.instances} == {0, 1}
    assert len(trace.trailers) == len(trace.headers) >= 2


def test_a_write_that_fails_after_a_checkpoint_gives_its_records_back(tmp_path: Path) -> None:
    with broker(tmp_path, None, broken="unwritten") as running:
        lock = "share.record.lock.duration.ms=10000"
        working = running.start_work("produce,mixed,mixed,mixed", 60, lock)
        time.sleep(8)
        running.attach(f"dir={running.trace},records=1,settle_ms=1500,min_free=0")
        for _ in range(4):
            time.sleep(5)
            running.attach("off")
            running.attach("on")
        time.sleep(5)
        working.kill()
        working.communicate()
        running.stop()
        trace = read(running.trace)
    assert sound(trace)
    assert given_back(trace)


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
    trace = read(running.trace)
    until = time.monotonic() + 10
    while len(trace.trailers) < len(trace.headers):
        assert time.monotonic() < until
        time.sleep(0.2)
        trace = read(running.trace)
    return trace
