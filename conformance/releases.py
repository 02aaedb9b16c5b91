"""Releases of Apache Kafka that have share groups, and a driver's sources for an older one."""

import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import attrs

from conformance.target import TargetError

RELEASES = (
    *("4.0.0", "4.0.1", "4.0.2", "4.1.0", "4.1.1", "4.1.2"),
    *("4.2.0", "4.2.1", "4.2.2", "4.3.0", "4.3.1", "4.4.0"),
)
"""What Maven Central has; the last is what is verified where no release is named."""

NEWEST = RELEASES[-1]


@attrs.frozen
class SourceChange:
    """A pattern that ``new`` stands for in every release before ``before``."""

    before: tuple[int, ...]
    pattern: re.Pattern[str]
    new: str


def check_release(version: str, since: str = RELEASES[0], why: str = "") -> None:
    """Raise TargetError unless it is one of ``RELEASES`` from ``since`` on: ``why`` no earlier."""
    allowed = RELEASES[RELEASES.index(since) :]
    if version not in allowed:
        reason = f", {why}" if version in RELEASES else ""
        text = f"Apache Kafka {version!r:.40} cannot be driven{reason}; allowed: "
        raise TargetError(text + ", ".join(allowed))


def is_before(version: str, other: str) -> bool:
    """Return whether a release came before another, which may be named by its first numbers."""
    return _numbers(version) < _numbers(other)


def read_changes(path: Path) -> tuple[SourceChange, ...]:
    """Return the ``[[change]]`` tables of a file of the project."""
    tables: list[Mapping[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))["change"]
    return tuple(
        SourceChange(_numbers(table["before"]), re.compile(table["pattern"]), table["new"])
        for table in tables
    )


def rewritten(text: str, version: str, changes: tuple[SourceChange, ...]) -> str:
    """Return a source as a release needs it."""
    for change in changes:
        if _numbers(version) < change.before:
            text = change.pattern.sub(change.new, text)
    return text


def for_release(project: Path, version: str) -> Callable[[PurePosixPath, bytes], bytes | None]:
    """Return what a file of a project is in the project of an older release; None: it has it not.

    ``older.toml`` of the project has the changes, and the files that the older project keeps;
    those in its folder ``older`` stand in for the files of the same name.
    """
    table = tomllib.loads((project / "older.toml").read_text(encoding="utf-8"))
    kept, changes = frozenset(table["keep"]), read_changes(project / "older.toml")
    instead = {path.name: path for path in (project / "older").iterdir()}

    def content(path: PurePosixPath, newest: bytes) -> bytes | None:
        if str(path) not in kept:
            return None
        if path.name in instead:
            newest = instead[path.name].read_bytes()
        text = newest.decode().replace(f">{NEWEST}<", f">{version}<")
        return rewritten(text, version, changes).encode()

    return content


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
