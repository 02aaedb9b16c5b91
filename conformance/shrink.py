"""Shorten a sequence of commands as far as simple steps do, while it shows the same deviation."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from conformance.kit import Kit

C = TypeVar("C")


def shrunk(
    sequence: Sequence[C], fails: Callable[[tuple[C, ...]], int | None], kit: Kit[C, Any, Any, Any]
) -> tuple[C, ...]:
    """Return a sequence in which nothing can be left out or made simpler.

    ``fails`` plays a sequence and returns the index of the command that shows the deviation, or
    None. The result is the last sequence that failed, up to that command. The first command stays.
    """
    shrinker = _Shrinker(fails, kit)
    current = tuple(sequence)
    while True:
        smaller = shrinker.simpler(shrinker.shorter(shrinker.plainer(current)))
        if smaller == current:
            return current
        current = smaller


def with_fewest(
    sequence: Sequence[C],
    replaced: Callable[[tuple[C, ...], int, int], tuple[C, ...] | None],
    first: int = 0,
) -> tuple[C, ...]:
    """Return a sequence of which no part can be left out, from halves down to single ones.

    ``replaced`` returns a sequence without the part from an index to another one, exclusive, if
    that still shows what is sought, else None. What is before ``first`` stays.
    """
    current = tuple(sequence)
    size = max(1, len(current) // 2)
    while size:
        index = first
        while index < len(current):
            smaller = replaced(current, index, index + size)
            if smaller is None:
                index += size
            else:
                current = smaller
        size //= 2
    return current


class _Shrinker(Generic[C]):
    def __init__(
        self, fails: Callable[[tuple[C, ...]], int | None], kit: Kit[C, Any, Any, Any]
    ) -> None:
        self._fails, self._kit = fails, kit

    def plainer(self, current: tuple[C, ...]) -> tuple[C, ...]:
        for changed in self._kit.plainer(current):
            if changed != current and (index := self._fails(changed)) is not None:
                return changed[: index + 1]
        return current

    def shorter(self, current: tuple[C, ...]) -> tuple[C, ...]:
        return with_fewest(current, lambda now, a, b: self._replaced(now, a, b, ()), first=1)

    def simpler(self, current: tuple[C, ...]) -> tuple[C, ...]:
        for index in range(1, len(current)):
            while index < len(current):
                command = current[index]
                candidates = (other for other in self._kit.simpler(command) if other != command)
                results = (self._replaced(current, index, index + 1, (c,)) for c in candidates)
                smaller = next((result for result in results if result is not None), None)
                if smaller is None:
                    break
                current = smaller
        return current

    def _replaced(
        self, current: tuple[C, ...], first: int, end: int, by: tuple[C, ...]
    ) -> tuple[C, ...] | None:
        """Return the sequence with a part replaced, up to where it fails; None if it does not.

        Where the new part produces fewer offsets, try what follows as it is and moved down.
        """
        part, rest = current[first:end], current[end:]
        less = self._produced(part) - self._produced(by)
        moved = tuple(self._kit.moved_down(command, less) for command in rest)
        for following in (rest, moved) if moved != rest else (rest,):
            changed = (*current[:first], *by, *following)
            index = self._fails(changed) if len(changed) > 1 else None
            if index is not None:
                return changed[: index + 1]
        return None

    def _produced(self, part: tuple[C, ...]) -> int:
        return sum(self._kit.produced(command) for command in part)
