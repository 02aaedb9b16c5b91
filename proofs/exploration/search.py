"""Breadth-first search through every reachable state, with a shortest path to each."""

import time
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

import attrs

S = TypeVar("S", bound=Hashable)
L = TypeVar("L")

_OFTEN = 10_000
"""After how many states progress is told."""


class Stopped(BaseException):
    """Raised by ``progress`` to end a search early; its results are kept."""


@attrs.frozen
class Violation(Generic[S, L]):
    """A shortest run to a state that should not be: its labels, and the states from the first."""

    reason: str
    labels: tuple[L, ...]
    states: tuple[S, ...]


@attrs.frozen
class Search(Generic[S, L]):
    """A search's extent: ``states`` distinct states, ``transitions`` between them to ``depth``.

    ``unfinished`` says why not everything was visited; None if it was. ``waiting`` are states
    that were found and whose transitions were not followed.
    """

    states: int
    transitions: int
    depth: int
    seconds: float
    violation: Violation[S, L] | None = None
    unfinished: str | None = None
    waiting: int = 0


def search(
    initial: Iterable[S],
    successors: Callable[[S], Iterable[tuple[L, S]]],
    check: Callable[[S], str | None],
    most_states: int = 10_000_000,
    progress: Callable[[int, int], None] = lambda _states, _depth: None,
) -> Search[S, L]:
    """Visit every state reachable from the initial ones, until ``check`` gives a reason to stop.

    ``successors`` yields each transition's label and the state it leads to. ``progress`` is told
    the number of states and the depth now and then.
    """
    run = _Run[S, L](check, most_states, progress)
    began = time.perf_counter()
    unfinished = violation = None
    try:
        for state in initial:
            run.find(state, None)
        while run.following:
            run.visit_level(successors)
    except _FoundError as error:
        violation = Violation(str(error), *run.path(run.newest))
    except _FullError:
        unfinished = f"more than {most_states:,} states"
    except (Stopped, KeyboardInterrupt):
        unfinished = "interrupted"
    return Search(
        len(run.came_from),
        run.transitions,
        run.depth,
        time.perf_counter() - began,
        violation,
        unfinished,
        len(run.frontier) + len(run.following),
    )


class _FoundError(Exception):
    """A state that violates a property."""


class _FullError(Exception):
    """The limit on states was reached."""


class _Run(Generic[S, L]):
    """What a search knows so far; ``frontier`` is followed now and ``following`` next."""

    def __init__(
        self,
        check: Callable[[S], str | None],
        most_states: int,
        progress: Callable[[int, int], None],
    ) -> None:
        self.check, self.most_states, self.progress = check, most_states, progress
        self.came_from: dict[S, tuple[L, S] | None] = {}
        self.frontier: list[S] = []
        self.following: list[S] = []
        self.transitions = self.depth = 0

    @property
    def newest(self) -> S:
        return self.following[-1]

    def visit_level(self, successors: Callable[[S], Iterable[tuple[L, S]]]) -> None:
        self.frontier, self.following = self.following[::-1], []
        while self.frontier:
            state = self.frontier[-1]
            for label, after in successors(state):
                self.transitions += 1
                self.find(after, (label, state))
            self.frontier.pop()
        self.depth += bool(self.following)

    def find(self, state: S, step: tuple[L, S] | None) -> None:
        if state in self.came_from:
            return
        if len(self.came_from) >= self.most_states:
            raise _FullError
        self.came_from[state] = step
        self.following.append(state)
        if (reason := self.check(state)) is not None:
            raise _FoundError(reason)
        if len(self.came_from) % _OFTEN == 0:
            self.progress(len(self.came_from), self.depth)

    def path(self, state: S) -> tuple[tuple[L, ...], tuple[S, ...]]:
        labels: list[L] = []
        states = [state]
        while (step := self.came_from[state]) is not None:
            label, state = step
            labels.append(label)
            states.append(state)
        return tuple(reversed(labels)), tuple(reversed(states))
