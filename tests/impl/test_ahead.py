from typing import Any, cast

import numba
import pytest

from impl import ahead
from impl.kernel import replay_partition
from impl.reference import Reference
from impl.replay import replay_rows
from impl.written import Earlier
from model.profile import KAFKA
from model.trace_arrow import table_from_rows
from replay.run import COMPILED_PARTS
from tests.impl.helpers import COMPILES
from tests.replay.samples import kafka_rows

Compiled = dict[str, tuple[object, ...]]


def compiled_of(monkeypatch: pytest.MonkeyPatch, part: int) -> Compiled:
    """Return the functions that a part compiles, and the types that it compiles each for."""
    functions: Compiled = {}

    def note(function: object, *types: object) -> None:
        functions[str(getattr(function, "__name__", None))] = types

    monkeypatch.setattr(ahead, "_compile", note)
    ahead.compile_part(part)
    return functions


def test_who_waits_knows_how_many_parts_there_are() -> None:
    assert COMPILED_PARTS == ahead.PARTS


def test_the_parts_share_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [compiled_of(monkeypatch, part) for part in range(ahead.PARTS)]
    assert all(parts)
    names = [name for part in parts for name in part]
    assert len(set(names)) == len(names)
    assert "replay_rows" not in names


@COMPILES
@pytest.mark.skipif(not hasattr(replay_rows, "py_func"), reason="nothing is compiled")
def test_the_parts_are_compiled_for_what_the_kernel_calls_them_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert replay_partition(table_from_rows(kafka_rows()), KAFKA).divergence is None
    ((state, events, leaders, results, position, _bounds),) = replay_rows.signatures  # type: ignore[attr-defined] # Numba's
    assert isinstance(state, Reference)
    assert isinstance(events, Reference)
    around = cast("Any", numba).typeof(Earlier(0, 0))
    called = {state, events, leaders, position, results.dtype, around}
    for part in range(ahead.PARTS):
        for types in compiled_of(monkeypatch, part).values():
            assert types[0] in {state, events}
            assert called.issuperset(types)
