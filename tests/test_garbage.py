"""Whatever is read may be garbage: it ends in an error of ours that names it, and never otherwise.

A few hundred inputs of each kind in every run; `make test-all` takes many more (SHARESPEC_GARBAGE).
"""

import functools
import io
import json
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conformance.cores import asks
from conformance.cores.builtin import EngineTarget
from conformance.cores.kit import CORES
from conformance.cores.protocol import decoded, encoded, hello_from
from conformance.cores.scene import Scene
from conformance.cores.target import Capabilities, CoreHello, Reply, Request
from conformance.known import KnownError, read_known
from conformance.target import TargetError
from model.config import SharePartitionConfig
from model.errors import ErrorCode, IllegalChoiceError, InvalidValueError
from model.operations import AcknowledgementBatch
from model.states import AcquireMode
from model.trace_arrow import SCHEMA, table_from_rows
from model.trace_codec import event_from_row
from model.trace_json import object_from_row
from operations.local import opened_traces, share_partitions
from operations.state_topic import ReadStates
from operations.state_topic_file import RecordAt, read_records
from replay.observed.inputs import Content, Input, read
from replay.observed.rows import fact_lines, line_of
from replay.request_log.scan import FileTally
from replay.sources import Form, strict_row
from tests.coordinator_recording import records
from tests.garbage import as_json, mangled, several, spoiled, spoiled_json, tried
from tests.replay.observed.real import lines
from tests.replay.samples import draft_rows, kafka_rows

FEW, MANY = 150, int(os.environ.get("SHARESPEC_GARBAGE", "20000"))
AS_MANY = pytest.mark.parametrize(
    "examples", [FEW, pytest.param(MANY, marks=[pytest.mark.slow, pytest.mark.long])]
)


def reading(read_it: Callable[[Any], object], error: type[Exception]) -> Callable[[Any], str]:
    """Return what tells whether an input is read, or refused by an error of one line."""

    def try_it(given: object) -> str:
        try:
            read_it(given)
        except error as refusal:
            return "refused" if "\n" not in str(refusal) else f"several lines: {refusal}"
        return "read"

    return try_it


ROWS = [object_from_row(row) for row in (*kafka_rows(count=40), *draft_rows())]


@AS_MANY
def test_a_line_of_a_trace(examples: int) -> None:
    try_it = reading(lambda line: event_from_row(strict_row(line)), InvalidValueError)
    assert tried(spoiled_json(ROWS), examples, try_it) == {"read", "refused"}


SCALARS = [pa.int64(), pa.int32(), pa.string(), pa.binary(), pa.float64(), pa.bool_(), pa.null()]
TYPES = [*SCALARS, *(pa.list_(each) for each in SCALARS)]


WHOLE = table_from_rows([dict(row) for row in kafka_rows(count=6)])
# Columns without a value take most of the time; each is added to some files.
TABLE = WHOLE.select([name for name in WHOLE.column_names if WHOLE[name].null_count < len(WHOLE)])


def other_columns() -> Iterator[pa.Table]:
    """Yield the trace without each column, and with that column of null or of another type."""
    for field in SCHEMA:
        without = TABLE.select([name for name in TABLE.column_names if name != field.name])
        yield without
        for kind in (field.type, *TYPES):
            yield without.append_column(field.name, pa.nulls(len(TABLE), kind))


TABLES = (
    [TABLE.slice(0, rows) for rows in range(len(TABLE) + 1)],
    [TABLE.take(order) for order in ([0, 2, 1, 3, 4, 5], [5, 4, 3, 2, 1, 0], [1, 2, 3, 4, 5, 0])],
    list(other_columns()),
)


@functools.cache  # To write one takes as long as to try it.
def parquet_written(kind: int, number: int) -> bytes:
    """A table as a file."""
    written = io.BytesIO()
    pq.write_table(TABLES[kind][number], written)
    return written.getvalue()


def parquet_file(draw: Random) -> bytes:
    """A table as a file, mostly with noise in one place."""
    kind = draw.randrange(len(TABLES))
    content = bytearray(parquet_written(kind, draw.randrange(len(TABLES[kind]))))
    noise = draw.randbytes(draw.choice([0, 1, 1, 1, 3, 3, 6, 6]))
    # Noise stays out of the footer: of some, PyArrow's own code ends the process.
    footer = 8 + int.from_bytes(content[-8:-4], "little")
    place = draw.randrange(len(content) - footer - len(noise))
    content[place : place + len(noise)] = noise
    return bytes(content)


@AS_MANY
def test_the_columns_of_a_parquet_file(
    examples: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.parquet"
    monkeypatch.setattr("replay.gather.in_child", lambda work: iter(work()))  # A fork costs most.

    def try_it(content: bytes) -> bool:
        path.write_bytes(content)
        with opened_traces([path]) as traces:
            parts = list(share_partitions(traces))
            problems = [*traces.problems, *(part.problem for part in parts if part.problem)]
            assert not any("\n" in problem.message for problem in problems)
            return bool(problems)

    assert tried(parquet_file, examples, try_it) == {True, False}


RECORDS = [written for _, _, written in islice(records(), 8)]


def dump_line(draw: Random) -> bytes:
    """A line of a dump in one of its two forms."""
    record = mangled(draw, RECORDS)
    line = as_json(record)
    if isinstance(record, dict) and draw.random() < 0.5:
        key, payload = as_json(record.get("key")), as_json(record.get("value"))
        line = b" key: " + key + b" payload: " + payload + b"\n"
    return spoiled(draw, line)


@AS_MANY
def test_a_dump_of_the_state_topic(examples: int) -> None:
    seen: set[type] = set()

    def try_it(texts: list[bytes]) -> None:
        topic = ReadStates()
        for item in read_records(io.BytesIO(b"".join(texts))):
            seen.add(type(item))
            if isinstance(item, RecordAt):
                assert not any("\n" in text for text in topic.take(item.record))

    tried(several(dump_line, least=0), examples, try_it)
    assert len(seen) == 2


HELLO = {
    "protocol": 1,
    "name": "x",
    "version": "2",
    "profile": "kip",
    "capabilities": {"acquire_modes": ["record_limit"], "renew": False, "write_errors": []},
}


@AS_MANY
def test_the_hello_of_a_driver(examples: int) -> None:
    try_it = reading(lambda line: hello_from(decoded(line), Capabilities), TargetError)
    assert tried(spoiled_json([HELLO]), examples, try_it) == {"read", "refused"}


BEGIN = (asks.CoreTakeOver(SharePartitionConfig(2, 8, 100)), asks.CoreProduce(((0, 4),)))
FETCH = asks.CoreFetch("m1", AcquireMode.RECORD_LIMIT, 500, 500, 3)
SEQUENCE = (
    *BEGIN,
    FETCH,
    asks.CoreAcknowledge("m1", (AcknowledgementBatch(0, 2, (1,)),), (ErrorCode.PENDING,)),
    asks.CoreCompleteWrite(0, ErrorCode.NONE),
    asks.CoreAdvanceTime(200),
    FETCH,
)


class Spoiling:
    """The specification, whose nth answer is changed."""

    def __init__(self, change: Callable[[Any], Any], nth: int) -> None:
        self._right = EngineTarget("spec")
        self._change, self._left = change, nth

    def hello(self) -> CoreHello:
        return self._right.hello()

    def reset(self) -> None:
        self._right.reset()

    def close(self) -> None: ...

    def apply(self, seq: int, operation: Request, answers: Sequence[ErrorCode]) -> Reply:
        try:
            right = self._right.apply(seq, operation, answers)
        except IllegalChoiceError as error:  # Of a write that was spoiled there is no completion.
            right = {"error": str(error)}
        self._left -= 1
        reply = json.loads(encoded(right))
        return decoded(as_json(self._change(reply))) if self._left == -1 else right


@AS_MANY
def test_the_answers_of_a_driver(examples: int) -> None:
    deviates = set()

    def ask(draw: Random) -> None:
        target = Spoiling(lambda reply: mangled(draw, [reply]), draw.randrange(7))
        scene = Scene(target, target.hello())
        deviations = [scene.ask(ask) for ask in SEQUENCE]
        deviates.add(any(deviations))

    found = tried(lambda draw: draw, examples, reading(ask, TargetError))
    assert (found, deviates) == ({"read", "refused"}, {True, False})


COMMAND = {"ask": "Fetch", "member": "m", "mode": "record_limit", "batch_size": 1}
KNOWN = {
    "name": "n",
    "title": "t",
    "reason": "r",
    "signature": ["RULE", "acquire"],
    "needs": ["a"],
    "sequence": json.dumps([{**COMMAND, "max_records": 1, "max_batches": 1}]),
}


def as_toml(value: object) -> bytes:
    """TOML of what it can hold of a value; JSON of the rest, which it cannot."""
    entries = value if isinstance(value, list) else [value]
    text = b""
    for entry in entries:
        text += b"[[deviation]]\n"
        pairs = entry.items() if isinstance(entry, dict) else [("name", entry)]
        text += b"".join(as_json(name) + b" = " + as_json(each) + b"\n" for name, each in pairs)
    return text


def known_file(draw: Random) -> bytes:
    """A file of which a field, or the sequence in it, is mangled."""
    if draw.random() < 0.5:
        return spoiled(draw, as_toml(mangled(draw, [[KNOWN]])))
    sequence = as_json(mangled(draw, [[{**COMMAND, "max_records": 1, "max_batches": 1}]]))
    return spoiled(draw, as_toml({**KNOWN, "sequence": sequence.decode()}))


@AS_MANY
def test_a_file_of_known_deviations(examples: int, tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    plain = reading(lambda _text: read_known(path), KnownError)
    with_sequences = reading(lambda _text: read_known(path, CORES.read), KnownError)

    def try_it(text: bytes) -> tuple[str, str]:
        path.write_bytes(text)
        return plain(text), with_sequences(text)

    found = tried(known_file, examples, try_it)
    assert found == {("read", "read"), ("read", "refused"), ("refused", "refused")}


MARK = "Completed request:"


def logged() -> list[tuple[str, Any]]:
    """The first request of each kind and version that is not long: what is before it, and it."""
    kinds: dict[str, tuple[str, Any]] = {}
    for line in lines():
        head, _, text = line.partition(MARK)
        data, _ = json.JSONDecoder().raw_decode(text)
        name = f"{data['requestHeader']['requestApiKeyName']} {len(kinds) % 3}"
        if len(text) < 6_000:
            kinds.setdefault(name, (head + MARK, data))
    return list(kinds.values())


def used(log: Input) -> tuple[bool, bool]:
    """Return whether some lines of a log cannot be used, and whether some are requests."""
    tally = FileTally(log.path)
    assert all(line_of(each) for each in read(log, tally))
    assert fact_lines(tally.facts) is not None
    return tally.unusable > 0, tally.requests > 0


@AS_MANY
def test_a_request_log(examples: int, tmp_path: Path) -> None:
    requests = logged()
    path = tmp_path / "kafka-request.log"
    head = requests[0][0].encode()
    seeds = [data for _, data in requests]

    def line(draw: Random) -> bytes:
        return spoiled(draw, head + as_json(mangled(draw, seeds)) + b"\n")

    def try_it(texts: list[bytes]) -> tuple[bool, bool]:
        path.write_bytes(b"".join(texts))
        return used(Input(str(path), Form.LINES, path.stat().st_size, Content.REQUEST_LOG))

    found = tried(several(line), examples, try_it)
    assert list(map(any, zip(*found, strict=True))) == [True, True]


@AS_MANY
def test_observations(examples: int, tmp_path: Path) -> None:
    whole = tmp_path / "whole.log"
    whole.write_text("".join(lines()[:200]))
    log = Input(str(whole), Form.LINES, whole.stat().st_size, Content.REQUEST_LOG)
    right = [json.loads(line_of(each)) for each in read(log, FileTally(str(whole)))][:40]
    path = tmp_path / "t.observed"
    facts = [
        {"observed": "node", "node": 1},
        {"observed": "name", "topic": "t", "name": "n"},
        {"observed": "gap", "broker": "b", "begin": 1.0, "end": 2.0, "reason": "r"},
    ]

    def try_it(texts: list[bytes]) -> tuple[bool, bool]:
        path.write_bytes(b"\n".join(texts))
        return used(Input(str(path), Form.LINES, 1, Content.OBSERVED))

    found = tried(several(spoiled_json([*right, *facts])), examples, try_it)
    assert list(map(any, zip(*found, strict=True))) == [True, True]
