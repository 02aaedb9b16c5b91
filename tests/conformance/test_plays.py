"""Plays come in their order, and a search that ends waits for none of them."""

import threading
import time

import pytest

from conformance.plays import Plays

TOGETHER = pytest.mark.parametrize("at_once", [1, 3])


@TOGETHER
def test_what_plays_give_comes_in_the_order_of_what_was_given(at_once: int) -> None:
    def slower(number: int) -> int:
        time.sleep(0.01 * (3 - number % 3))
        return number

    with Plays(at_once) as plays:
        assert [*plays.in_order(slower, iter(range(9)))] == [*range(9)]


@TOGETHER
@pytest.mark.parametrize(("shows", "tries"), [({2, 3}, 4), ({5}, 4), ({0}, 1)])
def test_the_first_of_some_tries_that_shows_something_counts(
    at_once: int, shows: set[int], tries: int
) -> None:
    played: list[int] = []

    def play() -> int | None:
        played.append(len(played))
        return played[-1] if played[-1] in shows else None

    with Plays(at_once) as plays:
        assert plays.first(play, tries) == min(shows & {*range(tries)}, default=None)
    if at_once == 1:
        assert len(played) == min([tries, *(each + 1 for each in shows)])


def test_tries_are_played_at_once() -> None:
    together = threading.Barrier(3)
    with Plays(3) as plays:
        assert plays.first(lambda: together.wait(60), 3) is not None


@TOGETHER
def test_work_of_one_line_is_done_in_order_and_that_of_others_beside_it(at_once: int) -> None:
    done: list[tuple[str, int]] = []
    other = threading.Event()

    def work(line: str, number: int) -> None:
        if at_once > 1 and (line, number) == ("a", 0):
            other.wait(60)
        done.append((line, number))
        if line == "b":
            other.set()

    with Plays(at_once) as plays:
        for line, number in (("a", 0), ("a", 1), ("b", 0)):
            plays.in_line(line, lambda line=line, number=number: work(line, number))  # type: ignore[misc] # of the loop
        plays.finish()
    assert [number for line, number in done if line == "a"] == [0, 1]
    assert done[0] == (("a", 0) if at_once == 1 else ("b", 0))


@TOGETHER
def test_what_work_in_a_line_raises_is_raised(at_once: int) -> None:
    def fail() -> None:
        raise ValueError("no")

    def run() -> None:
        with Plays(at_once) as plays:
            plays.in_line("a", fail)
            plays.finish()

    with pytest.raises(ValueError, match="no"):
        run()


def test_the_end_interrupts_work_that_waits_for_a_play() -> None:
    begun, goes_on, ended = threading.Event(), threading.Event(), list[str]()

    def stuck() -> None:
        begun.set()
        goes_on.wait(60)

    def work() -> None:
        try:
            plays.first(stuck, 1)
        except KeyboardInterrupt:
            ended.append("interrupted")

    with Plays(2) as plays:
        plays.in_line("a", work)
        assert begun.wait(60)
    assert ended == ["interrupted"]
    goes_on.set()
