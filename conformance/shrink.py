"""The shortest sequence of asks that still shows a deviation, as far as simple steps find it."""

from collections.abc import Callable, Sequence

from conformance.cores.kind import CORES
from conformance.kind import Ask, Kind

__all__ = ["shrunk"]

Sequence_ = tuple[Ask, ...]


def shrunk(
    sequence: Sequence[Ask], fails: Callable[[Sequence_], int | None], kind: Kind = CORES
) -> Sequence_:
    """Return a sequence in which nothing can be left out or made simpler.

    ``fails`` plays a sequence and returns at which ask the deviation shows; None if it does not.
    The sequence returned is the last one of which it did, up to there. The first ask stays.
    """
    shrinker = _Shrinker(fails, kind)
    current = tuple(sequence)
    while True:
        smaller = shrinker.simpler(shrinker.shorter(shrinker.plainer(current)))
        if smaller == current:
            return current
        current = smaller


class _Shrinker:
    def __init__(self, fails: Callable[[Sequence_], int | None], kind: Kind) -> None:
        self._fails, self._kind = fails, kind

    def plainer(self, current: Sequence_) -> Sequence_:
        for changed in self._kind.plainer(current):
            if changed != current and (at := self._fails(changed)) is not None:
                return changed[: at + 1]
        return current

    def shorter(self, current: Sequence_) -> Sequence_:
        size = max(1, len(current) // 2)
        while size:
            at = 1
            while at < len(current):
                smaller = self._replaced(current, at, at + size, ())
                if smaller is None:
                    at += size
                else:
                    current = smaller
            size //= 2
        return current

    def simpler(self, current: Sequence_) -> Sequence_:
        for at in range(1, len(current)):
            while at < len(current):
                candidates = (o for o in self._kind.simpler(current[at]) if o != current[at])
                found = (self._replaced(current, at, at + 1, (one,)) for one in candidates)
                smaller = next((one for one in found if one is not None), None)
                if smaller is None:
                    break
                current = smaller
        return current

    def _replaced(
        self, current: Sequence_, first: int, end: int, by: Sequence_
    ) -> Sequence_ | None:
        """Return the sequence with a part replaced, up to where it fails; None if it does not.

        Where fewer offsets are produced, what follows is tried as it is and moved down with them.
        """
        part, rest = current[first:end], current[end:]
        less = self._produced(part) - self._produced(by)
        moved = tuple(self._kind.moved_down(ask, less) for ask in rest)
        for following in (rest, moved) if moved != rest else (rest,):
            changed = (*current[:first], *by, *following)
            at = self._fails(changed) if len(changed) > 1 else None
            if at is not None:
                return changed[: at + 1]
        return None

    def _produced(self, part: Sequence_) -> int:
        return sum(self._kind.produced(ask) for ask in part)
