"""The shortest sequence of asks that still shows a deviation, as far as simple steps find it."""

from collections.abc import Callable, Iterator, Sequence

import attrs

from conformance import asks

__all__ = ["shrunk"]

Sequence_ = tuple[asks.Ask, ...]


def shrunk(
    sequence: Sequence[asks.Ask], fails: Callable[[Sequence_], int | None]
) -> tuple[asks.Ask, ...]:
    """Return a sequence in which nothing can be left out or made simpler.

    ``fails`` plays a sequence and returns at which ask the deviation shows; None if it does not.
    The first ask, which initializes, stays.
    """
    current = tuple(sequence)
    while True:
        smaller = _simpler(_shorter(current, fails), fails)
        if smaller == current:
            return current
        current = smaller


def _shorter(current: Sequence_, fails: Callable[[Sequence_], int | None]) -> Sequence_:
    size = max(1, len(current) // 2)
    while size:
        at = 1
        while at < len(current):
            smaller = _replaced(current, at, at + size, (), fails)
            if smaller is None:
                at += size
            else:
                current = smaller
        size //= 2
    return current


def _simpler(current: Sequence_, fails: Callable[[Sequence_], int | None]) -> Sequence_:
    for at in range(1, len(current)):
        while at < len(current):
            candidates = (one for one in _simpler_asks(current[at]) if one != current[at])
            found = (_replaced(current, at, at + 1, (one,), fails) for one in candidates)
            smaller = next((one for one in found if one is not None), None)
            if smaller is None:
                break
            current = smaller
    return current


def _replaced(
    current: Sequence_,
    first: int,
    end: int,
    by: Sequence_,
    fails: Callable[[Sequence_], int | None],
) -> Sequence_ | None:
    """Return the sequence with a part replaced, up to where it fails; None if it does not.

    Where fewer offsets are produced, what follows is tried as it is and moved down with them.
    """
    part, rest = current[first:end], current[end:]
    less = _produced(part) - _produced(by)
    for following in (rest, _moved_down(rest, less)) if less else (rest,):
        changed = (*current[:first], *by, *following)
        at = fails(changed) if len(changed) > 1 else None
        if at is not None:
            return changed[: at + 1]
    return None


def _produced(part: Sequence_) -> int:
    produces = (ask for ask in part if isinstance(ask, asks.Produce))
    return sum(missing + size for ask in produces for missing, size in ask.batches)


def _moved_down(rest: Sequence_, less: int) -> Sequence_:
    moved: list[asks.Ask] = []
    for ask in rest:
        if isinstance(ask, asks.Acknowledge):
            batches = (
                attrs.evolve(b, first=max(0, b.first - less), last=max(0, b.last - less))
                for b in ask.batches
            )
            moved.append(attrs.evolve(ask, batches=tuple(batches)))
        else:
            moved.append(ask)
    return tuple(moved)


def _simpler_asks(ask: asks.Ask) -> Iterator[asks.Ask]:
    """Yield asks that are simpler in one respect, the simplest first."""
    if isinstance(ask, _WRITING):
        yield attrs.evolve(ask, answers=())
        yield attrs.evolve(ask, answers=ask.answers[:-1])
    if isinstance(ask, asks.Acknowledge | asks.Release | asks.Fetch):
        yield attrs.evolve(ask, member=_FIRST)
    match ask:
        case asks.Produce():
            yield from _simpler_produces(ask)
        case asks.Acknowledge():
            yield from _simpler_acknowledges(ask)
        case asks.Fetch():
            yield attrs.evolve(ask, max_records=_ALL, batch_size=_ALL)
            yield attrs.evolve(ask, batch_size=_ALL)
        case asks.AdvanceLogStart(by) if by > 1:
            yield asks.AdvanceLogStart(by - 1)
        case asks.CompleteWrite(nth) | asks.FinishDeadLetter(nth) if nth:
            yield attrs.evolve(ask, nth=0)
        case asks.Compact(batch) if batch:
            yield asks.Compact(batch - 1)


def _simpler_produces(ask: asks.Produce) -> Iterator[asks.Ask]:
    for at, (missing, size) in enumerate(ask.batches):
        before, after = ask.batches[:at], ask.batches[at + 1 :]
        if before or after:
            yield asks.Produce((*before, *after))
        for change in ((0, size), (missing, 1), (missing, max(1, size - 1))):
            yield asks.Produce((*before, change, *after))


def _simpler_acknowledges(ask: asks.Acknowledge) -> Iterator[asks.Ask]:
    for at, batch in enumerate(ask.batches):
        before, after = ask.batches[:at], ask.batches[at + 1 :]
        if before or after:
            yield attrs.evolve(ask, batches=(*before, *after))
        for one in (batch.first, batch.last):
            single = attrs.evolve(batch, first=one, last=one, types=batch.types[:1])
            yield attrs.evolve(ask, batches=(*before, single, *after))


_ALL = 500
_WRITING = asks.Acknowledge | asks.Release | asks.AdvanceTime | asks.FinishDeadLetter
_FIRST = "m1"
