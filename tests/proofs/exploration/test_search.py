"""Breadth-first search: everything is visited, and paths are shortest."""

from collections.abc import Iterator

from proofs.exploration.search import Stopped, search


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


def test_an_initial_state_can_violate() -> None:
    found = search([3], _steps, lambda _number: "any")
    assert found.violation is not None
    assert found.violation.states == (3,)


def test_a_world_that_is_too_large_says_what_was_not_visited() -> None:
    found = search([0], _steps, _fine, most_states=5)
    assert (found.states, found.unfinished) == (5, "more than 5 states")
    assert found.waiting > 0


def test_an_interruption_keeps_what_was_found() -> None:
    def stop(_states: int, _depth: int) -> None:
        raise Stopped

    def on(number: int) -> Iterator[tuple[str, int]]:
        yield "on", number + 1

    found = search([0], on, _fine, progress=stop)
    assert found.unfinished == "interrupted"
    assert found.states == 10_000
