"""Breadth-first search: everything is visited, and paths are shortest."""

from collections.abc import Iterator

from proofs.exploration.search import search


def _steps(number: int) -> Iterator[tuple[str, int]]:
    yield "add", (number + 1) % 12
    yield "double", number * 2 % 12


def _fine(_number: int) -> None:
    return None


def test_every_state_is_visited_once() -> None:
    found = search([0], _steps, _fine)
    assert (found.states, found.transitions, found.unfinished) == (12, 24, None)
    assert found.violation is None
    assert found.waiting == 0


def test_a_violation_comes_with_a_shortest_run() -> None:
    found = search([1], _steps, lambda number: "eight" if number == 8 else None)
    assert found.violation is not None
    assert found.violation.reason == "eight"
    assert found.violation.states == (1, 2, 4, 8)
    assert found.violation.labels == ("add", "double", "double")
    assert found.depth == 2


def _on(number: int) -> Iterator[tuple[str, int]]:
    yield "on", number + 1


def test_memory_has_a_bound() -> None:
    found = search([0], _on, _fine, most_bytes=2**20)
    assert found.unfinished == f"more than {2**-10:g} GiB of memory"
    assert (found.states, found.waiting) == (1000, 2)


def test_a_depth_is_not_gone_beyond() -> None:
    found = search([0], _on, _fine, most_depth=3)
    assert (found.states, found.depth, found.unfinished) == (4, 3, "depth 3")
    assert found.waiting == 1
    assert search([0], _steps, _fine, most_depth=12).unfinished is None
