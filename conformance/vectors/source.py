"""The vectors by hand: TOML files in ``cases``, with steps in words."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import attrs
import cattrs

from conformance.cores import asks
from conformance.vectors.words import ask_in_words
from model.config import AutoOffsetReset, SharePartitionConfig
from model.errors import InvalidValueError
from model.profile import KAFKA, KIP
from model.snapshot import DurableState

CASES = Path(__file__).parent / "cases"
"""The folder of the sources: ``texts.toml`` with sentences of the KIPs, and a file per topic."""

_TEXTS = "texts.toml"

T = TypeVar("T")


class CaseError(Exception):
    """A source of vectors cannot be read; the text says where and what is allowed."""


@attrs.frozen
class Quotation:
    """A sentence of a KIP, or the relevant part of it, verbatim."""

    kip: int
    section: str
    says: str


@attrs.frozen
class Case:
    """A vector as written, without the answers of the specification.

    ``pins``: the rules that it is about, a guard by its name, others as ``record.release``,
    ``property 5`` or ``decision 14``. ``shows``: texts that the last step must contain,
    written by hand, so that the specification is not the only evidence.
    """

    name: str
    pins: tuple[str, ...]
    rests_on: Quotation
    steps: tuple[str, ...]
    asks: tuple[asks.Ask, ...]
    shows: tuple[str, ...]
    profiles: tuple[str, ...]


@attrs.frozen
class _Entry:
    """A table of a source; the answers may differ between its ``profiles``."""

    name: str
    pins: tuple[str, ...]
    rests_on: str
    steps: tuple[str, ...]
    shows: tuple[str, ...]
    config: Mapping[str, Any] = {}
    persisted: DurableState | None = None
    profiles: tuple[str, ...] = (KIP.name, KAFKA.name)


_CONFIG = SharePartitionConfig(
    delivery_count_limit=2,
    partition_max_record_locks=8,
    record_lock_duration_ms=100,
    auto_offset_reset=AutoOffsetReset.EARLIEST,
)
_CONVERTER = cattrs.Converter(forbid_extra_keys=True)


@cache
def cases() -> dict[str, tuple[Case, ...]]:
    """Return the vectors of this project by topic."""
    return read_cases(CASES)


def read_cases(folder: Path) -> dict[str, tuple[Case, ...]]:
    """Return the vectors of each file of a folder. Raises CaseError."""
    texts = {
        name: _structured(text, Quotation, _TEXTS) for name, text in _read(folder / _TEXTS).items()
    }
    cases = {
        path.stem: tuple(_case(entry, texts, path.name) for entry in _read(path).get("vector", []))
        for path in sorted(folder.glob("*.toml"))
        if path.name != _TEXTS
    }
    names = [case.name for listed in cases.values() for case in listed]
    if doubled := {name for name in names if names.count(name) > 1}:
        raise CaseError(f"{min(doubled)} is listed twice")
    return cases


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CaseError(f"{path.name}: {error}") from None


def _structured(plain: object, kind: type[T], where: str) -> T:
    try:
        return _CONVERTER.structure(plain, kind)
    except cattrs.BaseValidationError as error:
        problems = "; ".join(cattrs.transform_error(error))
        raise CaseError(f"{where}: {problems}") from None


def _case(plain: dict[str, Any], texts: Mapping[str, Quotation], where: str) -> Case:
    where = f"{where}: {plain.get('name')}"
    entry = _structured(plain, _Entry, where)
    if entry.rests_on not in texts:
        raise CaseError(f"{where}: rests_on is {entry.rests_on!r}, which {_TEXTS} does not have")
    config = _structured({**attrs.asdict(_CONFIG), **entry.config}, SharePartitionConfig, where)
    commands: list[asks.Ask] = [asks.CoreTakeOver(config, entry.persisted)]
    try:
        for step in entry.steps:
            commands.append(ask_in_words(step, config))
            config = getattr(commands[-1], "config", config)
    except InvalidValueError as error:
        raise CaseError(f"{where}: {error}") from None
    steps = ("a leader begins", *entry.steps)
    return Case(
        entry.name,
        entry.pins,
        texts[entry.rests_on],
        steps,
        tuple(commands),
        entry.shows,
        entry.profiles,
    )
