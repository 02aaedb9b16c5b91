"""Whatever is read may be garbage: it ends in an error of ours that names it, and never otherwise.

A few hundred inputs of each kind in every run; `make test-all` takes many more (SHARESPEC_GARBAGE).
"""

import io
import json
import os
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.cores import asks
from conformance.cores.builtin import EngineTarget
from conformance.cores.kit import CORES
from conformance.cores.protocol import decoded, encoded, hello_from
from conformance.cores.scene import Scene
from conformance.cores.target import Capabilities, Hello, Reply, Request
from conformance.known import KnownError, read_known
from conformance.target import TargetError
from model.config import SharePartitionConfig
from model.errors import ErrorCode, IllegalChoiceError, InvalidValueError
from model.operations import AcknowledgementBatch
from model.states import AcquireMode
from model.trace_arrow import table_from_rows
from model.trace_codec import event_from_row
from model.trace_json import object_from_row
from operations.local import opened_traces, share_partitions
from operations.state_topic import Topic
from operations.state_topic_file import RecordAt, read_records
from replay.observed.inputs import Content, Input, read
from replay.observed.rows import line_of
from replay.request_log.scan import Tally
from replay.sources import Form, strict_row
from tests.coordinator_recording import records
from tests.garbage import as_json, mangled, spoiled
from tests.replay.observed.real import lines
from tests.replay.samples import draft_rows, kafka_rows

FEW, MANY = 150, int(os.environ.get("SHARESPEC_GARBAGE", "20000"))
AS_MANY = pytest.mark.parametrize(
    "examples", [FEW, pytest.param(MANY, marks=[pytest.mark.slow, pytest.mark.long])]
)


def tried(garbage: st.SearchStrategy[Any], examples: int, try_it: Callable[[Any], None]) -> None:
    """Try so many inputs."""

    @settings(max_examples=examples, database=None)
    @given(garbage)
    def run(value: Any) -> None:  # noqa: ANN401 - whatever is tried
        try_it(value)

    run()


def refused(error: Exception, what: str) -> str:
    """Check that an error is one line."""
    assert "\n" not in str(error)
    return what


ROWS = [object_from_row(row) for row in (*kafka_rows(count=40), *draft_rows())]


@AS_MANY
def test_a_line_of_a_trace(examples: int) -> None:
    seen = set()

    def try_it(line: bytes) -> None:
        try:
            event_from_row(strict_row(line))
            seen.add("an event")
        except InvalidValueError as error:
            seen.add(refused(error, "none"))

    tried(spoiled(mangled(ROWS).map(as_json)), examples, try_it)
    assert seen == {"an event", "none"}


SCALARS = [pa.int64(), pa.int32(), pa.string(), pa.binary(), pa.float64(), pa.bool_(), pa.null()]
TYPES = st.sampled_from([*SCALARS, *(pa.list_(each) for each in SCALARS)])


@st.composite
def parquet_tables(draw: st.DrawFn) -> pa.Table:
    """A trace of which a column has other values, is missing, or is of another type."""
    rows = [dict(row) for row in kafka_rows(count=6)]
    table = table_from_rows(rows)
    number = draw(st.integers(0, table.num_columns - 1))
    name = table.schema.field(number).name
    what = draw(st.sampled_from(["type", "type", "missing", "null", "order", "cut"]))
    if what == "missing":
        return table.drop_columns([name])
    if what == "order":
        return table.take(draw(st.permutations(range(len(rows)))))
    if what == "cut":
        return table.slice(0, draw(st.integers(0, len(rows))))
    kind = table.schema.field(number).type if what == "null" else draw(TYPES)
    return table.set_column(number, name, pa.nulls(len(rows), kind))


@AS_MANY
def test_the_columns_of_a_parquet_file(
    examples: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path, seen = tmp_path_factory.mktemp("garbage") / "t.parquet", set()

    def try_it(table: pa.Table, noise: tuple[int, bytes]) -> None:
        pq.write_table(table, path)
        content = bytearray(path.read_bytes())
        # Noise stays out of the footer: of some, PyArrow's own code ends the process.
        footer = 8 + int.from_bytes(content[-8:-4], "little")
        place = noise[0] % (len(content) - footer - len(noise[1]))
        content[place : place + len(noise[1])] = noise[1]
        path.write_bytes(content)
        with opened_traces([path]) as traces:
            parts = list(share_partitions(traces))
            problems = [*traces.problems, *(part.problem for part in parts if part.problem)]
            seen.add(bool(problems))
            assert not any("\n" in problem.message for problem in problems)

    noise = st.tuples(st.integers(0, 1 << 16), st.sampled_from([b"", b""]) | st.binary(max_size=6))
    both = st.tuples(parquet_tables(), noise)
    tried(both, min(examples, 2_000) // 2, lambda pair: try_it(*pair))
    assert seen == {True, False}


RECORDS = [written for _, _, written in islice(records(), 8)]


def dump_line(record: dict[str, Any]) -> bytes:
    return b" key: " + as_json(record.get("key")) + b" payload: " + as_json(record.get("value"))


@AS_MANY
def test_a_dump_of_the_state_topic(examples: int) -> None:
    seen: set[type] = set()

    def try_it(texts: list[bytes]) -> None:
        topic = Topic()
        for item in read_records(io.BytesIO(b"".join(texts))):
            seen.add(type(item))
            if isinstance(item, RecordAt):
                assert not any("\n" in text for text in topic.take(item.record))

    records_ = mangled(RECORDS, deep=True)
    plain = records_.map(as_json)
    dumped = records_.filter(lambda each: isinstance(each, dict)).map(dump_line)
    text = spoiled(plain | dumped.map(lambda line: line + b"\n"))
    tried(st.lists(text, max_size=4), examples, try_it)
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
    seen = set()

    def try_it(line: bytes) -> None:
        try:
            hello_from(decoded(line), Capabilities)
            seen.add("a hello")
        except TargetError as error:
            seen.add(refused(error, "none"))

    tried(spoiled(mangled([HELLO]).map(as_json)), examples, try_it)
    assert seen == {"a hello", "none"}


BEGIN = (asks.TakeOver(SharePartitionConfig(2, 8, 100)), asks.Produce(((0, 4),)))
FETCH = asks.Fetch("m1", AcquireMode.RECORD_LIMIT, 500, 500, 3)
SEQUENCE = (
    *BEGIN,
    FETCH,
    asks.Acknowledge("m1", (AcknowledgementBatch(0, 2, (1,)),), (ErrorCode.PENDING,)),
    asks.CompleteWrite(0, ErrorCode.NONE),
    asks.AdvanceTime(200),
    FETCH,
)


class Spoiling:
    """The specification, whose nth answer is changed."""

    def __init__(self, change: Callable[[Any], Any], nth: int) -> None:
        self._right = EngineTarget("spec")
        self._change, self._left = change, nth

    def hello(self) -> Hello:
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
    seen = set()

    def try_it(data: st.DataObject) -> None:
        nth = data.draw(st.integers(0, 6))
        target = Spoiling(lambda reply: data.draw(mangled([reply])), nth)
        scene = Scene(target, target.hello())
        try:
            deviations = [scene.ask(ask) for ask in SEQUENCE]
            seen.add("a deviation" if any(deviations) else "none")
        except TargetError as error:
            seen.add(refused(error, "no answer"))

    tried(st.data(), examples, try_it)
    assert seen == {"a deviation", "none", "no answer"}


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


@AS_MANY
def test_a_file_of_known_deviations(
    examples: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path, seen = tmp_path_factory.mktemp("garbage") / "known.toml", set()

    def try_it(text: bytes) -> None:
        path.write_bytes(text)
        readers: list[tuple[Callable[[], object], type[Exception]]] = [
            (lambda: read_known(path), KnownError),
            (lambda: read_known(path, CORES.read), KnownError),
        ]
        for reader, allowed in readers:
            try:
                reader()
                seen.add("read")
            except allowed as error:
                seen.add(refused(error, "refused"))

    sequences = mangled([[{**COMMAND, "max_records": 1, "max_batches": 1}]]).map(as_json)
    whole = sequences.map(lambda text: as_toml({**KNOWN, "sequence": text.decode()}))
    tried(spoiled(mangled([[KNOWN]]).map(as_toml) | whole), examples, try_it)
    assert seen == {"read", "refused"}


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


@AS_MANY
def test_a_request_log(examples: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    requests = logged()
    path, seen = tmp_path_factory.mktemp("garbage") / "kafka-request.log", set[str]()
    head = requests[0][0].encode()
    line = mangled([data for _, data in requests]).map(lambda data: head + as_json(data) + b"\n")

    def try_it(texts: list[bytes]) -> None:
        path.write_bytes(b"".join(texts))
        tally = Tally(str(path))
        log = Input(str(path), Form.LINES, path.stat().st_size, Content.REQUEST_LOG)
        for each in read(log, tally):
            assert line_of(each)
        tally.facts()
        seen.update(["unusable"] if tally.unusable else [], ["used"] if tally.requests else [])

    tried(st.lists(spoiled(line), min_size=1, max_size=4), examples, try_it)
    assert seen == {"unusable", "used"}


@AS_MANY
def test_observations(examples: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("garbage")
    whole = folder / "whole.log"
    whole.write_text("".join(lines()[:200]))
    log = Input(str(whole), Form.LINES, whole.stat().st_size, Content.REQUEST_LOG)
    right = [json.loads(line_of(each)) for each in read(log, Tally(str(whole)))][:40]
    path, seen = folder / "t.observed", set[str]()
    facts = [
        {"observed": "node", "node": 1},
        {"observed": "name", "topic": "t", "name": "n"},
        {"observed": "gap", "broker": "b", "begin": 1.0, "end": 2.0, "reason": "r"},
    ]

    def try_it(texts: list[bytes]) -> None:
        path.write_bytes(b"\n".join(texts))
        tally = Tally(str(path))
        for each in read(Input(str(path), Form.LINES, 1, Content.OBSERVED), tally):
            assert line_of(each)
        tally.facts()
        seen.update(["unusable"] if tally.unusable else [], ["used"] if tally.requests else [])

    line = spoiled(mangled([*right, *facts]).map(as_json))
    tried(st.lists(line, min_size=1, max_size=4), examples, try_it)
    assert seen == {"unusable", "used"}
