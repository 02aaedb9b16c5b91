"""Turn Arrow arrays into int64 arrays, texts into numbers, lists into bounds and rows."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from impl.rows import Ints


def fields_of(array: pa.StructArray) -> dict[str, pa.Array]:
    """Return the fields of structs by name; all of them are null where the struct is."""
    return dict(zip((field.name for field in array.type), array.flatten(), strict=True))


def integers(array: pa.Array, null: int) -> Ints:
    """Return integers or flags, with ``null`` where there is none."""
    if array.null_count == len(array):
        return np.full(len(array), null)
    if array.type != pa.int64():
        array = array.cast(pa.int64())
    if array.null_count:
        array = array.fill_null(null)
    numbers: Ints = array.to_numpy()
    return numbers


def numbered(array: pa.Array, names: Sequence[str]) -> Ints:
    """Return for each text its place in ``names``; -1 for null and for other texts."""
    return integers(pc.index_in(array, value_set=pa.array(names, pa.string())), -1)


class Lists(NamedTuple):
    """Lists of an array: ``bounds`` (n, 2) of each in ``items``; both are -1 for a null list."""

    bounds: Ints
    items: pa.Array


def lists_of(array: pa.ListArray) -> Lists:
    """Return the lists of an array; those of a slice refer to its own items only."""
    if array.null_count == len(array):  # No lists need no offsets, and then Arrow has none.
        return Lists(np.full((len(array), 2), -1), array.values[:0])
    offsets = array.offsets.to_numpy().astype(np.int64)
    nulls = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    if nulls is not None and np.diff(offsets)[nulls].any():
        return lists_of(array.take(pa.array(np.arange(len(array)))))
    begin, end = int(offsets[0]), int(offsets[-1])
    bounds = np.empty((len(array), 2), np.int64)
    bounds[:, 0] = offsets[:-1] - begin
    bounds[:, 1] = offsets[1:] - begin
    if nulls is not None:
        bounds[nulls] = -1
    return Lists(bounds, array.values.slice(begin, end - begin))


def rows_of(columns: Sequence[Ints]) -> Ints:
    """Return columns of equal length as the rows of one array."""
    return np.stack(columns, axis=1)
