"""Breadth-first search through every reachable state, with a shortest path to each."""

import resource
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
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


@attrs.frozen
class BrokenRun(Generic[S, L]):
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
    violation: BrokenRun[S, L] | None = None
    unfinished: str | None = None
    waiting: int = 0
    came_from: CameFrom[S, L] = attrs.field(factory=dict, repr=False)


def search(  # noqa: C901, PLR0913, PLR0917 - what is searched, and four bounds
    initial: Iterable[S],
    successors: Callable[[S], Iterable[tuple[L, S]]],
    check: Callable[[S], str | None],
    most_states: int | None = None,
    progress: Callable[[int, int], None] = lambda _states, _depth: None,
    most_depth: int | None = None,
    most_bytes: int | None = None,
) -> Search[S, L]:
    """Visit every state reachable from the initial ones, until ``check`` gives a reason to stop.

    ``successors`` yields each transition's label and the state it leads to. ``progress`` is told
    the number of states and the depth now and then. ``most_bytes``: of memory of this process.
    """
    began = time.perf_counter()
    came_from: dict[S, tuple[L, S] | None] = {}
    frontier: list[S] = []  # Followed now, from the end; the other ones are next.
    following: list[S] = []
    transitions = depth = 0
    unfinished = violation = None

    def arrivals() -> Iterator[tuple[S, tuple[L, S] | None]]:
        nonlocal frontier, following, transitions, depth
        for state in initial:
            yield state, None
        while following and depth != most_depth:
            frontier, following = following[::-1], []
            while frontier:
                state = frontier[-1]
                for label, after in successors(state):
                    transitions += 1
                    if after not in came_from:
                        yield after, (label, state)
                frontier.pop()
            depth += bool(following)

    try:
        for state, step in arrivals():
            if state in came_from:
                continue
            if len(came_from) == most_states:
                unfinished = f"more than {most_states:,} states"
                break
            came_from[state] = step
            following.append(state)
            if (reason := check(state)) is not None:
                violation = BrokenRun(reason, *path_to(came_from, state))
                break
            if len(came_from) % _OFTEN == 0:
                progress(len(came_from), depth)
                if most_bytes is not None and _memory_taken() > most_bytes:
                    unfinished = f"more than {most_bytes / 2**30:g} GiB of memory"
                    break
    except KeyboardInterrupt:
        unfinished = "interrupted"
    waiting = len(frontier) + len(following)
    if waiting and unfinished is None and violation is None:
        unfinished = f"depth {most_depth}"
    seconds = time.perf_counter() - began
    return Search(
        len(came_from), transitions, depth, seconds, violation, unfinished, waiting, came_from
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


def _memory_taken() -> int:
    """Return how much memory this process has taken at most so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
