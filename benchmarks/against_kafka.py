"""Acquire and acknowledge in a full window: Apache Kafka's own class, the object and the kernel.

A round acknowledges the oldest log batch of the window and acquires the next one. Kafka's class
runs in a loop of its own in Java, after a warm-up, with writes that are answered at once. The
kernel's time includes what comes before its rules: to turn the recorded columns into arrays.
"""

import itertools
import subprocess
import time
from collections.abc import Iterator

import attrs
import click
import pyarrow as pa

from benchmarks.timing import check_kernel, median_seconds
from conformance.cores.kafka import kafka_java
from conformance.target import TargetError
from impl.kernel import replay_partition
from impl.partition import FastSharePartition
from model.config import SharePartitionConfig
from model.operations import (
    Acknowledge,
    AcknowledgementBatch,
    Acquire,
    Initialize,
    Operation,
    Produce,
)
from model.profile import KAFKA
from model.ranges import OffsetRange
from model.snapshot import DurableState
from model.states import AcknowledgeType, AcquireMode
from model.trace import TraceEvent
from model.trace_arrow import table_from_rows
from model.trace_codec import row_from_event

SIZE, WINDOW = 500, 4_000
"""The records of a log batch, and those that may be in flight."""

MEMBER, NAME = "m1", "g:t:0"
ACCEPT, REJECT = AcknowledgeType.ACCEPT.value, AcknowledgeType.REJECT.value


@attrs.frozen
class Mix:
    """How the records of a log batch are acknowledged.

    ``rounds`` of Kafka's class and ``few`` of the others are timed; the first are run before, too.
    """

    name: str
    text: str
    rounds: int
    few: int
    note: str = ""


MIXES = (
    Mix("together", "500 as one batch", 20_000, 400),
    Mix("each", "500 types in one batch", 1_000, 100),
    Mix("single", "500 one by one", 1_000, 20, "; to reach: 0.1"),
)


def show_against_kafka() -> None:
    """Measure and print; say so where Kafka's class cannot be built."""
    try:
        java, path = kafka_java()
    except TargetError as error:
        click.echo(f"no comparison with Apache Kafka's class: {error}")
        return
    for mix in MIXES:
        kafka = _kafka(java, path, mix)
        _show(f"Kafka, {mix.text}", kafka, kafka)
        _show("  kernel", _kernel(mix), kafka, mix.note or "; to reach: 1")
        _show("  object", _object(mix), kafka)


def _show(name: str, seconds: float, kafka: float, note: str = "") -> None:
    ratio = f"{seconds / kafka:.2f} of the time of Kafka's class"
    click.echo(f"{name:<32} {seconds * 1e6:>10.1f} µs a round  {ratio}{note}")


def _kafka(java: str, path: str, mix: Mix) -> float:
    """Return the seconds of a round in Kafka's class."""
    numbers = map(str, (SIZE, WINDOW, mix.rounds))
    command = [
        java,
        "-XX:+UseSerialGC",
        "-cp",
        path,
        "kafka.server.share.Speed",
        mix.name,
        *numbers,
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - ours
    return int(run.stdout) / 1e9 / mix.rounds


def _object(mix: Mix) -> float:
    """Return the seconds of a round in the implementation as an object."""
    partition, played = FastSharePartition(KAFKA), operations(mix)
    for operation in _filled(played):
        partition.apply(operation)
    rounds = list(played)
    half = len(rounds) // 2
    for operation in rounds[:half]:
        partition.apply(operation)
    begun = time.perf_counter()
    for operation in rounds[half:]:
        partition.apply(operation)
    return (time.perf_counter() - begun) / mix.few


def _kernel(mix: Mix) -> float:
    """Return the seconds of a round in the compiled replay, which compares as well.

    The rounds that fill the window are taken off, in a replay of their own.
    """
    table = _recorded(mix)
    before = len(list(_filled(operations(mix))))
    return (_replayed(table) - _replayed(table.slice(0, before))) / (2 * mix.few)


def _replayed(table: pa.Table) -> float:
    return median_seconds(lambda: check_kernel(replay_partition(table, KAFKA)))


def _filled(played: Iterator[Operation]) -> Iterator[Operation]:
    """Return the operations that come before the rounds."""
    return itertools.islice(played, 2 + WINDOW // SIZE)


def operations(mix: Mix) -> Iterator[Operation]:
    """Yield a beginning, acquisitions that fill the window, and twice the few rounds."""
    full, rounds = WINDOW // SIZE, 2 * mix.few
    log = tuple(OffsetRange(SIZE * n, SIZE * n + SIZE - 1) for n in range(full + rounds))
    config = SharePartitionConfig(partition_max_record_locks=WINDOW)
    yield Initialize(config, 0, 0, DurableState(0, 0))
    yield Produce(log, SIZE * len(log))
    for batch in log[:full]:
        yield _acquire(batch)
    for number in range(rounds):
        yield from _acknowledge(mix, log[number].first)
        yield _acquire(log[number + full])


def _acquire(batch: OffsetRange) -> Acquire:
    return Acquire(MEMBER, AcquireMode.BATCH_OPTIMIZED, SIZE, SIZE, batch.first, (batch,))


def _acknowledge(mix: Mix, first: int) -> Iterator[Acknowledge]:
    last = first + SIZE - 1
    if mix.name == "single":
        for offset in range(first, last + 1):
            yield Acknowledge(MEMBER, (AcknowledgementBatch(offset, offset, (ACCEPT,)),))
        return
    types = (ACCEPT,) if mix.name == "together" else (ACCEPT, REJECT) * (SIZE // 2)
    yield Acknowledge(MEMBER, (AcknowledgementBatch(first, last, types),))


def _recorded(mix: Mix) -> pa.Table:
    """Return the operations as recorded events, without the records after each."""
    partition, rows = FastSharePartition(KAFKA), []
    for seq, operation in enumerate(operations(mix)):
        outcome = partition.apply(operation, seq=seq)
        after = attrs.evolve(partition.snapshot(), records=None)
        rows.append(row_from_event(TraceEvent(NAME, seq, 0, operation, outcome, after)))
    return table_from_rows(rows)
