"""Mappings and sequences of which a theorem knows only what it names."""

from collections.abc import Iterator

import attrs

from spec.logic import Term


@attrs.define(eq=False)
class Points:
    """A mapping as ``immutables.Map``, whose offsets may be terms: two may turn out to be one.

    ``entries`` are (offset, value); of equal offsets the first counts. An offset that is not there
    is not tracked.
    """

    entries: tuple[tuple[Term, Term], ...] = ()

    def get(self, offset: Term, default: Term = None) -> Term:
        """Return the value at the offset."""
        return next((value for known, value in self.entries if known == offset), default)

    def __getitem__(self, offset: Term) -> Term:
        """Return the value at the offset, which is there."""
        for known, value in self.entries:
            if known == offset:
                return value
        raise KeyError(offset)

    def __contains__(self, offset: Term) -> bool:
        """Whether the offset is there."""
        return any(known == offset for known, _value in self.entries)

    def __iter__(self) -> Iterator[Term]:
        """Yield the offsets."""
        return (offset for offset, _value in self.entries)

    def __len__(self) -> int:
        """Return how many offsets are there."""
        return len(self.entries)

    def __setitem__(self, offset: Term, value: Term) -> None:
        """Put a value at the offset."""
        self.entries = (*self._without(offset), (offset, value))

    def __delitem__(self, offset: Term) -> None:
        """Remove the offset."""
        self.pop(offset)

    def pop(self, offset: Term) -> Term:
        """Remove the offset, which is there, and return its value."""
        value = self[offset]
        self.entries = self._without(offset)
        return value

    def set(self, offset: Term, value: Term) -> "Points":
        """Return the mapping with the value at the offset."""
        return Points((*self._without(offset), (offset, value)))

    def delete(self, offset: Term) -> "Points":
        """Return the mapping without the offset, which is there."""
        changed = self.mutate()
        changed.pop(offset)
        return changed

    def values(self) -> tuple[Term, ...]:
        """Return the values."""
        return tuple(value for _offset, value in self.entries)

    def items(self) -> tuple[tuple[Term, Term], ...]:
        """Return the offsets, each with its value."""
        return self.entries

    def mutate(self) -> "Points":
        """Return a copy that may be changed."""
        return Points(self.entries)

    def finish(self) -> "Points":
        """Return what was changed, as it is now."""
        return Points(self.entries)

    def _without(self, offset: Term) -> tuple[tuple[Term, Term], ...]:
        return tuple((known, value) for known, value in self.entries if not known == offset)  # noqa: SIM201 - a question about terms


@attrs.frozen
class Places:
    """A sequence of any width: ``entries`` are (place, value), and ``rest`` is the value elsewhere.

    The width and the places may be terms.
    """

    width: Term
    entries: tuple[tuple[Term, Term], ...]
    rest: Term = None

    def __len__(self) -> int:
        """Return the width, which is a value where this is asked."""
        return int(self.width)

    def __bool__(self) -> bool:
        """Whether there is any value."""
        return bool(self.width > 0)

    def __getitem__(self, place: Term) -> Term:
        """Return the value at the place; -1 is the last, where that is known."""
        return next((value for known, value in self.entries if known == place), self.rest)

    def __iter__(self) -> Iterator[Term]:
        """Yield the values that there are."""
        return iter((*(value for _place, value in self.entries), self.rest))
