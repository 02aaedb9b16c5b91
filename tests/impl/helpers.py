"""Traces to test against, the choices that an event implies, and an uncompiled copy of impl."""

import importlib
import os
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import pyarrow as pa
import pytest

from impl.cache import DISABLED
from model.trace import TraceEvent
from model.trace_arrow import table_from_rows
from model.trace_codec import event_from_row, row_from_event
from tests.traces import FOLDER, NAMES, QUICK, rows_by_partition

TRACES = [FOLDER / name for name in NAMES]
EACH_TRACE = pytest.mark.parametrize(
    "trace",
    [pytest.param(path, marks=[] if path.name == QUICK else pytest.mark.slow) for path in TRACES],
    ids=lambda path: path.name,
)
COMPILES = pytest.mark.xdist_group("compile")
"""Tests that compile nearly everything: they come first and share a process."""


@cache
def events_by_partition(path: Path) -> dict[str, tuple[TraceEvent, ...]]:
    """Return the events of a trace file, for each share-partition in order."""
    return {
        partition: tuple(event_from_row(row) for row in rows)
        for partition, rows in rows_by_partition(path).items()
    }


def table_of(events: list[TraceEvent]) -> pa.Table:
    """Return events as a table."""
    return table_from_rows([row_from_event(event) for event in events])


@cache
def interpreted(name: str) -> ModuleType:
    """Return a module of impl that is not compiled, with all that it imports of impl."""
    _load_interpreted()
    return _INTERPRETED[f"impl.{name}"]


_INTERPRETED: dict[str, ModuleType] = {}


def _load_interpreted() -> None:
    if _INTERPRETED:
        return
    compiled = {name: sys.modules.pop(name) for name in list(sys.modules) if _is_impl(name)}
    try:
        with patch.dict(os.environ, {DISABLED: "1"}):
            importlib.import_module("impl.kernel")
            importlib.import_module("impl.partition")
        _INTERPRETED.update(
            {name: sys.modules.pop(name) for name in list(sys.modules) if _is_impl(name)}
        )
    finally:
        sys.modules.update(compiled)


def _is_impl(name: str) -> bool:
    return name == "impl" or name.startswith("impl.")
