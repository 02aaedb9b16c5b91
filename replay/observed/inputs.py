"""Which files hold requests of brokers, and what is in them."""

import gzip
import json
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path

import attrs

from model.errors import InvalidValueError
from replay.observed.observation import OF_TOPIC, Observation
from replay.observed.rows import fact_of, observation_of
from replay.request_log.entry import MARK
from replay.request_log.scan import MAX_LOG_LINE_BYTES, FileTally, scan
from replay.sources import Bad, Form, Line, Source, files_within, is_utf8, read_lines

LINES_LOOKED_AT = 50
"""In how many lines a file shows what it is."""


class Content(StrEnum):
    """What a file holds."""

    REQUEST_LOG = "request log"
    OBSERVED = "observations"


@attrs.frozen
class Input(Source):
    """A file, and what it holds."""

    content: Content


def sorted_out(paths: Iterable[Path]) -> tuple[list[Input], list[Path]]:
    """Return the inputs that hold requests, and the paths that may hold something else."""
    inputs: dict[str, Input] = {}
    others: list[Path] = []
    for path in paths:
        some = []
        rest = not path.is_dir()
        for file in files_within(path):
            input_file = _input(file)
            if input_file is not None and not is_utf8(file.absolute()):
                others.append(file)  # What reads traces reports it, as it does one of those.
            elif input_file is not None:
                some.append(input_file)
                rest = False
            else:
                rest = rest or file.name.endswith((".gz", ".jsonl", ".ndjson", ".parquet"))
        inputs.update((input_file.path, input_file) for input_file in some)
        if rest or not some:
            others.append(path)
    return list(inputs.values()), others


def read(
    source: Input, tally: FileTally, start: int = 0, end: int | None = None
) -> Iterator[Observation]:
    """Yield the observations of the lines that begin in [start, end); the rest goes to the tally.

    ``end`` None: up to that of the file.
    """
    compressed = source.form is Form.GZIP
    limit = MAX_LOG_LINE_BYTES if source.content is Content.REQUEST_LOG else None
    try:
        lines = read_lines(source.path, compressed=compressed, start=start, end=end, limit=limit)
        if source.content is Content.REQUEST_LOG:
            yield from scan(lines, source.path, tally)
        else:
            yield from _observed(lines, tally)
    except OSError as error:
        tally.cannot_use(tally.lines + 1, f"cannot be read: {error.strerror or error}")


def _observed(lines: Iterable[Line | Bad], tally: FileTally) -> Iterator[Observation]:
    for line in lines:
        if isinstance(line, Bad):
            tally.cannot_use(line.number or 0, line.message)
            continue
        tally.lines = line.number
        if not line.content.strip():
            continue
        try:
            row = json.loads(line.content)
            if not isinstance(row, dict):
                raise InvalidValueError("line", row, "an object")
            each = fact_of(row) or observation_of(row)
        except (ValueError, RecursionError) as error:
            tally.cannot_use(line.number, str(error)[:200])
            continue
        tally.requests += not (isinstance(each, Observation) and each.kind in OF_TOPIC)
        if isinstance(each, Observation) and not each.named:
            yield each
        else:
            tally.facts.append(each)


def _input(path: Path) -> Input | None:
    """Return the file as an input; None if it holds something else or cannot be read."""
    if not path.is_file():
        return None
    try:
        with path.open("rb") as raw:
            compressed = raw.read(2) == b"\x1f\x8b"
        content = _content(path, compressed=compressed)
        size = path.stat().st_size
    except (OSError, EOFError, gzip.BadGzipFile):
        return None
    form = Form.GZIP if compressed else Form.LINES
    return Input(str(path.absolute()), form, size, content) if content else None


def _content(path: Path, *, compressed: bool) -> Content | None:
    looked = 0
    for line in read_lines(str(path), compressed=compressed, limit=MAX_LOG_LINE_BYTES):
        if not isinstance(line, Line):
            return None
        content = line.content.strip()
        if MARK in content and b'"requestHeader"' in content:
            return Content.REQUEST_LOG
        if content.startswith(b'{"observed":'):
            return Content.OBSERVED
        looked += bool(content)
        if looked >= LINES_LOOKED_AT:
            return None
    return None
