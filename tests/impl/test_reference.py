from typing import Any, NamedTuple, cast

import numba
import numpy as np
import pytest

from impl.cache import is_interpreted
from impl.reference import Reference, take_by_reference
from impl.rows import Ints

pytestmark = pytest.mark.skipif(is_interpreted(), reason="nothing is compiled")
_NUMBA = cast("Any", numba)


class Pair(NamedTuple):
    """Two arrays."""

    numbers: Ints
    rows: Ints


take_by_reference(Pair)


@_NUMBA.njit(_nrt=False)  # type: ignore[untyped-decorator] # Numba's types are its own
def _add(pair: Pair, row: int) -> int:
    pair.numbers[row] += pair.rows[row, 1]
    return int(pair.numbers[row])


@_NUMBA.njit(_nrt=False)  # type: ignore[untyped-decorator] # as above
def _sum(pair: Pair) -> int:
    total = 0
    for row in range(pair.rows.shape[0]):
        total += _add(pair, row)
    return total


def pair(order: str = "C") -> Pair:
    rows = np.array([[1, 10], [2, 20], [3, 30]], np.int64, order=order)  # type: ignore[call-overload] # a str
    return Pair(np.arange(3), rows)


def test_compiled_code_reads_and_writes_the_arrays_themselves() -> None:
    given = pair()
    assert _sum(given) == 63
    assert given.numbers.tolist() == [10, 21, 32]


def test_arrays_of_another_layout_are_another_type() -> None:
    """Otherwise rows of which the columns lie together would be read as if they did not."""
    assert [_sum(pair(order)) for order in "CF"] == [63, 63]
    types = {_NUMBA.typeof(pair(order)) for order in "CF"}
    assert len(types) == 2
    assert all(isinstance(each, Reference) for each in types)


def test_what_is_no_array_is_refused() -> None:
    with pytest.raises(_NUMBA.core.errors.TypingError):
        _sum(Pair(np.arange(3), cast("Ints", "rows")))
