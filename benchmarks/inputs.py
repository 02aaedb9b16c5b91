"""What is read as text: recorded events, a dump of the state topic, a request log, to a verdict.

Beside each stands one JSON decoding a line of the same text, without which none of it is read.
What was recorded is repeated under other names, so that no value of one copy serves another.
"""

import gc
import gzip
import io
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from benchmarks.timing import DATA, KAFKA_TRACE, ROUNDS, check_replay
from operations.state_topic import ReadStates
from operations.state_topic_file import RecordAt, read_records
from replay.observed.inputs import sorted_out
from replay.observed.run import judge_inputs
from replay.observed.settings import Assumed
from replay.plan import Plan
from replay.processes import ALLOCATIONS, HereRunner
from replay.run import replay_sources
from replay.sources import find_sources


def show_inputs(copies: int) -> None:
    """Measure and print, with the records of a dump and the lines of a log so many times."""
    before = gc.get_threshold()
    gc.set_threshold(ALLOCATIONS)  # As in a process that does nothing else.
    try:
        _show_each(copies)
    finally:
        gc.set_threshold(*before)


def _show_each(copies: int) -> None:
    _show("recorded events, spec and impl", _replay, [KAFKA_TRACE], _lines(KAFKA_TRACE), 10_000)
    with tempfile.TemporaryDirectory(prefix="sharespec-bench-") as name:
        folder = Path(name)
        dump = folder / "state-topic.txt"
        text = gzip.decompress((DATA / "observed" / "state-topic.txt.gz").read_bytes())
        text = text.replace(b'{"key":', b'\n{"key":').strip()
        some = [text.replace(b'"g1"', b'"g1-%d"' % nth) for nth in range(copies)]
        dump.write_bytes(b"\n".join(some))
        _show("dump of the state topic", _state_topic, [dump], _lines(dump), 50_000)
        log = gzip.decompress((DATA / "observed" / "kafka-request.log.gz").read_bytes())
        logs = [folder / f"request-{nth}.log" for nth in range(copies)]
        for nth, path in enumerate(logs):
            named = log.replace(b'"memberId":"', b'"memberId":"%d-' % nth)
            path.write_bytes(named.replace(b'"g1"', b'"g1-%d"' % nth))
        _show("request log", _judge, logs, [x for path in logs for x in _lines(path)], 20_000)


def _lines(path: Path) -> list[bytes]:
    """Return the JSON of each line."""
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    return [line[line.index(b"{") :] for line in text.splitlines() if b"{" in line]


def _show(
    name: str,
    work: Callable[[Sequence[Path]], None],
    paths: Sequence[Path],
    lines: Sequence[bytes],
    goal: int,
) -> None:
    work(paths)  # To compile, and to import.
    times = [(_seconds(lambda: work(paths)), _seconds(lambda: _load(lines))) for _ in range(ROUNDS)]
    working, loading = (statistics.median(each) for each in zip(*times, strict=True))
    click.echo(
        f"{name}: {len(lines):,} lines, {len(lines) / working:,.0f} a CPU second, "
        f"{loading / working:.2f} of one JSON decoding a line ({len(lines) / loading:,.0f}); "
        f"to reach: {goal:,}"
    )


def _seconds(work: Callable[[], None]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def _load(lines: Sequence[bytes]) -> None:
    decoder = json.JSONDecoder()
    for line in lines:
        decoder.raw_decode(line.decode())  # Behind a request there may be more text.


def _replay(paths: Sequence[Path]) -> None:
    check_replay(replay_sources(HereRunner(), find_sources(paths), Plan()))


def _state_topic(paths: Sequence[Path]) -> None:
    topic = ReadStates()
    for path in paths:
        for item in read_records(io.BytesIO(path.read_bytes())):
            if not isinstance(item, RecordAt):
                raise RuntimeError(item.message)  # noqa: TRY004 - what was read is wrong
            topic.take(item.record)


def _judge(paths: Sequence[Path]) -> None:
    inputs, _ = sorted_out(paths)
    judged = judge_inputs(inputs, Assumed())
    if judged.unusable or judged.counts.conforms != judged.counts.partitions:
        raise RuntimeError(f"the log shows something: {judged.counts}")
