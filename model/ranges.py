"""Ranges of offsets with their states. Both ends are inclusive, as on the wire."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any, Protocol, TypeVar

import attrs

from model.checks import MAX_INT64, MAX_RANGE, count, member_name, optional, whole
from model.errors import InvalidValueError
from model.states import DURABLE_STATES, RecordState

T = TypeVar("T")


class Ranged(Protocol):
    """What has a first and a last offset, both inclusive."""

    @property
    def first(self) -> int:
        """Return the first offset."""

    @property
    def last(self) -> int:
        """Return the last offset."""


def ascend(name: str, ranges: Iterable[Ranged]) -> None:
    """Raise InvalidValueError if one of the ranges starts before the one before it has ended."""
    for before, after in pairwise(ranges):
        if after.first <= before.last:
            raise InvalidValueError(name, after, f"ranges that start after {before.last}")


def _ordered(instance: Any, _attribute: "attrs.Attribute[int]", last: int) -> None:  # noqa: ANN401 - any class with first
    """Validate both ends of a range."""
    first = instance.first
    whole_numbers = type(first) is type(last) is int
    # A window that ends after it ends at an offset too.
    if whole_numbers and 0 <= first <= last < MAX_INT64 - 1 and last < first + MAX_RANGE:
        return
    whole("first", first, 0, MAX_INT64 - 1)
    whole(_attribute.name, last, 0, MAX_INT64 - 2)
    if last < first:
        raise InvalidValueError("last", last, f"at least first, which is {first}")
    allowed = f"at most {MAX_RANGE} offsets from first, which is {first}"
    raise InvalidValueError("last", last, allowed)


@attrs.frozen
class OffsetRange:
    """The offsets from ``first`` to ``last``, both inclusive."""

    first: int
    last: int = attrs.field(validator=_ordered)


@attrs.frozen
class AcquiredRange:
    """Records of one delivery count which a fetch acquired (KIP-932, AcquiredRecords)."""

    first: int
    last: int = attrs.field(validator=_ordered)
    delivery_count: int = attrs.field(validator=count)


def _persistable(_instance: object, _attribute: object, state: RecordState) -> None:
    if state not in DURABLE_STATES:
        allowed = ", ".join(f"{s.name} ({s.value})" for s in sorted(DURABLE_STATES))
        raise InvalidValueError("state", state, allowed)


@attrs.frozen
class StateBatch:
    """Durable state of records: an element of StateBatches in WriteShareGroupState."""

    first: int
    last: int = attrs.field(validator=_ordered)
    state: RecordState = attrs.field(validator=_persistable)
    delivery_count: int = attrs.field(validator=count)


@attrs.frozen
class PassedOver:
    """Available offsets, and how many fetches have passed over each of them."""

    first: int
    last: int
    fetches: int


@attrs.frozen
class RecordRange:
    """In-memory state of records; ``owner`` is None unless held.

    ``pending`` says that the state was written and the answer is outstanding.
    """

    first: int
    last: int = attrs.field(validator=_ordered)
    state: RecordState = attrs.field(validator=attrs.validators.instance_of(RecordState))
    delivery_count: int = attrs.field(validator=count)
    owner: str | None = attrs.field(default=None, validator=optional(member_name))
    pending: bool = False


@lru_cache(maxsize=1 << 14, typed=True)
def record_range(  # noqa: PLR0913, PLR0917 - the fields
    first: int,
    last: int,
    state: RecordState,
    delivery_count: int,
    owner: str | None,
    pending: bool = False,  # noqa: FBT001, FBT002 - as in the class
) -> RecordRange:
    """Return a range of records; equal ones are one value.

    Most ranges of a window stay as they are from event to event, so that most need neither be
    checked again nor compared field by field.
    """
    return RecordRange(first, last, state, delivery_count, owner, pending)


def never_delivered(record: RecordRange) -> bool:
    """Return whether nothing is known of the records but that they are in the window.

    Whether a leader tracks such records or not makes no difference.
    """
    fresh = record.state is RecordState.AVAILABLE and record.delivery_count == 0
    return fresh and not record.pending


def runs(items: Iterable[tuple[int, T]]) -> Iterator[tuple[int, int, T]]:
    """Yield (first, last, value) for each longest run of consecutive offsets of equal value.

    ``items`` ascend by offset, and no value is None.
    """
    first = last = -2
    current: T | None = None
    for here, value in items:
        if here == last + 1 and value == current:
            last = here
            continue
        if current is not None:
            yield first, last, current
        first = last = here
        current = value
    if current is not None:
        yield first, last, current


def join_neighbours(pieces: Iterable[tuple[int, int, T]]) -> Iterator[tuple[int, int, T]]:
    """Yield (first, last, value), neighbours of equal value as one; the pieces ascend."""
    current: tuple[int, int, T] | None = None
    for first, last, value in pieces:
        if current and (current[1] + 1, current[2]) == (first, value):
            current = current[0], last, value
            continue
        if current:
            yield current
        current = first, last, value
    if current:
        yield current


def offsets(ranges: Iterable[Ranged]) -> Iterator[int]:
    """Yield every offset of the ranges, in their order."""
    return (here for part in ranges for here in range(part.first, part.last + 1))


def ranges_of(ascending: Iterable[int]) -> tuple[OffsetRange, ...]:
    """Return ascending offsets as ranges that are as long as they can be."""
    return tuple(OffsetRange(*run[:2]) for run in runs((here, True) for here in ascending))


def delivery_counts(acquired: Iterable[AcquiredRange]) -> dict[int, int]:
    """Return the delivery count of each acquired offset."""
    return {here: part.delivery_count for part in acquired for here in offsets((part,))}


def number_of_offsets(ranges: Iterable[Ranged]) -> int:
    """Return how many offsets the ranges have together."""
    return sum(part.last - part.first + 1 for part in ranges)
