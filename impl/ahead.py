"""Compilation ahead of the first replay, in parts that processes share through the cache on disk.

The kernel is one function that calls all others. What was compiled of these is read from the cache
when the kernel is compiled, so that several processes can each compile a part of them before.
"""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pyarrow as pa

from impl.compare import compare
from impl.encode import Members
from impl.events import events_of
from impl.replay import LEADER_COLUMNS, LONGEST, POSITION, Leaders, take_over
from impl.state import new_state
from impl.written import Earlier
from model.profile import KAFKA
from model.trace_arrow import SCHEMA

_NUMBA: Any = numba  # Its types know neither its settings nor its types.

PARTS = len(LONGEST)
"""How many parts there are, which take about as long as each other."""


def compile_part(part: int) -> None:
    """Compile a part of what the kernel calls."""
    integer = _NUMBA.int64
    state, events = _type(new_state(KAFKA)), _type(events_of(_no_events(), Members()))
    leaders = Leaders(np.zeros((0, LEADER_COLUMNS), np.int64), np.zeros((0, 4), np.int64))
    position = _type(np.array(POSITION, np.int64))
    for function in LONGEST[part]:
        _compile(function, state, events, integer)
    if part == 0:
        _compile(compare, state, events, integer, _type(Earlier(0, 0)), integer)
    else:
        _compile(take_over, state, events, _type(leaders), position)


def _compile(function: Callable[..., object], *types: object) -> None:
    dispatcher: Any = function
    dispatcher.compile(types)


def _type(value: object) -> object:
    return _NUMBA.typeof(value)


def _no_events() -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=SCHEMA)
