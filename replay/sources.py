"""Which files a replay reads, what form each has, and its lines.

Lines are bounded in length, and errors of the file among them. Headers and trailers are those that
a recorder writes of its own file: they are no rows.
"""

import gzip
import io
import itertools
import json
import os
import re
import stat
import zlib
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

import attrs

from model.errors import InvalidValueError
from model.trace_json import MAX_LINE_BYTES, row_from_line
from replay.verdict import Problem, Recording

T_ = TypeVar("T_")
BLOCK_BYTES = 1 << 20
"""How much is read at a time, decompressed."""

SUFFIXES = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz", ".parquet")
"""The names that are read in a folder; a path to a file is read whatever its name."""


_HEADER, _TRAILER = "recorder", "trailer"


BinaryFile = io.BufferedReader | gzip.GzipFile

_BLANK = re.compile(rb"(?:[ \t\r]*+\n)++")
_PARTITION = re.compile(rb'"partition"\s*:\s*("(?:[^"\\]|\\.){1,1000}")')


class Form(StrEnum):
    """The form of a file, known from its first bytes."""

    LINES = "JSON lines"
    GZIP = "JSON lines, gzip"
    PARQUET = "Parquet"


_NOT_READ = {
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zX": "xz",
    b"BZh": "bzip2",
    b"PK\3\4": "a zip archive",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
"""How a file begins in forms that others have: one error tells more than one of each line."""

_TEXT_FACTOR = {Form.LINES: 1, Form.GZIP: 20, Form.PARQUET: 8}
"""How many bytes of text one byte of a file stands for, about."""


@attrs.frozen
class Source:
    """One input file; ``size`` in bytes."""

    path: str
    form: Form
    size: int


@attrs.frozen
class Sources:
    """The files to read, those that cannot be read, and files of folders that are not traces."""

    files: tuple[Source, ...]
    problems: tuple[Problem, ...]
    passed_over: tuple[str, ...]


_ADDRESS = re.compile("[A-Za-z][A-Za-z0-9+.-]+:/")


class NoSuchTraceError(ValueError):
    """A path does not exist, or no path holds a trace."""


def is_address(text: str) -> bool:
    """Return whether a text is an address, such as ``hdfs://host/traces``, and no path."""
    return _ADDRESS.match(text) is not None


def local_path(text: str) -> str:
    """Return the path of an address that begins with ``file:/``; any other text as it is."""
    return re.sub("^file:/+", "/", text)


def find_sources(paths: Iterable[str | Path]) -> Sources:
    """Return the files of ``paths``, which are files or folders; each file once.

    Raises NoSuchTraceError for a path that does not exist and for folders that hold no trace.
    """
    files: dict[str, Source] = {}
    problems: list[Problem] = []
    passed_over: list[str] = []
    for path in map(Path, paths):
        if not path.exists():
            raise NoSuchTraceError(f"{path} does not exist")
        for file in files_within(path):
            if file != path and not file.name.endswith(SUFFIXES):
                passed_over.append(shown_path(file))
                continue
            try:
                source = _source(file)
                files.setdefault(str(Path(source.path).resolve()), source)
            except OSError as error:
                text = f"cannot be read: {error.strerror}"
                problems.append(Problem(shown_path(file), None, text))
        under = sorted(path.rglob("_*")) if path.is_dir() else ()
        passed_over += [shown_path(file) for file in under if file.name.endswith(SUFFIXES)]
    if not files and not problems:
        raise NoSuchTraceError(
            f"there is no trace in {', '.join(map(str, paths))}; "
            f"a folder is searched for {', '.join(SUFFIXES)}"
        )
    return Sources(tuple(files.values()), tuple(problems), tuple(passed_over))


def text_of(sources: Iterable[Source]) -> int:
    """Return how many bytes of text the files hold, about."""
    return sum(source.size * _TEXT_FACTOR[source.form] for source in sources)


def files_within(path: Path) -> Iterator[Path]:
    """Yield the files of a folder and its folders in order, hidden ones aside; or the file."""
    if not path.is_dir():
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
        for name in sorted(names):
            if not name.startswith((".", "_")):
                yield Path(folder) / name


def is_utf8(path: Path) -> bool:
    """Return whether a path is text, as a result needs it that names a place."""
    return shown_path(path) == str(path)


def shown_path(path: Path) -> str:
    """Return a path as text that can be stored: bytes of it that are not UTF-8 as escapes."""
    return os.fsencode(path).decode(errors="backslashreplace")


def _source(path: Path) -> Source:
    if not is_utf8(path.absolute()):
        raise OSError(0, "its path is not UTF-8, as a result must name it; allowed: another name")
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(0, "it is not a regular file")
    with path.open("rb") as file:
        magic = file.read(4)
    for begin, other in _NOT_READ.items():
        if magic.startswith(begin):
            raise OSError(0, f"it is {other}; allowed: JSON lines in UTF-8 or gzip, Parquet")
    form = Form.LINES
    if path.suffix == ".parquet" and magic != b"PAR1":
        raise OSError(0, "it is not Parquet, as its name says")
    if magic == b"PAR1":
        form = Form.PARQUET
    elif magic[:2] == b"\x1f\x8b":
        form = Form.GZIP
    return Source(str(path.absolute()), form, path.stat().st_size)


@attrs.frozen
class Line:
    """A line without its line feed; ``number`` counts from 1 where reading began.

    One that is not ``whole`` had none: the file ends with it.
    """

    number: int
    content: bytes
    whole: bool = True


@attrs.frozen
class Bad:
    """A line that cannot be used; without a number, the rest of the file.

    Where it is ``cut`` the file ends within it, or after the line before.
    """

    number: int | None
    message: str
    partition: str | None = None
    cut: bool = False


def in_lots(items: Iterable[T_], most: int) -> Iterator[list[T_]]:
    """Yield the items in lists of ``most``, the last of which may have fewer."""
    rest = iter(items)
    while lot := list(itertools.islice(rest, most)):
        yield lot


def read_lines(
    path: str, *, compressed: bool, start: int = 0, end: int | None = None, limit: int | None = None
) -> Iterator[Line | Bad]:
    """Yield the lines that begin in [start, end) of the file, in bytes; all if ``end`` is None.

    A line longer than ``limit`` bytes is skipped and not kept in memory. An error that stops the
    reading comes last, as Bad, after all lines before it. Raises OSError if the file cannot be
    opened.
    """
    limit = MAX_LINE_BYTES if limit is None else limit
    with open(path, "rb") as raw:  # noqa: PTH123 - a path from another process, as text
        if compressed:
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield from lines_of(unpacked, None, limit)
            return
        if start:
            # A line belongs to the part in which it begins: skip the rest of the one before.
            raw.seek(start - 1)
            while (rest := raw.readline(BLOCK_BYTES)) and not rest.endswith(b"\n"):
                pass
        yield from lines_of(raw, None if end is None else max(0, end - raw.tell()), limit)


def lines_of(
    file: BinaryFile, length: int | None = None, limit: int = MAX_LINE_BYTES
) -> Iterator[Line | Bad]:
    """Yield the lines that begin in the next ``length`` bytes, as ``read_lines`` does."""
    number = done = 0
    if length == 0:
        return
    try:
        for content, size in _bounded(file, limit):
            # Of a run of blank lines, which may be very many, only the last one is told.
            inside = content[: None if length is None else length - done]
            number += 1 + inside.count(b"\n", 0, -1)
            done += size
            if content.endswith(b"\n"):
                yield Line(number, b"")
            elif size > limit + 1:
                yield too_long(number, content, size, limit)
            else:
                yield Line(number, content, size > len(content))
            if length is not None and done >= length:
                return
    except _StoppedError as stopped:
        text = f"the file ends too early or is damaged: {stopped}"
        yield Bad(number + 1, text, partition_hint(stopped.partial), stopped.cut)


def too_long(number: int, content: bytes, size: int, limit: int = MAX_LINE_BYTES) -> Bad:
    """Return that a line of so many bytes, of which ``content`` is known, cannot be used."""
    text = f"line is {size} bytes; allowed: at most {limit} bytes"
    return Bad(number, text, partition_hint(content))


class _StoppedError(Exception):
    """Reading stopped within a line, of which ``partial`` had been read; ``cut``: at an end."""

    def __init__(self, reason: str, partial: bytes, *, cut: bool) -> None:
        super().__init__(reason)
        self.partial, self.cut = partial, cut


def _bounded(file: BinaryFile, limit: int) -> Iterator[tuple[bytes, int]]:
    """Yield each line, or as much of its beginning as is allowed, and its size with line feed.

    Blank lines, one after the other, come together, and these alone with line feeds.
    """
    parts: list[bytes] = []
    size = 0
    while True:
        try:
            block = file.read1(BLOCK_BYTES)
        except (EOFError, OSError, zlib.error) as error:
            cut = isinstance(error, EOFError)
            raise _StoppedError(str(error), b"".join(parts), cut=cut) from None
        if not block:
            break
        start = 0
        while (stop := block.find(b"\n", start)) >= 0:
            if not size and (blank := _BLANK.match(block, start)):
                yield blank[0], len(blank[0])
                start = blank.end()
                continue
            size += stop + 1 - start
            if size <= limit + 1:
                parts.append(block[start:stop])
            yield b"".join(parts), size
            parts, size, start = [], 0, stop + 1
        if size <= limit:
            parts.append(block[start:])
        size += len(block) - start
    if size:
        yield b"".join(parts), size


def partition_hint(line: bytes) -> str | None:
    """Return the share-partition that a line which cannot be decoded seems to belong to."""
    match = _PARTITION.search(line[: 1 << 16])
    if not match:
        return None
    try:
        name = json.loads(match[1].decode("utf-8"))
        name.encode("utf-8")
    except ValueError:
        return None
    return str(name)


def strict_row(line: bytes) -> dict[str, object]:
    """Decode one line as ``row_from_line`` does; reject also what cannot be stored.

    Raises InvalidValueError.
    """
    row = row_from_line(line)
    if b"\\u" in line:
        try:
            json.dumps(row, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError as error:
            broken = error.object[error.start : error.end]
            raise InvalidValueError(
                "line", broken, "Unicode text without half characters"
            ) from None
    if not row["partition"]:
        raise InvalidValueError("event.partition", row["partition"], "a string that is not empty")
    return row


def mark_of(line: bytes) -> Recording | None:
    """Return what a header or trailer says; None for any other line."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or len(value) != 1:
        return None
    if isinstance(header := value.get(_HEADER), dict):
        sampled, broker = int(_is_below_1(header.get("sampling"))), header.get("broker")
        return Recording(headers=1, sampled=sampled, broker="" if broker is None else str(broker))
    trailer = value.get(_TRAILER)
    if not isinstance(trailer, dict):
        return None
    dropped, faults = (_count(trailer.get(name)) for name in ("dropped", "faults"))
    return Recording(trailers=1, dropped=dropped, faults=faults)


def is_recorded(path: str, limit: int = 1 << 16) -> bool:
    """Return whether a file of plain lines begins with a header. Raises OSError."""
    with open(path, "rb") as file:  # noqa: PTH123 - a path from another process, as text
        return mark_of(file.readline(limit)) is not None


def _count(value: object) -> int:
    return value if type(value) is int and value > 0 else 0


def _is_below_1(value: object) -> bool:
    try:
        return float(str(value)) < 1
    except ValueError:
        return False
