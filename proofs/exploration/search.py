"""Breadth-first search through every reachable state, with a shortest path to each."""

import resource
import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Generic, TypeAlias, TypeVar

import attrs

S = TypeVar("S", bound=Hashable)
L = TypeVar("L")

CameFrom: TypeAlias = Mapping[S, tuple[L, S] | None]
"""The step that first led to each state, and the state before it; None for a state to begin with.

States come in the order in which they were found, so those of less depth come first.
"""

_OFTEN = 1000
"""After how many states progress is told, and memory looked at."""


class Stopped(BaseException):
    """Raised by ``progress`` to end a search early; its results are kept."""


@attrs.frozen
class Violation(Generic[S, L]):
    """A shortest run to a state that should not be: its labels, and the states from the first."""

    reason: str
    labels: tuple[L, ...]
    states: tuple[S, ...]


@attrs.frozen(eq=False)
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
    came_from: CameFrom[S, L] = attrs.field(factory=dict, repr=False)


def search(  # noqa: PLR0913, PLR0917 - what is searched, and four bounds
    initial: Iterable[S],
    successors: Callable[[S], Iterable[tuple[L, S]]],
    check: Callable[[S], str | None],
    most_states: int = 10_000_000,
    progress: Callable[[int, int], None] = lambda _states, _depth: None,
    most_depth: int | None = None,
    most_bytes: int | None = None,
) -> Search[S, L]:
    """Visit every state reachable from the initial ones, until ``check`` gives a reason to stop.

    ``successors`` yields each transition's label and the state it leads to. ``progress`` is told
    the number of states and the depth now and then. ``most_bytes``: of memory of this process.
    """
    run = _Run[S, L](check, most_states, most_bytes, progress)
    began = time.perf_counter()
    unfinished = violation = None
    try:
        for state in initial:
            run.find(state, None)
        while run.following and run.depth != most_depth:
            run.visit_level(successors)
    except _FoundError as error:
        violation = Violation(str(error), *path_to(run.came_from, run.following[-1]))
    except _FullError as error:
        unfinished = str(error)
    except (Stopped, KeyboardInterrupt):
        unfinished = "interrupted"
    waiting = len(run.frontier) + len(run.following)
    if waiting and unfinished is None and violation is None:
        unfinished = f"depth {most_depth}"
    return Search(
        len(run.came_from),
        run.transitions,
        run.depth,
        time.perf_counter() - began,
        violation,
        unfinished,
        waiting,
        run.came_from,
    )


def path_to(came_from: CameFrom[S, L], state: S) -> tuple[tuple[L, ...], tuple[S, ...]]:
    """Return a shortest run to a state that was found: its labels, and the states from the first.

    The last state is the one given, which may be another object than the one that was found.
    """
    labels: list[L] = []
    states = [state]
    while (step := came_from[state]) is not None:
        label, state = step
        labels.append(label)
        states.append(state)
    return tuple(reversed(labels)), tuple(reversed(states))


class _FoundError(Exception):
    """A state that violates a property."""


class _FullError(Exception):
    """A limit was reached; which one."""


class _Run(Generic[S, L]):
    """What a search knows so far; ``frontier`` is followed now and ``following`` next."""

    def __init__(
        self,
        check: Callable[[S], str | None],
        most_states: int,
        most_bytes: int | None,
        progress: Callable[[int, int], None],
    ) -> None:
        self.check, self.progress = check, progress
        self.most_states, self.most_bytes = most_states, most_bytes
        self.came_from: dict[S, tuple[L, S] | None] = {}
        self.frontier: list[S] = []
        self.following: list[S] = []
        self.transitions = self.depth = 0

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
            raise _FullError(f"more than {self.most_states:,} states")
        self.came_from[state] = step
        self.following.append(state)
        if (reason := self.check(state)) is not None:
            raise _FoundError(reason)
        if len(self.came_from) % _OFTEN == 0:
            self.progress(len(self.came_from), self.depth)
            _check_memory(self.most_bytes)


def _check_memory(most: int | None) -> None:
    """Raise if this process has taken more memory than it may."""
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if most is not None and taken > most:
        raise _FullError(f"more than {most / 2**30:g} GiB of memory")
