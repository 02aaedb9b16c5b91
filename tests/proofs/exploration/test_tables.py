import numpy as np

from proofs.exploration.tables import Column, Sorted, Table


def test_a_column_grows() -> None:
    column = Column()
    for start in range(0, 3000, 100):
        column.extend(range(start, start + 100))
    assert column.values.tolist() == list(range(3000))


def test_a_function_is_computed_once_for_each_pair() -> None:
    asked: list[tuple[int, int]] = []

    def add(one: int, other: int) -> int:
        asked.append((one, other))
        return one + other

    table = Table(add)
    first, second = np.array([1, 500, 1]), np.array([2, 70, 2])
    assert table(first, second).tolist() == [3, 570, 3]
    assert table(first, second).tolist() == [3, 570, 3]
    assert asked == [(1, 2), (500, 70)]
    assert table(first[:0], second[:0]).tolist() == []


def test_a_sorted_set_has_what_was_added() -> None:
    known, random = Sorted(), np.random.default_rng(1)
    values = random.permutation(1000)
    for part in np.split(values[:600], 60):
        known.add(np.sort(part))
    assert known.has(np.arange(1000)).sum() == len(known) == 600
    assert known.has(values).tolist() == [True] * 600 + [False] * 400
