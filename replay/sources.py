"""Which files a replay reads, and what form each has."""

import os
import re
import stat
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path

import attrs

from replay.verdict import Problem

SUFFIXES = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz", ".parquet")
"""The names that are read in a folder; a path to a file is read whatever its name."""


class Form(StrEnum):
    """The form of a file, known from its first bytes."""

    LINES = "JSON lines"
    GZIP = "JSON lines, gzip"
    PARQUET = "Parquet"


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
    form = Form.LINES
    if magic == b"PAR1":
        form = Form.PARQUET
    elif magic[:2] == b"\x1f\x8b":
        form = Form.GZIP
    return Source(str(path.absolute()), form, path.stat().st_size)
