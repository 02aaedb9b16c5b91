import numpy as np
import pyarrow as pa
import pytest

from impl.flatten import fields_of, integers, lists_of, rows_of


@pytest.mark.parametrize("kind", [pa.bool_(), pa.int8(), pa.int32(), pa.int64()])
@pytest.mark.parametrize("values", [[], [None, None], [1, None], [1, 0]])
def test_whatever_the_type_integers_become_int64(
    kind: pa.DataType, values: list[int | None]
) -> None:
    numbers = integers(pa.array(values, pa.int64()).cast(kind), -1)
    assert numbers.dtype == np.int64
    assert numbers.tolist() == [-1 if value is None else value for value in values]


def test_items_hidden_behind_a_null_do_not_count() -> None:
    offsets, nulls = pa.array([0, 1, 1, 2], pa.int32()), pa.array([True, True, False])
    hidden = pa.ListArray.from_arrays(offsets, pa.array([7, 8]), mask=nulls)
    lists = lists_of(hidden)
    assert lists.bounds.tolist() == [[-1, -1], [-1, -1], [0, 1]]
    assert lists.items.to_pylist() == [8]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_lists_that_are_all_null_have_no_items(count: int) -> None:
    offsets, nulls = pa.array(range(count + 1), pa.int32()), pa.array([True] * count, pa.bool_())
    for array in (
        pa.nulls(count, pa.list_(pa.int64())),
        pa.ListArray.from_arrays(offsets, pa.array(range(count)), mask=nulls),
    ):
        lists = lists_of(array)
        assert lists.bounds.tolist() == [[-1, -1]] * count
        assert lists.items.to_pylist() == []


def test_an_array_of_no_lists_need_not_have_offsets() -> None:
    none = pa.ListArray.from_buffers(
        pa.list_(pa.int64()), 0, [None, None], children=[pa.array([1])]
    )
    none.validate(full=True)
    lists = lists_of(none)
    assert lists.bounds.shape == (0, 2)
    assert lists.items.to_pylist() == []


def test_fields_of_a_null_struct_are_null() -> None:
    fields = fields_of(pa.array([{"a": 1}, None, {"a": 2}])[1:])
    assert fields["a"].to_pylist() == [None, 2]


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("width", [1, 2])
def test_rows_are_contiguous_whatever_the_columns_are(count: int, width: int) -> None:
    columns = np.arange(count * width).reshape(count, width)
    rows = rows_of(list(columns.T))
    assert rows.tolist() == columns.tolist()
    assert rows.flags.c_contiguous
    assert rows.dtype == np.int64
