import numpy as np
import pyarrow as pa

from impl.flatten import fields_of, integers, lists_of, numbered, rows_of


def test_nulls_are_filled_and_flags_are_numbers() -> None:
    assert integers(pa.array([1, None, 3]), -7).tolist() == [1, -7, 3]
    assert integers(pa.array([True, None, False]), -1).tolist() == [1, -1, 0]


def test_texts_are_numbered() -> None:
    assert numbered(pa.array(["b", "x", None, "a"]), ("a", "b")).tolist() == [1, -1, -1, 0]


def test_a_slice_of_lists_has_its_own_items() -> None:
    lists = lists_of(pa.array([[1, 2], None, [], [3], [4, 5]])[1:4])
    assert lists.bounds.tolist() == [[-1, -1], [0, 0], [0, 1]]
    assert lists.items.to_pylist() == [3]


def test_items_hidden_behind_a_null_do_not_count() -> None:
    offsets = pa.array([0, 1, 2], pa.int32())
    hidden = pa.ListArray.from_arrays(offsets, pa.array([7, 8]), mask=pa.array([True, False]))
    lists = lists_of(hidden)
    assert lists.bounds.tolist() == [[-1, -1], [0, 1]]
    assert lists.items.to_pylist() == [8]


def test_fields_of_a_null_struct_are_null() -> None:
    fields = fields_of(pa.array([{"a": 1}, None, {"a": 2}])[1:])
    assert fields["a"].to_pylist() == [None, 2]


def test_columns_become_rows() -> None:
    rows = rows_of([np.array([1, 2]), np.array([3, 4])])
    assert rows.tolist() == [[1, 3], [2, 4]]
    assert rows.flags.c_contiguous
