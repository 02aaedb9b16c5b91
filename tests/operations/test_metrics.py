import json
from collections import Counter as Bag
from functools import cache
from typing import Any

import pytest

from model.config import SharePartitionConfig
from model.errors import ErrorCode
from model.operations import AdvanceTime, AlterConfig, FinishDeadLetter
from model.outcome import Answer, Outcome
from model.profile import KAFKA
from model.ranges import OffsetRange
from model.snapshot import SharePartitionSnapshot
from model.trace import TraceEvent
from operations.local import opened_traces, share_partitions
from operations.metrics import (
    METRICS,
    NOT_DETERMINED,
    Counter,
    Figures,
    Interval,
    measured,
    pending_locks,
)
from spec.step import apply
from tests.operations.test_in_flight import World
from tests.replay.samples import events, kafka_rows
from tests.traces import EACH_TRACE, FOLDER, trace_events, trace_lines

FAULTS, LOG_START = "kafka-write-faults.jsonl.gz", "kafka-log-start.jsonl.gz"
KINDS = ("gap", "accept", "release", "reject", "renew")


def value(name: str, figures: Figures) -> float | None:
    return next(metric.value(figures) for metric in METRICS if metric.name == name)


@cache
def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in trace_lines(name)]


@cache
def recorded(name: str) -> dict[str, Figures]:
    """Return the recorded figures of each share-partition of a trace of Apache Kafka."""
    counters: dict[str, Counter] = {}
    for event in trace_events(name):
        counter = counters.setdefault(event.partition, Counter(Interval()))
        counter.note(event, event.outcome, event.after.end_offset - event.after.start_offset)
    return {partition: counter.figures for partition, counter in counters.items()}


@EACH_TRACE
def test_acknowledgements_by_an_independent_count(name: str) -> None:
    """Count the acknowledgements answered with success, at once or when their write ended."""
    rows = {(row["partition"], row["seq"]): row for row in lines(name)}
    answered = [row for row in rows.values() if _succeeded(row)]
    for row in rows.values():
        done = (c for c in row["completed"] if c["status"] == "NONE")
        late = [rows[row["partition"], c["seq"]] for c in done]
        answered += [earlier for earlier in late if earlier["op"] == "acknowledge"]
    offsets: Bag[str] = Bag()
    for row in answered:
        for first, last, types in row["batches"]:
            for kind in types if len(types) > 1 else types * (last - first + 1):
                offsets[KINDS[kind]] += 1
    total = Figures.together(recorded(name).values())
    assert {KINDS[k]: n for k, n in total.acknowledged.items()} == dict(offsets)
    assert value("share-acknowledgement-count", total) == sum(offsets.values())
    for kind in KINDS[1:]:
        name_ = f"record-acknowledgement-count{{ack-type={kind}}}"
        assert value(name_, total) == offsets[kind]


def _succeeded(row: dict[str, Any]) -> bool:
    return bool(row["op"] == "acknowledge" and row["result"]["status"] == "NONE")


@EACH_TRACE
def test_writes_timeouts_and_requests_by_an_independent_count(name: str) -> None:
    rows, total = lines(name), Figures.together(recorded(name).values())
    writes = [(row, write) for row in rows for write in row["writes"]]
    assert value("write-total", total) == len(writes)
    assert value("AcquisitionLockTimeout count", total) == sum(
        last - first + 1
        for row, write in writes
        for first, last, *_ in write["state_batches"]
        if row["op"] == "advance_time"
    )
    acknowledgements = [row for row in rows if row["op"] == "acknowledge"]
    assert value("TotalShareAcknowledgementRequests count", total) == len(acknowledgements)
    late = [c["status"] for row in rows for c in row["completed"] if c["status"] != "NONE"]
    at_once = [r for r in acknowledgements if r["result"]["status"] not in ("NONE", "PENDING")]
    failed = value("FailedShareAcknowledgementRequests count", total)
    assert failed is not None
    assert len(at_once) <= failed <= len(at_once) + len(late)
    assert value("num-partitions", total) == 6
    assert value("InFlightMessageCount, highest of a share-partition", total) == max(
        row["after"]["end_offset"] - row["after"]["start_offset"] for row in rows
    )


@pytest.mark.xdist_group(FAULTS)
def test_latencies_are_those_of_writes_that_were_answered_later() -> None:
    total = Figures.together(recorded(FAULTS).values())
    made: dict[tuple[str, int], int] = {}
    took: list[int] = []
    for row in lines(FAULTS):
        for write in row["writes"]:
            made[row["partition"], write["id"]] = row["time_ms"]
        if row["op"] == "complete_write":
            took.append(row["time_ms"] - made[row["partition"], row["id"]])
    assert value("write-latency-max", total) == max(took)
    assert value("write-latency-avg", total) == sum(took) / len(took)
    assert value("write-latency-avg", Figures()) is value("write-latency-max", Figures()) is None


def test_an_interval_counts_what_lies_in_it_and_two_make_up_the_whole() -> None:
    found = events(kafka_rows(count=400))
    middle = found[200].time_ms

    def counted(interval: Interval) -> Figures:
        counter = Counter(interval)
        for event in found:
            counter.note(event, event.outcome, 1)
        return counter.figures

    before, after = counted(Interval(0, middle)), counted(Interval(middle + 1))
    whole = counted(Interval())
    assert before.requests + after.requests == whole.requests
    assert before.writes + after.writes == whole.writes
    assert (before.began_ms, before.ended_ms) == (0, middle)
    assert after.began_ms is not None
    assert after.began_ms > middle
    rate = value("write-rate", whole)
    assert rate == whole.writes / (found[-1].time_ms / 1000)
    assert value("write-rate", Figures()) is None


@pytest.mark.slow
@pytest.mark.xdist_group(LOG_START)
def test_recorded_and_expected_differ_where_kafka_writes_what_the_log_lost() -> None:
    """Kafka lets locks expire of records below the log start offset, and reports them."""
    with opened_traces([FOLDER / LOG_START]) as traces:
        found = {
            rows.partition: measured(rows, KAFKA, Interval())[0]
            for rows in share_partitions(traces)
        }
    differing = {p for p, m in found.items() if m.recorded.timeouts != m.expected.timeouts}
    moved = {row["partition"] for row in lines(LOG_START) if row["op"] == "advance_log_start"}
    assert differing
    assert differing <= moved
    for m in found.values():
        assert m.recorded.timeouts >= m.expected.timeouts
        assert m.recorded.acknowledged == m.expected.acknowledged
        assert m.recorded.width == m.expected.width


def test_locks_that_end_during_a_write_are_counted_apart() -> None:
    world = World()
    world.acquire("m1", 0, 4)
    world.acknowledge(1, 0, 2, Answer(ErrorCode.PENDING))
    before = world.state
    assert [pending_locks(before, now) for now in (29_999, 30_000, 90_000)] == [0, 3, 3]
    world.do(AdvanceTime(30_000))
    assert pending_locks(world.state, 90_000) == 0
    assert world.seen()[0].pending


def test_a_gauge_keeps_its_value_from_before_the_interval() -> None:
    found = events(kafka_rows(count=60))
    last = found[-1].time_ms
    later, middle = Counter(Interval(last + 1)), Counter(Interval(last))
    for event, width in zip(found, range(60, 0, -1), strict=True):
        later.note(event, event.outcome, width)
        middle.note(event, event.outcome, width)
    assert (later.figures.width, later.figures.width_max) == (1, 1)
    assert later.figures.requests == 0
    before = sum(event.time_ms < last for event in found)
    assert 0 < before < 60
    assert (middle.figures.width, middle.figures.width_max) == (1, 61 - before)


def test_records_that_went_to_the_dead_letter_queue() -> None:
    world = World()
    world.do(AlterConfig(SharePartitionConfig(dead_letter_queue=True)))
    world.acquire("m1", 0, 4)
    world.acknowledge(3, 0, 2)
    finish = FinishDeadLetter((OffsetRange(0, 1),))
    outcome = apply(world.state, finish).outcome
    counter, seen = Counter(Interval()), SharePartitionSnapshot(0, 0, 0)
    counter.note(TraceEvent("p", 0, 0, finish, outcome, seen), outcome, 0)
    assert value("DeadLetterQueueRecordCount count", counter.figures) == 2
    assert value("AcquisitionLockTimeout count", counter.figures) == 0


def test_each_metric_that_a_trace_does_not_determine_has_a_reason() -> None:
    assert all(NOT_DETERMINED.values())
    names = {metric.name for metric in METRICS}
    assert not names & set(NOT_DETERMINED)


def test_a_new_leader_answers_no_earlier_request() -> None:
    counter = Counter(Interval())
    for event in events(kafka_rows("write-faults", count=21)):
        counter.note(event, event.outcome, 0)
    before = counter.figures.acknowledged.copy()
    (start,) = events(kafka_rows("write-faults", count=1))
    counter.note(start, Outcome(), 0)
    assert counter.figures.acknowledged == before
