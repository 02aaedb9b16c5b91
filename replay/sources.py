"""Which files a replay reads, and what form each has."""

import os
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path

import attrs

from replay.verdict import Problem

__all__ = ["Form", "NoSuchTraceError", "Source", "Sources", "find_sources"]

SUFFIXES = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz", ".parquet")
"""The names that are read in a folder. A file that is named itself is read whatever its name."""


class Form(StrEnum):
    """How a file holds a trace, told from its first bytes."""

    LINES = "JSON lines"
    GZIP = "JSON lines, gzip"
    PARQUET = "Parquet"


@attrs.frozen
class Source:
    """One input file; ``size`` in bytes."""

    path: str
    form: Form
    size: int


@attrs.frozen
class Sources:
    """The files to read, those that cannot be, and the files in folders that were passed over."""

    files: tuple[Source, ...]
    problems: tuple[Problem, ...]
    passed_over: tuple[str, ...]


class NoSuchTraceError(ValueError):
    """A path that was asked for is not there, or there is nothing to read in any."""


def find_sources(paths: Iterable[str | Path]) -> Sources:
    """Return the files that ``paths``, files and folders, stand for; each file once.

    Raises NoSuchTraceError for a path that does not exist and for folders that hold no trace.
    """
    files: dict[str, Source] = {}
    problems: list[Problem] = []
    passed_over: list[str] = []
    for path in map(Path, paths):
        if not path.exists():
            raise NoSuchTraceError(f"{path} does not exist")
        for found in _within(path):
            if found != path and not found.name.endswith(SUFFIXES):
                passed_over.append(str(found))
                continue
            try:
                files.setdefault(str(found.resolve()), _source(found))
            except OSError as error:
                problems.append(Problem(str(found), None, f"cannot be read: {error.strerror}"))
    if not files and not problems:
        raise NoSuchTraceError(
            f"there is no trace in {', '.join(map(str, paths))}; "
            f"a folder is searched for {', '.join(SUFFIXES)}"
        )
    return Sources(tuple(files.values()), tuple(problems), tuple(passed_over))


def _within(path: Path) -> Iterator[Path]:
    """Yield the files of a folder and its folders in order, hidden ones aside; or the file."""
    if not path.is_dir():
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
        for name in sorted(names):
            if not name.startswith((".", "_")):
                yield Path(folder) / name


def _source(path: Path) -> Source:
    if not path.is_file():
        raise OSError(0, "it is not a regular file")
    with path.open("rb") as file:
        magic = file.read(4)
    form = Form.LINES
    if magic == b"PAR1":
        form = Form.PARQUET
    elif magic[:2] == b"\x1f\x8b":
        form = Form.GZIP
    return Source(str(path.absolute()), form, path.stat().st_size)
