"""Where a replay left each share-partition, as a file of lines from which the next one goes on.

The first line is the digest of the others, the second says what they are, and each of those behind
it is the state of a share-partition as JSON.
"""

import fcntl
import functools
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum, IntEnum, StrEnum
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from judge.finding import Finding
from model.profile import Profile
from model.whole_state import ReplayState
from replay.verdict import LogKnowledge, PartitionVerdict, Verdict
from report.scratch import DRAFT, made_folder, whole_file

if TYPE_CHECKING:
    from cattrs import Converter

VERSION = 7
"""The version of the format: of a file with other fields it is another."""

NAME = "states.txt"
FORMER = "states.arrow"
"""The file of the versions before."""

LOCK = ".states.lock"
"""Whoever uses the folder holds a lock on this file in it, which the system drops when it dies."""


class StateError(RuntimeError):
    """A file of states that cannot be used; one line."""


@attrs.frozen
class Carried:
    """Where an earlier replay left a share-partition.

    ``divergence`` is the first, which it answers from then on, and ``more`` are the first ones of
    other signatures; ``state`` is None where nothing behind them is checked.
    ``leader_epoch`` and ``instance`` are those of the last row, None where rows tell none;
    ``unfinished``: the end of the file of that row may be missing.
    """

    partition: str
    state: ReplayState | None
    log: LogKnowledge = LogKnowledge.ALL
    leader_epoch: int | None = None
    instance: int | None = None
    unfinished: bool = False
    divergence: Finding | None = None
    more: tuple[Finding, ...] = ()

    @property
    def divergences(self) -> tuple[Finding, ...]:
        """Return the divergences that a later replay repeats, in order."""
        return (self.divergence, *self.more) if self.divergence else ()

    @functools.cached_property
    def line(self) -> bytes:
        """Its line in the file: of a state that stays as it is it is made once."""
        return _line(_plain(self))


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Use a folder of states alone, from before they are read until they are written.

    What a process has left that was killed goes. Raises StateError where another uses the folder:
    of two that begin from the same states one would lose what it finds.
    """
    if folder.exists() and not folder.is_dir():
        raise StateError(f"{folder} is no folder")
    lock = folder / LOCK
    with made_folder(folder), lock.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # One that was removed meanwhile locks nobody out.
            is_alone = os.path.samestat(os.fstat(file.fileno()), lock.stat())
        except (BlockingIOError, FileNotFoundError):
            is_alone = False
        if not is_alone:
            text = "is in use by another process: wait for its end, or give another folder"
            raise StateError(f"{folder} {text}")
        try:
            for left in folder.glob(f"{NAME}.*{DRAFT}"):
                left.unlink(missing_ok=True)
            yield
        finally:
            lock.unlink(missing_ok=True)


def diverged_before(carried: Carried, events: int) -> PartitionVerdict:
    """Return the verdict on a share-partition that diverged in an earlier replay."""
    return PartitionVerdict(
        carried.partition,
        Verdict.DIVERGES,
        events,
        0,
        "it diverged in an earlier replay",
        divergence=carried.divergence,
        log=carried.log,
        more=carried.more,
    )


def of_each_kind(divergences: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the first of each signature: what explains it explains those behind it, too."""
    kinds: dict[tuple[str, ...], Finding] = {}
    for each in divergences:
        kinds.setdefault(each.signature, each)
    return tuple(kinds.values())


def read_states(folder: Path, rules: Profile) -> dict[str, Carried]:
    """Return what an earlier replay left in the folder, by share-partition; nothing if none did.

    Raises StateError for a file of another version or of other rules, or one that was altered.
    """
    return read_left(folder, rules)[0]


def read_left(folder: Path, rules: Profile) -> tuple[dict[str, Carried], dict[str, Any] | None]:
    """Return the states, and what a stream says of itself beside them; None if no stream wrote."""
    path, former = folder / NAME, folder / FORMER
    if former.exists():
        raise StateError(f"{former} is of an earlier version; allowed: {VERSION}")
    if not path.exists() and (folder.is_dir() or not folder.exists()):
        return {}, None
    try:
        digest, head, *lines = path.read_bytes().splitlines(keepends=True)
        told = dict(json.loads(head))
    except (OSError, TypeError, ValueError):
        raise StateError(f"{path} is no file of states") from None
    if told.get("version") != VERSION:
        raise StateError(f"{path} is of version {told.get('version')}; allowed: {VERSION}")
    if told.get("rules") != _plain(rules):
        raise StateError(f"{path} is of other rules; allowed: those of this replay, {rules.name}")
    if digest != _digest([head, *lines]):
        raise StateError(f"{path} was altered: it has not the digest of its lines")
    states = (_converter().structure(json.loads(line), Carried) for line in lines)
    return {state.partition: state for state in states}, told.get("stream")


def write_states(
    folder: Path, rules: Profile, states: Iterable[Carried], stream: Mapping[str, Any] | None = None
) -> None:
    """Write the file, whole or not at all; ``stream`` is what a stream says of itself."""
    head = _line({"version": VERSION, "rules": _plain(rules), "stream": stream})
    lines = [head, *(each.line for each in sorted(states, key=attrgetter("partition")))]
    folder.mkdir(parents=True, exist_ok=True)
    with whole_file(folder / NAME) as draft:
        draft.write_bytes(b"".join([_digest(lines), *lines]))


def _line(row: Mapping[str, Any]) -> bytes:
    return json.dumps(row, sort_keys=True).encode() + b"\n"


def _digest(lines: Iterable[bytes]) -> bytes:
    return hashlib.sha256(b"".join(lines)).hexdigest().encode() + b"\n"


@functools.cache
def _converter() -> "Converter":
    """Return what makes plain values of states, in which a member of an Enum has its name."""
    from cattrs import Converter  # noqa: PLC0415 - most replays keep no states

    converter = Converter(unstruct_collection_overrides={tuple: list}, detailed_validation=False)
    for kind in (Enum, IntEnum, StrEnum):
        converter.register_unstructure_hook(kind, lambda member: member.name)
        converter.register_structure_hook(kind, lambda name, cls: cls[name])
    return converter


def _plain(value: object) -> Any:  # noqa: ANN401 - as json has it
    return _converter().unstructure(value)
